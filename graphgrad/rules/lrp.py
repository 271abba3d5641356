"""Layer-wise relevance propagation: what flows backwards is relevance R, not a gradient.

Each rule takes the relevance of an op's output and returns that of its input, so that ``tf.gradients(y, x,
grad_ys=y)`` is the relevance of x for y (without grad_ys it starts as 1). z is the output before the
nonlinearity, bias included: a BiasAdd (or an Add of a rank-1 tensor) that alone takes the output of a linear op
is one layer with it. Weights and biases get None. For an op that is not linear with weights (an average, a
sum, a residual Add, a batch normalisation in inference) every rule gives the shares ``x * dz/dx * R / z``, with
epsilon left out, as iNNvestigate and zennit do.
"""
import numpy as np

from .._tf import select, tf
from .._types import GradientFunction, TensorLike
from ..errors import GradientError
from ..registry import gradient_rule, original_gradient
from ._again import again
from ._kinds import keep, number

#: Linear in the first input, with weights as the second.
LINEAR = ("MatMul", "BatchMatMul", "BatchMatMulV2", "Conv2D", "DepthwiseConv2dNative", "Conv3D")
#: Linear without weights, or affine: relevance is shared by contribution.
SHARED = ("BiasAdd", "Add", "AddV2", "AddN", "Sub", "Neg", "Cumsum", "AvgPool", "AvgPool3D", "Mean", "Sum",
          "ResizeBilinear", "FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3")
#: The largest entry takes all, as the op's own gradient has it.
WINNER = ("MaxPool", "MaxPool3D", "Max")


@gradient_rule("lrp_z")
def lrp_z(op, relevance, *others):
    """LRP-z (LRP-0): ``x * back(R / z)``, each input's share of z.

    Forward: that of the op.
    Backward: ``x * back(R / z)``, back the op's own gradient to x; 0 where ``z == 0``.
    Kink: z near 0 makes shares of any size: lrp_epsilon is the stabilised form.
    Op types: MatMul, BatchMatMul, Conv2D, DepthwiseConv2dNative, Conv3D, by this formula; BiasAdd, Add, AddN, Sub, Neg,
    Cumsum, AvgPool, Mean, Sum, ResizeBilinear, FusedBatchNorm in inference, by their shares; MaxPool, Max: the winner
    takes all.
    Shapes and dtypes: as the op; unknown sizes; any attribute of the op is honoured.
    Second order: that of the formula.
    Source: Bach et al. 2015, doi:10.1371/journal.pone.0130140; iNNvestigate's ZRule.
    """
    return _propagate("lrp_z", op, relevance, _stable(0.0), None, others)


def lrp_epsilon(epsilon: float = 1e-4) -> GradientFunction:
    """Make the LRP-epsilon rule."""
    epsilon = number("lrp_epsilon", "epsilon", epsilon, minimum=0)

    @gradient_rule("lrp_epsilon", epsilon=epsilon)
    def rule(op, relevance, *others):
        """LRP-epsilon: ``x * back(R / (z + epsilon * s(z)))``; s is the sign, with ``s(0) = +1``.

        Forward: that of the op.
        Backward: the formula, back the op's own gradient to x. epsilon takes relevance away.
        Kink: s(0) is +1, so that z == 0 is divided by epsilon; with epsilon 0 it is lrp_z.
        Op types: MatMul, BatchMatMul, Conv2D, DepthwiseConv2dNative, Conv3D; the others of lrp_z as there.
        Shapes and dtypes: as the op; unknown sizes; any attribute of the op is honoured.
        Second order: that of the formula.
        Source: Bach et al. 2015, doi:10.1371/journal.pone.0130140; iNNvestigate's EpsilonRule, zennit's Epsilon. As
        a gradient to multiply by x once, at the end, it is lrp_epsilon_gradient.
        """
        return _propagate("lrp_epsilon", op, relevance, _stable(epsilon), None, others)

    return rule


@gradient_rule("lrp_flat")
def lrp_flat(op, relevance, *others):
    """LRP-flat: each input of a linear op gets the same share: ``back1(R / z1)``, with x and weights all 1.

    Forward: that of the op.
    Backward: ``back1(R / forward1(1))``, forward1 and back1 the op with weights 1; no bias. At the border of a
    padded convolution the share is of the inputs that are there.
    Op types: MatMul, BatchMatMul, Conv2D, DepthwiseConv2dNative, Conv3D; the others of lrp_z as there.
    Meant for the first layer.
    Shapes and dtypes: as the op; unknown sizes; any attribute of the op is honoured.
    Second order: none in x.
    Source: Lapuschkin et al. 2019, doi:10.1038/s41467-019-08987-4; iNNvestigate's FlatRule, zennit's Flat.
    """
    return _propagate("lrp_flat", op, relevance, _stable(0.0), lambda x, w, bias: _by_weights(
        x, tf.ones_like(w)), others)


