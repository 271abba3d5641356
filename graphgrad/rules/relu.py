"""Rules for ReLU and its relatives: which part of the gradient passes a rectifier backwards."""
from typing import Optional

from .._tf import tf
from .._types import GradientFunction, TensorLike
from ..registry import declare_surrogate, gradient_rule, original_gradient
from ._kinds import elementwise, keep, number, of_type, one_input, per_sample


@gradient_rule("guided")
def guided(op, grad):
    """Guided backprop: the activation's own gradient, of what is positive in g: ``f'(x) * max(g, 0)``.

    Forward: that of the op.
    Backward: ``f'(x) * max(g, 0)``; for Relu ``max(g, 0)`` where ``x > 0``, else 0, by two fused kernels.
    Kink: at ``x == 0`` Relu passes nothing. Where g is zero or negative, ``-inf`` too, the gradient is 0.
    Infinities: ``+inf`` and NaN in g behave as in TensorFlow's own gradient, which multiplies: behind a closed
    ReLU they give NaN. (The product of two masks and g gives NaN for ``-inf`` as well.)
    Op types: any with one input: for Relu6, Elu, LeakyRelu and the like it composes with TensorFlow's own
    gradient (the product form, with masks of y and g, passes Relu6 beyond 6, where f' is 0).
    Shapes and dtypes: grad and result are of the input's shape and dtype; any floating dtype.
    Second order: that of the composition, as for any TensorFlow operation.
    Source: Springenberg, Dosovitskiy, Brox, Riedmiller 2014, arXiv:1412.6806; this form in iNNvestigate.
    """
    one_input("guided", op)
    return original_gradient(op, tf.nn.relu(grad))


@gradient_rule("guided_after")
def guided_after(op, grad):
    """Guided backprop, rectified after the activation: ``max(f'(x) * g, 0)``.

    Forward: that of the op.
    Backward: ``max(f'(x) * g, 0)``. The same as guided where ``f' >= 0``, as in every ReLU; where an activation
    falls (a swish left of -1.28) it passes negative g, and guided does not.
    Kink: that of the activation's own gradient.
    Infinities: behind a closed ReLU, where TensorFlow's own gradient multiplies, they give NaN.
    Op types: any with one input.
    Shapes and dtypes: grad and result are of the input's shape and dtype; any floating dtype.
    Second order: that of the composition.
    Source: captum; despite the name it differs from arXiv:1412.6806 for activations that fall.
    """
    one_input("guided_after", op)
    return tf.nn.relu(original_gradient(op, grad)[0])


@gradient_rule("guided_select")
def guided_select(op, grad):
    """Guided backprop by selection: ``f'(x) * g`` where ``g > 0``, else 0.

    Forward: that of the op.
    Backward: ``where(g > 0, f'(x) * g, 0)``. The same numbers as guided, but a NaN in g gives 0.
    Kink: that of the activation's own gradient; g == 0 gives 0.
    Infinities: ``-inf`` gives 0; ``+inf`` behind a closed ReLU gives NaN, as in TensorFlow's own gradient.
    Op types: any with one input.
    Shapes and dtypes: grad and result are of the input's shape and dtype; any floating dtype.
    Second order: that of the composition.
    Source: tensorpack's saliency example; zennit. arXiv:1412.6806.
    """
    one_input("guided_select", op)
    return keep(grad > 0, original_gradient(op, grad)[0])


@gradient_rule("guided_input_mask")
def guided_input_mask(op, grad):
    """Guided backprop, by the sign of the input: ``max(g, 0)`` where ``x > 0``, else 0.

    Forward: that of the op.
    Backward: ``where(x > 0, max(g, 0), 0)``, whatever the activation: f' is left out, so that on Relu6 beyond
    6, and on Elu, Softplus, Sigmoid everywhere, it differs from guided on purpose.
    Kink: at ``x == 0`` nothing passes.
    Infinities: selected, never multiplied. A NaN in g stays NaN where x is positive.
    Op types: any with one input and an output of the same shape.
    Shapes and dtypes: grad and result are of the input's shape and dtype; any floating dtype.
    Second order: that of max, in g.
    Source: tf-keras-vis and the code of RectGrad; despite the name arXiv:1412.6806 is about ReLU alone.
    """
    x = elementwise("guided_input_mask", op)
    return keep(x > 0, tf.nn.relu(grad))


