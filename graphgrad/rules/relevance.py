"""Relevance as a gradient that is multiplied by the input once, at the end: LRP-epsilon and DeepLIFT's rescale.

DeepLIFT compares each activation with what it is for a baseline, which one op cannot see. The form: run both
in one batch, samples first, as many baselines behind them (``ops.paired``); then every op has both, and a rule
takes the halves apart. It needs no second graph, no run beforehand and no fixed batch size, and holds in bodies.
The rules look at the first half of g alone and give both halves the same.
"""
from .._tf import select, tf
from .._types import GradientFunction
from ..errors import GradientError
from ..registry import gradient_rule, original_gradient
from ._again import again
from ._kinds import elementwise, floating, number, of_type

#: Element by element, not linear, of one input.
ONE_INPUT = ("Relu", "Relu6", "LeakyRelu", "Elu", "Selu", "Softplus", "Softsign", "Sigmoid", "Tanh", "Exp", "Log",
             "Square", "Sqrt", "Rsqrt", "Reciprocal", "Abs", "Erf", "Expm1", "Log1p", "Sin", "Cos")
#: Element by element, of two inputs that may both differ from their baselines.
TWO_INPUTS = ("Mul", "RealDiv", "Minimum", "Maximum", "SquaredDifference", "Div", "DivNoNan", "Pow")
#: Linear in the first of two inputs.
QUOTIENTS = ("RealDiv", "Div", "DivNoNan")
#: Linear in each of two inputs.
BILINEAR = ("Mul", "MatMul", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3")
#: Names an op of ``ops.paired``: what depends on it differs between the halves.
PAIRED = "graphgrad_paired"


def lrp_epsilon_gradient(epsilon: float = 1e-4) -> GradientFunction:
    """Make the rule of LRP-epsilon as a gradient."""
    epsilon = number("lrp_epsilon_gradient", "epsilon", epsilon, minimum=0)
    if not epsilon:
        raise ValueError("lrp_epsilon_gradient: epsilon must be above 0, or x == 0 divides by 0.")

    @gradient_rule("lrp_epsilon_gradient", epsilon=epsilon)
    def rule(op, grad):
        """LRP-epsilon as a gradient: ``g * y / (x + epsilon * s(x))`` at nonlinearities; relevance: the result * x.

        Forward: that of the op, an activation.
        Backward: the formula; s is the sign, with ``s(0) = +1``. Linear ops keep their own gradient.
        Kink: ``x == 0`` divides by epsilon.
        Infinities: NaN where x is infinite.
        Op types: any with one input and an output of the same shape, if f(0) is 0, for relevance to be kept.
        Shapes and dtypes: as the input; any floating dtype (1e-4 is about float16's smallest normal number).
        Second order: that of the formula.
        Source: Ancona et al. 2018, arXiv:1711.06104, DeepExplain's EpsilonLRP; Bach et al. 2015.
        """
        x = elementwise("lrp_epsilon_gradient", op)
        size = epsilon * tf.ones_like(x)
        return grad * op.outputs[0] / (x + select(x >= 0, size, -size))

    return rule


def deeplift_rescale(near: float = 1e-5) -> GradientFunction:
    """Make DeepLIFT's rescale rule for ops of one input, on a batch of pairs."""
    near = number("deeplift_rescale", "near", near, minimum=0)

    @gradient_rule("deeplift_rescale", near=near)
    def rule(op, grad):
        """DeepLIFT rescale: ``g * (y - y0) / (x - x0)``; the contribution is the result * (x - x0).

        Forward: that of the op, an activation, on samples x and baselines x0 in one batch (ops.paired).
        Backward: the formula where ``|x - x0| > near``, else g times the op's own derivative at ``(x + x0) / 2``.
        Kink: the slope across it; a difference of ``near`` or less takes the midpoint's side.
        Infinities: NaN.
        Op types: any with one input and an output of the same shape, element by element.
        Shapes and dtypes: the first dimension is even; any floating dtype.
        Second order: that of the formula.
        Source: Shrikumar, Greenside, Kundaje 2017, arXiv:1704.02685; DeepExplain's DeepLIFTRescale (near 1e-5), SHAP
        (1e-6, with the derivative at x), captum (1e-10).
        """
        elementwise("deeplift_rescale", op)
        _of_pairs("deeplift_rescale", op)
        (x, x0), (y, y0), (g, _) = _halves(op.inputs[0]), _halves(op.outputs[0]), _halves(grad)
        middle = original_gradient(again(op, [(x + x0) / 2]), g)[0]
        return _both(_slope(g, y - y0, x - x0, near, middle))

    return rule


@gradient_rule("deeplift_two_inputs")
def deeplift_two_inputs(op, grad):
    """DeepLIFT rescale of two inputs: each gets the mean of its effects, with the other as it is and at its baseline.

    Forward: Mul, RealDiv, Minimum, Maximum, SquaredDifference, Pow, BatchMatMul, on samples and baselines in one batch.
    Backward: ``g * 1/2 (f(a, b) - f(a0, b) + f(a, b0) - f(a0, b0)) / (a - a0)`` to a, 0 where ``|a - a0| < 1e-7``;
    b alike. For products that is ``g * (b + b0) / 2``, which needs no division and no exception near 0. If only one of
    them depends on the sample (ops.paired), the rescale of that one; a weight gets its own gradient.
    Kink: as in deeplift_rescale.
    Infinities: NaN.
    Op types: Mul, RealDiv, Div, DivNoNan, Minimum, Maximum, SquaredDifference, Pow, MatMul, BatchMatMul (V2, V3).
    Shapes and dtypes: what depends on the sample has an even first dimension of its own; broadcasting in the others.
    Second order: that of the formula.
    Source: SHAP's nonlinearity_2d_handler; Lundberg, Lee 2017, arXiv:1705.07874, two players' Shapley values.
    """
    of_type("deeplift_two_inputs", op, TWO_INPUTS + BILINEAR)
    floating("deeplift_two_inputs", op, op.inputs[0])
    return rescale_two_inputs(op, grad, [_depends_on_pair(op, tensor) for tensor in op.inputs])


def rescale_two_inputs(op, grad, varies):
    """``deeplift_two_inputs`` where it is known, for each input, whether it differs between sample and baseline."""
    a, b = op.inputs
    if sum(varies) < 2 and (op.type in BILINEAR or (op.type in QUOTIENTS and not varies[1])):
        return original_gradient(op, grad)      # linear in the one that varies
    if op.type == "MatMul":
        raise GradientError(
            "The rule deeplift_two_inputs cannot take operation {!r} (type MatMul) apart: both of its inputs depend on "
            "the sample, so it mixes samples with baselines. Use a batched product (rank 3).".format(op.name))
    _of_pairs("deeplift_two_inputs", op)
    (y, y0), (g, _) = _halves(op.outputs[0]), _halves(grad)
    if op.type in BILINEAR:
        (a1, a0), (b1, b0) = _halves(a), _halves(b)
        middle = again(op, [(a1 + a0) / 2, (b1 + b0) / 2])
        return [_both(gradient) for gradient in original_gradient(middle, g)]
    result = []
    for index, tensor in enumerate((a, b)):
        if not varies[index]:
            result.append(None)
            continue
        x, x0 = _halves(tensor)
        if all(varies):
            other, other0 = _halves((b, a)[index])
            mixed = [again(op, pair[::-1] if index else pair).outputs[0] for pair in ([x, other0], [x0, other])]
            effect = ((y - y0) + (mixed[0] - mixed[1])) / 2
        else:
            effect = y - y0
        multiplier = _slope(g, effect, x - x0, 1e-7, tf.zeros_like(effect))
        result.append(_both(_sum_to(multiplier, x)))
    return result


@gradient_rule("deeplift_max_pool")
def deeplift_max_pool(op, grad):
    """DeepLIFT rescale of a max-pool: the difference of maxima goes to what was largest in sample and baseline.

    Forward: MaxPool, or Max over other axes than the first, on samples and baselines in one batch.
    Backward: ``(pool_grad(x; g (m - y0)) + pool_grad(x0; g (y - m))) / (x - x0)``, m the larger of y and y0; 0 where
    ``|x - x0| < 1e-7``; pool_grad is TensorFlow's own.
    Kink: ties go where TensorFlow's own gradient sends them.
    Infinities: NaN.
    Op types: MaxPool, MaxPool3D, Max. Any attribute of the op is honoured.
    Shapes and dtypes: the first dimension is even; any floating dtype that the pool has.
    Second order: that of the formula.
    Source: SHAP's maxpool handler, captum; after Shrikumar et al. 2017, arXiv:1704.02685.
    """
    of_type("deeplift_max_pool", op, ("MaxPool", "MaxPool3D", "Max"))
    _of_pairs("deeplift_max_pool", op)
    (x, x0), (y, y0), (g, _) = _halves(op.inputs[0]), _halves(op.outputs[0]), _halves(grad)
    largest = tf.maximum(y, y0)
    routed = original_gradient(op, tf.concat([g * (largest - y0), g * (y - largest)], 0))[0]
    up, down = _halves(routed)
    multiplier = _both(_slope(tf.ones_like(x), up + down, x - x0, 1e-7, tf.zeros_like(x)))
    return [multiplier] + [None] * (len(op.inputs) - 1)


@gradient_rule("deeplift_softmax")
def deeplift_softmax(op, grad):
    """DeepLIFT rescale of a softmax, taken apart into exponentials, their sum and the quotient.

    Forward: Softmax on samples and baselines in one batch.
    Backward: ``(g (1/S + 1/S0) / 2 - sum(g (e + e0) / 2) / (S S0)) * (e - e0) / (x - x0)``, with e, e0 the exponentials
    (of x minus the largest of x and x0 in the row, one shift for both), S, S0 their sums; the last factor is
    ``exp((x + x0) / 2)``, shifted, where ``|x - x0| <= 1e-5``.
    Infinities: NaN.
    Op types: Softmax (over the last axis, as TensorFlow's op is).
    Shapes and dtypes: the first dimension is even; any floating dtype.
    Second order: that of the formula.
    Source: after SHAP's softmax handler, which shifts sample and baseline by different maxima, and so weighs
    them by their size; one shift for both leaves the quotient, and its shares, as they are without.
    """
    of_type("deeplift_softmax", op, ("Softmax",))
    _of_pairs("deeplift_softmax", op)
    (x, x0), (g, _) = _halves(op.inputs[0]), _halves(grad)
    shift = tf.reduce_max(tf.maximum(x, x0), axis=-1, keepdims=True)
    e, e0 = tf.exp(x - shift), tf.exp(x0 - shift)
    total, total0 = [tf.reduce_sum(part, axis=-1, keepdims=True) for part in (e, e0)]
    by_sum = tf.reduce_sum(g * (e + e0), axis=-1, keepdims=True) / (2 * total * total0)
    multiplier = g * (1 / total + 1 / total0) / 2 - by_sum
    return _both(_slope(multiplier, e - e0, x - x0, 1e-5, multiplier * tf.exp((x + x0) / 2 - shift)))


@gradient_rule("deeplift_softmax_centred")
def deeplift_softmax_centred(op, grad):
    """DeepLIFT rescale of a softmax as one op, less its mean over the classes.

    Forward: Softmax on samples and baselines in one batch.
    Backward: ``m - mean(m)`` over the last axis, ``m = g * (y - y0) / (x - x0)``; where ``|x - x0| <= 1e-10`` m is the
    softmax's own gradient at the sample.
    Infinities: NaN.
    Op types: Softmax.
    Shapes and dtypes: the first dimension is even; any floating dtype (1e-10 is 0 in float16).
    Second order: that of the formula.
    Source: captum's softmax rule; the normalisation of arXiv:1704.02685, section 3.6.
    """
    of_type("deeplift_softmax_centred", op, ("Softmax",))
    _of_pairs("deeplift_softmax_centred", op)
    (x, x0), (y, y0), (g, _) = _halves(op.inputs[0]), _halves(op.outputs[0]), _halves(grad)
    own = y * (g - tf.reduce_sum(g * y, axis=-1, keepdims=True))
    multiplier = _slope(g, y - y0, x - x0, 1e-10, own)
    return _both(multiplier - tf.reduce_mean(multiplier, axis=-1, keepdims=True))


def _of_pairs(rule, op):
    """Raise GradientError if the output of an operation cannot be samples and as many baselines."""
    shape = op.outputs[0].shape
    if shape.rank is not None and (shape.rank == 0 or (shape.as_list()[0] or 0) % 2):
        raise GradientError(
            "The rule {} takes samples and as many baselines in one batch (ops.paired): the first dimension must be "
            "even, but operation {!r} of type {} has shape {}.".format(rule, op.name, op.type, shape))


def _halves(tensor):
    """Samples and baselines."""
    return tf.split(tensor, 2)


def _both(half):
    return tf.concat([half, half], 0)


def _slope(factor, rise, run, near, instead):
    """``factor * rise / run``, and ``instead`` where the run is no longer than ``near``."""
    far = tf.abs(run) > near
    far = tf.logical_and(far, tf.ones_like(rise, tf.bool))
    run = select(far, run + tf.zeros_like(rise), tf.ones_like(rise))
    return select(far, factor * rise / run, instead)


def _sum_to(gradient, tensor):
    """Sum over the dimensions in which ``tensor`` was broadcast."""
    axes, _ = tf.raw_ops.BroadcastGradientArgs(s0=tf.shape(tensor), s1=tf.shape(gradient))
    return tf.reshape(tf.reduce_sum(gradient, axes), tf.shape(tensor))


def _depends_on_pair(op, tensor):
    """Whether a tensor depends on what ops.paired made, and so differs between the halves."""
    seen, stack = set(), [tensor.op]
    unknown = None
    while stack:
        current = stack.pop()
        if current in seen:
            continue
        seen.add(current)
        if PAIRED in current.name:
            return True
        if current.type == "Placeholder" and hasattr(current.graph, "outer_graph") and (
                current.outputs[0].dtype.is_floating):
            unknown = current
        stack += [inner.op for inner in current.inputs]
    if unknown is not None:
        raise GradientError(
            "The rule deeplift_two_inputs cannot tell in the body {!r} whether input {} of operation {!r} depends on "
            "the sample. Build the pair with ops.paired in the same function.".format(
                op.graph.name, tensor.name, op.name))
    return False
