"""Overrides in TensorFlow's own spelling, under graphgrad's promise: RegisterGradient and gradient_override_map.

What a script, or a library outside TensorFlow, registers and overrides goes through ``graphgrad.override_gradients``'s
blocks, which reach loop, branch and function bodies and keep count; what TensorFlow registers for itself does
not. The script's meaning stays that of TF 1: a name may be registered after it was used, and an unknown key is
no error, but the run says so.
"""
import contextlib
import functools
import sys
import weakref

from .. import _tf
from ..blocks import Block
from ..errors import RegistrationError
from ..op_types import close_op_types, relatives
from ..overrides import Choice, Override
from ..registry import GradientRecord, gradients
from ..report import GraphLog, place_in_graph
from .catalogue import note
from .first_gradients import FIRST

#: (place, key) -> Tally: what the overrides opened at one line of a script did, whether or not the graph still lives.
TALLIES = {}
#: {graph: overrides whose block is open in it}
OPEN = weakref.WeakKeyDictionary()
_replaced = {}


def graphs():
    """The graphs, still alive, that overrides were opened in."""
    return {graph for tally in TALLIES.values() for graph in tally.graphs}


def install():
    """Wrap TensorFlow's two entrances; returns functions that undo it."""
    homes = _tf.gradient_entrances()
    undo = []
    original_class, original_map = homes["register"], homes["graph"].gradient_override_map

    class RegisterGradient(original_class):
        __doc__ = original_class.__doc__

        def __call__(self, function):
            if _asked_by_tensorflow(sys._getframe(1)):
                return super().__call__(function)
            register(self._op_type, function)
            return function

    RegisterGradient.__name__ = RegisterGradient.__qualname__ = "RegisterGradient"

    @functools.wraps(original_map)
    def gradient_override_map(graph, op_type_map):
        if _asked_by_tensorflow(sys._getframe(1)) or not _is_map(op_type_map):
            return original_map(graph, op_type_map)
        if _tf.is_defun(graph):   # ordinary in TF 1 too
            note("An override inside a Defun, at {}, has no effect: TensorFlow differentiates a Defun in C++ and asks "
                 "no gradient function.".format(_place(sys._getframe(1))))
            return original_map(graph, op_type_map)
        return _block(graph, op_type_map, _place(sys._getframe(1)))

    for module in homes["modules"]:
        module.RegisterGradient = RegisterGradient
        undo.append(functools.partial(setattr, module, "RegisterGradient", original_class))
    homes["graph"].gradient_override_map = gradient_override_map
    undo.append(lambda: setattr(homes["graph"], "gradient_override_map", original_map))
    undo.append(_put_back)
    return undo


def _asked_by_tensorflow(frame):
    name = frame.f_globals.get("__name__") or ""
    return name.startswith(("tensorflow.", "graphgrad.", "keras.", "tf_keras.")) or (
        name in ("contextlib",) and _asked_by_tensorflow(frame.f_back))


def _place(frame):
    return "{}:{}".format(frame.f_code.co_filename, frame.f_lineno)


def _is_map(op_type_map):
    return isinstance(op_type_map, dict) and op_type_map and all(
        isinstance(word, str) for pair in op_type_map.items() for word in pair)


def register(name, function):
    """Register a gradient function under a name, for as long as the process or until ``deactivate``.

    A name that is taken by the same function, defined again, is replaced; so is one made up at random for a closure. A
    name that TensorFlow itself uses is the script's for this process.
    """
    held = gradients.get(name)
    if held is not None and not _tf.is_registered(name):
        gradients.drop(name)   # the script took it out of TensorFlow's registry, to register it again
        held = None
    if held is None:
        _take_from_tensorflow(name)
    elif held.function is not function and not _same_place(held.function, function):
        # Two functions, one name: an error in TF 1, where the first stays.
        raise _Taken("Registering two gradients with name {!r}: it is taken by the function at {}.".format(
            name, held.place))
    gradients.register(function, name, replace=True).told = note


class _Taken(RegistrationError, KeyError):
    """TF 1 raised a KeyError here, which scripts catch."""

    __str__ = Exception.__str__


def _same_place(one, other):
    """Whether two functions come from the same lines of the same file: a re-run, a double import, a closure."""
    codes = [getattr(function, "__code__", None) for function in (one, other)]
    if None in codes:
        return type(one) is type(other)
    return codes[0].co_name == codes[1].co_name and codes[0].co_filename == codes[1].co_filename


def _take_from_tensorflow(name):
    try:
        before = _tf.registered_gradient(name)
    except KeyError:
        return
    if name in FIRST:
        raise _Taken("Registering two gradients with name {0!r}: TensorFlow has had such a gradient since 0.12; "
                     "to override it, register yours under a name of its own and map {0} to it.".format(name))
    _replaced[name] = before
    _tf.unregister(name)
    note("{!r} is a gradient that TensorFlow {} has registered itself; here the script's own is used.".format(
        name, _tf.tf.__version__))


def _put_back():
    for name, before in _replaced.items():
        gradients.drop(name)
        _tf.unregister(name)
        _tf.register(name, before)
    _replaced.clear()
    TALLIES.clear()


