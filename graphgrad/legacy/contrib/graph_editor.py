"""tf.contrib.graph_editor: the part that old gradient code (memory saving, attribution) uses.

Selecting operations, walking the graph, rewiring inputs, and copying a part of a graph with other inputs. Stands on
Operation._update_input and on copying NodeDefs, on TF 1.15 to 2.21.
"""
import re
import sys

from tensorflow.core.framework import node_def_pb2

from .._tf1 import tf


def _flat(tops):
    if tops is None:
        return []
    if isinstance(tops, dict):
        tops = list(tops.values())
    if isinstance(tops, (list, tuple, set)) or hasattr(tops, "__iter__") and not isinstance(tops, tf.Tensor):
        return [item for top in tops for item in _flat(top)]
    return [tops]


def make_list_of_op(ops, check_graph=True, allow_graph=True, ignore_ts=False):
    """A list of operations, from one, a list, or a whole graph."""
    if isinstance(ops, tf.Graph):
        return ops.get_operations()
    found = _flat(ops)
    if ignore_ts:
        found = [op for op in found if isinstance(op, tf.Operation)]
    for op in found:
        if not isinstance(op, tf.Operation):
            raise TypeError("Expected an operation, got: {}".format(type(op)))
    return found


def make_list_of_t(ts, check_graph=True, allow_graph=True, ignore_ops=False):
    """A list of tensors, from one, a list, or all outputs in a graph."""
    if isinstance(ts, tf.Graph):
        return [out for op in ts.get_operations() for out in op.outputs]
    return [t for t in _flat(ts) if not (ignore_ops and isinstance(t, tf.Operation))]


class SubGraphView(list):
    """Some operations of a graph, in order: a list, with the tensors that cross its border."""

    @property
    def ops(self):
        """The operations."""
        return list(self)

    @property
    def graph(self):
        """Their graph."""
        return self[0].graph

    @property
    def inputs(self):
        """The tensors that they take from outside."""
        inside = set(self)
        return list({id(t): t for op in self for t in op.inputs if t.op not in inside}.values())

    @property
    def outputs(self):
        """The tensors that others take from them."""
        inside = set(self)
        return [t for op in self for t in op.outputs if not t.consumers() or set(t.consumers()) - inside]


def sgv(*args, **kwargs):
    """A view of operations, given as for select_ops."""
    return SubGraphView(select_ops(*args, **kwargs))


make_view = sgv


def make_view_from_scope(scope, graph):
    """A view of the operations in a name scope."""
    return SubGraphView(get_name_scope_ops(graph, scope))


sgv_scope = make_view_from_scope


def get_tensors(graph):
    """All tensors of a graph."""
    return make_list_of_t(graph)


def get_ops_ios(ops, control_inputs=False, control_outputs=None, control_ios=None):
    """The operations before and after these."""
    return [other for op in make_list_of_op(ops)
            for other in [t.op for t in op.inputs] + [c for t in op.outputs for c in t.consumers()]]


def get_generating_ops(ts):
    """The operations that give these tensors."""
    return list(dict.fromkeys(t.op for t in make_list_of_t(ts)))


def get_consuming_ops(ts):
    """The operations that take these tensors."""
    return list(dict.fromkeys(op for t in make_list_of_t(ts) for op in t.consumers()))


def can_be_regex(obj):
    """Whether it is a pattern, compiled or not."""
    return isinstance(obj, str) or hasattr(obj, "search")


def make_regex(obj):
    """A pattern, compiled."""
    if not can_be_regex(obj):
        raise ValueError("Expected a string or a regex, got: {}".format(type(obj)))
    return re.compile(obj) if isinstance(obj, str) else obj


def filter_ops_from_regex(ops, regex):
    """Those of the operations in whose names the pattern is found."""
    pattern = make_regex(regex)
    return [op for op in make_list_of_op(ops) if pattern.search(op.name)]


def filter_ts_from_regex(ops, regex):
    """The output tensors, of these operations, in whose names the pattern is found."""
    pattern = make_regex(regex)
    return [t for op in make_list_of_op(ops) for t in op.outputs if pattern.search(t.op.name)]


def filter_ts(ops, positive_filter):
    """The output tensors of operations for which the predicate holds; True for all."""
    return [t for op in make_list_of_op(ops) for t in op.outputs if positive_filter is True or positive_filter(t)]


def filter_ops(ops, positive_filter):
    """Those for which the predicate holds."""
    ops = make_list_of_op(ops)
    return ops if positive_filter in (None, True) else [op for op in ops if positive_filter(op)]


