"""Rules of quantisers: for activations within an interval, and for gradients that are quantised themselves."""
from typing import Optional

from .._tf import tf
from .._types import GradientFunction
from ..registry import declare_surrogate, gradient_rule
from ._kinds import bits, elementwise, keep, number, per_sample


def straight_through_interval(minimum: float = 0.0, maximum: float = 1.0) -> GradientFunction:
    """Make the rule for a quantiser that clips to an interval first."""
    minimum = number("straight_through_interval", "minimum", minimum)
    maximum = number("straight_through_interval", "maximum", maximum)
    if minimum > maximum:
        raise ValueError("straight_through_interval: minimum {} is above maximum {}.".format(minimum, maximum))

    @gradient_rule("straight_through_interval", minimum=minimum, maximum=maximum)
    @declare_surrogate(lambda op, x: tf.clip_by_value(x, minimum, maximum))
    def rule(op, grad):
        """Straight-through within an interval: g where ``minimum <= x <= maximum``, else 0.

        Forward: that of the op; ``round(clip(x, 0, 1) * n) / n`` of larq's DoReFa, as in ops.dorefa_activations.
        Backward: ``where(minimum <= x <= maximum, g, 0)``.
        Kink: at both ends g passes. Where x is NaN nothing passes.
        Infinities: selected, never multiplied.
        Op types: any with one input and an output of the same shape.
        Shapes and dtypes: as the input; any floating dtype.
        Second order: that of where, in g.
        Source: Zhou et al. 2016 (DoReFa), arXiv:1606.06160; larq's DoReFa.
        """
        x = elementwise("straight_through_interval", op)
        inside = tf.logical_and(x >= minimum, x <= maximum)
        return keep(inside, grad)

    return rule


def dorefa_gradients(k: int, noise: bool = True, seed: Optional[int] = None) -> GradientFunction:
    """Make the rule that quantises the gradient.

    Args:
        k: the number of bits, 1 to 16.
        noise: whether to add the uniform noise that makes the quantisation unbiased.
        seed: the operation seed of the noise, as of tf.random.
    """
    k = bits("dorefa_gradients", k)

    @gradient_rule("dorefa_gradients", k=k, noise=bool(noise), seed=seed)
    def rule(op, grad):
        """DoReFa gradients: g in k bits, per sample, within plus and minus its largest entry m.

        Forward: that of the op, usually Identity.
        Backward: ``2m * (q(clip(g / 2m + 1/2 + u / n, 0, 1)) - 1/2)``, with ``q(v) = round(v * n) / n``,
        ``n = 2 ** k - 1``, m the largest ``|g|`` of the sample (the first dimension), u uniform in [-1/2, 1/2).
        Kink: a sample whose g is 0 throughout gives 0 (the original divides 0 by 0).
        Infinities: an infinite g makes its sample NaN, as m is infinite.
        Op types: any with one input and an output of the same shape.
        Shapes and dtypes: as the input; any floating dtype; float16 and bfloat16 compute in float32. The rank may be
        unknown; one of rank 0 or 1 is taken as one sample per entry.
        Second order: none through the rounding.
        Source: Zhou et al. 2016, arXiv:1606.06160, equation 12; tensorpack's fg.
        """
        elementwise("dorefa_gradients", op)
        n = float(2 ** k - 1)
        wide = tf.cast(grad, tf.float32) if grad.dtype.size < 4 else grad
        largest = tf.reduce_max(tf.abs(wide), axis=per_sample(wide), keepdims=True)
        divisor = largest + tf.cast(tf.equal(largest, 0), wide.dtype)
        level = wide / divisor * 0.5 + 0.5
        if noise:
            level += tf.random.uniform(tf.shape(wide), -0.5 / n, 0.5 / n, dtype=wide.dtype, seed=seed)
        level = tf.clip_by_value(level, 0, 1)
        return tf.cast((tf.round(level * n) / n - 0.5) * (2 * largest), grad.dtype)

    return rule
