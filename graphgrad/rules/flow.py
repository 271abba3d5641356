"""Rules that steer the gradient where nothing happens in the forward: on Identity, or any op of one input."""
from .._tf import tf
from ..registry import gradient_rule
from ._kinds import number, one_input


def reverse(factor=1.0):
    """Make the gradient reversal rule."""
    factor = number("reverse", "factor", factor)

    @gradient_rule("reverse", factor=factor)
    def rule(op, grad):
        """Gradient reversal: ``-factor * g``.

        Forward: that of the op, usually Identity.
        Backward: ``-factor * g``.
        Op types: any with one input and an output of the same shape.
        Shapes and dtypes: as the input; any floating dtype.
        Second order: 0 in x.
        Source: Ganin, Lempitsky 2014, arXiv:1409.7495.
        """
        one_input("reverse", op)
        return tf.cast(-factor, grad.dtype) * grad

    return rule


def scale(factor):
    """Make the rule that scales the gradient."""
    factor = number("scale", "factor", factor)

    @gradient_rule("scale", factor=factor)
    def rule(op, grad):
        """Scaled gradient: ``factor * g``.

        Forward: that of the op, usually Identity.
        Backward: ``factor * g``.
        Op types: any with one input and an output of the same shape.
        Shapes and dtypes: as the input; any floating dtype.
        Second order: 0 in x.
        Source: tf-slim's scale_gradient.
        """
        one_input("scale", op)
        return tf.cast(factor, grad.dtype) * grad

    return rule


def clip_by_value(minimum, maximum):
    """Make the rule that clips each entry of the gradient."""
    minimum = number("clip_by_value", "minimum", minimum)
    maximum = number("clip_by_value", "maximum", maximum)
    if minimum > maximum:
        raise ValueError("clip_by_value: minimum {} is above maximum {}.".format(minimum, maximum))

    @gradient_rule("clip_by_value", minimum=minimum, maximum=maximum)
    def rule(op, grad):
        """Gradient clipped by value: ``min(max(g, minimum), maximum)``.

        Forward: that of the op, usually Identity.
        Backward: ``min(max(g, minimum), maximum)``.
        Infinities: clipped to the bound. A NaN in g stays NaN.
        Op types: any with one input and an output of the same shape.
        Shapes and dtypes: as the input; any floating dtype.
        Second order: that of the clipping, in g.
        Source: tf.clip_by_value, as a rule on one tensor.
        """
        one_input("clip_by_value", op)
        return tf.minimum(tf.maximum(grad, tf.cast(minimum, grad.dtype)), tf.cast(maximum, grad.dtype))

    return rule


def clip_by_norm(norm):
    """Make the rule that shortens the gradient to a Euclidean norm."""
    norm = number("clip_by_norm", "norm", norm, positive=True)

    @gradient_rule("clip_by_norm", norm=norm)
    def rule(op, grad):
        """Gradient clipped by norm: ``g * norm / |g|`` where ``|g| > norm``, else g; ``|g|`` over the whole tensor.

        Forward: that of the op, usually Identity.
        Backward: ``where(|g| > norm, g * norm / |g|, g)``; the norm is Euclidean, over all entries, batch included.
        Kink: g == 0 gives 0. A NaN in g makes all entries NaN; an infinite one gives NaN, as there is no direction.
        Op types: any with one input and an output of the same shape.
        Shapes and dtypes: as the input; any floating dtype. float16 and bfloat16 sum in float32.
        Second order: that of the formula, in g.
        Source: Pascanu, Mikolov, Bengio 2012, arXiv:1211.5063, on one tensor.
        """
        one_input("clip_by_norm", op)
        wide = tf.cast(grad, tf.float32) if grad.dtype.size < 4 else grad
        squared = tf.reduce_sum(tf.square(wide))
        # The square root of 0 has an infinite derivative: take it of 1 where it is not used.
        length = tf.sqrt(tf.compat.v1.where(squared > 0, squared, tf.ones_like(squared)))
        limit = tf.cast(norm, wide.dtype)
        return tf.cast(wide * (limit / tf.maximum(length, limit)) if norm else tf.zeros_like(wide), grad.dtype)

    return rule


@gradient_rule("stop")
def stop(op, grad):
    """No gradient: None for every input, as tf.stop_gradient gives.

    Forward: that of the op.
    Backward: None.
    Op types: any, with any number of inputs.
    Second order: none.
    Source: tf.stop_gradient, as a rule.
    """
    return [None] * len(op.inputs)