def get_name_scope_ops(ops, scope):
    """Those in a name scope."""
    scope = scope.rstrip("/")
    return filter_ops_from_regex(ops, re.compile("^{}(/.*)?$".format(re.escape(scope))))


def select_ops(*args, **kwargs):
    """Operations by name pattern (``graph=`` needed) or as they are given; tensors among them are passed over.

    With ``restrict_ops_regex`` only the patterns that begin with (?#ops) count; ``positive_filter(op)`` chooses.
    """
    graph, restrict = kwargs.get("graph"), kwargs.get("restrict_ops_regex")
    found = []
    for arg in args:
        if can_be_regex(arg):
            if graph is None:
                raise ValueError("Use the keyword argument 'graph' to use regex.")
            pattern = make_regex(arg)
            if pattern.pattern.startswith("(?#ops)") or not (restrict or pattern.pattern.startswith("(?#ts)")):
                found += filter_ops_from_regex(graph, pattern)
        else:
            found += make_list_of_op(arg, ignore_ts=True)
    return filter_ops(list(dict.fromkeys(found)), kwargs.get("positive_filter"))


def select_ts(*args, **kwargs):
    """Tensors by name pattern (``graph=`` needed) or as they are given."""
    graph, found = kwargs.get("graph"), []
    for arg in args:
        if can_be_regex(arg):
            if graph is None:
                raise ValueError("Use the keyword argument 'graph' to use regex.")
            text = arg[len("(?#ts)"):] if isinstance(arg, str) and arg.startswith("(?#ts)") else arg
            pattern = make_regex(text)
            found += [t for t in get_tensors(graph) if pattern.search(t.name)]
        else:
            found += make_list_of_t(arg)
    return list(dict.fromkeys(found))


def select_ops_and_ts(*args, **kwargs):
    """(operations, tensors): a pattern that begins with (?#ts) means tensors."""
    texts = [arg for arg in args if isinstance(arg, str) and arg.startswith("(?#ts)")]
    return select_ops(*[arg for arg in args if arg not in texts], **kwargs), select_ts(*texts, **kwargs)


def _inputs(op):
    return list(op.inputs)


def _outputs(op):
    return list(op.outputs)


def _within(within_ops):
    return None if within_ops is None else set(make_list_of_op(within_ops))


def get_backward_walk_ops(seed_ops, inclusive=True, within_ops=None, within_ops_fn=None, stop_at_ts=(),
                          control_inputs=False):
    """Every operation that these (or the operations of these tensors) depend on."""
    return _walk_from(seed_ops, _inputs, inclusive, within_ops, within_ops_fn, stop_at_ts)


def get_forward_walk_ops(seed_ops, inclusive=True, within_ops=None, within_ops_fn=None, stop_at_ts=(),
                         control_outputs=None):
    """Every operation that depends on these (or on these tensors)."""
    return _walk_from(seed_ops, _outputs, inclusive, within_ops, within_ops_fn, stop_at_ts)


def _walk_from(seeds, following, inclusive, within_ops, within_fn, stop_at_ts):
    seeds = _flat(seeds)
    if seeds and not isinstance(seeds[0], tf.Operation):
        seeds = get_generating_ops(seeds) if following is _inputs else get_consuming_ops(seeds)
    within = _within(within_ops)
    stop = {id(t) for t in make_list_of_t(stop_at_ts)}
    found = dict.fromkeys(op for op in seeds if within is None or op in within)
    todo = list(found)
    while todo:
        op = todo.pop(0)
        for t in following(op):
            if id(t) in stop:
                continue
            for other in ([t.op] if following is _inputs else t.consumers()):
                allowed = (within is None or other in within) and (within_fn is None or within_fn(other))
                if other not in found and allowed:
                    found[other] = None
                    todo.append(other)
    return [op for op in found if inclusive or op not in seeds]


def get_walks_intersection_ops(forward_seed_ops, backward_seed_ops, forward_inclusive=True, backward_inclusive=True,
                               within_ops=None, within_ops_fn=None, control_inputs=False, control_outputs=None,
                               control_ios=None):
    """The operations that lie between."""
    backward = set(get_backward_walk_ops(backward_seed_ops, backward_inclusive, within_ops, within_ops_fn))
    return [op for op in get_forward_walk_ops(forward_seed_ops, forward_inclusive, within_ops, within_ops_fn)
            if op in backward]


