"""gg.ops: forward against numpy, gradient against the formula, samples, shapes, saving, eager mode, bad input."""
import numpy as np
import pytest
from conftest import TF1, tf

import graphgrad as gg

RANDOM = np.random.RandomState(3)
X = np.concatenate([RANDOM.randn(4, 6) * 1.5, [[0.0, -0.0, 1.0, -1.0, 2.0, 0.5]]])
G = RANDOM.randn(5, 6)


def sign(x):
    return np.where(x >= 0, 1.0, -1.0)


def column_mean(x):
    return np.abs(x).mean(axis=0, keepdims=True)


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def through_softmax(x, g):
    s = softmax(x)
    return s * (g - (g * s).sum(axis=-1, keepdims=True))


def dorefa_weights(x, k):
    n = 2 ** k - 1
    t = np.tanh(x)
    return 2 * np.round((t / np.abs(t).max() * 0.5 + 0.5) * n) / n - 1


def dorefa_weights_gradient(x, g, differentiate_max):
    t = np.tanh(x)
    m = np.abs(t).max()
    to_t = g / m
    if differentiate_max:
        place = np.unravel_index(np.argmax(np.abs(t)), t.shape)
        to_t[place] -= np.sign(t[place]) * (g * t).sum() / m ** 2
    return to_t * (1 - t ** 2)


def twn(x, threshold):
    return np.sign(np.sign(x + threshold) + np.sign(x - threshold))


def one_hot(x, axis=-1):
    return (np.argsort(np.argsort(-x, axis=axis, kind="stable"), axis=axis, kind="stable") == 0).astype(float)


def top(x, k):
    return (np.argsort(np.argsort(-x, axis=-1, kind="stable"), axis=-1, kind="stable") < k).astype(float)


T = 0.05 * np.abs(X).max()

