"""RectGrad, LRP and DeepLIFT on existing graphs: closed forms, conservation, summation, and what is refused."""
import numpy as np
import pytest
from _digits import import_digits, recorded
from conftest import TF1, tf

import graphgrad as gg

RANDOM = np.random.RandomState(21)
W = RANDOM.randn(4, 5)
V = RANDOM.randn(5, 3)
B = RANDOM.randn(5)
X = RANDOM.randn(6, 4)


def net(bias=None, between=tf.nn.relu):
    x = tf.placeholder(tf.float64, [None, 4], name="x")
    z = tf.matmul(x, W)
    return tf.matmul(between(z if bias is None else z + bias), V, name="y"), x


@pytest.fixture(scope="module")
def digits():
    return import_digits()


def lrp_epsilon(epsilon):
    """x * back(R / (z + epsilon * sign)), layer by layer, for class 1 of the net without biases."""
    stable = lambda z: z + epsilon * np.where(z >= 0, 1, -1)  # noqa: E731
    z = X.dot(W)
    hidden = np.maximum(z, 0)
    y = hidden.dot(V)[:, 1]
    relevance = hidden * V[:, 1] * (y / stable(y))[:, None]
    return X * (relevance / stable(z)).dot(W.T)


def test_lrp_epsilon(graph):
    """The formula of the paper in numpy; the gap is the sum less the score."""
    y, x = net()
    method = gg.saliency.lrp_epsilon(y, x, 1, epsilon=0.1)
    with tf.Session() as session:
        maps = method(session, X, max_batch=4)
        scores = session.run(y, {x: X})[:, 1]
    np.testing.assert_allclose(maps, lrp_epsilon(0.1), rtol=1e-10)
    np.testing.assert_allclose(method.gap, maps.sum(1) - scores)


@pytest.mark.parametrize("rule, parameters", [("z", {}), ("epsilon", {"epsilon": 1e-9}), ("alpha_beta", {"alpha": 2.0, "beta": 1.0})])
def test_lrp_keeps_the_sum(graph, rule, parameters):
    """Without biases, relevance is kept: the map sums to the score."""
    y, x = net()
    method = gg.saliency.lrp(y, x, 1, rule=rule, **parameters)
    with tf.Session() as session:
        method(session, X)
        scores = session.run(y, {x: X})[:, 1]
    np.testing.assert_allclose(method.gap, 0, atol=1e-6 * np.abs(scores).max())


def test_lrp_of_a_rule_that_is_none(graph):
    """Said by the preset."""
    y, x = net()
    with pytest.raises(ValueError, match="lrp: rule must be one of 'z', 'epsilon'"):
        gg.saliency.lrp(y, x, 1, rule="delta")


def test_lrp_epsilon_as_a_gradient(graph):
    """g * y / (x + epsilon * sign(x)) at the ReLU, times the input."""
    y, x = net(bias=B)
    z = X.dot(W) + B
    slope = np.maximum(z, 0) / (z + 0.1 * np.where(z >= 0, 1, -1))
    with tf.Session() as session:
        got = gg.saliency.lrp_epsilon_gradient(y, x, 1, epsilon=0.1)(session, X)
    np.testing.assert_allclose(got, X * (slope * V[:, 1]).dot(W.T), rtol=1e-10)


@pytest.mark.parametrize("between", [tf.nn.relu, tf.tanh, tf.nn.softplus], ids=["relu", "tanh", "softplus"])
def test_deeplift(graph, between):
    """g * (y - y0) / (x - x0) at the activation, times x - x0; it sums to the difference, whatever the stacks."""
    functions = {tf.nn.relu: lambda z: np.maximum(z, 0), tf.tanh: np.tanh, tf.nn.softplus: lambda z: np.log1p(np.exp(z))}
    f, x0 = functions[between], np.array([0.3, -1.0, 0.0, 2.0])
    y, x = net(bias=B, between=between)
    z, z0 = X.dot(W) + B, x0.dot(W) + B
    want = (X - x0) * ((f(z) - f(z0)) / (z - z0) * V[:, 1]).dot(W.T)
    method = gg.saliency.deeplift(y, x, 1, baseline=x0)
    with tf.Session() as session:
        for max_batch in (1, 4, 5, 64):
            np.testing.assert_allclose(method(session, X, max_batch=max_batch), want, rtol=1e-9)
            np.testing.assert_allclose(method.gap, 0, atol=1e-12)