def get_walks_union_ops(forward_seed_ops, backward_seed_ops, forward_inclusive=True, backward_inclusive=True,
                        within_ops=None, within_ops_fn=None, control_inputs=False, control_outputs=None,
                        control_ios=None):
    """The operations that depend on the first or that the second depend on."""
    forward = get_forward_walk_ops(forward_seed_ops, forward_inclusive, within_ops, within_ops_fn)
    return list(dict.fromkeys(
        forward + get_backward_walk_ops(backward_seed_ops, backward_inclusive, within_ops, within_ops_fn)))


def get_within_boundary_ops(ops, seed_ops, boundary_ops=(), inclusive=True, control_inputs=False,
                            control_outputs=None, control_ios=None):
    """The operations reached, in both directions, from the seeds without crossing the boundary."""
    within, boundary = set(make_list_of_op(ops)), set(make_list_of_op(boundary_ops))
    found, todo = {}, list(make_list_of_op(seed_ops))
    while todo:
        op = todo.pop()
        if op in found or op not in within or (op in boundary and not inclusive):
            continue
        found[op] = None
        if op not in boundary:
            todo += get_ops_ios(op)
    return list(found)


# --- Rewiring ---------------------------------------------------------------------------------------------

def _moved(ts0, ts1, can_modify, cannot_modify, both):
    ts0, ts1 = make_list_of_t(ts0), make_list_of_t(ts1)
    if len(ts0) != len(ts1):
        raise ValueError("Cannot reroute two lists of tensors with different sizes: {} != {}".format(
            len(ts0), len(ts1)))
    may, may_not = _within(can_modify), _within(cannot_modify) or set()
    consumers = {id(t): dict.fromkeys(t.consumers()) for t in ts0 + ts1}   # of all, before any is changed
    changed = 0
    for t0, t1 in zip(ts0, ts1):
        for new, old in ((t0, t1), (t1, t0)) if both else ((t0, t1),):
            for op in consumers[id(old)] if new is not old else ():
                if op in may_not or (may is not None and op not in may):
                    continue
                for index in [index for index, taken in enumerate(op.inputs) if taken is old]:
                    op._update_input(index, new)
                    changed += 1
    return changed


def reroute_ts(ts0, ts1, can_modify=None, cannot_modify=None):
    """Let whoever takes a tensor of ``ts1`` take that of ``ts0`` instead; returns how many inputs were changed."""
    return _moved(ts0, ts1, can_modify, cannot_modify, both=False)


def swap_ts(ts0, ts1, can_modify=None, cannot_modify=None):
    """Exchange the consumers of two lists of tensors; returns how many inputs were changed."""
    return _moved(ts0, ts1, can_modify, cannot_modify, both=True)


def _border(tops, side):
    """The operations given, and the tensors given or, if none are, those that cross the operations' border."""
    ops = SubGraphView(make_list_of_op(tops, ignore_ts=True))
    return ops, make_list_of_t(tops, ignore_ops=True) or getattr(ops, side)


def reroute_inputs(sgv0, sgv1):
    """Let the operations ``sgv1`` take, in order, what ``sgv0`` (operations or tensors) take or are."""
    (ops0, new), (ops1, old) = _border(sgv0, "inputs"), _border(sgv1, "inputs")
    reroute_ts(new, old, can_modify=ops0 + ops1)
    return sgv0, sgv1


def reroute_outputs(sgv0, sgv1):
    """Let whoever takes the outputs of ``sgv1`` take, in order, those of ``sgv0``."""
    (ops0, new), (ops1, old) = _border(sgv0, "outputs"), _border(sgv1, "outputs")
    reroute_ts(new, old, cannot_modify=ops0 + ops1)
    return sgv0, sgv1


def reroute_ios(sgv0, sgv1):
    """Both: ``sgv0`` takes the place of ``sgv1``."""
    reroute_outputs(sgv0, sgv1)
    return reroute_inputs(sgv0, sgv1)


def add_control_inputs(op, cops):
    """Let an operation wait for others."""
    op._add_control_inputs(make_list_of_op(cops))


def remove_control_inputs(op, cops):
    """Let an operation wait for these others no more."""
    gone = set(make_list_of_op(cops))
    kept = [other for other in op.control_inputs if other not in gone]
    op._remove_all_control_inputs()
    op._add_control_inputs(kept)


# --- Copying ----------------------------------------------------------------------------------------------