@gradient_rule("guided_output_mask")
def guided_output_mask(op, grad):
    """Guided backprop of Relu, by the sign of the output: g where ``y > 0`` and ``g > 0``, else 0.

    Forward: that of Relu.
    Backward: ``where(y > 0 and g > 0, g, 0)``: what the product ``1[y > 0] * 1[g > 0] * g`` of public code
    gives, without the NaN that it makes of infinities and without its casts to float32.
    Kink: at ``x == 0`` nothing passes; g == 0 and NaN give 0.
    Infinities: selected, never multiplied.
    Op types: Relu. On Relu6 the product form gives 1 at x = 8, where the derivative is 0: guided is right there.
    Shapes and dtypes: grad and result are of the input's shape and dtype; any floating dtype.
    Second order: that of where, in g.
    Source: PAIR saliency, keras-vis; arXiv:1412.6806.
    """
    elementwise("guided_output_mask", op)
    of_type("guided_output_mask", op, ("Relu",))
    return keep(tf.logical_and(op.outputs[0] > 0, grad > 0), grad)


@gradient_rule("deconvnet")
def deconvnet(op, grad):
    """Deconvnet: what is positive in g passes, whatever the input was: ``max(g, 0)``.

    Forward: that of the op.
    Backward: ``max(g, 0)``.
    Kink: x does not matter; g == 0 gives 0.
    Infinities: selected, never multiplied. A NaN in g stays NaN.
    Op types: any with one input and an output of the same shape.
    Shapes and dtypes: grad and result are of the input's shape and dtype; any floating dtype.
    Second order: that of Relu at g.
    Source: Zeiler, Fergus 2013, arXiv:1311.2901.
    """
    elementwise("deconvnet", op)
    return tf.nn.relu(grad)


def redirected(step: Optional[TensorLike] = None, switch: int = 16) -> GradientFunction:
    """Make the redirected-ReLU rule.

    Args:
        step: a tensor or variable, or a function that returns one when the gradient is built, such as
            ``tf.compat.v1.train.get_or_create_global_step``; None for a rule that never switches.
        switch: once ``step`` is above it, the ordinary gradient is used.
    """
    switch = number("redirected", "switch", switch)
    if step is not None and not callable(step) and not hasattr(step, "dtype"):
        raise TypeError("redirected: step must be a tensor, a variable or a function that returns one, but got "
                        "{!r}.".format(step))

    @gradient_rule("redirected", switch=None if step is None else switch)
    def rule(op, grad):
        """Redirected ReLU: where a sample's whole gradient would die, g passes that pulls x back to the active side.

        Forward: that of Relu or Relu6.
        Backward: ``r if any(r != 0) else d``, per sample (the first dimension): r is the ordinary gradient, d is g
        without what a descent step would push further out: Relu: ``x < 0 and g > 0``; Relu6 also
        ``x > 6 and g < 0``. Once ``step > switch``: r.
        Sign convention: for gradient descent, whose step is against g. A negative g pushes x up.
        Kink: at ``x == 0`` and ``x == 6`` g passes (unlike TensorFlow's own gradient, which passes nothing).
        Infinities: selected, never multiplied. A NaN in g counts as a gradient that did not die.
        Op types: Relu, Relu6. One of rank 0 or 1 is taken as one sample per entry.
        Shapes and dtypes: grad and result are of the input's shape and dtype; any floating dtype, also where
        the squares of a norm would underflow (the original compares a Euclidean norm with 0).
        Second order: that of where, in g.
        Source: lucid, redirected_relu_grad, which switches at global_step 16.
        """
        x = elementwise("redirected", op)
        of_type("redirected", op, ("Relu", "Relu6"))
        below = x < 0
        out = tf.logical_or(below, x > 6) if op.type == "Relu6" else below
        ordinary = tf.logical_and(tf.not_equal(grad, 0), tf.logical_not(out))
        alive = tf.reduce_any(ordinary, axis=per_sample(grad), keepdims=True)
        if step is not None:
            now = step() if callable(step) and not hasattr(step, "dtype") else step
            alive = tf.logical_or(alive, tf.cast(now, tf.float32) > switch)
        # r and d differ only where x is out: there r is 0, and d is 0 where the step would lead further out.
        blocked = tf.logical_and(below, tf.logical_or(alive, grad > 0))
        if op.type == "Relu6":
            blocked = tf.logical_or(blocked, tf.logical_and(x > 6, tf.logical_or(alive, grad < 0)))
        return keep(tf.logical_not(blocked), grad)

    return rule


