"""What rules check when they are put on an operation, and their parameters when they are made; what they share."""
import math
import operator

from .._tf import select, tf
from ..errors import GradientError


def one_input(rule, op):
    """The input of an operation with one input and one output, as the formula of ``rule`` supposes.

    Raises:
        GradientError: another number of inputs or outputs, or an input that is no floating or complex number.
    """
    if len(op.inputs) != 1 or len(op.outputs) != 1:
        raise GradientError(
            "The rule {} is for operations with one input and one output; operation {!r} of type {} has {} and "
            "{}.".format(rule, op.name, op.type, len(op.inputs), len(op.outputs)))
    return floating(rule, op, op.inputs[0])


def elementwise(rule, op, rank=0):
    """The input of an operation with one input, and an output of its shape; of that rank or more.

    Raises:
        GradientError: as one_input, and for other shapes: the formula would be broadcast to something else.
    """
    x = one_input(rule, op)
    if not x.shape.is_compatible_with(op.outputs[0].shape):
        raise GradientError(
            "The rule {} is for operations whose output has the shape of the input; operation {!r} of type {} turns {} "
            "into {}.".format(rule, op.name, op.type, x.shape, op.outputs[0].shape))
    if x.shape.rank is not None and x.shape.rank < rank:
        raise GradientError("The rule {} needs an input of rank {} or more; that of operation {!r} of type {} has "
                            "shape {}.".format(rule, rank, op.name, op.type, x.shape))
    return x


def floating(rule, op, tensor):
    """Return an input that has a gradient; GradientError if its dtype is an integer or the like."""
    if not tensor.dtype.is_floating and not tensor.dtype.is_complex:
        raise GradientError("The rule {} needs a floating input; operation {!r} of type {} has {}.".format(
            rule, op.name, op.type, tensor.dtype.base_dtype.name))
    return tensor


def of_type(rule, op, types):
    """Raise GradientError unless the operation is of one of the types that ``rule`` knows."""
    if op.type not in types:
        raise GradientError("The rule {} knows operations of type {}; operation {!r} is of type {}.".format(
            rule, ", ".join(types), op.name, op.type))


def number(rule, name, value, minimum=None, maximum=None):
    """Return a parameter as a float; ValueError unless it is a finite number within the bounds given."""
    try:
        number_ = float(value)
    except (TypeError, ValueError):
        raise ValueError("{}: {} must be a number, but got {!r}.".format(rule, name, value)) from None
    if not math.isfinite(number_) or (minimum is not None and number_ < minimum) or (
            maximum is not None and number_ > maximum):
        bounds = [] if minimum is None else ["not below {:g}".format(minimum)]
        bounds += [] if maximum is None else ["not above {:g}".format(maximum)]
        raise ValueError("{}: {} must be a finite number{}, but got {!r}.".format(
            rule, name, " " * bool(bounds) + " and ".join(bounds), value))
    return number_


def bits(rule, k):
    """Return a number of bits as an int; ValueError unless it is a whole number from 1 to 16.

    Up to 16, ``2 ** k - 1`` levels and their halves are exact in float32.
    """
    k_ = whole(k)
    if k_ is None or not 1 <= k_ <= 16:
        raise ValueError("{}: k, the number of bits, must be an int from 1 to 16, but got {!r}.".format(rule, k))
    return k_


def whole(value):
    """A whole number, of Python or numpy, as an int; None for anything else, True and 2.0 among it."""
    try:
        return None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        return None


def keep(condition, tensor):
    """``tensor`` where the condition holds (same shape), else zero: selected, so that an infinity leaves no NaN."""
    return select(condition, tensor, tf.zeros_like(tensor))


def per_sample(tensor):
    """The axes of a tensor after the first, as an int tensor: rank 1 has none, so each entry is a sample."""
    return tf.range(1, tf.rank(tensor)) if tensor.shape.rank is None else list(range(1, tensor.shape.rank))
