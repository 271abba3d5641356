"""Maps of relevance: what each entry contributes, by rules that keep the sum from layer to layer.

All stand on overrides: RectGrad, layer-wise relevance propagation, DeepLIFT's rescale rule. The rules themselves,
with their formulas and sources, are in ``graphgrad.rules``.
"""
from typing import Any

import numpy as np

from .. import _tf, presets, rules
from .._tf import tf
from .._types import Tensor, TensorLike
from ..errors import SaliencyError
from ..overrides import override_gradients
from ..rules.relevance import BILINEAR, ONE_INPUT, QUOTIENTS, TWO_INPUTS, rescale_two_inputs
from .completeness import SumsUp
from .gradients import Gradient, GradientTimesInput
from .integrated import as_baseline
from .shares import shares
from .stacks import Stacks

#: f(0) = 0, as LRP's quotient supposes; not so Sigmoid and Softplus.
_ZERO_AT_ZERO = ("Relu", "Relu6", "LeakyRelu", "Elu", "Selu", "Softsign", "Tanh")
#: Of two inputs, both of which may depend on x.
_OF_TWO = BILINEAR + QUOTIENTS + ("Einsum",)


def rectgrad(y: Tensor, x: Tensor, target: Any = None, percentile: float = 98.0) -> Gradient:
    """RectGrad: at each rectifier only the gradients pass that matter most, by ``y * g``; then times x.

    Source: Kim, Seo, Jeon, Koo, Choe, Jeon 2019, arXiv:1902.04893.

    Args:
        y: as of Method.
        x: as of Method.
        target: as of Method.
        percentile: how much of each sample is stopped at each rectifier.

    Returns:
        A Method.
    """
    return GradientTimesInput(y, x, target, override=presets.rectgrad(percentile))


class Relevance(SumsUp, Gradient):
    """Layer-wise relevance propagation: the score is shared out backwards, layer by layer, by a rule.

    The map sums to the score but for what biases keep and epsilon takes: ``gap`` has the difference. Of a product, such
    as a scale, a gate or an attention, the input that depends on x gets all of the relevance; two get half each.

    Source: Bach, Binder, Montavon, Klauschen, Mueller, Samek 2015, doi:10.1371/journal.pone.0130140; products:
    Achtibat et al. 2024, arXiv:2402.05602.

    Args:
        y: as of Method.
        x: as of Method.
        target: as of Method.
        rule: one of ``presets.LRP_RULES``: "epsilon", "z", "alpha_beta", "z_plus", "gamma" and so on.
        **parameters: those of the rule, such as ``epsilon=``.

    Raises:
        ValueError: an unknown rule, or parameters it does not take.
    """

    def __init__(self, y: Tensor, x: Tensor, target: Any = None, rule: str = "epsilon", **parameters: float) -> None:
        gradients = presets.lrp_gradients(rule, parameters)
        epsilon = parameters.get("epsilon", 0.0)
        for op_type in filter(_tf.is_op_type, _OF_TWO):
            gradients[op_type] = self._of_two(gradients.get(op_type), epsilon)
        super().__init__(y, x, target, override=override_gradients(gradients, require="any"))

    def _of_two(self, linear, epsilon):
        def relevance_of_two(op, relevance):
            varies = self.path.varying(op)
            if linear is not None and varies == [True, False]:
                return linear(op, relevance)
            return shares(op, relevance, varies, epsilon)

        return relevance_of_two

    def build(self):
        return self.differentiate(self.x, grad_ys=self.scores) + [self.scores]

    def finish(self, image, relevance, score):
        return self.note(relevance, score)


def lrp_epsilon(y: Tensor, x: Tensor, target: Any = None, epsilon: float = 1e-4) -> Relevance:
    """LRP-epsilon: ``saliency.lrp`` with the rule ``x * back(R / (z + epsilon * sign(z)))`` in every layer.

    Arguments as of ``saliency.lrp``; of the examples' shape. See ``rules.lrp_epsilon``.
    """
    return Relevance(y, x, target, rule="epsilon", epsilon=epsilon)