@contextlib.contextmanager
def _block(graph, op_type_map, place):
    override = LegacyOverride(op_type_map, place, graph)
    block = Block(override, graph)
    for choice in override.choices.values():
        if isinstance(choice.gradient.record, GradientRecord):
            choice.gradient.record.observe(block.log)
    OPEN.setdefault(graph, []).append(override)
    block.open()
    try:
        yield
    finally:
        OPEN[graph].remove(override)
        block.close()
        override.count(graph, block)


class LegacyOverride(Override):
    """An override map of a script: names of op types and of gradients, which may not be there (yet).

    Attributes:
        gradient_spans: (first, last) graph versions of the tf.gradients calls in its block.
    """

    def __init__(self, op_type_map, place, graph):
        known = {key: value for key, value in op_type_map.items() if _tf.is_op_type(key)}
        self._set_up({key: Choice(key, value, _LateGradient(value)) for key, value in known.items()})
        self.gradient_spans = []
        self._tallies = {}
        for key, value in op_type_map.items():
            tally = TALLIES.setdefault((place, key), Tally(key, place))
            if len(tally.names) < 2:
                tally.names.setdefault(value)
            tally.graphs.add(graph)
            tally.unknown = None if key in known else close_op_types(key)
            self._tallies[key] = tally

    def log_for(self, graph):
        """The GraphLog of a graph, which also counts in the tallies."""
        if graph not in self._logs:
            self._logs[graph] = _CountingLog(graph, self._tallies)
        return super().log_for(graph)

    def count(self, graph, block):
        """Add what a block did to the tallies."""
        for key in self.choices:
            tally = self._tallies[key]
            tally.spans.setdefault(graph, []).append((block.first, graph.version))
            tally.covered += key in block.matched and key not in block.log.tagged
            if key not in block.matched:
                for name in relatives(key, block.present):
                    tally.instead[name] = tally.instead.get(name, 0) + block.present[name]
            if self.gradient_spans and self._only_in_gradients(graph, block, key):
                tally.only_around_gradients = True

    def _only_in_gradients(self, graph, block, key):
        before = False
        for op in graph.get_operations():
            if op.type == key:
                number = _tf.number_of(op)
                if number <= block.first:
                    before = True
                elif number <= graph.version and not any(a < number <= b for a, b in self.gradient_spans):
                    return False
        return before


class Tally:
    """What the overrides of one key, opened at one line of a script, did in the whole run.

    Attributes:
        key, place: the op type, and "file:line".
        names: the first two names of gradients that it was given, as keys of a dict.
        tagged, differentiated: numbers of operations.
        covered: number of blocks whose operations were all taken by inner ones.
        instead: {op type: number} of what was there where the key matched nothing.
        unknown: op types spelt alike if the key is none here, else None.
        only_around_gradients: whether a block was open only while tf.gradients ran, after the forward was built.
        graphs: those that are alive.
        spans: {graph: (first, last) versions of its blocks}.
    """

    def __init__(self, key, place):
        self.key = key
        self.place = place
        self.names = {}
        self.tagged = self.differentiated = self.covered = 0
        self.instead = {}
        self.unknown = None
        self.only_around_gradients = False
        self.graphs = weakref.WeakSet()
        self.spans = weakref.WeakKeyDictionary()

    def label(self):
        """The name of the gradient, or the first of several."""
        first = next(iter(self.names))
        return first if len(self.names) == 1 else first + ", ..."

    def missed(self):
        """Operations of the type that carry no override of any kind, in graphs that are alive: {reason: [name]}."""
        reasons = {}
        for graph, spans in list(self.spans.items()):
            first, last = min(a for a, _ in spans), max(b for _, b in spans)
            for op, path in _tf.operations_with_bodies(graph):
                if op.type != self.key or _tf.tag_of(op) is not None or _tf.bound_gradient(op) is not None:
                    continue
                number = _tf.number_of(graph.get_operation_by_name(path[0]) if path else op)
                reason = ("built before the block" if number <= first else
                          "built after the block" if number > last else "built outside the block")
                reasons.setdefault(reason, []).append(place_in_graph(op))
        return reasons


class _CountingLog(GraphLog):
    """A GraphLog that also counts in the tallies of its override."""

    def __init__(self, graph, tallies):
        super().__init__(graph)
        self._tallies = tallies

    def tag(self, key, where):
        if where not in self.tagged.get(key, ()):
            self._tallies[key].tagged += 1
        super().tag(key, where)

    def went_through(self, key, where):
        if where not in self.differentiated.get(key, ()):
            self._tallies[key].differentiated += 1
        super().went_through(key, where)


class _LateGradient:
    """A gradient looked up by name when an operation is built, else when it is differentiated, as TF 1 does.

    A GradientTape in the same graph does not see it, as in TF 1: the run says that no gradient used the override.
    """

    for_tapes = False

    def __init__(self, name):
        self.name = name
        self.record = self._find()

    def _find(self):
        record = gradients.get(self.name)
        if record is None:
            try:
                return _tf.registered_gradient(self.name)
            except KeyError:
                return _MISSING
        return record

    def __call__(self, op, *grads):
        gradient = self._find() if self.record is _MISSING else self.record
        if gradient is _MISSING:
            raise LookupError(
                "Operation {!r} (type {}) is tagged with gradient {!r}, which nobody registered.".format(
                    op.name, op.type, self.name))
        return [None] * len(op.inputs) if gradient is None else gradient(op, *grads)


_MISSING = object()
