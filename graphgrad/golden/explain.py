"""Why a result differs, as far as two recordings can tell, and which knob to turn."""
import numpy as np

from .names import operation_kind
from .values import compare_values

#: Differences up to so many times what is allowed may still be rounding; beyond it is something else.
_ROUNDING = 200
_ROUNDED_BY_ONEDNN = {"Conv2D", "DepthwiseConv2dNative", "Conv2DBackpropInput", "Conv2DBackpropFilter", "MatMul",
                      "BatchMatMulV2", "FusedBatchNormV3", "Softmax", "AvgPool", "MaxPool", "Conv3D", "_FusedConv2D"}
_SHAPE_ONLY = {"Reshape", "Identity", "Cast", "StopGradient", "Squeeze", "ExpandDims", "PlaceholderWithDefault"}


def explain(result, new, old):
    """Sentences that explain a Comparison that found differences, the likeliest cause first.

    Args:
        result: the Comparison.
        new: the new Recording.
        old: the old Recording.

    Returns:
        list of str; empty if nothing differs, or nothing is recognised.
    """
    first = next((difference for difference in result.differences if difference.tensor is not None), None)
    if first is None:
        return []
    sentences = []
    for reason in (_arguments_swapped, _override_missed, _resource_variables, _random_stream):
        sentences += reason(first, new, old)
    sentences += _shape_of(first, new, old)
    if not sentences:
        sentences += _rounding(result, first, new, old)
    return sentences


# What the two graphs say.

def _override_missed(first, new, old):
    then, now = _tagged(old), _tagged(new)
    sentences = []
    for op_type in sorted(then):
        count, had = now.get(op_type, 0), then[op_type]
        if count >= had:
            continue
        there = _histogram(new).get(op_type, 0)
        others = sorted(name for name in _histogram(new) if name != op_type
                        and operation_kind(name) == operation_kind(op_type))
        if there > count:
            sentences.append(
                "override missed: {} {}s were built outside the block ({} of {} carry the override now, {} of {} "
                "then), so the ordinary gradient is in its place; build them in the block, or use "
                "override_gradients(...).on(graph)".format(
                    there - count, op_type, count, there, had, _histogram(old).get(op_type, had)))
        elif others:
            sentences.append(
                "override missed: this TensorFlow builds {} where {} was built then, so the key {!r} meets nothing and "
                "the ordinary gradient is in its place; override {} as well".format(
                    ", ".join(others), op_type, op_type, ", ".join(others)))
        else:
            sentences.append("override missed: {} {}s carried one then, and {} do now".format(had, op_type, count))
    return sentences


def _tagged(recording):
    counts = {}
    for entry in recording.meta.get("overrides") or ():
        counts[entry["op_type"]] = counts.get(entry["op_type"], 0) + entry["tagged"]
    return counts


def _histogram(recording):
    counts = {}
    for graph in recording.graphs:
        for name, count in graph.get("histogram", {}).items():
            counts[name] = counts.get(name, 0) + count
    return counts


def _resource_variables(first, new, old):
    reference = sum(_histogram(old).get(name, 0) for name in ("Variable", "VariableV2"))
    if not reference or not _histogram(new).get("VarHandleOp") or "Identity" not in _tagged(old):
        return []
    return ["resource variables are here where reference variables were: reading one is no Identity, so an override of "
            "Identity does not touch it; use tf.disable_v2_behavior() or tf.disable_resource_variables()"]


def _arguments_swapped(first, new, old):
    for kind, is_place in (("softmax_cross_entropy_with_logits", _is_softmax_loss),
                           ("sigmoid_cross_entropy_with_logits", _is_sigmoid_loss)):
        ends = [[_origins(graph, place) for graph in recording.graphs for place, node in enumerate(_nodes(graph))
                 if is_place(node)] for recording in (new, old)]
        for now, then in zip(*ends):
            if len(now) == len(then) == 2 and now == then[::-1] and now[0] != now[1]:
                return ["the arguments of {} have changed places: {} and {} now, {} and {} then; TF 0.x took (logits, "
                        "labels), today's takes (labels, logits): name them".format(kind, *(now + then))]
    return []


def _is_softmax_loss(node):
    return node[1] == "SoftmaxCrossEntropyWithLogits"


def _is_sigmoid_loss(node):
    return node[1] == "Mul" and node[0].endswith("logistic_loss/mul")


def _origins(graph, place):
    """Names of the tensors that go into an operation, looked for behind what only shapes or copies them."""
    nodes = _nodes(graph)
    names = []
    for source in nodes[place][2]:
        seen = set()   # a file may hold a circle
        while nodes[source][1] in _SHAPE_ONLY and nodes[source][2] and source not in seen:
            seen.add(source)
            source = nodes[source][2][0]
        names.append(nodes[source][0])
    return names


def _nodes(graph):
    return graph.get("nodes", [])