def lrp_epsilon_gradient(y: Tensor, x: Tensor, target: Any = None, epsilon: float = 1e-4) -> Gradient:
    """LRP-epsilon as a gradient times x: activations have ``y / (x + epsilon * sign(x))`` for a derivative.

    Equal to ``lrp_epsilon`` with epsilon 0 where layers have no biases; what DeepExplain computes. y, x and target
    as of ``saliency.Method``; of the examples' shape. See ``rules.lrp_epsilon_gradient``.

    Source: Ancona, Ceolini, Oeztireli, Gross 2018, arXiv:1711.06104.
    """
    rule = rules.lrp_epsilon_gradient(epsilon)
    override = override_gradients(dict.fromkeys(_ZERO_AT_ZERO, rule), require="any")
    return GradientTimesInput(y, x, target, override=override)


class DeepLift(SumsUp, Gradient):
    """DeepLIFT with the rescale rule: contributions to the difference of the score from that of a baseline.

    The map sums to score(x) - score(baseline): ``gap`` has what is missing. Each example is run in one
    batch with its baseline.

    Source: Shrikumar, Greenside, Kundaje 2017, arXiv:1704.02685.

    Args:
        y: as of Method; one score per example.
        x: as of Method.
        target: as of Method.
        baseline: a number, or an array of the shape of one example.

    Operations of two inputs that both depend on x, such as gates and attention, follow SHAP's rule for two players
    (``rules.deeplift_two_inputs``).

    Raises:
        SaliencyError: y is one scalar for all examples, or the batch size is odd.
    """

    def __init__(self, y: Tensor, x: Tensor, target: Any = None, baseline: TensorLike = 0.0) -> None:
        self.baseline = as_baseline(baseline, x)
        gradients = dict.fromkeys(ONE_INPUT, rules.deeplift_rescale())
        gradients.update(dict.fromkeys(("MaxPool", "MaxPool3D", "Max"), rules.deeplift_max_pool))
        gradients.update(dict.fromkeys(filter(_tf.is_op_type, TWO_INPUTS + BILINEAR), self._rescale_two))
        gradients["Softmax"] = rules.deeplift_softmax
        super().__init__(y, x, target, override=override_gradients(gradients, require="any"))

    def _rescale_two(self, op, grad):
        return rescale_two_inputs(op, grad, self.path.varying(op))

    def reported(self, path):
        return path.nonlinearities()    # a product with weights keeps its own gradient

    def build(self):
        if self.target.alone:
            raise SaliencyError("DeepLIFT runs an example and its baseline in one batch, and {!r} is one scalar for "
                                "all of it: give one score per example.".format(self.scores.name))
        if (tf.compat.dimension_value(self.x.shape[0]) or 2) % 2:
            raise SaliencyError("DeepLIFT runs an example and its baseline in one batch, and {!r} takes {} at a time: "
                                "an even or open batch size is needed.".format(self.x.name, self.x.shape[0]))
        return self.differentiate(self.x) + [self.scores]

    def stacks(self, session, feed_dict, max_batch):
        return _Pairs(session, self.x, feed_dict, max_batch, self.baseline)

    def finish(self, image, multipliers, scores):
        contributions = multipliers[0].astype(np.float64) * (image - self.baseline)
        return self.note(contributions, float(scores[0]) - float(scores[1]))


class _Pairs(Stacks):
    """Stacks with a baseline behind each example: all examples first, as many baselines behind them.

    The result of a row is what the fetches gave for the example and for its baseline, stacked.
    """

    def __init__(self, session, x, feed_dict, max_batch, baseline):
        super().__init__(session, x, feed_dict, max(1, max_batch // 2))
        self._baseline = baseline
        if self.fixed:
            self.fixed = self.size = self.fixed // 2

    def feed(self, tensor, values):
        return np.concatenate([values, np.broadcast_to(self._baseline, values.shape) if tensor is self.x else values])

    def unfold(self, value):
        return np.stack(np.split(value, 2), axis=1)
