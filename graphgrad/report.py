"""The proof of an override: what it tagged, what it did not and why, what the gradient went through."""
import weakref
from typing import Dict, Iterator, List

from . import _tf

_SHOWN = 12   # operations a line before "and N more"


class GraphLog:
    """What one Override did in one graph: names only, so that it keeps no graph alive.

    An operation is written ``name``, or ``body: name`` inside a loop, branch or function.
    """

    def __init__(self, graph):
        self.graph = weakref.ref(graph)
        self.tagged = {}            # key -> {where: None}, in order
        self.skipped = {}           # key -> {where: reason}
        self.differentiated = {}    # key -> {where: None}
        self.passes = 0             # how often tf.gradients went through any of them
        self.watched = {}           # choice -> the function bound to its operations in this graph
        self.spans = []             # (first, last) graph versions of the blocks, to say "before" and "after"

    def tag(self, key, where):
        """Note that an operation carries the override."""
        self.tagged.setdefault(key, {})[where] = None
        self.skipped.get(key, {}).pop(where, None)

    def skip(self, key, where, reason):
        """Note that an operation of an overridden type does not carry it, and why."""
        if where not in self.tagged.get(key, ()):
            self.skipped.setdefault(key, {})[where] = reason

    def went_through(self, key, where):
        """Note that tf.gradients called the override of an operation."""
        self.passes += 1
        self.differentiated.setdefault(key, {})[where] = None

    def went_through_copy(self, op):
        """Note the same for an operation of a body that TensorFlow 1.15 rebuilt: it is known by its name."""
        if _tf.outermost(op.graph) is not self.graph():
            return
        copies = [where for where in self.tagged.get(op.type, ()) if where.endswith(": " + op.name)]
        same_body = [where for where in copies if where == place_in_graph(op)]
        for where in same_body or copies:
            self.went_through(op.type, where)


def place_in_graph(op):
    """``name``, or ``body: name`` for an operation in the body of a loop, branch or function."""
    graph = op.graph
    if not _tf.is_function_body(graph):
        return op.name
    # TensorFlow calls a loop body "..._rewritten" once a gradient has added outputs to it.
    return "{}: {}".format(graph.name.split("_rewritten")[0], op.name)


class KeyReport:
    """What happened to one key of an override map.

    Attributes:
        key: the op type.
        gradient: the name of the gradient it was given.
        tagged: operations that carry the override, in the order they were built.
        missed: dict from operations of the type that do not carry it to the reason.
        differentiated: the tagged operations that tf.gradients went through.
        instead: op types in the block that the key may have meant, with their numbers, if it matched nothing.
    """

    def __init__(self, key: str, gradient: str, tagged: List[str], missed: Dict[str, str], differentiated: List[str],
                 instead: Dict[str, int]) -> None:
        self.key = key
        self.gradient = gradient
        self.tagged = tagged
        self.missed = missed
        self.differentiated = differentiated
        self.instead = instead

    def __str__(self):
        lines = ["{} -> {}: {} tagged, the gradient went through {}".format(
            self.key, self.gradient, _ops(len(self.tagged)), len(self.differentiated))]
        if self.tagged:
            lines.append("  tagged: " + _list(self.tagged))
        if self.differentiated and len(self.differentiated) < len(self.tagged):
            lines.append("  not differentiated so far: " + _list(
                [where for where in self.tagged if where not in set(self.differentiated)]))
        reasons = {}
        for where, reason in self.missed.items():
            reasons.setdefault(reason, []).append(where)
        lines += ["  not tagged, {}: {}".format(reason, _list(where)) for reason, where in reasons.items()]
        if not self.tagged and self.instead:
            lines.append("  there instead: " + ", ".join(
                "{} ({})".format(name, number) for name, number in self.instead.items()))
        return "\n".join(lines)


class Report:
    """A snapshot of what an Override has done, over every graph of it that is still alive.

    ``print(override.report)`` shows it; ``report["Relu"]`` is the KeyReport of one key, and iterating gives
    all. ``report.unmatched`` lists the keys that tagged nothing.
    """

    def __init__(self, title, keys):
        self.title = title
        self._keys = keys

    def __getitem__(self, key: str) -> KeyReport:
        return self._keys[key]

    def __iter__(self) -> Iterator[KeyReport]:
        return iter(self._keys.values())

    def __len__(self) -> int:
        return len(self._keys)

    @property
    def unmatched(self) -> List[str]:
        """The keys that tagged no operation."""
        return [entry.key for entry in self if not entry.tagged]

    @property
    def tagged(self) -> List[str]:
        """Every tagged operation, over all keys."""
        return [where for entry in self for where in entry.tagged]

    @property
    def differentiated(self) -> List[str]:
        """Every tagged operation that tf.gradients went through, over all keys."""
        return [where for entry in self for where in entry.differentiated]

    def __str__(self):
        lines = [self.title]
        for entry in self:
            lines += ["  " + line for line in str(entry).split("\n")]
        return "\n".join(lines)

    __repr__ = __str__


def make_report(title, gradients, logs, instead):
    """Put the logs of several graphs together.

    Args:
        title: the first line.
        gradients: dict from key to the name of its gradient.
        logs: GraphLogs.
        instead: dict from key to {op type: number} of what was there when a key matched nothing.
    """
    tagged = {key: [] for key in gradients}
    missed = {key: {} for key in gradients}
    differentiated = {key: [] for key in gradients}
    for log in logs:
        for key in gradients:
            tagged[key] += log.tagged.get(key, ())
            differentiated[key] += log.differentiated.get(key, ())
            missed[key].update(log.skipped.get(key, {}))
        _add_outsiders(log, gradients, missed)
    return Report(title, {key: KeyReport(key, name, tagged[key], missed[key], differentiated[key], instead.get(key, {}))
                          for key, name in gradients.items()})


def _add_outsiders(log, gradients, missed):
    """Operations of an overridden type that no block of this override saw, found by looking at the graph now."""
    graph = log.graph()
    if graph is None:
        return
    for op, path in _tf.operations_with_bodies(graph):
        key = op.type
        if key not in gradients:
            continue
        where = place_in_graph(op)
        if where in log.tagged.get(key, ()) or where in missed[key]:
            continue
        missed[key][where] = _why_outside(op, path, log, graph)


def _why_outside(op, path, log, graph):
    tag = _tf.tag_of(op)
    if tag is not None:
        return "tagged {!r} by another scope".format(tag)
    outer = graph.get_operation_by_name(path[0]) if path else op
    if not log.spans:
        return "not selected"
    if _tf.number_of(outer) <= min(first for first, _ in log.spans):
        return "built before the block"
    if _tf.number_of(outer) > max(last for _, last in log.spans):
        return "built after the block"
    return "built outside the block"


def _list(where):
    where = list(where)
    text = ", ".join(where[:_SHOWN])
    return text if len(where) <= _SHOWN else "{} and {} more".format(text, len(where) - _SHOWN)


def _ops(number):
    return "{} op{}".format(number, "" if number == 1 else "s")