@gradient_rule("zero")
@declare_surrogate(lambda op, x: tf.zeros_like(x))
def zero(op, grad):
    """Zero: a gradient of zeros (stop, by contrast, gives none).

    Forward: that of the op.
    Backward: 0.
    Op types: any with one input.
    Shapes and dtypes: the input's.
    Second order: 0.
    Source: DeepExplain's DummyZero.
    """
    return tf.zeros_like(one_input("zero", op))


def rectgrad(percentile: float = 98.0) -> GradientFunction:
    """Make the RectGrad rule with a threshold per sample."""
    percentile = number("rectgrad", "percentile", percentile, minimum=0, maximum=100)

    @gradient_rule("rectgrad", percentile=percentile)
    def rule(op, grad):
        """RectGrad: g where ``y * g`` is above its percentile in the sample, else 0. The saliency is the result * x.

        Forward: that of the op.
        Backward: ``where(y * g > t, g, 0)``; t is the percentile of ``y * g`` over all entries of the sample, its
        nearest entry: the one at place ``round((n - 1) * (1 - percentile / 100))`` from the top, halves to even.
        Kink: what equals the threshold does not pass.
        Infinities: g is selected, never multiplied; but ``y * g`` is NaN where y is 0 and g infinite: nothing
        passes there.
        Op types: any with one input and an output of the same shape. One of rank 0 or 1 is taken as one sample per
        entry, of which none is above its own percentile.
        Shapes and dtypes: grad and result are of the input's shape and dtype; any floating dtype.
        Second order: that of where, in g.
        Source: Kim et al. 2019, arXiv:1902.04893, and its code (which takes a percentile over images only).
        """
        elementwise("rectgrad", op)
        importance = op.outputs[0] * grad
        shape = tf.shape(importance)
        samples = tf.reduce_prod(shape[:1])
        entries = tf.reduce_prod(shape[1:])
        flat = tf.reshape(importance, [samples, entries])
        place = tf.cast(tf.round(tf.cast(entries - 1, tf.float64) * (1.0 - percentile / 100.0)), tf.int32)
        threshold = tf.nn.top_k(flat, tf.minimum(place + 1, entries), sorted=True).values[:, -1:]
        return keep(tf.reshape(flat > threshold, shape), grad)

    return rule


def rectgrad_constant(threshold: float = 0.0) -> GradientFunction:
    """Make the RectGrad rule with one threshold for all."""
    threshold = number("rectgrad_constant", "threshold", threshold)

    @gradient_rule("rectgrad_constant", threshold=threshold)
    def rule(op, grad):
        """RectGrad with a constant: g where ``y * g > threshold``, else 0. The saliency is the result * x.

        Forward: that of the op.
        Backward: ``where(y * g > threshold, g, 0)``.
        Kink: what equals the threshold does not pass.
        Infinities: as in rectgrad.
        Op types: any with one input and an output of the same shape.
        Shapes and dtypes: grad and result are of the input's shape and dtype; any floating dtype.
        Second order: that of where, in g.
        Source: Kim et al. 2019, arXiv:1902.04893, its code's RectifiedGradientConst.
        """
        elementwise("rectgrad_constant", op)
        return keep(op.outputs[0] * grad > threshold, grad)

    return rule