#: name: (function, value, gradient), each of x; the gradient of x and g.
OPS = {
    "flip_gradient": (lambda x: gg.ops.flip_gradient(x, 0.3), lambda x: x, lambda x, g: -0.3 * g),
    "flip_gradient scheduled": (lambda x: gg.ops.flip_gradient(x, tf.constant(0.3, tf.float64)), lambda x: x, lambda x, g: -0.3 * g),
    "scale_gradient": (lambda x: gg.ops.scale_gradient(x, 0.3), lambda x: x, lambda x, g: 0.3 * g),
    "clip_gradient": (lambda x: gg.ops.clip_gradient(x, -0.3, 0.2), lambda x: x, lambda x, g: np.clip(g, -0.3, 0.2)),
    "clip_gradient_by_norm": (lambda x: gg.ops.clip_gradient_by_norm(x, 0.3), lambda x: x, lambda x, g: 0.3 * g / np.sqrt((g ** 2).sum())),
    "lower_bound": (lambda x: gg.ops.lower_bound(x, 0.5), lambda x: np.maximum(x, 0.5), lambda x, g: g * ((x >= 0.5) | (g < 0))),
    "lower_bound identity": (lambda x: gg.ops.lower_bound(x, 0.5, "identity"), lambda x: np.maximum(x, 0.5), lambda x, g: g),
    "upper_bound": (lambda x: gg.ops.upper_bound(x, 0.5), lambda x: np.minimum(x, 0.5), lambda x, g: g * ((x <= 0.5) | (g > 0))),
    "upper_bound disconnected": (lambda x: gg.ops.upper_bound(x, 0.5, "disconnected"), lambda x: np.minimum(x, 0.5), lambda x, g: g * (x <= 0.5)),
    "sign_ste": (gg.ops.sign_ste, sign, lambda x, g: g * (np.abs(x) <= 1)),
    "sign_ste unclipped": (lambda x: gg.ops.sign_ste(x, clip_value=None), sign, lambda x, g: g),
    "approx_sign": (gg.ops.approx_sign, sign, lambda x, g: 2 * (1 - np.abs(x)) * g * (np.abs(x) <= 1)),
    "swish_sign": (gg.ops.swish_sign, sign, lambda x, g: 5 * (2 - 5 * x * np.tanh(2.5 * x)) / (1 + np.cosh(5 * x)) * g),
    "magnitude_aware_sign": (gg.ops.magnitude_aware_sign, lambda x: column_mean(x) * sign(x), lambda x, g: column_mean(x) * g * (np.abs(x) <= 1)),
    "heaviside_ste": (gg.ops.heaviside_ste, lambda x: 1.0 * (x > 0), lambda x, g: g * (np.abs(x) <= 1)),
    "spike": (gg.ops.spike, lambda x: 1.0 * (x > 0), lambda x, g: 0.3 * np.maximum(1 - np.abs(x), 0) * g),
    "threshold_ste": (lambda x: gg.ops.threshold_ste(x, 0.25), lambda x: 1.0 * (x > 0.25), lambda x, g: g),
    "binarize bwn": (gg.ops.binarize, lambda x: np.abs(x).mean() * sign(x), lambda x, g: g),
    "binarize xnor": (lambda x: gg.ops.binarize(x, "xnor"), lambda x: column_mean(x) * sign(x),
                      lambda x, g: g * (1 / 5.0 + column_mean(x) * (np.abs(x) <= 1))),
    "ternarize twn": (lambda x: gg.ops.ternarize(x, None, "twn"), lambda x: twn(x, 0.7 * np.abs(x).mean()), lambda x, g: g * (np.abs(x) <= 1)),
    "ternarize twn fixed": (lambda x: gg.ops.ternarize(x, 0.05, "twn", clip_value=None), lambda x: twn(x, 0.05), lambda x, g: g),
    "ternarize ttq": (lambda x: gg.ops.ternarize(x, wp=2.0, wn=3.0), lambda x: np.where(x > T, 2.0, np.where(x < -T, -3.0, 0.0)),
                      lambda x, g: g * np.where(x > T, 2.0, np.where(x < -T, 3.0, 1.0))),
    "round_ste": (gg.ops.round_ste, np.round, lambda x, g: g),
    "round_ste offset": (lambda x: gg.ops.round_ste(x, 0.3), lambda x: np.round(x - 0.3) + 0.3, lambda x, g: g),
    "soft_round": (lambda x: gg.ops.soft_round(x, 4.0), lambda x: np.floor(x) + 0.5 + np.tanh(4 * (x - np.floor(x) - 0.5)) / (2 * np.tanh(2)),
                   lambda x, g: g * 4 * (1 - np.tanh(4 * (x - np.floor(x) - 0.5)) ** 2) / (2 * np.tanh(2))),
    "soft_round alpha 0": (lambda x: gg.ops.soft_round(x, tf.constant(0.0, tf.float64)), lambda x: x, lambda x, g: g),
    "dorefa_weights": (lambda x: gg.ops.dorefa_weights(x, 2), lambda x: dorefa_weights(x, 2), lambda x, g: dorefa_weights_gradient(x, g, True)),
    "dorefa_weights max stopped": (lambda x: gg.ops.dorefa_weights(x, 2, differentiate_max=False), lambda x: dorefa_weights(x, 2),
                                   lambda x, g: dorefa_weights_gradient(x, g, False)),
    "dorefa_weights 1 bit": (lambda x: gg.ops.dorefa_weights(x, 1), lambda x: np.abs(x).mean() * sign(x), lambda x, g: g),
    "dorefa_weights 32 bits": (lambda x: gg.ops.dorefa_weights(x, 32), lambda x: x, lambda x, g: g),
    "dorefa_activations": (lambda x: gg.ops.dorefa_activations(x, 2), lambda x: np.round(np.clip(x, 0, 1) * 3) / 3,
                           lambda x, g: g * ((x >= 0) & (x <= 1))),
    "dorefa_activations not clipped": (lambda x: gg.ops.dorefa_activations(x, 2, clip=False), lambda x: np.round(x * 3) / 3, lambda x, g: g),
    "dorefa_gradients 32 bits": (lambda x: gg.ops.dorefa_gradients(x, 32), lambda x: x, lambda x, g: g),
    "quantize_ste": (gg.ops.quantize_ste(lambda x: tf.floor(x * 4) / 4, -1, 1), lambda x: np.floor(x * 4) / 4, lambda x, g: g * (np.abs(x) <= 1)),
    "argmax_ste": (gg.ops.argmax_ste, one_hot, lambda x, g: g),
    "argmax_ste axis 0": (lambda x: gg.ops.argmax_ste(x, axis=-2), lambda x: one_hot(x, 0), lambda x, g: g),
    "top_k_ste": (lambda x: gg.ops.top_k_ste(x, 2), lambda x: top(x, 2), lambda x, g: g),
    "skip_gradient": (gg.ops.skip_gradient(tf.floor), np.floor, lambda x, g: g),
    "bpda backward": (gg.ops.bpda(tf.floor, backward=lambda x, g: g * x), np.floor, lambda x, g: g * x),
    "bpda substitute": (gg.ops.bpda(tf.floor, substitute=tf.square), np.floor, lambda x, g: 2 * x * g),
    "recompute": (gg.ops.recompute(lambda x: tf.tanh(x) * x), lambda x: np.tanh(x) * x,
                  lambda x, g: g * (np.tanh(x) + x * (1 - np.tanh(x) ** 2))),
}


