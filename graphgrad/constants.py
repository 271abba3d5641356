"""Constants of a serialized graph, before TensorFlow takes their word for what they are.

TensorFlow ends the process over one whose values are of another dtype than the operation's, and asks for as much memory
as a shape says, of a file of a hundred bytes.
"""
import tensorflow

_UNPACKED = 1 << 28    # bytes that any constant may have,
_MOST_GAIN = 100       # and how many times its size in the file, if that is more


def unbelievable(definition):
    """What is wrong with the first constant of a GraphDef that is not what it says, as a clause; None if none is."""
    for nodes in [definition.node] + [function.node_def for function in definition.library.function]:
        for node in nodes:
            if node.op == "Const":
                problem = _problem(node.attr["dtype"].type, node.attr["value"].tensor)
                if problem:
                    return "its constant {!r} {}".format(node.name, problem)
    return None


def _problem(dtype, value):
    if value.dtype != dtype:
        return "holds values of another dtype than its own"
    try:
        size = tensorflow.as_dtype(dtype).size
    except TypeError:
        return "is of no known dtype"
    for dimension in value.tensor_shape.dim:
        if dimension.size < 0:
            return "has a dimension of {}".format(dimension.size)
        size *= dimension.size
    if size > max(_UNPACKED, _MOST_GAIN * value.ByteSize()):
        return "claims {} bytes, of {} in the file".format(size, value.ByteSize())
    return None