class _Copied:
    """What a copy made: ``transformed`` and ``original`` look an operation or tensor up."""

    def __init__(self, ops, tensors):
        self._transformed_ops, self._tensors = ops, tensors   # read by gradient checkpointing

    def transformed(self, original, missing_fn=None):
        """The copy of an operation or tensor, or of each of a list."""
        if isinstance(original, (list, tuple)):
            return [self.transformed(item) for item in original]
        if isinstance(original, tf.Operation):
            return self._transformed_ops.get(original)
        return self._tensors.get(id(original))


def copy_with_input_replacements(sgv, replacement_ts, dst_graph=None, dst_scope="", src_scope="",
                                 reuse_dst_scope=False):
    """Copy operations, with other tensors for some of their inputs.

    Args:
        sgv: operations.
        replacement_ts: dict from input tensors to what the copies take instead.
        dst_graph: where to; by default their graph.
        dst_scope: name scope of the copies.
        src_scope: a prefix of the names to leave out.
        reuse_dst_scope: True to take a scope that is there.

    Returns:
        (copies, info): the new operations, and an object whose ``transformed(t)`` gives the copy of one.
    """
    ops = sorted(set(make_list_of_op(sgv)), key=lambda op: op._id)
    graph = dst_graph or (ops[0].graph if ops else tf.get_default_graph())
    replaced = {}
    for old, new in replacement_ts.items():
        old = old.deref() if hasattr(old, "deref") else old
        replaced[id(old)] = tf.convert_to_tensor(new)
    made, tensors = {}, {}
    with graph.as_default():
        scope = dst_scope if reuse_dst_scope or not dst_scope else graph.unique_name(dst_scope.rstrip("/"))
        for op in ops:
            if any(edge for edge in op.inputs if edge.op in ops and edge.op._id > op._id):
                raise NotImplementedError("graphgrad's graph_editor does not copy loops of control flow v1.")
            inputs = [replaced.get(id(t), tensors.get(id(t), t)) for t in op.inputs]
            control = [made.get(other, other) for other in op.control_inputs]
            definition = node_def_pb2.NodeDef()
            definition.CopyFrom(op.node_def)
            name = op.name[len(src_scope):].lstrip("/") if src_scope and op.name.startswith(src_scope) else op.name
            definition.name = graph.unique_name("{}/{}".format(scope.rstrip("/"), name) if scope else name)
            del definition.input[:]
            with graph.control_dependencies(None):
                with graph.control_dependencies(control):
                    copy = _create(graph, definition, inputs, op)
            made[op] = copy
            for old, new in zip(op.outputs, copy.outputs):
                new.set_shape(old.get_shape())
                tensors[id(old)] = new
    return SubGraphView(made[op] for op in ops), _Copied(made, tensors)


def _create(graph, definition, inputs, op):
    attributes = dict(definition.attr)
    creator = getattr(graph, "_create_op_internal", None) or graph.create_op
    return creator(definition.op, inputs, [out.dtype for out in op.outputs], name=definition.name + "/",
                   attrs=attributes, op_def=op.op_def)


def copy(sgv, dst_graph=None, dst_scope="", src_scope="", reuse_dst_scope=False):
    """Copy operations as they are."""
    return copy_with_input_replacements(sgv, {}, dst_graph, dst_scope, src_scope, reuse_dst_scope)


def graph_replace(target_ts, replacement_ts, dst_scope="", src_scope="", reuse_dst_scope=False):
    """What the targets would be if other tensors stood in the graph: copies of all that depends on these.

    Args:
        target_ts: a tensor, or a list or dict of tensors.
        replacement_ts: dict from tensors to what shall stand in their place.
        dst_scope: as for copy_with_input_replacements.
        src_scope: as there.
        reuse_dst_scope: as there.
    """
    targets = _flat(target_ts)
    olds = [old.deref() if hasattr(old, "deref") else old for old in replacement_ts]
    between = get_walks_intersection_ops(
        [op for t in olds for op in t.consumers()], [t.op for t in targets])
    if not between:
        raise ValueError("Targets and replacements are not connected!")
    _, info = copy_with_input_replacements(between, replacement_ts, None, dst_scope, src_scope, reuse_dst_scope)

    def new(t):
        return info.transformed(t) if info.transformed(t) is not None else t

    if isinstance(target_ts, dict):
        return {name: new(t) for name, t in target_ts.items()}
    if isinstance(target_ts, (list, tuple)):
        return [new(t) for t in target_ts]
    return new(target_ts)



#: The modules that it consisted of.
edit = reroute = select = subgraph = transform = util = sys.modules[__name__]
