"""What a gradient function owes its operation, checked each time it is called.

``fn(op, *grads)`` takes one gradient per output and returns one per input: a tensor (or IndexedSlices) of
that input's dtype and a compatible static shape, or None. TensorFlow lets most breaches through, or fails
somewhere else with another operation's name; here each is one sentence that names the rule, the file and
line where it was defined, the operation and its type, what came and what was wanted.
"""
import inspect

from . import _tf
from ._tf import tf
from .errors import GradientError

_NO_GRADIENT_DTYPES = (tf.resource, tf.variant)   # handles: the gradient has the dtype of what they refer to


#: On the IdentityN of a tf_func_with_grad: how many of its inputs are the function's outputs.
OUTPUTS_ATTRIBUTE = "_graphgrad_outputs"
#: And 0 if the function's outputs hang on its inputs alone, so that no gradient has to go through its forward.
CAPTURES_ATTRIBUTE = "_graphgrad_captures"


def function_outputs(op):
    """The number of outputs if an operation stands for a tf_func_with_grad, else None."""
    return _tf.integer(op, OUTPUTS_ATTRIBUTE) if op.type == "IdentityN" else None


def function_captures(op):
    """Whether gradients have to go through the forward of a tf_func_with_grad, to what it uses beside its inputs."""
    return _tf.integer(op, CAPTURES_ATTRIBUTE) != 0


class FunctionOperation:
    """What the gradient function of a tf_func_with_grad is given as ``op``: its inputs and outputs.

    The same attributes as of a py_func's operation, so that one gradient function serves both.

    Attributes:
        name, type, graph: of the operation that stands for the function.
        inputs: the tensors in ``inp``, in order.
        outputs: the tensors that the forward returned.
        node: the ``tf.Operation`` itself, an IdentityN of outputs and inputs.
    """

    def __init__(self, node, outputs):
        self.node = node
        self.name = node.name
        self.type = node.type
        self.graph = node.graph
        self.inputs = tuple(node.inputs)[outputs:]
        self.outputs = list(node.outputs)[:outputs]


def call_gradient(function, name, place, op, grads, told=None):
    """Call ``function(op, *grads)`` and return its gradients, one per input of ``op``, as a checked list.

    ``told`` is called with a sentence where TF 1 took None for the gradient of a single input; without it, that is an
    error.
    """
    inputs = list(op.inputs)   # as they are now: TensorFlow's gradient of a v2 loop gives the loop more of them
    try:
        result = function(op, *grads)
    except TypeError:
        _explain_arity(function, name, place, op, grads)
        raise
    if result is None:
        if _is_tensorflows(function):
            return [None] * len(inputs)
        if told is not None and len(inputs) == 1:
            told("Gradient {!r} ({}) returned None: its input has no gradient.".format(name, place))
            return [None]
        raise GradientError(
            "{} returned None: a return statement may be missing. Return one gradient per input ({}); "
            "[None] says that an input has none.".format(_where(name, place, op), _inputs(inputs)))
    if isinstance(result, tf.IndexedSlices) or not isinstance(result, (list, tuple)):
        result = [result]
    result = list(result)
    if len(result) != len(inputs):
        raise GradientError("{} returned {}, but the operation has {}: return one gradient per input.".format(
            _where(name, place, op), _count(len(result), "gradient"), _inputs(inputs)))
    for index, (gradient, tensor) in enumerate(zip(result, inputs)):
        wrong = None if gradient is None else _wrong_with(gradient, tensor)
        if wrong:
            raise GradientError("{}, for input {} ({}), {}".format(_where(name, place, op), index, tensor.name, wrong))
    return result


def _where(name, place, op):
    """How messages begin. Written only for a message: for each operation it would take longer than many a gradient."""
    return "Gradient {!r} ({}) of operation {!r} (type {})".format(name, place, op.name, op.type)


def _explain_arity(function, name, place, op, grads):
    """Raise if a call failed because the function does not take these arguments."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):   # built in
        return
    try:
        signature.bind(op, *grads)
    except TypeError:
        raise GradientError(
            "{} is written as {}, but is called with the operation and {}, one per output: write it as "
            "fn(op, {}).".format(
                _where(name, place, op), signature, _count(len(grads), "gradient"),
                ", ".join(["grad"] if len(grads) == 1 else ["grad{}".format(i) for i in range(len(grads))]))) from None


def _wrong_with(gradient, tensor):
    """What makes a gradient unfit for an input, as the end of a sentence; None if it fits."""
    if not isinstance(gradient, (tf.Tensor, tf.IndexedSlices)) and not hasattr(gradient, "_as_graph_element"):
        return ("is a {}, not a tensor: compute it with TensorFlow operations, or wrap it in tf.constant or "
                "tf.py_func.".format(_kind(gradient)))
    wanted, came = tensor.dtype.base_dtype, gradient.dtype.base_dtype
    if wanted in _NO_GRADIENT_DTYPES:
        return None
    if came != wanted:
        return "has dtype {}, but the input has {}: cast the gradient, or compute it in {}.".format(
            came.name, wanted.name, wanted.name)
    if isinstance(gradient, tf.IndexedSlices):
        sizes = None if gradient.dense_shape is None else tf.get_static_value(gradient.dense_shape)
        shape = tf.TensorShape(sizes)
    else:
        shape = gradient.shape
    if not shape.is_compatible_with(tensor.shape):
        return ("has shape {}, but the input has {}: sum it over the dimensions that were broadcast, or reshape "
                "it.".format(shape, tensor.shape))
    return None


def _is_tensorflows(function):
    return (getattr(function, "__module__", None) or "").startswith(("tensorflow.", "tensorflow_core."))


def _kind(value):
    kind = type(value)
    return kind.__name__ if kind.__module__ == "builtins" else "{}.{}".format(kind.__module__, kind.__name__)


def _inputs(inputs):
    return _count(len(inputs), "input")


def _count(number, noun):
    return "{} {}{}".format(number, noun, "" if number == 1 else "s")
