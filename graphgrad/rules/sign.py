"""Straight-through estimators: a gradient for steps, signs and roundings, whose own is zero or none."""
from .._tf import select, tf
from .._types import GradientFunction
from ..errors import GradientError
from ..registry import declare_surrogate, gradient_rule
from ._kinds import elementwise, floating, keep, number


@gradient_rule("straight_through")
@declare_surrogate(lambda op, x: tf.identity(x))
def straight_through(op, grad):
    """Straight-through: g, as if the op were the identity.

    Forward: that of the op (Sign, Round, Floor, ...).
    Backward: ``g``. On an activation it is the linearised network; on any op, a pass-through.
    Op types: any with one input and an output of the same shape and a floating dtype. (ArgMax, or a cast to
    integers, cuts the path before any gradient function is asked: see tf_func_with_grad.)
    Shapes and dtypes: the result is g itself, no operation is added.
    Second order: 0, as of the identity.
    Source: Bengio, Leonard, Courville 2013, arXiv:1308.3432; Hinton's lecture 9.3, 2012. Also lucid's identity_grad,
    tf.grad_pass_through, and the gradient of BWN weights (Rastegari et al. 2016, arXiv:1603.05279) with their
    scale held constant.
    """
    elementwise("straight_through", op)
    return grad


def straight_through_clipped_input(limit: float = 1.0) -> GradientFunction:
    """Make the rule for a straight-through estimator that is cut where the input is large."""
    limit = number("straight_through_clipped_input", "limit", limit, minimum=0)

    @gradient_rule("straight_through_clipped_input", limit=limit)
    @declare_surrogate(lambda op, x: tf.clip_by_value(x, -limit, limit))
    def rule(op, grad):
        """Straight-through, input clipped: g where ``|x| <= limit``, else 0; the derivative of hard tanh.

        Forward: that of the op (Sign, a Heaviside step, a ternary function taken as one).
        Backward: ``where(|x| <= limit, g, 0)``.
        Kink: at ``|x| == limit`` g passes. Where x is NaN nothing passes.
        Infinities: selected, never multiplied.
        Op types: any with one input and an output of the same shape.
        Shapes and dtypes: as the input; any floating dtype.
        Second order: that of where, in g.
        Source: Courbariaux et al. 2016, arXiv:1602.02830, equation 4; larq's ste_sign, ste_heaviside and
        ste_tern (TWN, Li, Liu 2016, arXiv:1605.04711).
        Also found under the name "QuantizeGrad", which in most public code is the rule that clips the gradient.
        """
        x = elementwise("straight_through_clipped_input", op)
        return keep(tf.abs(x) <= limit, grad)

    return rule


def straight_through_clipped_gradient(limit: float = 1.0) -> GradientFunction:
    """Make the rule for a straight-through estimator whose gradient is clipped."""
    limit = number("straight_through_clipped_gradient", "limit", limit, minimum=0)

    @gradient_rule("straight_through_clipped_gradient", limit=limit)
    def rule(op, grad):
        """Straight-through, gradient clipped: ``clip(g, -limit, limit)``.

        Forward: that of the op.
        Backward: ``min(max(g, -limit), limit)``.
        Infinities: clipped to the limit. A NaN in g stays NaN.
        Op types: any with one input and an output of the same shape.
        Shapes and dtypes: as the input; any floating dtype.
        Second order: that of the clipping, in g.
        Source: public code under the name "QuantizeGrad"; despite the name it is not the estimator of Courbariaux et
        al. 2016, which looks at the input (straight_through_clipped_input).
        """
        elementwise("straight_through_clipped_gradient", op)
        return tf.minimum(tf.maximum(grad, -limit), limit)

    return rule


def _approx_sign(op, x):
    near = tf.clip_by_value(x, -1, 1)
    return 2 * near - near * tf.abs(near)


