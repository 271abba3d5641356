"""Ready functions with a gradient of their own: quantisers, samples, choices, reversals, built on tf_func_with_grad.

Argument order is that of the public original where there is one, which each names. All take floating tensors
and return tensors of the same dtype (and shape, unless they say otherwise); in eager mode they are traced at each
call. The gradients are rules of ``graphgrad.rules``; ``check_gradient`` knows what they claim to be.
"""
from typing import Any, Callable, Optional

from . import rules
from ._tf import select, tf, v1
from ._types import Tensor, TensorLike
from .functions import tf_func_with_grad
from .rules._kinds import bits, number, whole
from .rules.relevance import PAIRED
from .rules.sign import mean_size

_FULL_PRECISION = 32   # DoReFa's way to say "do not quantise"


# --- The gradient steered, nothing done to the value ------------------------------------------------------

def flip_gradient(x: TensorLike, l: Any = 1.0) -> Tensor:   # noqa: E741 (the original's name)
    """The identity, whose gradient is ``-l * g``: gradient reversal.

    Args:
        x: a floating tensor.
        l: a number; for a schedule, a scalar tensor, a variable, or a function that returns one.

    Source: tf-dann's FlipGradientBuilder; arXiv:1409.7495. See rules.reverse.
    """
    return _ruled("flip_gradient", tf.identity, x, rules.reverse(l))


def scale_gradient(x: TensorLike, factor: Any) -> Tensor:
    """The identity, whose gradient is ``factor * g``; x and ``factor`` as x and l in flip_gradient. See rules.scale."""
    return _ruled("scale_gradient", tf.identity, x, rules.scale(factor))


def clip_gradient(x: TensorLike, clip_value_min: float, clip_value_max: float) -> Tensor:
    """The identity of x, whose gradient is clipped entry by entry to ``[clip_value_min, clip_value_max]``, two numbers.

    Called as tf.clip_by_value. See rules.clip_by_value.
    """
    return _ruled("clip_gradient", tf.identity, x, rules.clip_by_value(clip_value_min, clip_value_max))


def clip_gradient_by_norm(x: TensorLike, clip_norm: float) -> Tensor:
    """The identity of x, whose gradient is shortened to a norm of at most ``clip_norm``, a number.

    Called as tf.clip_by_norm. See rules.clip_by_norm.
    """
    return _ruled("clip_gradient_by_norm", tf.identity, x, rules.clip_by_norm(clip_norm))


def dorefa_gradients(x: TensorLike, k: int, seed: Optional[int] = None) -> Tensor:
    """The identity, whose gradient is quantised to k bits per sample, with noise; k = 32 leaves it as it is.

    Args:
        x: a floating tensor; its first dimension are the samples.
        k: 1 to 16, or 32.
        seed: the operation seed of the noise.

    Source: tensorpack's fg; arXiv:1606.06160. See rules.dorefa_gradients.
    """
    if k == _FULL_PRECISION:
        return tf.identity(_floating("dorefa_gradients", x))
    return _ruled("dorefa_gradients", tf.identity, x, rules.dorefa_gradients(k, seed=seed))


def lower_bound(inputs: TensorLike, bound: TensorLike, gradient: str = "identity_if_towards",
                name: str = "lower_bound") -> Tensor:
    """``max(inputs, bound)`` with a gradient that can lead inputs back above the bound.

    Args:
        inputs: a floating tensor.
        bound: a number or tensor that broadcasts to it; it gets no gradient.
        gradient: "identity_if_towards", "identity" or "disconnected".
        name: of the operation.

    Source: tensorflow/compression; see rules.lower_bound. (inputs == bound passes g.)
    """
    return _bounded(tf.maximum, rules.lower_bound(gradient), inputs, bound, name)


def upper_bound(inputs: TensorLike, bound: TensorLike, gradient: str = "identity_if_towards",
                name: str = "upper_bound") -> Tensor:
    """``min(inputs, bound)`` with a gradient that can lead inputs back below the bound; as lower_bound."""
    return _bounded(tf.minimum, rules.upper_bound(gradient), inputs, bound, name)


# --- Signs and steps --------------------------------------------------------------------------------------

def sign_ste(x: TensorLike, clip_value: Optional[float] = 1.0) -> Tensor:
    """The sign of x, with 0 as +1; straight-through where ``|x| <= clip_value``, everywhere if that is None.

    Source: larq's ste_sign; arXiv:1602.02830. See rules.straight_through_clipped_input.
    """
    return _ruled("sign_ste", _sign, x, _clipped(clip_value))


