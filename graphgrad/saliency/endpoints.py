"""What of a graph is its input and its output, where that is unambiguous; the candidates where it is not."""
import difflib

from .. import _tf
from ..errors import SaliencyError

_SHOWN = 12


def tensor_named(graph, name):
    """A tensor of a graph by its name, with or without ":0"; SaliencyError with close matches if there is none."""
    try:
        return graph.get_tensor_by_name(name if ":" in name else name + ":0")
    except (KeyError, ValueError):
        names = [op.name for op in graph.get_operations() if op.outputs]
        close = difflib.get_close_matches(name.split(":")[0], names, n=3)
        raise SaliencyError("The graph has no tensor {!r}.{}".format(
            name, " Did you mean {}?".format(" or ".join(repr(c + ":0") for c in close)) if close else "")) from None


def of_graph(graph, x=None, y=None):
    """(x, y, notes) of a graph of which nothing is known.

    An input is a placeholder of floats that an output depends on. The outputs of an input are the floating tensors
    that depend on it and on no other placeholder of one or more axes, as a loss does on labels, and that
    nothing else of that kind is computed from.

    Args:
        graph: a tf.Graph.
        x: name of the input, or None to find it.
        y: the same for the output.

    Raises:
        SaliencyError: there is none, or more than one; the message lists them.
    """
    if x is not None:
        inputs = [tensor_named(graph, x)]
    else:
        inputs = _placeholders(graph)
        if y is not None:
            needed = _tf.upstream([tensor_named(graph, y).op])
            inputs = [tensor for tensor in inputs if tensor.op in needed]
    outputs = {tensor: [tensor_named(graph, y)] if y is not None else _outputs(graph, tensor) for tensor in inputs}
    if x is None:
        inputs = [tensor for tensor in inputs if outputs[tensor]]
    x = _only(inputs, "input", "x", _not_floating(graph))
    if y is not None:
        return x, outputs[x][0], []
    return (x,) + _logits(_only(outputs[x], "output", "y"))


def of_lists(graph, inputs, outputs, x=None, y=None):
    """The same where the inputs and outputs are known, as in a signature: the floating ones count."""
    if x is not None:
        x = tensor_named(graph, x)
    else:
        floating = [tensor for tensor in inputs if tensor.dtype.is_floating]
        x = _only(floating, "input", "x", [tensor for tensor in inputs if tensor not in floating])
    if y is not None:
        return x, tensor_named(graph, y), []
    floating = [tensor for tensor in outputs if tensor.dtype.is_floating]
    return (x,) + _logits(_only(_distinct(floating), "output", "y"))


def _placeholders(graph):
    found = [op.outputs[0] for op in graph.get_operations() if op.type == "Placeholder"]
    if not found:
        found = [op.outputs[0] for op in graph.get_operations() if op.type == "PlaceholderWithDefault"]
    return [tensor for tensor in found if tensor.dtype.is_floating and tensor.shape.ndims != 0]


def _not_floating(graph):
    return [op.outputs[0] for op in graph.get_operations() if op.type == "Placeholder"
            and not op.outputs[0].dtype.is_floating and op.outputs[0].shape.ndims != 0]


def _outputs(graph, x):
    others = set()      # what depends on other placeholders
    mine = {x.op}
    for op in graph.get_operations():
        if op is x.op:
            continue
        if op.type == "Placeholder" and op.outputs[0].shape.ndims != 0:
            others.add(op)
        elif any(tensor.op in others for tensor in op.inputs):
            others.add(op)
        elif any(tensor.op in mine for tensor in op.inputs) and any(out.dtype.is_floating for out in op.outputs):
            mine.add(op)
    return [out for op in graph.get_operations() if op in mine and op is not x.op for out in op.outputs[:1]
            if out.dtype.is_floating and not out.dtype._is_ref_dtype
            and not any(consumer in mine for consumer in out.consumers())]


def _distinct(tensors):
    found = []
    for tensor in tensors:
        if tensor not in found:
            found.append(tensor)
    return found


def _only(tensors, what, name, others=()):
    if len(tensors) == 1:
        return tensors[0]
    if not tensors:
        text = "The model has no floating {} that could be found: name a tensor with {}=".format(what, name)
        if others:
            text += "; it has {}, which have no gradient: take a floating tensor behind".format(_listed(others))
            behind = _behind(others)
            text += ", such as {}".format(_listed(behind)) if behind else ""
        raise SaliencyError(text + ".")
    raise SaliencyError("The model has {} {}s: choose one with {}=. There are {}.".format(
        len(tensors), what, name, _listed(tensors)))


def _behind(tensors):
    """The first floating tensors that are computed from others: embeddings, pixels that were cast."""
    found, seen, waiting = [], set(), list(tensors)
    while waiting:
        for op in waiting.pop(0).consumers():
            if op not in seen:
                seen.add(op)
                for output in op.outputs:
                    (found if output.dtype.is_floating else waiting).append(output)
    return found


def _listed(tensors):
    shown = ", ".join("{} ({} {})".format(tensor.name, tensor.dtype.base_dtype.name, _shape(tensor))
                      for tensor in tensors[:_SHOWN])
    return shown if len(tensors) <= _SHOWN else "{} and {} more".format(shown, len(tensors) - _SHOWN)


def _shape(tensor):
    if tensor.shape.ndims is None:
        return "of any shape"
    return "[{}]".format(", ".join("?" if size is None else str(size) for size in tensor.shape.as_list()))


def _logits(y):
    """(y, notes): what goes into a last softmax, whose own gradient is next to nothing where the model is sure."""
    op = y.op
    while op.type in ("Identity", "Reshape") and op.inputs:
        op = op.inputs[0].op
    if op.type != "Softmax":
        return y, []
    return op.inputs[0], ["the output is a softmax, {!r}: taken are the logits in it, {!r}.".format(
        y.name, op.inputs[0].name)]
