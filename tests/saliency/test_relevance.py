"""RectGrad, LRP and DeepLIFT on existing graphs: closed forms, conservation, summation, and what is refused."""
import numpy as np
import pytest
from _digits import import_digits, recorded
from conftest import tf

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


@pytest.mark.parametrize("mix, kind", [
    (lambda x: tf.multiply(x, tf.tanh(x), name="mix"), "Mul"), (lambda x: tf.maximum(x, 0.1 * x, name="mix"), "Maximum"),
    (lambda x: tf.divide(tf.ones_like(x), x, name="mix"), "RealDiv")])
def test_deeplift_refuses_what_has_two_inputs(graph, mix, kind):
    """A gate, a leaky ReLU of two inputs, a quotient: named, not passed by with their ordinary gradient."""
    x = tf.placeholder(tf.float64, [None, 4], name="x")
    with pytest.raises(gg.SaliencyError, match=r"has one input, and 'mix\S*' \(type {}\) has two".format(kind)):
        gg.saliency.deeplift(tf.reduce_sum(mix(x), 1), x)


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