def approx_sign(x: TensorLike) -> Tensor:
    """The sign of x, with 0 as +1; gradient ``2 * (1 - |x|) * g`` within 1. Source: larq's; see rules.approx_sign."""
    return _ruled("approx_sign", _sign, x, rules.approx_sign)


def swish_sign(x: TensorLike, beta: float = 5.0) -> Tensor:
    """The sign of x, with 0 as +1; gradient of SignSwish. Source: larq's; see rules.swish_sign."""
    return _ruled("swish_sign", _sign, x, rules.swish_sign(beta))


def magnitude_aware_sign(x: TensorLike, clip_value: float = 1.0) -> Tensor:
    """The sign of x, with 0 as +1, times the mean of ``|x|`` over all but the last axis; clip_value as in sign_ste.

    Source: larq's MagnitudeAwareSign; arXiv:1808.00278. See rules.magnitude_aware.
    """
    return _ruled("magnitude_aware_sign", lambda x: mean_size(x) * _sign(x), x,
                  rules.magnitude_aware(clip_value), rank=1)


def heaviside_ste(x: TensorLike, clip_value: Optional[float] = 1.0) -> Tensor:
    """1 where ``x > 0``, else 0; straight-through where ``|x| <= clip_value``, everywhere if None. Source: larq's."""
    return _ruled("heaviside_ste", _step, x, _clipped(clip_value))


def spike(v: TensorLike, gamma: float = 0.3) -> Tensor:
    """1 where ``v > 0``, else 0: a neuron's spike; gradient ``gamma * max(1 - |v|, 0) * g``.

    Source: LSNN-official's SpikeFunction(v_scaled, dampening_factor); arXiv:1803.09574. See rules.spike.
    """
    return _ruled("spike", _step, v, rules.spike(gamma))


def threshold_ste(x: TensorLike, threshold: TensorLike) -> Tensor:
    """1 where ``x > threshold``, else 0; straight-through to x. The threshold (a number or tensor) gets no gradient.

    Source: arXiv:1308.3432.
    """
    return _ruled("threshold_ste", lambda x: tf.cast(x > threshold, x.dtype), x, rules.straight_through)


def binarize(w: TensorLike, method: str = "bwn") -> Tensor:
    """Weights of two values.

    Args:
        w: a floating tensor of weights, the output channel last.
        method: "bwn": ``E * sign(w)``, E the mean of ``|w|`` over all of them; straight-through, E held constant.
            "xnor": ``a * sign(w)``, a the mean of ``|w|`` per output channel; gradient
            ``g * (1 / n + a * 1[|w| <= 1])``, see rules.xnor. In both, the sign of 0 is +1.

    Raises:
        ValueError: another method.

    Source: arXiv:1603.05279; "bwn" is tensorpack's fw at 1 bit.
    """
    if method == "bwn":
        return _ruled("binarize", lambda w: tf.reduce_mean(tf.abs(w)) * _sign(w), w, rules.straight_through)
    if method == "xnor":
        return _ruled("binarize", lambda w: mean_size(w) * _sign(w), w, rules.xnor, rank=1)
    raise ValueError("binarize: method must be 'bwn' or 'xnor', but got {!r}.".format(method))


