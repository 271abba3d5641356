"""Rules that steer the gradient: turned, scaled, clipped, bounded, or that of another function."""
from typing import Any, Callable

from .._tf import select, tf
from .._types import GradientFunction
from ..errors import GradientError
from ..registry import declare_surrogate, gradient_rule
from ._kinds import elementwise, floating, keep, number, of_type


def reverse(factor: Any = 1.0) -> GradientFunction:
    """Make the gradient reversal rule.

    Args:
        factor: a number; or, for a schedule, a scalar tensor or variable of the graph, or a function that returns one
            when the gradient is built.
    """
    factor, called = _factor("reverse", factor)

    @gradient_rule("reverse", factor=called)
    @declare_surrogate(lambda op, x: -_as(factor, x) * x)
    def rule(op, grad):
        """Gradient reversal: ``-factor * g``.

        Forward: that of the op, usually Identity.
        Backward: ``-factor * g``; the factor may follow a schedule.
        Op types: any with one input and an output of the same shape.
        Shapes and dtypes: as the input; any floating dtype.
        Second order: 0 in x.
        Source: Ganin, Lempitsky 2014, arXiv:1409.7495.
        """
        elementwise("reverse", op)
        return -_as(factor, grad) * grad

    return rule


def scale(factor: Any) -> GradientFunction:
    """Make the rule that scales the gradient.

    Args:
        factor: as of ``reverse``.
    """
    factor, called = _factor("scale", factor)

    @gradient_rule("scale", factor=called)
    @declare_surrogate(lambda op, x: _as(factor, x) * x)
    def rule(op, grad):
        """Scaled gradient: ``factor * g``.

        Forward: that of the op, usually Identity.
        Backward: ``factor * g``.
        Op types: any with one input and an output of the same shape.
        Shapes and dtypes: as the input; any floating dtype.
        Second order: 0 in x.
        Source: tf-slim's scale_gradient.
        """
        elementwise("scale", op)
        return _as(factor, grad) * grad

    return rule


def clip_by_value(minimum: float, maximum: float) -> GradientFunction:
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
        elementwise("clip_by_value", op)
        return tf.minimum(tf.maximum(grad, minimum), maximum)

    return rule


def clip_by_norm(norm: float) -> GradientFunction:
    """Make the rule that shortens the gradient to a Euclidean norm."""
    norm = number("clip_by_norm", "norm", norm, minimum=0)

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
        elementwise("clip_by_norm", op)
        wide = tf.cast(grad, tf.float32) if grad.dtype.size < 4 else grad
        squared = tf.reduce_sum(tf.square(wide))
        # The square root of 0 has an infinite derivative: take it of 1 where it is not used.
        length = tf.sqrt(select(squared > 0, squared, tf.ones_like(squared)))
        return tf.cast(wide * (norm / tf.maximum(length, norm)) if norm else tf.zeros_like(wide), grad.dtype)

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


#: What the gradient of a bound may be, in the words of tensorflow/compression.
BOUND_GRADIENTS = ("identity_if_towards", "identity", "disconnected")


def lower_bound(gradient: str = "identity_if_towards") -> GradientFunction:
    """Make the rule for ``max(x, bound)``."""
    return _bound("lower_bound", "Maximum", gradient, tf.greater_equal, tf.less)


def upper_bound(gradient: str = "identity_if_towards") -> GradientFunction:
    """Make the rule for ``min(x, bound)``."""
    return _bound("upper_bound", "Minimum", gradient, tf.less_equal, tf.greater)


def _bound(name, op_type, gradient, within, towards):
    if gradient not in BOUND_GRADIENTS:
        raise ValueError("{}: gradient must be one of {}, but got {!r}.".format(
            name, ", ".join(map(repr, BOUND_GRADIENTS)), gradient))

    @gradient_rule(name, gradient=gradient)
    def rule(op, grad):
        """Bound: a gradient of ``max(x, bound)`` or ``min(x, bound)`` that can lead x back inside; none for the bound.

        Forward: Maximum or Minimum of x, the first input, and the bound, the second.
        Backward: ``g where x >= bound or g < 0`` (upper: ``x <= bound or g > 0``), else 0: what a descent step leads
        towards the bound passes too. That is "identity_if_towards"; "disconnected" has the first condition alone,
        "identity" neither.
        Kink: on the bound itself g passes.
        Infinities: selected, never multiplied (the original multiplies).
        Op types: Maximum for lower_bound, Minimum for upper_bound.
        Shapes and dtypes: the bound broadcasts to x; any floating dtype.
        Second order: that of where, in g.
        Source: tensorflow/compression, lower_bound and upper_bound; tf-slim's GDN. Balle 2018, arXiv:1802.00847.
        """
        if op.type != "IdentityN":   # a tf_func_with_grad, as in ops
            of_type(name, op, (op_type,))
        x, bound = floating(name, op, op.inputs[0]), op.inputs[1]
        if not x.shape.is_compatible_with(op.outputs[0].shape):
            raise GradientError(
                "The rule {} takes the first input as x and the second as its bound, which broadcasts to it; in "
                "operation {!r} x has shape {} and the bound {}.".format(name, op.name, x.shape, bound.shape))
        if gradient == "identity":
            return grad, None
        passes = within(x, bound)
        if gradient == "identity_if_towards":
            passes = tf.logical_or(passes, towards(grad, 0))
        return keep(passes, grad), None

    if gradient != "identity_if_towards":   # that one depends on g: it is the derivative of nothing
        rule.surrogate = {"identity": lambda op, x, bound: tf.identity(x), "disconnected": (
            lambda op, x, bound: (tf.maximum if op_type == "Maximum" else tf.minimum)(x, bound))}[gradient]
    return rule


