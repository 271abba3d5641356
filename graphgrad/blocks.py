"""Form 1: operations built in a ``with`` block, in the graph and in every body built inside it.

The main graph gets TensorFlow's own gradient_override_map, so that it holds exactly what it always held. A
device function, which TensorFlow calls for each operation created in the scope, in
bodies too, and which is part of tf.function's cache key, does the rest: it binds, logs, and tags in bodies.
When the block ends, what it could not see is looked for, and bound or told.
"""
import collections
import contextlib
import functools
import threading
import weakref

from . import _tf
from .errors import OverrideError
from .registry import GradientRecord
from .report import place_in_graph

_UNSEEN = ("in a function that was imported, or hidden by tf.device(None) or tf.colocate_with; build it in the block, "
           "and open the block inside that scope")
_DEFUN = "in a Defun, which TensorFlow differentiates in C++ and asks no gradient function; make it a tf.function"

_open_blocks = weakref.WeakKeyDictionary()   # graph -> its open blocks, outermost first


class Block:
    """One open ``with override:`` in one graph."""

    def __init__(self, override, graph):
        self.override = override
        self.graph = graph
        self.log = override.log_for(graph)
        self.first = graph.version
        self.seen = 0                              # operations of this graph that the device function was shown
        self.present = collections.Counter()       # op types built in the block, bodies included
        self.matched = set()
        self.missed = {}                           # where an operation is that is out of reach -> why
        self.thread = threading.get_ident()
        self.abandoned = False                     # closed while a later block was open: ends with that one
        self._running = {}                         # operations that run functions
        self._scopes = contextlib.ExitStack()
        self._device = contextlib.ExitStack()
        self._opened = []                          # the open blocks of this graph, outermost first

    def open(self):
        """Put the override on; nothing is left if that fails."""
        if _tf.is_defun(self.graph):
            raise OverrideError(_tf.DEFUN_TEXT.format("no override can reach it"))
        for choice in self.override.choices.values():
            if isinstance(choice.gradient, GradientRecord):
                choice.gradient.observe(self.log)
        with _tf.lock, contextlib.ExitStack() as scopes:
            scopes.enter_context(_tf.hooks())
            scopes.enter_context(self.graph.gradient_override_map(self.override.gradients))
            self._device.enter_context(self.graph.device(self._see))
            self._opened = _open_blocks.setdefault(self.graph, [])
            self._opened.append(self)
            self._scopes = scopes.pop_all()

    def undo(self):
        """Take off what an ``open`` that was interrupted has put on."""
        with _tf.lock:
            self._device.close()
            self._scopes.close()
            if self in self._opened:
                self._opened.remove(self)

    def close(self):
        """Take the override off, and look for what it did not see."""
        with _tf.lock:   # so that no thread opens a block when this one was found to be the last
            opened, last = self._opened, self._opened[-1]
            if last is not self:
                self.abandoned = True
                if last.thread != self.thread and _tf.innermost_device(self.graph) == self._see:
                    self._device.close()   # devices are a thread's own in this graph
                raise OverrideError(
                    "{!r} was closed before {!r}, which was opened later in the same graph: close them in the opposite "
                    "order. It stays in force until that one is closed.".format(self.override, last.override))
            closed = [self]
            self._take_off()
            while opened and opened[-1].abandoned:
                closed.append(opened[-1])
                closed[-1]._take_off()
        for block in closed:
            block._look_for_unseen()

    def _take_off(self):
        try:
            self._opened.remove(self)
            self._device.close()
            self._scopes.close()
        finally:
            self.log.spans.append((self.first, self.graph.version))

    def _look_for_unseen(self):
        if self.graph.version - self.first != self.seen:
            self._sweep()
        for op in self._running:
            self._sweep_bodies(op)

    def tell(self):
        """Warn, or raise if the override is strict, about keys without operation and operations out of reach."""
        self.override.tell_unmatched(self.matched, self.present, "built in the block")
        self.tell_missed()

    def tell_missed(self):
        """The latter half of ``tell``."""
        reasons = {}
        for where, reason in self.missed.items():
            reasons.setdefault(reason, []).append(where)
        for reason, places in reasons.items():
            self.override.tell("Out of reach of the override, their gradient is the ordinary one: {} ({}).".format(
                ", ".join(places), reason))

    def _see(self, op):
        """Be the device function: called with each new operation; leaves its device as it is."""
        kind = op.type
        self.present[kind] += 1
        if op.graph is self.graph:
            self.seen += 1
        if self._opened[-1:] != [self]:
            if self not in self._opened:   # closed; a thread may keep the devices it began with
                return op.device
            self._refuse_another_threads(op)
        choice = self.override.choice_for(kind)
        if choice is not None:
            self._take(op, choice)
        if _tf.has_bodies(kind):
            self._running[op] = None
        elif kind == "IdentityN":
            if _tf.is_recomputation(op):
                _tf.wrap_recomputation(op, functools.partial(once_more, self.override))
        elif choice is None and _tf.is_defun_call(op):
            self._miss(_tf.defun_operations(op), kind, _DEFUN)
        return op.device

    _see.graphgrad_scope = True

    def _refuse_another_threads(self, op):
        """Raise if an operation of this thread would be taken by a block that another opened later in the graph."""
        if threading.get_ident() != self.thread:
            return
        opened = list(self._opened)
        for block in opened[opened.index(self) + 1:]:
            if block.thread != self.thread and block.override.choice_for(op.type) is not None:
                raise OverrideError(
                    "Operation {!r} (type {}) is built by a thread under {!r}, but another thread has opened {!r} in "
                    "the same graph meanwhile, which would take it. Let the threads take turns (hold a lock around "
                    "each block), or give each a graph of its own.".format(
                        op.name, op.type, self.override, block.override))

    def _take(self, op, choice):
        tag = _tf.tag_of(op)
        if _tf.bound_gradient(op) is not None:
            self.log.skip(choice.key, place_in_graph(op), "taken by an inner override")
        elif tag is not None and tag != choice.tag:
            self.log.skip(choice.key, place_in_graph(op), "tagged {!r} by an inner scope".format(tag))
        else:
            if tag is None:
                _tf.tag(op, choice.tag)
            choice.bind(op, self.log)
        self.matched.add(choice.key)

    def _miss(self, operations, body, reason):
        for name, key in operations:
            if self.override.choice_for(key) is not None:
                where = "{}: {}".format(body, name)
                self.log.skip(key, where, reason)
                self.missed[where] = reason
                self.matched.add(key)   # there was one: what is told about it is that it is out of reach

    def _sweep(self):
        """Find in the graph itself what tf.device(None) and colocate_with kept from the device function."""
        for op in _tf.operations_since(self.graph, self.first):
            choice = self.override.choice_for(op.type)
            if choice is not None and _tf.bound_gradient(op) is None and _tf.tag_of(op) == choice.tag:
                self.present[op.type] += 1
                self._take(op, choice)
            if _tf.has_bodies(op.type):
                self._running[op] = None

    def _sweep_bodies(self, op):
        """Bind what is not bound yet in the functions that an operation runs; note what cannot be."""
        for body in _tf.bodies_of(op):
            if body.graph is None or _tf.is_call(op):   # rebuilt at tf.gradients, or shared with other callers
                self._miss(_tf.untagged(op, body), body.name, _UNSEEN)
                continue
            for inner in body.graph.get_operations():
                choice = self.override.choice_for(inner.type)
                if choice is not None and _tf.bound_gradient(inner) is None:
                    self._take(inner, choice)
                if _tf.has_bodies(inner.type):
                    self._sweep_bodies(inner)


@contextlib.contextmanager
def once_more(override):
    """An override, for what tf.recompute_grad builds a second time when it is differentiated."""
    block = Block(override, _tf.v1.get_default_graph())
    block.open()
    try:
        yield
    finally:
        block.close()
    block.tell_missed()