def ternarize(x: TensorLike, thresh: Optional[float] = 0.05, method: str = "ttq", wp: Optional[TensorLike] = None,
              wn: Optional[TensorLike] = None, clip_value: Optional[float] = 1.0) -> Tensor:
    """Weights of three values.

    Args:
        x: a floating tensor of weights.
        thresh: "ttq": the threshold is this times the largest ``|x|``. "twn": the threshold itself; None for 0.7
            times the mean of ``|x|``.
        method: "ttq": ``wp`` above the threshold, ``-wn`` below minus it, else 0; the scales are trained, see
            rules.ttq. "twn": 1, -1, 0; straight-through where ``|x| <= clip_value``, everywhere if that is None.
        wp: "ttq": the scale above, a scalar tensor or variable; by default a variable "Wp" of the current variable
            scope, which begins at 1.
        wn: "ttq": the scale below; likewise, "Wn".
        clip_value: "twn": see there.

    Raises:
        ValueError: another method, or a thresh for "ttq" that is no number from 0 to 1.

    Source: tensorpack's ternarize(x, thresh), arXiv:1612.01064 (at ``|x|`` equal to the threshold it gives an
    unscaled 1; here 0, as in the paper); larq's ste_tern, arXiv:1605.04711.
    """
    if method == "twn":
        def forward(x):
            threshold = 0.7 * tf.reduce_mean(tf.abs(x)) if thresh is None else thresh
            return tf.sign(tf.sign(x + threshold) + tf.sign(x - threshold))

        return _ruled("ternarize", forward, x, _clipped(clip_value))
    if method != "ttq":
        raise ValueError("ternarize: method must be 'ttq' or 'twn', but got {!r}.".format(method))
    x = _floating("ternarize", x)
    thresh = number("ternarize by 'ttq'", "thresh", thresh, minimum=0, maximum=1)
    scales = [v1.get_variable(name, shape=[], dtype=x.dtype.base_dtype, initializer=tf.ones_initializer())
              if scale is None else scale for name, scale in (("Wp", wp), ("Wn", wn))]
    threshold = tf.stop_gradient(thresh * tf.reduce_max(tf.abs(x)))

    def forward(x, wp, wn, threshold):
        zeros = tf.zeros_like(x)
        return select(x > threshold, wp + zeros, select(x < -threshold, zeros - wn, zeros))

    return tf_func_with_grad(forward, [x] + [tf.convert_to_tensor(s, x.dtype) for s in scales] + [threshold],
                             grad=rules.ttq, name="ternarize")


# --- Rounding and quantisers ------------------------------------------------------------------------------

def round_ste(x: TensorLike, offset: Optional[TensorLike] = None) -> Tensor:
    """Rounding of x, halves to even; or to the whole numbers plus an offset. Straight-through.

    Source: tensorflow/compression's round_st(inputs, offset). The offset gets no gradient.
    """
    if offset is None:
        return _ruled("round_ste", tf.round, x, rules.straight_through)
    return _ruled("round_ste", lambda x: tf.stop_gradient(tf.round(x - offset) + offset), x, rules.straight_through)


def soft_round(x: TensorLike, alpha: TensorLike, eps: float = 1e-3) -> Tensor:
    """A differentiable approximation of rounding, with its true gradient: the larger alpha, the closer.

    ``m + tanh(alpha * (x - m)) / (2 * tanh(alpha / 2))``, ``m = floor(x) + 1/2``; x itself where ``alpha < eps``.

    Args:
        x: a floating tensor.
        alpha: a number, or a scalar tensor (for annealing).
        eps: see there.

    Source: tensorflow/compression's soft_round; arXiv:2006.09952.
    """
    x = _floating("soft_round", x)
    alpha = tf.convert_to_tensor(alpha, x.dtype)
    bounded = tf.maximum(alpha, eps)
    middle = tf.floor(x) + 0.5
    rounded = middle + tf.tanh(bounded * (x - middle)) / (2 * tf.tanh(bounded / 2))
    return tf.compat.v2.where(alpha < eps, x, rounded)


def dorefa_weights(x: TensorLike, k: int, differentiate_max: bool = True) -> Tensor:
    """Weights in k bits between -1 and 1: ``2 q(tanh(x) / (2 max|tanh(x)|) + 1/2) - 1``; q is straight-through.

    Args:
        x: a floating tensor of weights.
        k: 1 to 16; 1 is ``binarize(x, "bwn")``, 32 is x itself, as in tensorpack.
        differentiate_max: whether the gradient goes through the maximum too, as in tensorpack. Without, as in other
            code, it is a different algorithm: the largest weight gets another gradient.

    Source: tensorpack's fw; arXiv:1606.06160.
    """
    x = _floating("dorefa_weights", x)
    if k == _FULL_PRECISION:
        return tf.identity(x)
    if bits("dorefa_weights", k) == 1:
        return binarize(x)
    squashed = tf.tanh(x)
    largest = tf.reduce_max(tf.abs(squashed))
    if not differentiate_max:
        largest = tf.stop_gradient(largest)
    return 2 * _quantized(squashed * (0.5 / largest) + 0.5, k) - 1


