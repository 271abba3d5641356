"""Form 2: operations that exist already, overridden for as long as a block is open.

Nothing is written into the graph. Each operation gets a binding (see ``_tf.bind``), which tf.gradients calls
and which is taken off again. Where TensorFlow would not look at the binding, this refuses before
anything is bound.
"""
import collections
import contextlib
import re
import threading
import warnings
import weakref

from . import _tf, foreign
from ._tf import tf
from .blocks import once_more
from .contract import function_outputs
from .errors import OverrideError, OverrideWarning
from .report import place_in_graph

_held = weakref.WeakKeyDictionary()   # graph -> a list of (thread, operations) of the on() blocks open in it


@contextlib.contextmanager
def override_existing(override, graph, where, between):
    """Implement ``Override.on``; see there."""
    graph = _graph_to_take(graph)
    wanted = _predicate(where)
    path = _path_between(between)
    selection = _Selection(override, wanted, path, limited=where is not None or between is not None)
    selection.add_graph(graph)
    log = override.log_for(graph)
    for where_skipped, key, reason in selection.skipped:
        log.skip(key, where_skipped, reason)
    override.tell_unmatched(set(choice.key for choice in selection.found.values()), selection.present,
                            "that on() selected")
    passes = log.passes
    calls = []
    bound = []
    hold = threading.get_ident(), [*selection.found, *selection.recomputed, *selection.calls]
    try:
        _hold(graph, hold)
        for call in selection.calls:
            calls.append(_WatchedCall(call))
        for op, choice in selection.found.items():
            bound.append((op, choice.bind(op, log)))
        for op in selection.recomputed:
            gradient = _recomputed_under(override, _tf.registered_gradient(_tf.tag_of(op)))
            bound.append((op, _tf.bind(op, gradient)))
        yield override
    except (LookupError, AttributeError) as error:
        foreign.explain(error, graph)
        raise
    finally:
        for op, binding in reversed(bound):
            _tf.unbind(op, binding)
        for call in reversed(calls):
            call.restore()
        with _tf.lock:   # nobody reads the list meanwhile
            if hold in _held.get(graph, ()):
                _held[graph].remove(hold)
    if bound and log.passes == passes:
        message = ("No gradient was built through any of the {} that on() overrode while its block was open: call "
                   "tf.gradients inside the block.".format(_count(len(bound), "operation")))
        if override.strict:
            raise OverrideError(message)
        warnings.warn(message, OverrideWarning, stacklevel=3)


def _hold(graph, hold):
    """Note what an on() block is about to bind; raise if that of another thread has bound some of it."""
    thread, operations = hold
    with _tf.lock:
        holds = _held.setdefault(graph, [])
        others = set(op for holder, held in holds if holder != thread for op in held)
        for op in operations if others else ():
            if op in others:
                raise OverrideError(
                    "Operation {!r} (type {}) is held by on() in another thread, and one of the two would get the "
                    "gradient of the other. Let the threads take turns: hold a lock around each on() block.".format(
                        op.name, op.type))
        holds.append(hold)


def _graph_to_take(graph):
    if graph is None:
        if tf.executing_eagerly():
            raise OverrideError("on() needs a graph, and in eager mode there is no current one: pass the graph, or "
                                "call the model or function through the override: override(model)(x).")
        graph = _tf.v1.get_default_graph()
    if not isinstance(graph, tf.Graph):
        raise OverrideError("on() takes a tf.Graph, but got {!r}. For a tensor y it is y.graph; for a model or "
                            "function, call it through the override: override(model)(x).".format(graph))
    if _tf.is_function_body(graph) and graph is not _tf.v1.get_default_graph():
        raise OverrideError(
            "on() was given the traced graph {!r} of a function, whose backward TensorFlow builds once and keeps. "
            "Call the function through the override instead: override(function)(x).".format(graph.name))
    return graph


def _predicate(where):
    """What ``where`` selects, as ``fn(op, path)``; op is None where TensorFlow holds only a name and a type."""
    if where is None:
        return lambda op, path: True
    if callable(where):
        return lambda op, path: op is None or bool(where(op))
    if isinstance(where, str):
        try:
            pattern = re.compile(where)
        except re.error as error:
            raise OverrideError("where={!r} is not a regular expression: {}.".format(where, error)) from None
        return lambda op, path: pattern.match(path) is not None
    raise OverrideError("where must be a name pattern or a predicate fn(op), but got {!r}.".format(where))


def _path_between(between):
    """The operations on a path from an x to a y, as a set; None for no such limit."""
    if between is None:
        return None
    try:
        xs, ys = between
    except (TypeError, ValueError):
        raise OverrideError(
            "between must be (xs, ys), tensors or lists of tensors, but got {!r}.".format(between)) from None
    xs, ys = _tensors(xs), _tensors(ys)
    first, last = set(x.op for x in xs), set(y.op for y in ys)
    path = (_tf.downstream(first) & _tf.upstream(last)) - (first - last)
    if not path:
        raise OverrideError("between: no path leads from {} to {}.".format(
            ", ".join(x.name for x in xs), ", ".join(y.name for y in ys)))
    return path


def _tensors(value):
    tensors = list(value) if isinstance(value, (list, tuple)) else [value]
    for tensor in tensors:
        if not hasattr(tensor, "op"):
            raise OverrideError("between takes tensors of a graph, but got {!r}.".format(tensor))
    return tensors