@gradient_rule("approx_sign")
@declare_surrogate(_approx_sign)
def approx_sign(op, grad):
    """ApproxSign: ``2 * (1 - |x|) * g`` where ``|x| <= 1``, else 0; the derivative of a sign made of two parabolas.

    Forward: that of the op, usually Sign.
    Backward: ``where(|x| <= 1, 2 * (1 - |x|) * g, 0)``.
    Kink: 2g at ``x == 0``; 0 from ``|x| == 1`` on.
    Infinities: in x selected; an infinite g at ``|x| == 1`` exactly gives NaN.
    Op types: any with one input and an output of the same shape.
    Shapes and dtypes: as the input; any floating dtype.
    Second order: that of the formula.
    Source: Liu et al. 2018 (Bi-Real Net), arXiv:1808.00278; larq's approx_sign.
    """
    size = tf.abs(elementwise("approx_sign", op))
    return keep(size <= 1, (2 - 2 * size) * grad)


def swish_sign(beta: float = 5.0) -> GradientFunction:
    """Make the SwishSign rule."""
    beta = number("swish_sign", "beta", beta, minimum=0)

    def surrogate(op, x):
        up = tf.sigmoid(beta * x)
        return 2 * up * (1 + beta * x * (1 - up)) - 1

    @gradient_rule("swish_sign", beta=beta)
    @declare_surrogate(surrogate)
    def rule(op, grad):
        """SwishSign: ``beta * (2 - u * tanh(u / 2)) / (1 + cosh(u)) * g`` with ``u = beta * x``.

        Forward: that of the op, usually Sign.
        Backward: the formula, written with sigmoids (``1 / (1 + cosh u)`` is ``2 sigmoid(u) sigmoid(-u)``), so that
        cosh cannot overflow; beyond ``|u| == 200`` the value at 200, which is 0 up to 1e-84.
        Kink: none; ``beta * g`` at ``x == 0``.
        Infinities: in x they give 0; an infinite g where the factor is 0 gives NaN.
        Op types: any with one input and an output of the same shape.
        Shapes and dtypes: as the input; any floating dtype.
        Second order: that of the formula.
        Source: Darabi et al. 2018 (BNN+), arXiv:1812.11800; larq's swish_sign.
        """
        x = elementwise("swish_sign", op)
        u = tf.minimum(tf.maximum(beta * x, -200), 200)
        up, down = tf.sigmoid(u), tf.sigmoid(-u)
        return 2 * beta * (2 - u * (up - down)) * (up * down) * grad

    return rule


@gradient_rule("tanh_surrogate")
@declare_surrogate(lambda op, x: tf.tanh(x) + 0.001 * x)
def tanh_surrogate(op, grad):
    """Tanh surrogate: ``(1.001 - tanh(x) ** 2) * g``; far out a thousandth of g still passes.

    Forward: that of the op, usually Sign.
    Backward: ``(1.001 - tanh(x) ** 2) * g``.
    Kink: none.
    Infinities: in x they give ``0.001 * g``. Infinite g stays infinite.
    Op types: any with one input and an output of the same shape.
    Shapes and dtypes: as the input; any floating dtype.
    Second order: that of the formula.
    Source: OneBit, as described in github.com/xuyuzhuang11/OneBit/issues/10.
    """
    x = elementwise("tanh_surrogate", op)
    return (0.001 + (1 - tf.square(tf.tanh(x)))) * grad   # in this order: 1.001 is 1 in bfloat16