def test_deeplift_of_a_fixed_batch(graph):
    """Examples and baselines share it; an odd one is refused."""
    x = tf.placeholder(tf.float64, [4, 4], name="x")
    y = tf.reduce_sum(tf.tanh(x), 1)
    with tf.Session() as session:
        got = gg.saliency.deeplift(y, x)(session, X[:3])
    np.testing.assert_allclose(got, np.tanh(X[:3]), rtol=1e-9)
    odd = tf.placeholder(tf.float64, [3, 4], name="odd")
    with pytest.raises(gg.SaliencyError, match="'odd:0' takes 3 at a time: an even or open batch size is needed"):
        gg.saliency.deeplift(tf.reduce_sum(tf.tanh(odd), 1), odd)


U = RANDOM.randn(4)
K = RANDOM.randn(3, 3)


def attention(x):
    """Products of two inputs of rank 3, in the batch axis of x; keys and queries of different projections."""
    words = tf.reshape(x, [-1, 4, 1]) * np.array([1.0, -0.5, 0.3])
    keys = tf.reshape(tf.matmul(tf.reshape(words, [-1, 3]), K), [-1, 4, 3])
    return tf.reduce_sum(tf.matmul(tf.matmul(keys, words, transpose_b=True), words), [1, 2])


def normalised(x):
    """A layer normalisation, as tf.nn.moments and tf.nn.batch_normalization build it."""
    mean, variance = tf.nn.moments(x, [1], keepdims=True)
    return tf.reduce_sum(U * tf.nn.batch_normalization(x, mean, variance, None, U, 0.1), 1)


def loop(x):
    """Gates in a loop."""
    with tf.variable_scope("loop"):
        return tf.reduce_sum(tf.while_loop(lambda i, h: i < 3, lambda i, h: (
            i + 1, tf.sigmoid(h) * tf.tanh(tf.matmul(h, SQUARE))), (0, x), maximum_iterations=3)[1], 1)


SQUARE = RANDOM.randn(4, 4)
MIXED = {
    "gate": lambda x: tf.reduce_sum(x * tf.tanh(x), 1), "maximum": lambda x: tf.reduce_sum(tf.maximum(x, 0.0) * U, 1),
    "leaky": lambda x: tf.reduce_sum(tf.maximum(x, 0.1 * x), 1), "clip": lambda x: tf.reduce_sum(tf.clip_by_value(x, -0.5, 0.5), 1),
    "quotient": lambda x: tf.reduce_sum(x / (1.0 + x * x), 1), "power": lambda x: tf.reduce_sum(x ** 3, 1),
    "largest": lambda x: tf.reduce_max(x * U, 1), "attention": attention, "normalised": normalised, "loop": loop}


@pytest.mark.parametrize("kind", sorted(MIXED))
def test_deeplift_of_two_inputs(graph, kind):
    """Gates, maxima, quotients, powers, attention, layer normalisation, loops: the map sums to the difference."""
    was_on = tf.control_flow_v2_enabled()
    tf.disable_control_flow_v2()
    try:
        x = tf.placeholder(tf.float64, [None, 4], name="x")
        method = gg.saliency.deeplift(MIXED[kind](x), x, baseline=0.05)
    finally:
        if was_on:
            tf.enable_control_flow_v2()
    with tf.Session() as session:
        maps = method(session, X, max_batch=4)
    np.testing.assert_allclose(method.gap / np.abs(maps).sum(1), 0, atol=1e-10)
    assert not method.not_overridden


def test_deeplift_of_a_gate_is_that_of_two_players(graph):
    """x * tanh(x), by hand: each factor gets its change at the mean of the other."""
    x = tf.placeholder(tf.float64, [None, 4])
    with tf.Session() as session:
        got = gg.saliency.deeplift(tf.reduce_sum(x * tf.tanh(x), 1), x, baseline=0.5)(session, X)
    want = (X - 0.5) * (np.tanh(X) + np.tanh(0.5)) / 2 + (np.tanh(X) - np.tanh(0.5)) * (X + 0.5) / 2
    np.testing.assert_allclose(got, want, rtol=1e-9)