@gradient_rule("rectgrad_padding")
def rectgrad_padding(op, grad):
    """RectGrad's padding trick on Conv2D: the ordinary gradients, of g without its border if the padding is SAME.

    Forward: that of Conv2D.
    Backward: ``back(g without its border)``: the one-pixel border of g is set to 0 if the padding is SAME; then
    TensorFlow's own gradients.
    Infinities: the border is cut off, not multiplied.
    Op types: Conv2D. Attributes honoured: padding, data_format, strides, dilations.
    Shapes and dtypes: as Conv2D; sizes may be unknown, also below 3.
    Second order: that of the composition.
    Source: Kim et al. 2019, arXiv:1902.04893, its code (which takes NHWC for granted).
    """
    of_type("rectgrad_padding", op, ("Conv2D",))
    if op.get_attr("padding") == b"SAME":
        before, behind = (2, 0) if op.get_attr("data_format") == b"NCHW" else (1, 1)
        sizes = tf.shape(grad)[before:before + 2]
        first = tf.minimum(sizes, 1)
        inner = tf.maximum(sizes - 2, 0)
        last = sizes - first - inner
        start = tf.pad(first, [[before, behind]])
        size = tf.pad(inner, [[before, behind]], constant_values=-1)   # -1: all of it
        cut = tf.pad(tf.slice(grad, start, size), tf.stack([start, tf.pad(last, [[before, behind]])], axis=1))
        cut.set_shape(grad.shape)
        grad = cut
    return original_gradient(op, grad)


def beta_smooth(beta: float = 10.0) -> GradientFunction:
    """Make the rule that differentiates a ReLU as a softplus."""
    beta = number("beta_smooth", "beta", beta, minimum=0)

    @gradient_rule("beta_smooth", beta=beta)
    @declare_surrogate(lambda op, x: tf.nn.softplus(beta * x) / beta if beta else 0.5 * x)
    def rule(op, grad):
        """Smooth ReLU: ``sigmoid(beta * x) * g``, the derivative of ``softplus(beta * x) / beta``.

        Forward: that of the op.
        Backward: ``sigmoid(beta * x) * g``.
        Kink: none; half of g at ``x == 0``.
        Infinities: a product: an infinite g where sigmoid has gone to 0 gives NaN.
        Op types: any with one input and an output of the same shape; meant for Relu.
        Shapes and dtypes: grad and result are of the input's shape and dtype; any floating dtype.
        Second order: that of the formula.
        Source: Dombrowski et al. 2019, arXiv:1906.07983; zennit's ReLUBetaSmooth.
        """
        x = elementwise("beta_smooth", op)
        return tf.sigmoid(beta * x) * grad

    return rule


def spike(gamma: float = 0.3) -> GradientFunction:
    """Make the rule of a spiking neuron."""
    gamma = number("spike", "gamma", gamma, minimum=0)

    def surrogate(op, v):
        near = tf.clip_by_value(v, -1, 1)
        return gamma * (near - near * tf.abs(near) / 2)

    @gradient_rule("spike", gamma=gamma)
    @declare_surrogate(surrogate)
    def rule(op, grad):
        """Spike: ``gamma * max(1 - |v|, 0) * g``, a triangle around the threshold.

        Forward: that of the op; usually ``1[v > 0]``, as in ops.spike.
        Backward: ``gamma * max(1 - |v|, 0) * g``.
        Kink: at ``v == 0`` the full gamma; 0 from ``|v| == 1`` on.
        Infinities: a product: an infinite g where the triangle is 0 gives NaN.
        Op types: any with one input and an output of the same shape.
        Shapes and dtypes: grad and result are of the input's shape and dtype; any floating dtype.
        Second order: that of the formula.
        Source: Bellec et al. 2018, arXiv:1803.09574, LSNN-official (SpikeFunction; gamma is its dampening factor).
        """
        v = elementwise("spike", op)
        return gamma * tf.nn.relu(1 - tf.abs(v)) * grad

    return rule
