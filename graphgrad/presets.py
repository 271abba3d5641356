"""Rules put on whole families of op types, ready to enter; their reports name what they did not cover."""
from typing import Iterable, Optional

from . import _tf, rules
from ._types import Gradients, TensorLike
from .nonlinear import ELEMENTWISE, NONLINEAR, PRODUCTS, RECTIFIERS, STEPS
from .overrides import Override, override_gradients
from .registry import gradient_rule, original_gradient
from .report import Report, place_in_graph
from .rules.lrp import LINEAR, SHARED, WINNER
from .rules.relevance import BILINEAR, ONE_INPUT, TWO_INPUTS

#: Where no gradient gets through without an override, so that none was built there either.
_CUTS = STEPS + ("ArgMax", "ArgMin")
#: They carry a shape behind a tensor, not its values.
_SHAPES = ("Shape", "ShapeN", "Size", "Rank", "ZerosLike", "OnesLike")


class Preset(Override):
    """An Override of a family of op types, of which one must be there.

    Its report has, besides, ``uncovered``: the nonlinearities on the path that it did not take.

    Args:
        gradients, strict: as of override_gradients.
        watched: op types that the report names where they kept their own gradient.
        products: those that it names where two of their inputs are signals.
    """

    def __init__(self, gradients: Gradients, strict: bool, watched: Iterable[str],
                 products: Iterable[str] = ()) -> None:
        super().__init__(gradients, strict=strict, require="any")
        self._watched = frozenset(watched)
        self._products = frozenset(products)

    @property
    def report(self) -> "PresetReport":
        """What this preset did so far: a PresetReport, made anew each time."""
        uncovered = {}
        for log in list(self._logs.values()):
            graph = log.graph()
            if graph is not None:
                for op_type, places in _uncovered(graph, log, self._watched, self._products).items():
                    uncovered.setdefault(op_type, []).extend(places)
        return PresetReport(super().report, uncovered)


class PresetReport(Report):
    """A Report with what the preset did not cover.

    Attributes:
        uncovered: dict from op type to the operations of that type which are nonlinear, were built in the block (or,
            for on(), are there), lie before or behind what the preset took, and kept their own gradient. Once
            tf.gradients went through the preset, only those that it went through as well. A tf.custom_gradient, such
            as a swish, is an "IdentityN" there; a product is named if two of its inputs are signals on the path.
    """

    def __init__(self, report, uncovered):
        super().__init__(report.title, {entry.key: entry for entry in report})
        self.uncovered = uncovered

    def __str__(self):
        text = super().__str__()
        for op_type, places in sorted(self.uncovered.items()):
            text += "\n  not covered, on the path: {}{}: {}".format(
                op_type, " (a tf.custom_gradient)" if op_type == "IdentityN" else "", ", ".join(places))
        return text

    __repr__ = __str__


def guided_backprop(strict: bool = False) -> Preset:
    """Guided backprop on every rectifier: Relu, Relu6, LeakyRelu, Elu, Selu, Softplus, Softsign, ``Maximum(x, 0)``.

    Each composes with TensorFlow's own gradient (``rules.guided``). It is enough that one of the types is there.
    ``print(preset.report)`` names the nonlinearities on the path that it did not cover. ``strict`` as of
    override_gradients.
    """
    return _on_rectifiers(rules.guided, _guided_maximum, strict)


def deconvnet(strict: bool = False) -> Preset:
    """Deconvnet on every rectifier: the types of ``guided_backprop``, and its ``strict``, with ``rules.deconvnet``."""
    return _on_rectifiers(rules.deconvnet, _deconvnet_maximum, strict)


def rectgrad(percentile: float = 98.0, strict: bool = False) -> Preset:
    """RectGrad: ``rules.rectgrad`` on the rectifiers that have one input, ``rules.rectgrad_padding`` on Conv2D.

    The saliency is the gradient times x. ``percentile`` as of the rule, ``strict`` as of override_gradients.
    """
    gradients = dict.fromkeys(RECTIFIERS, rules.rectgrad(percentile))
    return Preset(dict(gradients, Conv2D=rules.rectgrad_padding), strict, ELEMENTWISE, PRODUCTS)