def dorefa_activations(x: TensorLike, k: int, clip: bool = True) -> Tensor:
    """Activations in k bits between 0 and 1: ``round(clip(x, 0, 1) * n) / n``, ``n = 2 ** k - 1``.

    Args:
        x: a floating tensor.
        k: 1 to 16; 32 is x itself.
        clip: True: straight-through within [0, 1], as larq's DoReFa. False: no clipping, straight-through everywhere,
            as tensorpack's fa, whose callers clip before.

    Source: larq, tensorpack; arXiv:1606.06160. See rules.straight_through_interval.
    """
    if k == _FULL_PRECISION:
        return tf.identity(_floating("dorefa_activations", x))
    n = float(2 ** bits("dorefa_activations", k) - 1)
    if not clip:
        return _quantized(x, k)
    return _ruled("dorefa_activations", lambda x: tf.round(tf.clip_by_value(x, 0, 1) * n) / n, x,
                  rules.straight_through_interval(0, 1))


def _quantized(x, k):
    n = float(2 ** k - 1)
    return _ruled("quantize", lambda x: tf.round(x * n) / n, x, rules.straight_through)


def quantize_ste(quantizer: Callable[[Any], Any], minimum: Optional[float] = None,
                 maximum: Optional[float] = None) -> Callable[[Any], Any]:
    """Make a quantiser of your own straight-through.

    Args:
        quantizer: ``quantizer(x)``, of TensorFlow operations, returning x's shape and dtype.
        minimum: straight-through from here on only.
        maximum: and up to here; give both or none.

    Returns:
        ``fn(x)``.

    Raises:
        ValueError: one of minimum and maximum without the other.

    Source: arXiv:1308.3432.
    """
    if (minimum is None) != (maximum is None):
        raise ValueError("quantize_ste: give both minimum and maximum, or none.")
    _callable("quantize_ste", quantizer)
    rule = rules.straight_through if minimum is None else rules.straight_through_interval(minimum, maximum)
    return lambda x: _ruled("quantize_ste", quantizer, x, rule)


# --- Samples and choices ----------------------------------------------------------------------------------

def bernoulli_ste(p: TensorLike, seed: Optional[int] = None) -> Tensor:
    """A sample of 0 and 1 with probability p of 1; straight-through to p.

    Args:
        p: a floating tensor of probabilities.
        seed: the operation seed.

    Source: arXiv:1308.3432.
    """
    return _ruled("bernoulli_ste", lambda p: tf.cast(
        tf.random.uniform(tf.shape(p), dtype=p.dtype, seed=seed) < p, p.dtype), p, rules.straight_through)


def categorical_ste(logits: TensorLike, seed: Optional[int] = None) -> Tensor:
    """A sample of ``softmax(logits)`` over the last axis, one-hot; the gradient is that of the softmax.

    Args:
        logits: a floating tensor of rank 1 or more.
        seed: the operation seed.

    Source: arXiv:1308.3432, of a category.
    """
    def forward(logits):
        return _one_hot(logits + _gumbel(logits, seed), -1)

    return _ruled("categorical_ste", forward, logits, rules.substitute(tf.nn.softmax), rank=1)


def gumbel_softmax(logits: TensorLike, temperature: TensorLike = 1.0, hard: bool = False,
                   seed: Optional[int] = None) -> Tensor:
    """A relaxed sample of ``softmax(logits)``: ``softmax((logits + gumbel noise) / temperature)``; its true gradient.

    Args:
        logits: a floating tensor, classes last.
        temperature: a number above 0, or a scalar tensor.
        hard: True for the one-hot of its largest entry in the forward, with the gradient of the relaxed one.
        seed: the operation seed of the noise.

    Raises:
        ValueError: a temperature of 0 or below.

    Source: Jang, Gu, Poole 2016, arXiv:1611.01144.
    """
    logits = _floating("gumbel_softmax", logits, rank=1)
    if isinstance(temperature, (int, float)) and not temperature > 0:
        raise ValueError("gumbel_softmax: temperature must be above 0, but got {!r}.".format(temperature))
    relaxed = tf.nn.softmax((logits + _gumbel(logits, seed)) / tf.convert_to_tensor(temperature, logits.dtype))
    if not hard:
        return relaxed
    return _ruled("gumbel_softmax", lambda y: _one_hot(y, -1), relaxed, rules.straight_through)


def argmax_ste(x: TensorLike, axis: int = -1) -> Tensor:
    """The largest entry along an axis as a one-hot tensor of x's shape (the first of equals); straight-through.

    For the gradient of a softmax in its place: ``bpda(..., substitute=tf.nn.softmax)``, or ``gumbel_softmax``.
    """
    return _ruled("argmax_ste", lambda x: _one_hot(x, axis), x, rules.straight_through, rank=1)


