"""What a run's overrides and gradients did, and what TensorFlow kept quiet: one sentence each.

``diagnose(ys, xs, graph)`` looks at a graph; ``Watch`` follows a process, so that what happened in graphs that are
gone by the end is told too.
"""
import collections
import json
import weakref
from typing import Optional

from .. import _tf, foreign
from .._types import Graph, OneOrMore
from ..report import place_in_graph
from . import catalogue, overrides

_FAMILIES = (("PyFunc", "PyFuncStateless", "EagerPyFunc"),)
_V2_CONTROL = ("While", "StatelessWhile", "If", "StatelessIf", "Case", "StatelessCase")
_RANDOM = ("RandomStandardNormal", "RandomUniform", "RandomUniformInt", "TruncatedNormal", "RandomShuffle",
           "Multinomial", "RandomGamma", "RandomPoissonV2", "ParameterizedTruncatedNormal")
#: Op types whose registered gradient function returns None.
_GIVES_NONE = ("Round", "Rint", "Floor", "Ceil", "FloorDiv")
_UNKNOWN = "has no gradient registered"

#: One thing found: ``kind`` is a word to filter by, ``text`` the sentence, ``operations`` names.
Finding = collections.namedtuple("Finding", "kind text operations")


class Diagnosis:
    """What was found.

    Attributes:
        overrides: list of dicts op_type, tag, place, tagged, differentiated, missed ({reason: number}).
        findings: list of Finding.
    """

    def __init__(self, override_rows, findings):
        self.overrides = override_rows
        self.findings = findings

    def __str__(self):
        return "\n".join([_row_text(row) for row in self.overrides] + [finding.text for finding in self.findings])

    def to_json(self) -> str:
        """The same as a JSON text."""
        return json.dumps({"overrides": self.overrides, "findings": [finding._asdict() for finding in self.findings]},
                          indent=1, sort_keys=True)


def diagnose(ys: OneOrMore = None, xs: OneOrMore = None, graph: Optional[Graph] = None) -> Diagnosis:
    """Say what stands between a graph and the gradients that its author meant.

    Args:
        ys: a tensor or a list of tensors, as for tf.gradients; None to look at the graph only.
        xs: the same. For each y and x without a path that a gradient can take, the first operation that cuts it
            is named.
        graph: a tf.Graph; by default that of ``ys``, else the current one.

    Returns:
        A Diagnosis; print it.
    """
    ys, xs = _tensors(ys), _tensors(xs)
    if graph is None:
        graph = ys[0].graph if ys else _tf.v1.get_default_graph()
    findings = [finding for y in ys for x in xs for finding in why_none(y, x)]
    if ys and xs:
        findings += _tagged_on_the_way(ys, xs)
    return Diagnosis(_rows([graph]), findings + look_at(graph))


class Watch:
    """Follows tf.gradients while it is open, for the end of a run."""

    def __init__(self):
        self.findings = []
        self.graphs = weakref.WeakSet()
        self._undo = None

    def __enter__(self):
        self._undo = _tf.watch_gradients(self._seen)
        return self

    def __exit__(self, kind, error, trace):
        self._undo()
        return False

    def _seen(self, ys, xs, gradients, first, last):
        ys, xs = _tensors(ys), _tensors(xs)
        if not ys or not hasattr(ys[0], "graph"):
            return
        graph = ys[0].graph
        self.graphs.add(graph)
        for override in overrides.OPEN.get(graph, ()):
            override.gradient_spans.append((first, last))
        anything = any(gradient is not None for gradient in gradients)
        for x, gradient in zip(xs, gradients):
            if gradient is None and len(self.findings) < 100:
                # An optimizer asks for all variables, whether or not the loss depends on them.
                found = [finding for y in ys for finding in why_none(y, x)
                         if not (anything and "does not depend" in finding.text)]
                self.findings += [finding for finding in found if finding not in self.findings]

    def diagnosis(self):
        """The Diagnosis of everything that was built."""
        findings = list(self.findings)
        graphs = set(self.graphs) | set(overrides.graphs())
        if _tf.has_default_graph():
            graphs.add(_tf.v1.get_default_graph())
        rows = _rows(None)
        for row in rows:
            findings += _about_row(row)
        for graph in graphs:
            findings += [finding for finding in look_at(graph) if finding not in findings]
        return Diagnosis(rows, findings + [Finding("note", text, []) for text in catalogue.NOTES])


def _tensors(value):
    if value is None:
        return []
    values = list(value) if isinstance(value, (list, tuple)) else [value]
    return [getattr(v, "values", v) if not hasattr(v, "op") else v for v in values]


# --- Overrides ------------------------------------------------------------------------------------------