def redirected(step: Optional[TensorLike] = None, switch: int = 16, strict: bool = False) -> Preset:
    """Lucid's redirected gradient on Relu and Relu6: ``rules.redirected(step, switch)``.

    ``strict`` as of override_gradients.
    """
    return Preset(dict.fromkeys(("Relu", "Relu6"), rules.redirected(step, switch)), strict, ELEMENTWISE, PRODUCTS)


def smoothed_max_pool(kind: str = "average", epsilon: float = 1e-2, strict: bool = False) -> Preset:
    """Smoothed max-pools.

    Args:
        kind: "average" (``rules.smoothed_max_pool``) or "l2" (``rules.smoothed_max_pool_l2(epsilon)``).
        epsilon: of "l2".
        strict: as of override_gradients.

    Raises:
        ValueError: another kind.
    """
    if kind not in ("average", "l2"):
        raise ValueError("smoothed_max_pool: kind must be 'average' or 'l2', but got {!r}.".format(kind))
    rule = rules.smoothed_max_pool if kind == "average" else rules.smoothed_max_pool_l2(epsilon)
    return Preset({"MaxPool": rule}, strict, ("MaxPoolV2", "MaxPool3D", "Max"))


#: What lrp() takes, and the rule each stands for.
LRP_RULES = ("z", "epsilon", "flat", "w_square", "alpha_beta", "z_plus", "z_box", "gamma", "excitation")


def lrp(rule: str = "epsilon", strict: bool = False, **parameters: float) -> Preset:
    """Layer-wise relevance propagation: the gradient of a block built under this is relevance.

    ``tf.gradients(y, x, grad_ys=y)`` is the relevance of x for y; without grad_ys the relevance of y is 1. Linear ops,
    sums, averages and batch normalisations in inference follow the rule, max-pools send relevance to
    the largest entry, activations pass it on. Weights get None. For other rules in some layers, select with
    ``lrp("z_box", low=0, high=1).on(graph, where="conv1/")`` inside or beside.

    Args:
        rule: one of "z", "epsilon", "flat", "w_square", "alpha_beta", "z_plus", "z_box", "gamma", "excitation".
        strict: as of override_gradients.
        **parameters: those of the rule: ``epsilon=``; ``alpha=``, ``beta=``; ``low=``, ``high=``; ``gamma=``.

    Raises:
        ValueError: an unknown rule, or parameters it does not take.
    """
    return Preset(lrp_gradients(rule, parameters), strict, (NONLINEAR | PRODUCTS) - set(WINNER))


def lrp_gradients(rule, parameters):
    """Dict from op type to what ``lrp`` puts on it."""
    if rule not in LRP_RULES:
        raise ValueError("lrp: rule must be one of {}, but got {!r}.".format(
            ", ".join(map(repr, LRP_RULES)), rule))
    made = getattr(rules, "excitation_backprop" if rule == "excitation" else "lrp_" + rule)
    if rule in ("epsilon", "alpha_beta", "z_box", "gamma"):
        try:
            made = made(**parameters)
        except TypeError as error:
            raise ValueError("lrp: {} is called with other parameters: {}.".format(made.__name__, error)) from None
    elif parameters:
        raise ValueError("lrp: the rule {!r} takes no parameters, but got {}.".format(rule, ", ".join(parameters)))
    passing = RECTIFIERS + ("Sigmoid", "Tanh")
    gradients = dict.fromkeys(passing, rules.straight_through)
    gradients.update(dict.fromkeys((name for name in LINEAR + SHARED if _tf.is_op_type(name)), made))
    return gradients


def deeplift(near: float = 1e-5, strict: bool = False) -> Preset:
    """DeepLIFT's rescale rules, on a network that is given ``ops.paired(x, baseline)``.

    ``ops.contributions(tf.gradients(y, pair)[0], pair)`` is what each entry contributes to the difference of y.

    Args:
        near: as of ``rules.deeplift_rescale``.
        strict: as of override_gradients.
    """
    gradients = dict.fromkeys(ONE_INPUT, rules.deeplift_rescale(near))
    gradients.update(dict.fromkeys(filter(_tf.is_op_type, TWO_INPUTS + BILINEAR), rules.deeplift_two_inputs))
    gradients.update(dict.fromkeys(("MaxPool", "MaxPool3D", "Max"), rules.deeplift_max_pool),
                     Softmax=rules.deeplift_softmax)
    return Preset(gradients, strict, NONLINEAR, PRODUCTS)