@gradient_rule("lrp_w_square")
def lrp_w_square(op, relevance, *others):
    """LRP-w2: shares by the squares of the weights: ``back2(R / z2)``, with x all 1 and weights squared.

    Forward: that of the op.
    Backward: ``back2(R / forward2(1))``, forward2 and back2 the op with squared weights; no bias.
    Op types: MatMul, BatchMatMul, Conv2D, DepthwiseConv2dNative, Conv3D; the others of lrp_z as there.
    Meant for the first layer.
    Shapes and dtypes: as the op; unknown sizes; any attribute of the op is honoured.
    Second order: none in x.
    Source: Montavon et al. 2017 (deep Taylor), arXiv:1512.02479; iNNvestigate's WSquareRule, zennit's WSquare.
    """
    return _propagate("lrp_w_square", op, relevance, _stable(0.0), lambda x, w, bias: _by_weights(
        x, tf.square(w)), others)


def lrp_alpha_beta(alpha: float = 2.0, beta: float = 1.0) -> GradientFunction:
    """Make the LRP-alpha-beta rule; ``alpha - beta`` must be 1."""
    alpha = number("lrp_alpha_beta", "alpha", alpha, minimum=0)
    beta = number("lrp_alpha_beta", "beta", beta, minimum=0)
    if abs(alpha - beta - 1) > 1e-9:
        raise ValueError("lrp_alpha_beta: alpha - beta must be 1, or relevance is not kept, but got alpha {:g} and "
                         "beta {:g}.".format(alpha, beta))

    @gradient_rule("lrp_alpha_beta", alpha=alpha, beta=beta)
    def rule(op, relevance, *others):
        """LRP-alpha-beta: positive contributions share alpha * R, negative ones -beta * R; ``alpha - beta = 1``.

        Forward: that of the op.
        Backward: ``alpha * (x+ * back+(R / z+) + x- * back-(R / z+)) - beta * (x+ * back-(R / z-) + x- *
        back+(R / z-))``: x+, x- the positive and negative part of x, back+ and back- the op with the positive and
        negative part of the weights, z+ and z- the sums of positive and negative contributions, of which the
        bias is one. 0 where such a sum is 0.
        Op types: MatMul, BatchMatMul, Conv2D, DepthwiseConv2dNative, Conv3D; the others of lrp_z as there.
        Shapes and dtypes: as the op; unknown sizes; any attribute of the op is honoured.
        Second order: that of the formula.
        Source: Bach et al. 2015, doi:10.1371/journal.pone.0130140, equation 60; zennit's AlphaBeta. (iNNvestigate's
        AlphaBetaRule adds the negative part of the bias to z+ and the positive to z-.)
        """
        return _propagate("lrp_alpha_beta", op, relevance, _stable(0.0), lambda x, w, bias: _alpha_beta(
            x, w, bias, alpha, beta), others)

    return rule


@gradient_rule("lrp_z_plus")
def lrp_z_plus(op, relevance, *others):
    """LRP-z+: shares of the positive contributions alone; lrp_alpha_beta with alpha 1, beta 0.

    Forward: that of the op.
    Backward: ``x+ * back+(R / z+) + x- * back-(R / z+)``; see lrp_alpha_beta.
    Op types: MatMul, BatchMatMul, Conv2D, DepthwiseConv2dNative, Conv3D; the others of lrp_z as there.
    Shapes and dtypes: as the op; unknown sizes; any attribute of the op is honoured.
    Second order: that of the formula.
    Source: Montavon et al. 2017 (deep Taylor), arXiv:1512.02479, where x is positive; for any x zennit's ZPlus.
    """
    return _propagate("lrp_z_plus", op, relevance, _stable(0.0), lambda x, w, bias: _alpha_beta(
        x, w, bias, 1.0, 0.0), others)