def _random_stream(first, new, old):
    drawn = [_random_upstream(first.tensor.name, recording) for recording in (new, old)]
    for op, seeds in drawn[1].items():
        if op in drawn[0] and drawn[0][op] != seeds:
            return ["another stream of random numbers: {} has the seeds {} now, {} then; graphgrad compare SCRIPT "
                    "OLD.npz replays those of then".format(op, tuple(drawn[0][op]), tuple(seeds))]
    if drawn[1] and not drawn[0]:
        return ["{} was drawn then and is not random now".format(first.tensor.name)]
    return []


def _random_upstream(name, recording):
    """{name: seeds} of the random operations that a tensor, or the initial value of a variable, is made of."""
    name = name.split(":")[0]
    for graph in recording.graphs:
        nodes = _nodes(graph)
        place = next((place for place, node in enumerate(nodes) if node[0] == name), None)
        if place is None:
            continue
        initializers = {}
        for node in nodes:
            if node[1] in ("Assign", "AssignVariableOp") and len(node[2]) == 2:
                initializers.setdefault(node[2][0], node[2][1])   # the first is the initializer
        seeds = {op[0]: op[2:] for op in graph.get("random", [])}
        seen, front, found = set(), [place], {}
        while front:
            place = front.pop()
            if place in seen:
                continue
            seen.add(place)
            if nodes[place][0] in seeds:
                found[nodes[place][0]] = seeds[nodes[place][0]]
            front += nodes[place][2] + ([initializers[place]] if place in initializers else [])
        return found
    return {}


# What the values say.

def _shape_of(first, new, old):
    tensor = first.tensor
    if first.kind == "dtype":
        return ["the values have another type: cast where they are made, or record anew if the change is meant"]
    if first.kind != "values" or tensor.keys is None or tensor.tolerance is None:
        return []
    now, then = new.array(tensor.keys[0]), old.array(tensor.keys[1])
    if now.shape != then.shape or not (np.isfinite(now).all() and np.isfinite(then).all()):
        return []
    if not now.any():
        return ["{} is all zeros now: nothing reaches it, or a gradient was stopped".format(tensor.name)]
    if not then.any():
        return ["{} was all zeros then, and is not now".format(tensor.name)]
    wide = np.complex128 if then.dtype.kind == "c" else np.float64
    now, then = now.astype(wide), then.astype(wide)
    factor = (np.vdot(then, now) / np.vdot(then, then)).real
    if then.size > 1 and abs(factor - 1) > 1e-4 and _close(now, factor * then, tensor):
        if abs(factor + 1) < 1e-4:
            return ["{} has the other sign, exactly: a gradient reversal or a minus is missing, or there twice".format(
                tensor.name)]
        return ["{} is {:.6g} times what it was, exactly{}".format(tensor.name, factor, _meaning(factor, tensor, old))]
    if then.ndim > 1 and now.shape == then.T.shape and _close(now, then.T, tensor):
        return ["{} is the transpose of what it was: arguments or axes have changed places".format(tensor.name)]
    if then.size > 2 and _close(np.sort(now.ravel()), np.sort(then.ravel()), tensor):
        return ["{} has the same values in another order: arguments, axes or a shuffle have changed".format(
            tensor.name)]
    return []


def _close(now, then, tensor):
    return compare_values(now, then, tensor.tolerance).ratio <= 1


def _meaning(factor, tensor, old):
    """A size among the feeds of the run that the factor may be."""
    if not 0 <= tensor.group < len(old.runs):
        return ""
    sizes = {}
    for entry in old.runs[tensor.group]["feeds"]:
        for axis, size in enumerate(entry.get("shape", [])):
            if size > 3:   # two and three are common without being a batch
                sizes.setdefault(size, "axis {} of the feed {}".format(axis, entry["name"]))
    for value, what in ((factor, "a sum where a mean was"), (1 / factor, "a mean where a sum was")):
        size = int(round(value))
        if size in sizes and abs(value - size) < 1e-3 * size:
            return ": {} is the size of {}, so this may be {}".format(size, sizes[size], what)
    return ""


def _rounding(result, first, new, old):
    if first.kind != "values" or not first.tensor.ratio <= _ROUNDING:
        return []
    sentences = []
    onednn = new.meta.get("onednn") and not old.meta.get("onednn")
    used = sorted(_ROUNDED_BY_ONEDNN & set(_histogram(new)))
    if onednn and used:
        sentences.append("it is small enough to be oneDNN's rounding of {}: run with TF_ENABLE_ONEDNN_OPTS=0".format(
            ", ".join(used[:3])))
    elif first.tensor.ratio <= 10:
        sentences.append("it is small enough to be rounding that has grown over {}{}: if so, give --tolerance "
                         "'{}={:.0e},{:.0e}'".format(
                             "the runs" if first.tensor.group > 0 else "the operations", _other_machine(new, old),
                             first.tensor.name, *_wider(first.tensor)))
    return sentences


def _wider(tensor):
    scale = 2 * tensor.ratio
    return tensor.tolerance[0] * scale, tensor.tolerance[1] * scale


def _other_machine(new, old):
    if new.meta.get("cpu_flags") != old.meta.get("cpu_flags"):
        return ", on another processor"
    if new.meta.get("threads") != old.meta.get("threads"):
        return ", with another number of threads"
    return ""