def substitute(forward: Callable[..., Any]) -> GradientFunction:
    """Make the rule that gives an op the gradient of another function.

    Args:
        forward: ``forward(*inputs)``, with the inputs and as many outputs as the op, of TensorFlow operations.
    """
    if not callable(forward):
        raise TypeError("substitute: forward must be a callable over tensors, but got {!r}.".format(forward))

    def surrogate(op, *inputs):
        return forward(*inputs)

    @declare_surrogate(surrogate)
    def rule(op, *grads):
        """Substitute: the gradient of ``forward(*inputs)`` at the op's inputs, whatever the op computes.

        Forward: that of the op.
        Backward: ``vjp(forward, inputs)(g)``; BPDA with a smooth stand-in; with the op's own forward, recomputation:
        what the backward needs is computed when g is there, and not kept from the forward.
        Op types: any; inputs that forward does not use, or that are integers, get None.
        Shapes and dtypes: those of forward.
        Second order: that of forward.
        Source: Athalye, Carlini, Wagner 2018 (BPDA), arXiv:1802.00420; tf.recompute_grad.
        """
        came = [grad for grad in grads if grad is not None]
        with tf.control_dependencies(came):
            # Not before g is there, and not merged with the forward's own operations.
            inputs = [tf.identity(tensor) for tensor in op.inputs]
        try:
            outputs = forward(*inputs)
        except (TypeError, ValueError) as error:
            raise GradientError("The substitute for operation {!r} (type {}) does not take its {} input(s): {}".format(
                op.name, op.type, len(inputs), error)) from error
        outputs = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
        if len(outputs) != len(grads):
            raise GradientError("The substitute for operation {!r} (type {}) returns {} outputs, but the operation has "
                                "{}.".format(op.name, op.type, len(outputs), len(grads)))
        for output, original in zip(outputs, op.outputs):
            if not output.shape.is_compatible_with(original.shape):
                raise GradientError("The substitute for operation {!r} (type {}) returns shape {}, but the operation "
                                    "{}.".format(op.name, op.type, output.shape, original.shape))
        pairs = [(output, grad) for output, grad in zip(outputs, grads) if grad is not None]
        return tf.gradients([output for output, _ in pairs], inputs, grad_ys=[grad for _, grad in pairs])

    return rule


def bpda(backward: Callable[..., Any]) -> GradientFunction:
    """Make the rule that computes the gradient by a function of inputs and g.

    Args:
        backward: ``backward(inputs, grad)``, returning one gradient per input, or a single one for a single input.
    """
    if not callable(backward):
        raise TypeError("bpda: backward must be a callable over (inputs, grad), but got {!r}.".format(backward))

    def rule(op, grad):
        """BPDA by hand: ``backward(inputs, g)``.

        Forward: that of the op.
        Backward: what the function returns.
        Op types: any with one output.
        Shapes and dtypes: what the function returns is checked against the inputs.
        Second order: that of the function.
        Source: advertorch's BPDAWrapper; Athalye, Carlini, Wagner 2018, arXiv:1802.00420.
        """
        inputs = list(op.inputs)
        return backward(inputs[0] if len(inputs) == 1 else inputs, grad)

    return rule


def _factor(rule, factor):
    """A parameter that may be a number or follow a schedule; and what to call it in the rule's name."""
    if callable(factor) and not hasattr(factor, "dtype"):
        return factor, "scheduled"
    if isinstance(factor, tf.Tensor) or hasattr(factor, "initializer"):
        return factor, "scheduled"
    factor = number(rule, "factor", factor)
    return factor, factor


def _as(factor, tensor):
    """The value of such a parameter, to multiply a tensor with."""
    value = factor() if callable(factor) and not hasattr(factor, "dtype") else factor
    if isinstance(value, (int, float)):
        return float(value)   # TensorFlow converts it exactly; tf.cast would go by way of float32
    return tf.cast(value, tensor.dtype)