@gradient_rule("excitation_backprop")
def excitation_backprop(op, relevance, *others):
    """Excitation backprop: shares of the positive contributions, without the bias; normalised shares in averages.

    Forward: that of the op.
    Backward: ``x+ * back+(R / z+) + x- * back-(R / z+)``, z+ without the bias.
    Op types: MatMul, BatchMatMul, Conv2D, DepthwiseConv2dNative, Conv3D; the others of lrp_z as there.
    Shapes and dtypes: as the op; unknown sizes; any attribute of the op is honoured.
    Second order: that of the formula.
    Source: Zhang et al. 2016, arXiv:1608.00507; zennit's ExcitationBackprop.
    """
    return _propagate("excitation_backprop", op, relevance, _stable(0.0), lambda x, w, bias: _alpha_beta(
        x, w, None, 1.0, 0.0), others)


def lrp_z_box(low: TensorLike, high: TensorLike) -> GradientFunction:
    """Make the LRP-zB rule for a first layer whose inputs lie within bounds: numbers, or arrays that broadcast to x."""
    low, high = _bound("low", low), _bound("high", high)
    if np.any(low > high):
        raise ValueError("lrp_z_box: low must not be above high, but got {!r} and {!r}.".format(low, high))

    @gradient_rule("lrp_z_box", low=_name_of(low), high=_name_of(high))
    def rule(op, relevance, *others):
        """LRP-zB (z-box): ``x * back(s) - low * back+(s) - high * back-(s)``, ``s = R / z``, for bounded inputs.

        Forward: that of the op.
        Backward: the formula; z is ``forward(x) - forward+(low) - forward-(high)``, back+ and back- the op with the
        positive and negative part of the weights; no bias. 0 where z is 0.
        Op types: MatMul, BatchMatMul, Conv2D, DepthwiseConv2dNative, Conv3D; the others of lrp_z as there.
        For the first layer.
        Shapes and dtypes: as the op; unknown sizes; any attribute of the op is honoured.
        Second order: that of the formula.
        Source: Montavon et al. 2017 (deep Taylor), arXiv:1512.02479; iNNvestigate's BoundedRule, zennit's ZBox.
        """
        def groups(x, w, bias):
            ones = tf.ones_like(x)
            lowest, highest = [tf.constant(bound, x.dtype) * ones for bound in (low, high)]
            return [_Group(1.0, [(x, w, x), (-lowest, tf.nn.relu(w), -lowest), (-highest, _negative(w), -highest)],
                           None)]

        return _propagate("lrp_z_box", op, relevance, _stable(0.0), groups, others)

    return rule


def lrp_gamma(gamma: float = 0.25) -> GradientFunction:
    """Make the LRP-gamma rule."""
    gamma = number("lrp_gamma", "gamma", gamma, minimum=0)

    @gradient_rule("lrp_gamma", gamma=gamma)
    def rule(op, relevance, *others):
        """LRP-gamma: lrp_z with positive weights made larger, ``w + gamma * w+``; generalised to negative x and z.

        Forward: that of the op.
        Backward: ``x+ * back(R / zg; w + gamma w+) + x- * back(R / zg; w + gamma w-)`` where ``z > 0``; where ``z < 0``
        the two weights change places; zg is the sum so weighted, with the bias as one more positive
        input. 0 where z is 0.
        Op types: MatMul, BatchMatMul, Conv2D, DepthwiseConv2dNative, Conv3D; the others of lrp_z as there.
        Shapes and dtypes: as the op; unknown sizes; any attribute of the op is honoured.
        Second order: that of the formula.
        Source: Montavon et al. 2019, doi:10.1007/978-3-030-28954-6_10 (for positive x and z, as captum has it); the
        general form: Andeol et al. 2021, zennit's Gamma.
        """
        def groups(x, w, bias):
            up, down = w + gamma * tf.nn.relu(w), w + gamma * _negative(w)
            above, below = tf.nn.relu(x), _negative(x)
            return [_Group(1.0, [(above, up, above), (below, down, below)],
                           None if bias is None else bias + gamma * tf.nn.relu(bias), where=1),
                    _Group(1.0, [(above, down, above), (below, up, below)],
                           None if bias is None else bias + gamma * _negative(bias), where=-1)]

        return _propagate("lrp_gamma", op, relevance, _stable(0.0), groups, others)

    return rule


class _Group:
    """Contributions that share one denominator.

    Attributes:
        factor: what part of R they share.
        parts: (input, weights, multiplier) each: ``forward(input, weights)`` is summed to the denominator, and
            ``multiplier * back(weights)`` to the relevance (None: back alone).
        bias: what the denominator has of the bias, or None.
        where: 1 or -1 for outputs of that sign only; 0 for all.
    """

    def __init__(self, factor, parts, bias, where=0):
        self.factor = factor
        self.parts = parts
        self.bias = bias
        self.where = where


def _by_weights(x, weights):
    return [_Group(1.0, [(tf.ones_like(x), weights, None)], None)]


