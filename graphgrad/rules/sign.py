"""Straight-through estimators: a gradient for steps, signs and roundings, whose own is zero or none."""
from .._tf import tf
from ..registry import gradient_rule
from ._kinds import number, one_input


@gradient_rule("straight_through")
def straight_through(op, grad):
    """Straight-through: g, as if the op were the identity.

    Forward: that of the op (Sign, Round, Floor, ...).
    Backward: ``g``.
    Op types: any with one input and an output of the same shape and a floating dtype. (ArgMax, or a cast to
    integers, cuts the path before any gradient function is asked: see tf_func_with_grad.)
    Shapes and dtypes: the result is g itself, no operation is added.
    Second order: 0, as of the identity.
    Source: Bengio, Leonard, Courville 2013, arXiv:1308.3432; Hinton's lecture 9.3, 2012.
    """
    one_input("straight_through", op)
    return grad


def straight_through_clipped_input(limit=1.0):
    """Make the rule for a straight-through estimator that is cut where the input is large."""
    limit = number("straight_through_clipped_input", "limit", limit, positive=True)

    @gradient_rule("straight_through_clipped_input", limit=limit)
    def rule(op, grad):
        """Straight-through, input clipped: g where ``|x| <= limit``, else 0; the derivative of hard tanh.

        Forward: that of the op.
        Backward: ``where(|x| <= limit, g, 0)``.
        Kink: at ``|x| == limit`` g passes. Where x is NaN nothing passes.
        Infinities: selected, never multiplied.
        Op types: any with one input and an output of the same shape.
        Shapes and dtypes: as the input; any floating dtype.
        Second order: that of where, in g.
        Source: Courbariaux et al. 2016, arXiv:1602.02830, equation 4. Also found under the name "QuantizeGrad", which
        in most public code is the rule that clips the gradient instead.
        """
        x = one_input("straight_through_clipped_input", op)
        return _where(tf.abs(x) <= tf.cast(limit, x.dtype), grad)

    return rule


def straight_through_clipped_gradient(limit=1.0):
    """Make the rule for a straight-through estimator whose gradient is clipped."""
    limit = number("straight_through_clipped_gradient", "limit", limit, positive=True)

    @gradient_rule("straight_through_clipped_gradient", limit=limit)
    def rule(op, grad):
        """Straight-through, gradient clipped: ``clip(g, -limit, limit)``.

        Forward: that of the op.
        Backward: ``min(max(g, -limit), limit)``.
        Infinities: clipped to the limit. A NaN in g stays NaN.
        Op types: any with one input and an output of the same shape.
        Shapes and dtypes: as the input; any floating dtype.
        Second order: that of the clipping, in g.
        Source: public code under the name "QuantizeGrad"; despite the name it is not the estimator of
        arXiv:1602.02830, which looks at the input (straight_through_clipped_input).
        """
        one_input("straight_through_clipped_gradient", op)
        return tf.minimum(tf.maximum(grad, tf.cast(-limit, grad.dtype)), tf.cast(limit, grad.dtype))

    return rule


def _where(condition, grad):
    return tf.compat.v1.where(condition, grad, tf.zeros_like(grad))