@pytest.mark.parametrize("shape", [[5, 6], [None, 6], [None, None]], ids=str)
@pytest.mark.parametrize("name", sorted(OPS))
def test_value_and_gradient(name, shape):
    """In closed form; with unknown sizes too."""
    function, value, gradient = OPS[name]
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float64, shape)
        y = function(x)
        got = session.run([y, tf.gradients(y, x, grad_ys=tf.constant(G))[0]], {x: X})
    np.testing.assert_allclose(got[0], value(X), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(got[1], gradient(X, G), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", sorted(set(OPS) - {"flip_gradient scheduled", "soft_round alpha 0"}))
def test_dtypes(name):
    """float32 and float16 come back as they went in, value and gradient."""
    for dtype in (tf.float16, tf.float32):
        with tf.Graph().as_default():
            x = tf.placeholder(dtype, [5, 6])
            y = OPS[name][0](x)
            assert y.dtype == tf.gradients(y, x)[0].dtype == dtype


def test_nan_stays_nan():
    """A NaN is not quantised into a number, where TensorFlow's Sign does not do so itself (1.15 does)."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant([float("nan"), 1.0])
        functions = [gg.ops.binarize, gg.ops.round_ste, lambda x: gg.ops.dorefa_activations(x, 2)]
        if not np.isnan(session.run(tf.sign(x))[0]):
            assert TF1
        else:
            functions += [gg.ops.sign_ste, gg.ops.approx_sign, gg.ops.heaviside_ste, gg.ops.spike,
                          lambda x: gg.ops.ternarize(x, 0.05, "twn")]
        for function in functions:
            assert np.isnan(session.run(function(x))[0])


def test_the_offset_of_round_ste_gets_no_gradient(graph):
    """Nothing comes to it through the forward, though that adds it."""
    x, offset = tf.constant([1.2, 2.7]), tf.constant(0.25)
    assert tf.gradients(gg.ops.round_ste(x, offset), offset) == [None]


def test_the_gradient_builds_no_more_than_one_written_by_hand(graph):
    """The forward of sign_ste is not differentiated, as tf.custom_gradient does not differentiate its own."""
    @tf.custom_gradient
    def by_hand(x):
        return tf.where(x >= 0, tf.ones_like(x), -tf.ones_like(x)), lambda grad: tf.where(
            tf.abs(x) <= 1.0, grad, tf.zeros_like(grad))

    built = []
    for sign in (gg.ops.sign_ste, by_hand):
        x = tf.constant([0.5, -2.0])
        y = sign(x)
        before = len(graph.get_operations())
        tf.gradients(y, x)
        built.append(len(graph.get_operations()) - before)
    assert built[0] <= built[1]


def test_bernoulli():
    """0 and 1 with probability p, straight-through; a seed repeats it; 0 and 1 themselves are certain."""
    with tf.Graph().as_default(), tf.Session() as session:
        p = tf.constant([[0.0, 0.2, 0.7, 1.0]] * 20000)
        sample, again = gg.ops.bernoulli_ste(p, seed=5), gg.ops.bernoulli_ste(p, seed=5)
        value, twin, gradient = session.run([sample, again, tf.gradients(3.0 * sample, p)[0]])
    assert set(np.unique(value)) == {0.0, 1.0} and (value == twin).all() and (gradient == 3.0).all()
    np.testing.assert_allclose(value.mean(axis=0), [0, 0.2, 0.7, 1], atol=0.02)


def test_categorical_and_gumbel():
    """One-hot samples with the frequencies of the softmax; the gradient is that of the softmax, or of the relaxed sample."""
    logits = np.log([[0.1, 0.2, 0.7]])
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(np.tile(logits, [20000, 1]))
        g = tf.constant(np.tile([[1.0, -2.0, 0.5]], [20000, 1]), tf.float64)
        sample = gg.ops.categorical_ste(x, seed=1)
        soft, hard = gg.ops.gumbel_softmax(x, 0.5, seed=2), gg.ops.gumbel_softmax(x, 0.5, hard=True, seed=2)
        gradients = [tf.gradients(y, x, grad_ys=g)[0] for y in (sample, soft, hard)]
        value, relaxed, one, (to_sample, to_soft, to_hard) = session.run([sample, soft, hard, gradients])
    for hot in (value, one):
        assert set(np.unique(hot)) == {0.0, 1.0} and (hot.sum(axis=1) == 1).all()
        np.testing.assert_allclose(hot.mean(axis=0), [0.1, 0.2, 0.7], atol=0.02)
    assert (one == one_hot(relaxed)).all() and (to_hard == to_soft).all()
    np.testing.assert_allclose(relaxed.sum(axis=1), 1.0)
    np.testing.assert_allclose(to_sample, through_softmax(np.tile(logits, [20000, 1]), np.array([[1.0, -2.0, 0.5]])), rtol=1e-9)
    centred = relaxed * (np.array([[1.0, -2.0, 0.5]]) - (np.array([[1.0, -2.0, 0.5]]) * relaxed).sum(axis=1, keepdims=True))
    np.testing.assert_allclose(to_soft, centred / 0.5, rtol=1e-9, atol=1e-12)


def test_dorefa_gradients_quantises():
    """The value passes; the gradient has the levels of its bits, per sample."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(X)
        got = session.run(tf.gradients(gg.ops.dorefa_gradients(x, 1), x, grad_ys=tf.constant(G))[0])
    np.testing.assert_allclose(np.abs(got), np.abs(G).max(axis=1, keepdims=True) + 0 * G, rtol=1e-12)


def test_ternarize_makes_its_variables():
    """Wp and Wn in the current variable scope, trained: reused with it, as tensorpack's."""
    with tf.Graph().as_default(), tf.Session() as session:
        with tf.variable_scope("layer", reuse=tf.AUTO_REUSE):
            y = gg.ops.ternarize(tf.constant([-2.0, 0.0, 3.0]))
            gg.ops.ternarize(tf.constant([-2.0, 0.0, 3.0]))
        names = [variable.op.name for variable in tf.trainable_variables()]
        session.run(tf.global_variables_initializer())
        assert names == ["layer/Wp", "layer/Wn"]
        assert session.run([y, tf.gradients(y, tf.trainable_variables())])[0].tolist() == [-1.0, 0.0, 1.0]
        assert session.run(tf.gradients(y, tf.trainable_variables())) == [1.0, -1.0]


def test_skip_gradient_across_shapes():
    """The same number of entries: g is reshaped; another number: an error at once, or when it runs if sizes are unknown."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float64, [2, 3])
        y = gg.ops.skip_gradient(lambda x: tf.reshape(x, [6]))(x)
        got = session.run(tf.gradients(y, x, grad_ys=tf.constant(np.arange(6.0)))[0], {x: np.zeros([2, 3])})
        assert got.tolist() == [[0, 1, 2], [3, 4, 5]]
        with pytest.raises(ValueError, match=r"sum_up turns shape \(2, 3\) into \(2,\): there is no identity .* bpda"):
            def sum_up(x):
                return tf.reduce_sum(x, 1)
            gg.ops.skip_gradient(sum_up)(x)
        unknown = tf.placeholder(tf.float64, [None, 3])
        y = gg.ops.skip_gradient(lambda x: tf.reduce_sum(x, 1))(unknown)
        with pytest.raises(tf.errors.InvalidArgumentError, match="reshape"):
            session.run(tf.gradients(y, unknown)[0], {unknown: np.zeros([2, 3])})


def test_in_bodies(control_flow, run):
    """The gradients hold in the body of a loop and of a branch."""
    with tf.Graph().as_default():
        x = tf.constant([0.5, -2.0])
        looped = tf.while_loop(lambda i, v: i < 2, lambda i, v: (i + 1, gg.ops.flip_gradient(v, 3.0)), [0, x])[1]
        branched = tf.cond(tf.constant(True), lambda: gg.ops.sign_ste(x), lambda: x)
        assert [g.tolist() for g in run([tf.gradients(looped, x)[0], tf.gradients(branched, x)[0]])] == [[9.0, 9.0], [1.0, 0.0]]


def test_in_eager_mode():
    """Under a GradientTape, in eager mode."""
    assert tf.executing_eagerly()
    x = tf.constant([0.5, -2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = gg.ops.sign_ste(x) + gg.ops.flip_gradient(x, 3.0) + gg.ops.lower_bound(x, 0.0)
    assert tape.gradient(y, x).numpy().tolist() == [-1.0, -3.0]


def test_saved_graphs_find_the_rule():
    """A serialised graph gives the same gradient where the rule without parameters is registered with graphgrad."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [2], name="x")
        tf.identity(gg.ops.approx_sign(x), name="y")
    with tf.Graph().as_default(), tf.Session() as session:
        x, y = tf.import_graph_def(graph.as_graph_def(), return_elements=["x:0", "y:0"])
        assert session.run(tf.gradients(y, x)[0], {x: [0.5, 3.0]}).tolist() == [1.0, 0.0]


def test_saved_graphs_with_parameters():
    """A rule with parameters is found under the name it is tagged with, once it is registered; before, an error names it."""
    import gc
    with tf.Graph().as_default() as graph:
        tf.identity(gg.ops.flip_gradient(tf.placeholder(tf.float32, [2], name="x"), 0.37), name="y")
        definition = graph.as_graph_def()
    del graph
    gc.collect()
    with tf.Graph().as_default(), tf.Session() as session:
        x, y = tf.import_graph_def(definition, return_elements=["x:0", "y:0"])
        with pytest.raises(LookupError):
            tf.gradients(y, x)
        gg.register_gradient("graphgrad.reverse(factor=0.37)")(gg.rules.reverse(0.37))
        np.testing.assert_allclose(session.run(tf.gradients(y, x)[0], {x: [0.5, 3.0]}), [-0.37, -0.37], rtol=1e-6)


@pytest.mark.parametrize("call, error, text", [
    (lambda x, i: gg.ops.sign_ste(i), TypeError, "sign_ste needs a floating tensor, but got int32: cast it first"),
    (lambda x, i: gg.ops.lower_bound(i, 0), TypeError, "lower_bound needs a floating tensor, but got int32"),
    (lambda x, i: gg.ops.dorefa_weights(x, 0), ValueError, "dorefa_weights: k, the number of bits, must be an int from 1 to 16, but got 0"),
    (lambda x, i: gg.ops.dorefa_activations(x, 17), ValueError, "dorefa_activations: k, .* but got 17"),
    (lambda x, i: gg.ops.binarize(x, "twn"), ValueError, "binarize: method must be 'bwn' or 'xnor', but got 'twn'"),
    (lambda x, i: gg.ops.ternarize(x, method="bwn"), ValueError, "ternarize: method must be 'ttq' or 'twn', but got 'bwn'"),
    (lambda x, i: gg.ops.ternarize(x, thresh=2.0), ValueError, "thresh must be a finite number not below 0 and not above 1, but got 2.0"),
    (lambda x, i: gg.ops.upper_bound(x, 0, "away"), ValueError, "upper_bound: gradient must be one of .* but got 'away'"),
    (lambda x, i: gg.ops.top_k_ste(x, 3), ValueError, "top_k_ste: k is 3, but the last axis has 2 entries"),
    (lambda x, i: gg.ops.top_k_ste(x, 0), ValueError, "top_k_ste: k must be an int from 1, but got 0"),
    (lambda x, i: gg.ops.gumbel_softmax(x, 0.0), ValueError, "gumbel_softmax: temperature must be above 0, but got 0.0"),
    (lambda x, i: gg.ops.bpda(tf.sign), TypeError, "give either backward or substitute"),
    (lambda x, i: gg.ops.quantize_ste(tf.round, minimum=0.0), ValueError, "give both minimum and maximum, or none"),
    (lambda x, i: gg.ops.skip_gradient(lambda x: tf.argmax(x))(x), TypeError, "must return one floating tensor"),
    (lambda x, i: gg.ops.skip_gradient(None), TypeError, "skip_gradient takes a function of tensors, but got None"),
    (lambda x, i: gg.ops.recompute(3), TypeError, "recompute takes a function of tensors, but got 3"),
    (lambda x, i: gg.ops.quantize_ste(lambda x: tf.cast(x, tf.int32))(x), ValueError,
     r"quantize_ste: the result must have the dtype and shape of the input, float32 \(2,\), but has int32"),
    (lambda x, i: gg.ops.threshold_ste(x[0], x), ValueError, "threshold_ste: the result must have the dtype and shape of the input"),
    (lambda x, i: gg.ops.argmax_ste(x[0]), ValueError, r"argmax_ste needs a tensor of rank 1 or more, but got shape \(\)"),
    (lambda x, i: gg.ops.categorical_ste(x[0]), ValueError, "categorical_ste needs a tensor of rank 1 or more"),
    (lambda x, i: gg.ops.gumbel_softmax(x[0]), ValueError, "gumbel_softmax needs a tensor of rank 1 or more"),
    (lambda x, i: gg.ops.top_k_ste(x[0], 1), ValueError, "top_k_ste needs a tensor of rank 1 or more"),
    (lambda x, i: gg.ops.binarize(x[0], "xnor"), ValueError, "binarize needs a tensor of rank 1 or more"),
    (lambda x, i: gg.ops.magnitude_aware_sign(x[0]), ValueError, "magnitude_aware_sign needs a tensor of rank 1 or more"),
    (lambda x, i: gg.ops.paired(x[0], 0.0), ValueError, "paired needs a tensor of rank 1 or more"),
    (lambda x, i: gg.ops.paired(x, tf.ones([3])), ValueError, r"paired: the baseline must broadcast to x, \(2,\), but has shape \(3,\)"),
    (lambda x, i: gg.ops.flip_gradient(x, None), ValueError, "reverse: factor must be a number, but got None"),
    (lambda x, i: gg.ops.spike(x, gamma=-1), ValueError, "spike: gamma must be a finite number not below 0, but got -1")])
def test_bad_input(call, error, text):
    """One sentence, at build time."""
    with tf.Graph().as_default():
        with pytest.raises(error, match=text):
            call(tf.constant([1.0, 2.0]), tf.constant([1, 2]))


def test_full_precision_and_unknown_ranks(graph, run):
    """32 bits leave activations as they are; an axis from the end but the last needs a rank to count from."""
    x = tf.constant([-0.3, 1.7])
    assert run(gg.ops.dorefa_activations(x, 32)).tolist() == run(x).tolist()
    with pytest.raises(ValueError, match="argmax_ste: axis -2 needs a tensor of known rank"):
        gg.ops.argmax_ste(tf.placeholder(tf.float32, None), axis=-2)