def _alpha_beta(x, w, bias, alpha, beta):
    above, below = tf.nn.relu(x), _negative(x)
    up, down = tf.nn.relu(w), _negative(w)
    groups = [_Group(alpha, [(above, up, above), (below, down, below)], None if bias is None else tf.nn.relu(bias))]
    if beta:
        groups.append(_Group(-beta, [(above, down, above), (below, up, below)],
                             None if bias is None else _negative(bias)))
    return groups


def _propagate(rule, op, relevance, divide, groups, others):
    """The relevance of the inputs of ``op``: by the groups if it is linear, else as its type has it."""
    if op.type in LINEAR:
        bias_op = _bias_of(op)
        if groups is None:
            z = bias_op.outputs[0] if bias_op is not None else op.outputs[0]
            return op.inputs[0] * original_gradient(op, divide(relevance, z))[0], None
        return _by_groups(op, relevance, divide, groups, bias_op), None
    if op.type in ("BiasAdd", "Add", "AddV2") and _bias_of(op.inputs[0].op) is op:
        return relevance, None
    if op.type in SHARED:
        if op.type.startswith("FusedBatchNorm") and op.get_attr("is_training"):
            raise GradientError("The rule {} knows a batch normalisation in inference; operation {!r} (type {}) is in "
                                "training.".format(rule, op.name, op.type))
        gradients = original_gradient(op, _stable(0.0)(relevance, op.outputs[0]), *others)
        wanted = 1 if op.type.startswith(("FusedBatchNorm", "BiasAdd")) else len(gradients)
        return [None if gradient is None or index >= wanted else tensor * gradient
                for index, (tensor, gradient) in enumerate(zip(op.inputs, gradients))]
    if op.type in WINNER:
        return original_gradient(op, relevance)
    raise GradientError("The rule {} knows operations of type {}; operation {!r} is of type {}.".format(
        rule, ", ".join(LINEAR + SHARED + WINNER), op.name, op.type))


def _by_groups(op, relevance, divide, groups, bias_op):
    x, w = op.inputs
    z = bias_op.outputs[0] if bias_op is not None else op.outputs[0]
    total = None
    for group in groups(x, w, bias_op.inputs[1] if bias_op is not None else None):
        copies = [again(op, [part, weights]) for part, weights, _ in group.parts]
        denominator = tf.add_n([copy.outputs[0] for copy in copies])
        if group.bias is not None:
            denominator = again(bias_op, [denominator, group.bias]).outputs[0]
        share = divide(relevance, denominator)
        if group.where:
            share = keep(z > 0 if group.where > 0 else z < 0, share)
        if group.factor != 1:
            share = group.factor * share
        for copy, (_, _, multiplier) in zip(copies, group.parts):
            back = original_gradient(copy, share)[0]
            part = back if multiplier is None else multiplier * back
            total = part if total is None else total + part
    return total


def _bias_of(op):
    """The operation that adds a bias to a linear one: the only one that computes with its output; or None."""
    if op.type not in LINEAR:
        return None
    # A shape or a summary of the output is no floating tensor, and no layer.
    takers = [taker for taker in op.outputs[0].consumers() if any(out.dtype.is_floating for out in taker.outputs)]
    if len(takers) != 1 or takers[0].type not in ("BiasAdd", "Add", "AddV2"):
        return None
    taker = takers[0]
    is_bias = taker.type == "BiasAdd" or (taker.inputs[0] is op.outputs[0] and taker.inputs[1].shape.rank == 1)
    return taker if is_bias else None


def _stable(epsilon):
    """Division by z, stabilised by epsilon; with epsilon 0, 0 where z is 0."""
    def divide(relevance, z):
        if epsilon:
            size = epsilon * tf.ones_like(z)
            return relevance / (z + select(z >= 0, size, -size))
        empty = tf.equal(z, 0)
        return keep(tf.logical_not(empty), relevance / (z + tf.cast(empty, z.dtype)))

    return divide


def _negative(tensor):
    return tf.minimum(tensor, tf.zeros([], tensor.dtype))


def _bound(name, value):
    """A bound of the inputs as a float or an array; ValueError if it is no number."""
    try:
        array = np.asarray(value, np.float64)
    except (TypeError, ValueError):
        array = np.array(np.nan)
    if value is None or np.isnan(array).any():
        raise ValueError("lrp_z_box: {} must be a number or an array of numbers, but got {!r}.".format(name, value))
    return array if array.ndim else float(array)


def _name_of(bound):
    return bound if isinstance(bound, float) else "array"