def test_gates_in_a_body_are_refused(graph):
    """In a body of control flow v2 it cannot be told what depends on x; on TF 1.15 no override gets there."""
    was_on = tf.control_flow_v2_enabled()
    tf.enable_control_flow_v2()
    try:
        x = tf.placeholder(tf.float64, [None, 4], name="x")
        with pytest.raises(gg.GraphGradError, match="on\\(\\) cannot reach" if TF1 else "type Mul\\) is in a body of control flow v2"):
            gg.saliency.deeplift(loop(x), x)
    finally:
        if not was_on:
            tf.disable_control_flow_v2()


@pytest.mark.parametrize("kind, y", [
    ("scale", lambda x: tf.reduce_sum(3.0 * tf.nn.relu(x / 2.0), 1)), ("negated", lambda x: tf.reduce_sum(tf.nn.relu(-x) * U, 1)),
    ("summed", lambda x: tf.reduce_sum(tf.add_n([x, U * tf.nn.relu(x), x]), 1)),
    ("crelu", lambda x: tf.matmul(tf.nn.crelu(x), RANDOM.randn(8, 1))[:, 0]),
    ("weights first", lambda x: tf.reduce_sum(tf.matmul(SQUARE, tf.nn.relu(x), transpose_b=True), 0)),
    ("gate", lambda x: tf.reduce_sum(x * tf.tanh(x), 1)), ("attention", attention),
    ("quotient", lambda x: tf.reduce_sum(x / tf.sqrt(tf.reduce_sum(x * x, 1, keepdims=True)), 1))])
def test_lrp_keeps_the_sum_through_products(graph, kind, y):
    """Scales, signs, sums of several, gates and attention: relevance is handed on, neither scaled nor doubled."""
    x = tf.placeholder(tf.float64, [None, 4], name="x")
    method = gg.saliency.lrp(y(x), x, rule="z")
    with tf.Session() as session:
        maps = method(session, X)
    np.testing.assert_allclose(method.gap / np.abs(maps).sum(1), 0, atol=1e-9)


def test_lrp_of_a_scale_and_of_a_gate(graph):
    """By hand: a scale leaves relevance as it is; a product of two gives half to each, here x and its tanh."""
    x = tf.placeholder(tf.float64, [None, 4])
    with tf.Session() as session:
        got = gg.saliency.lrp(tf.reduce_sum(U * tf.nn.relu(x), 1), x, rule="z")(session, X)
        np.testing.assert_allclose(got, U * np.maximum(X, 0), rtol=1e-10)
        z = tf.stack([tf.tanh(x[:, 0]) * x[:, 1]], 1)
        got = gg.saliency.lrp(z, x, rule="z")(session, X)
    half = np.tanh(X[:, 0]) * X[:, 1] / 2
    np.testing.assert_allclose(got, np.stack([half, half, 0 * half, 0 * half], 1), rtol=1e-10)


def test_deeplift_of_a_scalar(graph):
    """One scalar for a batch mixes example and baseline."""
    x = tf.placeholder(tf.float64, [None, 4], name="x")
    with pytest.raises(gg.SaliencyError, match="is one scalar for all of it: give one score per example"):
        gg.saliency.deeplift(tf.reduce_mean(tf.tanh(x)), x)


def test_deeplift_of_the_digits_sums_up(digits):
    """Convolutions, max-pools, dense layers of the shipped model: the sum of each map is the difference of the scores."""
    session, y, x = digits
    method = gg.saliency.deeplift(y, x, "top")
    maps = method(session, recorded()[0], max_batch=7)
    assert method.overridden.keys() == {"Relu", "MaxPool"} and not method.not_overridden
    np.testing.assert_allclose(method.gap / np.abs(maps).sum((1, 2, 3)), 0, atol=1e-6)


def test_rectgrad(graph):
    """Where y * g is above its percentile, g passes; then times x."""
    y, x = net()
    hidden = np.maximum(X.dot(W), 0)
    importance = hidden * V[:, 1]
    threshold = np.sort(importance, 1)[:, ::-1][:, int(np.rint(4 * 0.4))]      # 5 entries, the 60th percentile
    want = X * (np.where(importance > threshold[:, None], V[:, 1], 0)).dot(W.T)
    with tf.Session() as session:
        np.testing.assert_allclose(gg.saliency.rectgrad(y, x, 1, percentile=60)(session, X), want, rtol=1e-10)