def straight_through(*op_types: str, strict: bool = False) -> Override:
    """Straight-through on the given op types: an Override with ``rules.straight_through``.

    Args:
        *op_types: such as "Sign"; each must then match an operation. Without any: Sign, Round, Rint, Floor and
            Ceil, of which one is enough.
        strict: as of override_gradients.
    """
    if not op_types:
        return Preset(dict.fromkeys(STEPS, rules.straight_through), strict, _CUTS)
    return override_gradients(dict.fromkeys(op_types, rules.straight_through), strict=strict)


def _on_rectifiers(rule, maximum, strict):
    return Preset(dict(dict.fromkeys(RECTIFIERS, rule), Maximum=maximum), strict, ELEMENTWISE, PRODUCTS)


@gradient_rule("guided_maximum")
def _guided_maximum(op, grad):
    """rules.guided of ``Maximum(x, 0)``; of another Maximum, its own gradient."""
    return original_gradient(op, _tf.tf.nn.relu(grad) if _rectifies(op) else grad)


@gradient_rule("deconvnet_maximum")
def _deconvnet_maximum(op, grad):
    """rules.deconvnet of ``Maximum(x, 0)``; of another Maximum, its own gradient."""
    if not _rectifies(op):
        return original_gradient(op, grad)
    return [None if _is_zero(tensor) else _tf.tf.nn.relu(grad) for tensor in op.inputs]


def _rectifies(op):
    """Whether a Maximum is a ReLU: one input is a constant 0 that broadcasts to the other."""
    for tensor, other in (op.inputs, reversed(op.inputs)):
        if _is_zero(tensor) and other.shape.is_compatible_with(op.outputs[0].shape):
            return True
    return False


def _is_zero(tensor):
    value = _tf.tf.get_static_value(tensor)
    return value is not None and not value.any()


def _uncovered(graph, log, watched, products):
    """{op type: places} of what a preset left alone between, before and behind what it took in a graph."""
    taken, left = [], []     # the outermost operations of what it took; (outermost operation, operation, place)
    differentiated = set()   # what tf.gradients went through, outermost operations
    seen = set()             # what of the taken the log says was differentiated
    for op, path in _tf.operations_with_bodies(graph):
        outer = graph.get_operation_by_name(path[0]) if path else op
        if _tf.differentiated_by(outer) is not None:   # it is part of a gradient itself
            differentiated.add(_tf.differentiated_by(outer))
            continue
        place = place_in_graph(op)
        is_taken = place in log.tagged.get(op.type, ())
        if is_taken:
            taken.append(outer)
            if place in log.differentiated.get(op.type, ()):
                seen.add(outer)
        if not (is_taken and (op.type != "Maximum" or _rectifies(op))) and _built_under(outer, log):
            left.append((outer, op, place))
    near = _tf.downstream(taken) | _tf.upstream(taken)
    signals = _tf.downstream(taken, beside=_SHAPES)
    gone_through = near
    if seen and seen <= differentiated:   # else a tape went through, or a rule added no operation to tell by
        gone_through = near & differentiated
        signals |= gone_through
    uncovered = {}
    for outer, op, place in left:
        if outer not in gone_through and not (outer in near and op.type in _CUTS):
            continue
        named = op.type in watched or _keeps_its_own(op)
        if op.type in products:
            named = named or sum(tensor.op in signals for tensor in op.inputs) > 1
        elif op.type in ("Select", "SelectV2") and op is outer:   # linear if the choice is not made by x: a dropout's
            named = named and not signals.isdisjoint(_tf.upstream([op.inputs[0].op], beside=_SHAPES))
        if named:
            uncovered.setdefault(op.type, []).append(place)
    return uncovered


def _built_under(outer, log):
    return not log.spans or any(first <= _tf.number_of(outer) <= last for first, last in log.spans)


def _keeps_its_own(op):
    return op.type == "IdentityN" and (_tf.tag_of(op) or "").startswith("CustomGradient-")