def magnitude_aware(limit: float = 1.0) -> GradientFunction:
    """Make the magnitude-aware rule."""
    limit = number("magnitude_aware", "limit", limit, minimum=0)

    @gradient_rule("magnitude_aware", limit=limit)
    @declare_surrogate(lambda op, x: mean_size(op.inputs[0]) * tf.clip_by_value(x, -limit, limit))
    def rule(op, grad):
        """Magnitude-aware sign: ``a * g`` where ``|x| <= limit``, else 0; a is the mean of ``|x|`` in the channel.

        Forward: ``a * sign(x)``, as ops.magnitude_aware_sign; a, over all but the last axis, is held constant.
        Backward: ``where(|x| <= limit, a * g, 0)``.
        Kink: at ``|x| == limit`` g passes.
        Infinities: an infinite x makes its channel's a infinite, and NaN of what does not pass.
        Op types: a function of one input with that forward. (On a bare Sign, followed by a product with a, the
        product has brought a already: use straight_through_clipped_input there.)
        Shapes and dtypes: as the input, rank 1 or more; any floating dtype.
        Second order: that of the formula with a depending on x.
        Source: Liu et al. 2018 (Bi-Real Net), arXiv:1808.00278, section 3.3; larq's MagnitudeAwareSign.
        """
        x = elementwise("magnitude_aware", op, rank=1)
        return mean_size(x) * keep(tf.abs(x) <= limit, grad)   # in this order the two run side by side

    return rule


@gradient_rule("xnor")
def xnor(op, grad):
    """XNOR weights: ``g * (1 / n + a * 1[|w| <= 1])``; a is the mean of ``|w|`` in its filter, n its number of weights.

    Forward: ``a * sign(w)``, as ops.binarize(w, "xnor"); a is over all but the last axis.
    Backward: the formula. It is no derivative of the forward: each weight's own share of a is taken for all.
    Kink: at ``|w| == 1`` the second part passes.
    Infinities: an infinite w makes its filter's a infinite; an infinite g stays infinite.
    Op types: a function of one input with that forward.
    Shapes and dtypes: as the input, rank 1 or more; any floating dtype.
    Second order: that of the formula with a depending on w.
    Source: Rastegari et al. 2016, arXiv:1603.05279, section 3.1. (Its public code multiplies further and differs:
    github.com/jiecaoyu/XNOR-Net-PyTorch/issues/25.)
    """
    w = elementwise("xnor", op, rank=1)
    inside = tf.cast(tf.abs(w) <= 1, w.dtype)
    shape = tf.shape(w)
    number_of_weights = tf.cast(tf.reduce_prod(shape[:-1]), tf.float64)
    return grad * (tf.cast(1 / number_of_weights, w.dtype) + mean_size(w) * inside)


@gradient_rule("ttq")
def ttq(op, grad):
    """Trained ternary weights: g times wp above the threshold, times wn below minus it, and g itself between.

    Forward: of inputs x, wp, wn, threshold: ``wp`` where ``x > threshold``, ``-wn`` where ``x < -threshold``, else 0,
    as ops.ternarize(x, "ttq").
    Backward: ``g * (wp, 1 or wn)`` to x; wp: the sum of g above; wn: minus the sum of g below; threshold: none.
    Kink: at ``|x| == threshold`` the forward is 0 and g passes as it is.
    Infinities: an infinite g stays infinite, unless wp or wn is 0.
    Op types: a function of four inputs with that forward.
    Shapes and dtypes: x of any shape, the others scalars of its dtype; any floating dtype.
    Second order: that of the formula.
    Source: Zhu et al. 2016, arXiv:1612.01064, equations 7 and 8; tensorpack's ternarize.
    """
    if len(op.inputs) != 4:
        raise GradientError("The rule ttq is for functions of x, wp, wn and threshold, such as ops.ternarize; "
                            "operation {!r} of type {} has {} inputs.".format(op.name, op.type, len(op.inputs)))
    x, wp, wn, threshold = op.inputs
    floating("ttq", op, x)
    above, below = x > threshold, x < -threshold
    ones = tf.ones_like(x)
    scale = select(above, wp * ones, select(below, wn * ones, ones))
    return grad * scale, tf.reduce_sum(keep(above, grad)), -tf.reduce_sum(keep(below, grad)), None


def mean_size(x):
    """The mean of ``|x|`` over all axes but the last, kept as 1."""
    axes = tf.range(tf.rank(x) - 1) if x.shape.rank is None else list(range(x.shape.rank - 1))
    return tf.reduce_mean(tf.abs(x), axis=axes, keepdims=True)