def top_k_ste(x: TensorLike, k: int) -> Tensor:
    """1 at the k largest entries of x along the last axis, else 0 (the first of equals); straight-through.

    Raises:
        ValueError: k is no int from 1 to the number of entries.

    Source: arXiv:1308.3432, of a choice.
    """
    chosen = whole(k)
    if chosen is None or chosen < 1:
        raise ValueError("top_k_ste: k must be an int from 1, but got {!r}.".format(k))

    def forward(x):
        if x.shape.rank is not None and x.shape[-1:].is_fully_defined() and chosen > x.shape.as_list()[-1]:
            raise ValueError("top_k_ste: k is {}, but the last axis has {} entries.".format(k, x.shape.as_list()[-1]))
        places = tf.nn.top_k(x, chosen).indices
        return tf.reduce_sum(tf.one_hot(places, tf.shape(x)[-1], dtype=x.dtype), axis=-2)

    return _ruled("top_k_ste", forward, x, rules.straight_through, rank=1)


def _one_hot(x, axis):
    if axis < -1:   # the op OneHot knows -1 only
        if x.shape.rank is None:
            raise ValueError("argmax_ste: axis {} needs a tensor of known rank.".format(axis))
        axis += x.shape.rank
    return tf.one_hot(tf.argmax(x, axis=axis), tf.shape(x)[axis], axis=axis, dtype=x.dtype)


def _gumbel(logits, seed):
    wide = tf.float32 if logits.dtype.size < 4 else logits.dtype
    tiny = wide.as_numpy_dtype(1e-20)   # log(0) is kept out
    uniform = tf.random.uniform(tf.shape(logits), dtype=wide, seed=seed)
    return tf.cast(-tf.math.log(-tf.math.log(uniform + tiny) + tiny), logits.dtype)


# --- Functions with the gradient of another ---------------------------------------------------------------