def _rows(graphs):
    rows = []
    for tally in overrides.TALLIES.values():
        if graphs is not None and not any(graph in tally.graphs for graph in graphs):
            continue
        rows.append({
            "op_type": tally.key, "tag": tally.label(), "place": tally.place, "tagged": tally.tagged,
            "differentiated": tally.differentiated, "missed": tally.missed(), "instead": tally.instead,
            "covered": tally.covered, "unknown": tally.unknown, "only_around_gradients": tally.only_around_gradients})
    return rows


def _row_text(row):
    text = "{op_type} -> {tag}: {tagged} ops tagged, the gradient went through {differentiated}".format(**row)
    if row["unknown"] is not None:
        text = "{op_type} -> {tag} ({place}): {op_type} is no operation type of this TensorFlow{0}".format(
            "; did you mean {}?".format(" or ".join(row["unknown"])) if row["unknown"] else "", **row)
    elif row["covered"] and not row["tagged"]:
        text += "; an inner override has taken them at {place}".format(**row)
    elif not row["tagged"]:
        text += "; {} matched nothing at {}".format(row["op_type"], row["place"])
        if row["instead"]:
            text += ", where there were {}, as TensorFlow {} may write it".format(", ".join(
                "{} ({})".format(*pair) for pair in sorted(row["instead"].items())), _tf.tf.__version__)
    elif not row["differentiated"]:
        text += ": no gradient that was built uses this override"
    for reason, operations in sorted(row["missed"].items()):
        text += "; {} without it, {} ({})".format(_ops(len(operations)), reason, foreign.some(operations))
    return text


def _about_row(row):
    if row["only_around_gradients"]:
        yield Finding("around-gradients", (
            "The override {op_type} -> {tag} at {place} was open only while tf.gradients ran, and the operations it "
            "means had been built before: their gradient is the ordinary one. Open it around the forward "
            "pass.").format(**row), [])


# --- A graph ---------------------------------------------------------------------------------------------

def look_at(graph):
    """Findings on what is in a graph."""
    by_type = collections.defaultdict(list)
    tags = collections.defaultdict(set)
    for op, _ in _tf.operations_with_bodies(graph):
        by_type[op.type].append(op)
        tag = _tf.tag_of(op)
        if tag is not None and not tag.startswith(("CustomGradient-", "PartitionedCall-")):
            tags[op.type].add(tag)
    findings = [Finding("unregistered", foreign.unregistered_text(name, where), where)
                for name, where in foreign.unregistered(graph).items()]
    findings += [Finding("python-function", foreign.lost_python_function_text(where, token), [where])
                 for where, token in foreign.lost_python_functions(graph)]
    loops = foreign.loops_without_context(graph)
    if loops:
        findings.append(Finding("imported-loop", foreign.loops_without_context_text(loops), loops))
    findings += _families(by_type, tags)
    findings += _variable_reads(by_type, tags)
    findings += _unseeded(by_type)
    findings += _meant_v1(by_type)
    return findings


def _families(by_type, tags):
    for family in _FAMILIES:
        tagged = [kind for kind in family if tags[kind]]
        for kind in family:
            if tagged and by_type[kind] and not tags[kind]:
                names = [place_in_graph(op) for op in by_type[kind]]
                yield Finding("family", (
                    "{} is overridden, which does not reach {} of type {} ({}): add {!r} to the map.").format(
                        " and ".join(tagged), _ops(len(names)), kind, foreign.some(names), kind), names)


def _variable_reads(by_type, tags):
    if not tags["Identity"]:
        return
    reads = [op for op in by_type["Identity"] if _tf.tag_of(op) in tags["Identity"] and op.inputs
             and op.inputs[0].op.type in ("VariableV2", "Variable")]
    if reads:
        names = [place_in_graph(op) for op in reads]
        yield Finding("identity", "The override of Identity also holds for reads of variables, {} ({}): the gradient "
                      "with respect to the variable goes through it.".format(
                          _ops(len(names)), foreign.some(names)), names)
    if by_type["ReadVariableOp"]:
        names = [place_in_graph(op) for op in by_type["ReadVariableOp"]]
        yield Finding("identity", "Identity is overridden, which does not reach {} of type ReadVariableOp ({}), which "
                      "TF 1 wrote as Identity.".format(_ops(len(names)), foreign.some(names)), names)


def _unseeded(by_type):
    names = [place_in_graph(op) for kind in _RANDOM for op in by_type[kind]
             if not any(_attribute(op, name) for name in ("seed", "seed2"))]
    if names:
        yield Finding("unseeded", "{} without any seed ({}): other numbers in each run.".format(
            _ops(len(names), "random op"), foreign.some(names)), names)


