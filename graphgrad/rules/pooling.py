"""Rules for max-pooling: the gradient spread over the window instead of sent to its largest entry."""
from .._tf import tf
from .._types import GradientFunction
from ..errors import GradientError
from ..registry import declare_surrogate, gradient_rule
from ._kinds import number, of_type


@gradient_rule("smoothed_max_pool")
@declare_surrogate(lambda op, x: _average(op, x))
def smoothed_max_pool(op, grad):
    """Smoothed max-pool: the gradient of the average over the same window.

    Forward: that of MaxPool.
    Backward: ``gradient of avg_pool(x)``; x does not matter.
    Infinities: averaged, as in an average pool.
    Op types: MaxPool. Attributes honoured: ksize, strides, padding, data_format.
    Shapes and dtypes: as the input; sizes may be unknown; floating dtypes that avg_pool has.
    Second order: 0 in x.
    Source: lucid's avg_smoothed_maxpool_grad (which drops data_format); Olah, Mordvintsev, Schubert 2017.
    """
    _windows("smoothed_max_pool", op)
    return _average_back(op, grad)


def _power(op, x, epsilon):
    return _average(op, tf.square(x)) / (epsilon + _average(op, tf.abs(x)))


def smoothed_max_pool_l2(epsilon: float = 1e-2) -> GradientFunction:
    """Make the rule that differentiates a max-pool as a weighted average."""
    epsilon = number("smoothed_max_pool_l2", "epsilon", epsilon, minimum=0)

    @gradient_rule("smoothed_max_pool_l2", epsilon=epsilon)
    @declare_surrogate(lambda op, x: _power(op, x, epsilon))
    def rule(op, grad):
        """Smoothed max-pool, L2: the gradient of ``avg_pool(x ** 2) / (epsilon + avg_pool(|x|))``.

        Forward: that of MaxPool.
        Backward: ``2x * back(g / b) - sign(x) * back(g * a / b ** 2)`` with a and b its
        numerator and denominator, back the gradient of the average.
        Kink: 0 at ``x == 0``. A window of zeros gives 0 while epsilon is above 0.
        Infinities: as of the formula, NaN.
        Op types: MaxPool. Attributes honoured: ksize, strides, padding, data_format.
        Shapes and dtypes: as the input; sizes may be unknown; floating dtypes that avg_pool has.
        Second order: that of the formula.
        Source: lucid's l2_smoothed_maxpool_grad (which drops data_format).
        """
        x = op.inputs[0]
        _windows("smoothed_max_pool_l2", op)
        above = _average(op, tf.square(x))
        below = epsilon + _average(op, tf.abs(x))
        share = grad / below
        return 2 * x * _average_back(op, share) - tf.sign(x) * _average_back(op, share * (above / below))

    return rule


def prr(epsilon: float = 1e-10) -> GradientFunction:
    """Make the proportional-redistribution rule."""
    epsilon = number("prr", "epsilon", epsilon, minimum=0)

    @gradient_rule("prr", epsilon=epsilon)
    def rule(op, grad):
        """Proportional redistribution: each entry gets its share of g: ``x * back(g / (avg_pool(x) + epsilon))``.

        Forward: that of MaxPool.
        Backward: ``x * back(g / (avg_pool(x) + epsilon))``, back the gradient of the average. It keeps the sum of g
        where windows are not empty.
        Kink: a window of zeros gives 0.
        Infinities: NaN.
        Op types: MaxPool. Attributes honoured: ksize, strides, padding, data_format. Meant for x >= 0.
        Shapes and dtypes: as the input. In float16 the epsilon is 0 by its size, and an empty window gives NaN.
        Second order: that of the formula.
        Source: Kim et al. 2019 (RectGrad), arXiv:1902.04893, its code's RectifiedGradientPRR.
        """
        x = op.inputs[0]
        _windows("prr", op)
        return x * _average_back(op, grad / (_average(op, x) + epsilon))

    return rule


def _windows(rule, op):
    of_type(rule, op, ("MaxPool",))
    if op.get_attr("padding") == b"EXPLICIT" or op.get_attr("data_format") not in (b"NHWC", b"NCHW"):
        raise GradientError(
            "The rule {} knows max-pools with padding SAME or VALID and data_format NHWC or NCHW, of which TensorFlow "
            "has an average; operation {!r} has {} and {}.".format(
                rule, op.name, op.get_attr("padding").decode(), op.get_attr("data_format").decode()))


def _attributes(op):
    return {name: op.get_attr(name) for name in ("ksize", "strides", "padding", "data_format")}


def _average(op, x):
    return tf.raw_ops.AvgPool(value=x, **_attributes(op))


def _average_back(op, grad):
    x = op.inputs[0]
    back = tf.raw_ops.AvgPoolGrad(orig_input_shape=tf.shape(x), grad=grad, **_attributes(op))
    back.set_shape(x.shape)
    return back