def skip_gradient(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Make a function whose backward is the identity: g passes f as if it were not there.

    Args:
        f: ``f(x)``, of TensorFlow operations, from one tensor to one tensor. If it keeps the shape, g is passed as
            it is. If it changes the shape but not the number of entries (a reshape, a transposition), g is
            reshaped to x, entry by entry in row-major order. If it changes the number of entries there is no identity,
            and the call is an error, at once where the shapes are known, else when it runs: see ``bpda``.

    Returns:
        ``fn(x)``.

    Raises (when called):
        ValueError: the number of entries is another.
        TypeError: f returns an integer or several tensors: TensorFlow carries no gradient through integers.

    Source: tf.grad_pass_through, which asks for the same shape.
    """
    _callable("skip_gradient", f)

    def skipping(x):
        x = _floating("skip_gradient", x)
        called = getattr(f, "__name__", f)

        def forward(tensor):
            result = f(tensor)
            if not isinstance(result, tf.Tensor) or not result.dtype.is_floating:
                raise TypeError("skip_gradient: {} must return one floating tensor, but returned {!r}.".format(
                    called, result))
            before, after = x.shape.num_elements(), result.shape.num_elements()
            if before is not None and after is not None and before != after:
                raise ValueError("skip_gradient: {} turns shape {} into {}: there is no identity between them. Give it "
                                 "a gradient with bpda(f, backward=...).".format(called, x.shape, result.shape))
            return result

        def identity(op, grad):
            given, wanted = op.outputs[0], op.inputs[0]
            if not (given.shape.is_fully_defined() and given.shape == wanted.shape):
                grad = tf.reshape(grad, tf.shape(wanted))
            return tf.cast(grad, wanted.dtype)   # the same tensor, if that is its dtype

        identity.surrogate = lambda op, tensor: tf.cast(
            tf.reshape(tensor, tf.shape(op.outputs[0])), op.outputs[0].dtype)
        return tf_func_with_grad(forward, [x], grad=identity, name="skip_gradient")

    return skipping


def bpda(f: Callable[..., Any], backward: Optional[Callable[..., Any]] = None,
         substitute: Optional[Callable[..., Any]] = None) -> Callable[..., Any]:
    """Make a function whose backward is given by hand, or is that of another function.

    Args:
        f: ``f(*tensors)``, of TensorFlow operations; differentiable or not.
        backward: ``backward(inputs, grad)``: a gradient per input (for one input: its gradient, given the input).
        substitute: ``substitute(*tensors)``: a function whose gradient at the same inputs is used.

    Returns:
        ``fn(*tensors)``.

    Raises:
        TypeError: both backward and substitute, or none.

    Source: Athalye, Carlini, Wagner 2018, arXiv:1802.00420; advertorch. See rules.bpda and rules.substitute.
    """
    if (backward is None) == (substitute is None):
        raise TypeError("bpda: give either backward or substitute (for the identity: skip_gradient).")
    _callable("bpda", f)
    rule = rules.bpda(backward) if substitute is None else rules.substitute(substitute)
    return lambda *tensors: tf_func_with_grad(f, list(tensors), grad=rule, name="bpda")


def recompute(f: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function whose backward runs f again instead of keeping what it computed: memory for time.

    Args:
        f: ``f(*tensors)``, of TensorFlow operations, without random numbers: the second run would draw others.
            Variables it uses keep their gradient, by way of the first run; give them as tensors to save that
            memory too.

    Returns:
        ``fn(*tensors)``.

    Source: tf.recompute_grad. See rules.substitute.
    """
    _callable("recompute", f)
    rule = rules.substitute(f)
    return lambda *tensors: tf_func_with_grad(f, list(tensors), grad=rule, name="recompute")


# --- Pairs for DeepLIFT -----------------------------------------------------------------------------------

def paired(x: TensorLike, baseline: TensorLike) -> Tensor:
    """Samples and baselines in one batch, for the DeepLIFT rules: give this to the network, under ``deeplift()``.

    Args:
        x: a floating tensor [n, ...].
        baseline: of x's shape, or that of one sample, or anything else that broadcasts to x.

    Returns:
        A tensor [2n, ...], samples first.

    Raises:
        ValueError: the baseline's shape does not broadcast to x's.

    Source: SHAP's DeepExplainer, which runs them so; arXiv:1704.02685.
    """
    x = _floating("paired", x, rank=1)
    baseline = tf.convert_to_tensor(baseline, x.dtype)
    try:
        fits = tf.broadcast_static_shape(x.shape, baseline.shape).is_compatible_with(x.shape)
    except ValueError:
        fits = False
    if not fits:
        raise ValueError("paired: the baseline must broadcast to x, {}, but has shape {}.".format(
            x.shape, baseline.shape))
    return tf.concat([x, tf.zeros_like(x) + baseline], 0, name=PAIRED)


def contributions(gradient: TensorLike, pair: Tensor) -> Tensor:
    """What each entry contributes, from the gradient to a pair: ``gradient * (x - baseline)``, [n, ...].

    Source: arXiv:1704.02685.
    """
    multiplier, _ = tf.split(gradient, 2)
    x, baseline = tf.split(pair, 2)
    return multiplier * (x - baseline)


# --- Shared -----------------------------------------------------------------------------------------------

def _ruled(name, forward, x, rule, rank=0):
    """``forward(x)``, which must keep shape and dtype, with the gradient of a rule."""
    x = _floating(name, x, rank)

    def checked(given):
        y = tf.convert_to_tensor(forward(given))
        if y.dtype != x.dtype or not y.shape.is_compatible_with(x.shape):
            raise ValueError("{}: the result must have the dtype and shape of the input, {} {}, but has {} {}.".format(
                name, x.dtype.name, x.shape, y.dtype.name, y.shape))
        return y

    return tf_func_with_grad(checked, [x], grad=rule, name=name)


def _floating(name, x, rank=0):
    x = tf.convert_to_tensor(x)
    if not x.dtype.is_floating:
        raise TypeError("{} needs a floating tensor, but got {}: cast it first.".format(name, x.dtype.name))
    if x.shape.rank is not None and x.shape.rank < rank:
        raise ValueError("{} needs a tensor of rank {} or more, but got shape {}.".format(name, rank, x.shape))
    return x


def _callable(name, function):
    if not callable(function):
        raise TypeError("{} takes a function of tensors, but got {!r}.".format(name, function))


def _clipped(clip_value):
    return rules.straight_through if clip_value is None else rules.straight_through_clipped_input(clip_value)


def _sign(x):
    return tf.sign(tf.sign(x) + 0.5)   # 0 is +1; NaN stays NaN, but on TF 1.15, whose Sign makes it 0


def _step(x):
    return tf.sign(tf.nn.relu(x))


def _bounded(forward, rule, inputs, bound, name):
    inputs = _floating(name, inputs)
    return tf_func_with_grad(forward, [inputs, tf.convert_to_tensor(bound, inputs.dtype)], grad=rule, name=name)