def _meant_v1(by_type):
    control = [place_in_graph(op) for kind in _V2_CONTROL for op in by_type[kind]]
    if control:
        yield Finding("control-flow-v2", "Control flow v2: {} ({}), whose bodies TensorFlow's own "
                      "gradient_override_map does not reach; tf.disable_v2_behavior() gives TF 1's.".format(
                          _ops(len(control)), foreign.some(control)), control)
    handles = [place_in_graph(op) for op in by_type["VarHandleOp"]]
    if handles:
        yield Finding("resource-variables", "Resource variables: {} ({}), read by ReadVariableOp where "
                      "TF 1 had Identity; tf.disable_resource_variables() gives TF 1's.".format(
                          _ops(len(handles), "variable"), foreign.some(handles)), handles)


def _attribute(op, name):
    try:
        return op.get_attr(name)
    except ValueError:
        return 0


# --- Paths -----------------------------------------------------------------------------------------------

def why_none(y, x):
    """Findings that say why the gradient of y with respect to x is None; none if a gradient can take a path."""
    start = x.op
    reached = _tf.downstream([start])
    names = [y.name, x.name]
    if y.op not in reached:
        return [Finding("none", "The gradient of {0!r} with respect to {1!r} is None: {0!r} does not depend on "
                        "{1!r}.".format(y.name, x.name), names)]
    path = reached & _tf.upstream([y.op])
    open_, stack, cuts = set(), [start], []
    while stack:
        op = stack.pop()
        if op in open_:
            continue
        open_.add(op)
        if op is not start and op is not y.op:
            reason = _cut(op)
            if reason:
                cuts.append((op, reason))
                continue
        stack += [c for out in op.outputs if _carries(out) for c in out.consumers() if c in path]
        if any(not _carries(out) and any(c in path for c in out.consumers()) for out in op.outputs):
            cuts.append((op, _dtype_reason(op)))
    if y.op in open_ and y.op is not start:
        reason = _cut(y.op) if y.op not in (op for op, _ in cuts) else None
        if reason is None and _carries(y):
            return []
        cuts.append((y.op, reason or _dtype_reason(y.op)))
    if not cuts:
        return []
    op, reason = min(cuts, key=lambda cut: _tf.number_of(cut[0]))
    if reason == _UNKNOWN:
        return [Finding("none", "The gradient of {!r} with respect to {!r} cannot be built: operation {!r} (type {}) "
                        "{}. Register one: @graphgrad.register_gradient(NAME) and override_gradients({{{!r}: NAME}}), "
                        "or skip the operation with graphgrad.ops.skip_gradient.".format(
                            y.name, x.name, op.name, op.type, reason, op.type), [op.name])]
    return [Finding("none", "The gradient of {!r} with respect to {!r} is None: operation {!r} (type {}) {}, so no "
                    "gradient function before it is asked.".format(y.name, x.name, op.name, op.type, reason),
                    [op.name])]


def _carries(tensor):
    dtype = tensor.dtype.base_dtype
    return dtype.is_floating or dtype.is_complex or dtype in (_tf.tf.resource, _tf.tf.variant)


def _dtype_reason(op):
    return "gives {}, which carries no gradient".format(" and ".join(sorted({
        out.dtype.base_dtype.name for out in op.outputs if not _carries(out)})) or "nothing")


def _cut(op):
    """Why no gradient goes through an operation to its inputs, or None."""
    if op.outputs and not any(_carries(out) for out in op.outputs):
        return _dtype_reason(op)
    if _tf.bound_gradient(op) is not None:
        return None
    try:
        gradient = _tf.registered_gradient(_tf.tag_of(op) or op.type)
    except KeyError:
        return None if _tf.has_bodies(op.type) else _UNKNOWN
    if gradient is None:
        return "is registered as not differentiable"
    if op.type in _GIVES_NONE and _tf.tag_of(op) is None:
        return "has None for its gradient in TensorFlow"
    return None


def _tagged_on_the_way(ys, xs):
    path = _tf.downstream([x.op for x in xs]) & _tf.upstream([y.op for y in ys])
    tagged = collections.OrderedDict()
    for op in sorted(path, key=_tf.number_of):
        tag = _tf.tag_of(op)
        if tag and not tag.startswith(("CustomGradient-", "PartitionedCall-")):
            tagged.setdefault((op.type, tag), []).append(op.name)
    return [Finding("path", "Between xs and ys: {} of type {} with {!r} ({}).".format(
        _ops(len(names)), kind, tag, foreign.some(names)), names) for (kind, tag), names in tagged.items()]


def _ops(number, noun="op"):
    return "{} {}{}".format(number, noun, "" if number == 1 else "s")