class _Selection:
    """The operations to bind, found before anything is bound; raises where binding would not be honoured."""

    def __init__(self, override, wanted, path, limited):
        self.override = override
        self.wanted = wanted
        self.path = path
        self.limited = limited
        self.found = {}      # operation -> choice
        self.recomputed = {} # IdentityN that stands for a tf.recompute_grad -> None
        self.calls = {}      # call of a tf.function with a selected operation in it -> None
        self.skipped = []
        self.present = collections.Counter()

    def add_graph(self, graph, inside=()):
        """Select in a graph and in what its operations run; returns whether anything was selected.

        Args:
            graph: a graph, or the traced graph of a body.
            inside: the names of the operations that it is a body of, outermost first.
        """
        anything = False
        for op in graph.get_operations():
            if not inside and self.path is not None and op not in self.path:
                continue
            kind = op.type   # once: TensorFlow 1.15 asks C++ each time
            self.present[kind] += 1
            choice = self.override.choice_for(kind)
            if choice is not None and op.inputs:
                anything |= self._add_operation(op, choice, inside)
            if _tf.has_bodies(kind):
                anything |= self._add_bodies(op, inside + (op.name,))
            elif kind == "IdentityN" and _tf.is_recomputation(op) and self.wanted(op, "/".join(inside + (op.name,))):
                self._add_recomputation(op)
                anything = True
            elif _tf.is_defun_call(op):
                self._refuse(op, op.type, _tf.defun_operations(op), inside + (op.name,),
                             "differentiates a Defun in C++")
        return anything

    def _add_operation(self, op, choice, inside):
        own = _gradient_of_its_own(op) if choice.key == "IdentityN" else None
        if not self.wanted(op, "/".join(inside + (op.name,))):
            self.skipped.append((place_in_graph(op), choice.key, "not selected"))
        elif own is not None:
            self.skipped.append((place_in_graph(op), choice.key, "it carries a {}".format(own)))
        else:
            self.found[op] = choice
            return True
        return False

    def _add_recomputation(self, op):
        if self.limited:
            raise OverrideError(
                "Operation {!r} is a tf.recompute_grad, which builds its function again when it is differentiated, and "
                "where= and between= cannot say which of those operations to take. Build it inside a 'with override:' "
                "block, or leave it out with where=.".format(op.name))
        self.recomputed[op] = None

    def _add_bodies(self, op, inside):
        anything = False
        for body in _tf.bodies_of(op):
            if body.graph is not None:
                selected = self.add_graph(body.graph, inside)
                if selected and _tf.is_call(op):
                    self._add_call(op, body)
                anything |= selected
                continue
            self._refuse(op, body.name, body.operations, inside,
                         "rebuilds that function from its serialized form to differentiate it")
        return anything

    def _refuse(self, op, function, operations, inside, reason):
        """Raise if any operation of a function that cannot be reached would be selected."""
        keys = sorted(set(kind for name, kind in operations if self.override.choice_for(kind) is not None
                          and self.wanted(None, "/".join(inside + (name,)))))
        if keys:
            raise OverrideError(
                "Operation {!r} (type {}) runs the function {!r}, which has {} in it, and TensorFlow {} {}: on() "
                "cannot reach them. Build the graph inside a 'with override:' block, or with control flow v1 "
                "(tf.compat.v1.disable_control_flow_v2()), or leave them out with where=.".format(
                    op.name, op.type, function, " and ".join(keys), tf.__version__, reason))

    def _add_call(self, op, body):
        kept = _tf.backward_cache(op)
        if kept is None or kept:
            raise OverrideError(
                "Operation {!r} calls the tf.function {!r}, {}: on() would be ignored there. Call the function "
                "inside a 'with override:' block, or through the override: override(function)(x), or leave it "
                "out with where=.".format(
                    op.name, body.name, "whose backward TensorFlow has built and kept" if kept
                    else "whose backward TensorFlow {} keeps out of reach".format(tf.__version__)))
        self.calls[op] = None


def _recomputed_under(override, gradient):
    def under_override(op, *grads):
        with once_more(override):
            return gradient(op, *grads)

    return under_override


def _gradient_of_its_own(op):
    """What an IdentityN stands for, if it is there to carry the gradient of a function; else None.

    (To ask operations of other types for their tag would take most of the time of on().)
    """
    if function_outputs(op) is not None:
        return "tf_func_with_grad"
    tag = _tf.tag_of(op)
    return "tf.custom_gradient" if tag is not None and tag.startswith("CustomGradient-") else None


class _WatchedCall:
    """A call of a tf.function whose body is overridden: its backward, once built, is kept by TensorFlow.

    So a backward that was built inside the block is thrown away at its end, for other calls to build
    their own; and this call, whose forward TensorFlow has rewritten to fit it, refuses to be
    differentiated again.
    """

    def __init__(self, op):
        self.op = op
        self.cache = _tf.backward_cache(op)
        self.differentiated = False
        own = _tf.own_gradient(op)

        def gradient(op, *grads):
            self.differentiated = True
            return own(op, *grads)

        self.binding = _tf.bind(op, gradient)

    def restore(self):
        """End the block for this call."""
        _tf.unbind(self.op, self.binding)
        self.cache.clear()
        if self.differentiated:
            _tf.bind(self.op, _refuse_second_gradient)


def _refuse_second_gradient(op, *grads):
    raise OverrideError(
        "The tf.function call {!r} was differentiated inside an on() block, and TensorFlow has rewritten it for that "
        "gradient; its ordinary gradient cannot be built any more. Call the function once more and differentiate "
        "that call.".format(op.name))


def _count(number, noun):
    return "{} {}{}".format(number, noun, "" if number == 1 else "s")
