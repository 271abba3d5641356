"""Presets: each type of a family by its own rule, and a report that names what was not covered."""
import numpy as np
import pytest
from conftest import TF1, tf

import graphgrad as gg

X = np.array([-1.0, 0.5, 2.0])


def test_guided_backprop_covers_a_family():
    """Each activation by its own derivative and the positive gradient; no warning for those that are not there."""
    activations = [tf.nn.relu, tf.nn.relu6, tf.nn.elu, tf.nn.selu, tf.nn.softplus, tf.nn.softsign, tf.nn.leaky_relu,
                   lambda x: tf.maximum(x, 0.0), lambda x: tf.maximum(0.0, x)]
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(X, tf.float32)
        signs = tf.constant([1.0, 1.0, -1.0])
        for activation in activations:
            override = gg.guided_backprop()
            with override:
                y = activation(x)
            guided, ordinary = session.run([tf.gradients(y, x, grad_ys=signs)[0], tf.gradients(activation(x), x)[0]])
            np.testing.assert_allclose(guided, ordinary * [1, 1, 0], rtol=1e-6)
            assert len(override.report.differentiated) == 1 and override.report.uncovered == {}


def test_crelu_is_covered_by_its_parts():
    """crelu is Neg, ConcatV2 and Relu: what is positive passes each half."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(X)
        override = gg.guided_backprop()
        with override:
            y = tf.nn.crelu(x)
        g = tf.constant([1.0, 1.0, -1.0, 1.0, -1.0, 1.0], tf.float64)
        assert session.run(tf.gradients(y, x, grad_ys=g)[0]).tolist() == [-1.0, 1.0, 0.0]
        assert override.report.uncovered == {}


def test_deconvnet():
    """x does not matter, of a Maximum with 0 either; an ordinary maximum keeps its gradient."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(X)
        with gg.deconvnet():
            ys = [tf.nn.relu(x), tf.maximum(x, 0.0), tf.maximum(x, 1.0)]
        g = tf.constant([1.0, -1.0, 2.0], tf.float64)
        got = session.run([tf.gradients(y, x, grad_ys=g)[0] for y in ys])
    assert [list(a) for a in got] == [[1, 0, 2], [1, 0, 2], [0, 0, 2]]


def test_what_is_not_covered_is_named():
    """A tanh, a Maximum of two signals and a swish behind or before a ReLU; not what is elsewhere, or built later."""
    with tf.Graph().as_default():
        x = tf.constant(X)
        override = gg.guided_backprop()
        with override:
            h = tf.tanh(x, name="before")
            y = tf.maximum(tf.nn.relu(h), h, name="larger")
            y = tf.nn.swish(y)
            tf.tanh(tf.constant(1.0), name="elsewhere")
        tf.tanh(y, name="later")
        tf.gradients(y, x)
    report = override.report
    assert report.uncovered["Tanh"] == ["before"] and report.uncovered["Maximum"] == ["larger"]
    assert len(report.uncovered["IdentityN"]) == 1
    assert "not covered, on the path: IdentityN (a tf.custom_gradient): IdentityN" in str(report)
    assert "not covered, on the path: Tanh: before" in str(report)


@pytest.mark.parametrize("activation, missed", [
    (lambda x: x * tf.sigmoid(x), ["Mul", "Sigmoid"]), (lambda x: x * tf.nn.relu6(x + 3.0) / 6.0, ["Mul"]), (tf.nn.swish, ["IdentityN"]),
    (lambda x: tf.where(x > 0, x, tf.zeros_like(x)), ["Select"]), (lambda x: (x + tf.abs(x)) / 2.0, ["Abs"]),
    (lambda x: tf.maximum(0.2 * x, x), ["Maximum"]), (lambda x: tf.minimum(tf.nn.relu(x), 1.0), ["Minimum"]),
    (lambda x: tf.nn.dropout(tf.nn.relu(x), rate=0.5), []), (tf.nn.crelu, []), (lambda x: tf.nn.relu(x) - 0.1 * tf.nn.relu(-x), [])],
    ids=["swish by hand", "hard swish", "swish", "where", "abs", "leaky maximum", "clipped", "dropout", "crelu", "prelu"])
def test_what_a_network_calls_its_relu(activation, missed):
    """Each is covered or named, and what is linear is not named; nor is a tanh that only weights go through."""
    with tf.Graph().as_default():
        x, weights = tf.placeholder(tf.float32, [None, 3]), tf.get_variable("w", [3, 3])
        override = gg.guided_backprop()
        with override:
            y = tf.nn.relu(tf.matmul(activation(tf.matmul(x, tf.tanh(weights))), tf.ones([1, 1]) * tf.ones([6 if missed == [] and (
                activation is tf.nn.crelu) else 3, 2])))
        assert "Tanh" in override.report.uncovered   # it might be on the path, before there is one
        tf.gradients(y, x)
        assert [kind.replace("V2", "") for kind in sorted(override.report.uncovered)] == missed


def test_a_gradients_own_operations_are_no_path(control_flow):
    """on() and what tf.gradients adds: the Relu inside of a guided gradient is not one that was missed."""
    if TF1 and control_flow == 2:
        return   # on() refuses bodies there
    with tf.Graph().as_default() as graph:
        x = tf.constant(X)
        y = tf.while_loop(lambda i, v: i < 2, lambda i, v: (i + 1, tf.tanh(tf.nn.relu(v))), [0, x])[1]
        y = tf.cond(tf.constant(True), lambda: tf.nn.relu(y), lambda: y)
        override = gg.guided_backprop()
        with override.on(graph):
            tf.gradients(y, x)
    assert list(override.report.uncovered) == ["Tanh"] and len(override.report.uncovered["Tanh"]) == 1


def test_what_is_not_covered_in_bodies(control_flow):
    """In the body of a loop too, where there is a body to look into."""
    with tf.Graph().as_default():
        x = tf.constant(X)
        override = gg.guided_backprop()
        with override:
            tf.while_loop(lambda i, v: i < 2, lambda i, v: (i + 1, tf.tanh(tf.nn.relu(v))), [0, x])
        if not (TF1 and control_flow == 2):
            assert [place.split("/")[-1].split(": ")[-1] for place in override.report.uncovered["Tanh"]] == ["Tanh"]


def test_rectgrad():
    """Rectifiers with the percentile, convolutions with the padding trick."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(np.arange(1.0, 26.0).reshape(1, 5, 5, 1))
        override = gg.rectgrad(50)
        with override:
            y = tf.nn.relu(tf.nn.conv2d(x, tf.ones([1, 1, 1, 1], tf.float64), [1, 1, 1, 1], "SAME"))
        dx = session.run(tf.gradients(y, x)[0])[0, :, :, 0]
    want = np.zeros([5, 5])
    want.ravel()[13:] = 1     # y * g above its median, 13
    want[[0, -1]], want[:, [0, -1]] = 0, 0
    assert (dx == want).all()
    assert {entry.key for entry in override.report if entry.differentiated} == {"Relu", "Conv2D"}


def test_redirected():
    """Relu6 far out: g passes that leads back; past the switch it is the ordinary gradient."""
    with tf.Graph().as_default(), tf.Session() as session:
        x, step = tf.constant([[-1.0, 7.0]]), tf.placeholder(tf.int64, [])
        with gg.redirected(step):
            y = tf.nn.relu6(x)
        dx = [tf.gradients(y, x, grad_ys=tf.constant([g]))[0] for g in ([-1.0, 1.0], [1.0, -1.0])]
        assert [a.tolist() for a in session.run(dx, {step: 3})] == [[[-1, 1]], [[0, 0]]]
        assert [a.tolist() for a in session.run(dx, {step: 17})] == [[[0, 0]], [[0, 0]]]


def test_smoothed_max_pool():
    """The average's gradient; "l2" the other; another kind is refused."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(np.array([1.0, 3.0]).reshape(1, 1, 2, 1))
        gradients = []
        for kind in ("average", "l2"):
            with gg.smoothed_max_pool(kind, epsilon=0):
                gradients.append(tf.gradients(tf.nn.max_pool2d(x, [1, 1, 2, 1], [1, 1, 2, 1], "VALID"), x)[0])
        average, l2 = [a.ravel().tolist() for a in session.run(gradients)]
    assert average == [0.5, 0.5]
    np.testing.assert_allclose(l2, [(2 * 1 * 4 - 10) / 16, (2 * 3 * 4 - 10) / 16])   # (a² + b²) / (a + b)
    with pytest.raises(ValueError, match="kind must be 'average' or 'l2', but got 'max'"):
        gg.smoothed_max_pool("max")


@pytest.mark.parametrize("rule, parameters", [
    ("z", {}), ("epsilon", {"epsilon": 0.1}), ("flat", {}), ("w_square", {}), ("alpha_beta", {"alpha": 2, "beta": 1}), ("z_plus", {}),
    ("z_box", {"low": 0, "high": 1}), ("gamma", {}), ("excitation", {})])
def test_lrp_has_every_rule(rule, parameters):
    """Each is put on a network with all its layers; weights get no relevance; a Mul is named as not covered."""
    with tf.Graph().as_default(), tf.Session() as session:
        x, w = tf.constant(np.random.RandomState(0).rand(2, 4, 4, 3)), tf.constant(np.random.RandomState(1).randn(3, 3, 3, 3))
        override = gg.lrp(rule, **parameters)
        with override:
            h = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, w, [1, 1, 1, 1], "SAME"), tf.ones([3], tf.float64)))
            h, _, _ = tf.nn.fused_batch_norm(tf.cast(h, tf.float32), tf.ones([3]), tf.zeros([3]), tf.zeros([3]), tf.ones([3]),
                                             is_training=False)
            y = tf.reduce_mean(tf.nn.avg_pool2d(h + h, [1, 2, 2, 1], [1, 2, 2, 1], "VALID"), [1, 2]) * 2.0
        relevance, of_weights = tf.gradients(y, [x, w])
        assert of_weights is None
        assert np.isfinite(session.run(relevance)).all()
    assert list(override.report.uncovered) == ["Mul"]


def test_lrp_with_another_rule_in_the_first_layer():
    """on() puts another rule on a layer that was built under the preset."""
    with tf.Graph().as_default() as graph, tf.Session() as session:
        x = tf.constant([[1.0, 2.0]])
        with gg.lrp("z"):
            with tf.name_scope("first"):
                h = tf.matmul(x, tf.constant([[1.0], [1.0]]))
            y = tf.matmul(h, tf.constant([[2.0]]))
        with gg.lrp("flat").on(graph, where="first/"):
            mixed = tf.gradients(y, x, grad_ys=y)[0]
        assert session.run([mixed, tf.gradients(y, x, grad_ys=y)[0]])[0].tolist() == [[3.0, 3.0]]
        assert session.run(tf.gradients(y, x, grad_ys=y)[0]).tolist() == [[2.0, 4.0]]


def test_batch_normalisation_in_training_is_refused():
    """LRP knows it in inference only."""
    with tf.Graph().as_default():
        x = tf.ones([2, 4, 4, 3])
        with gg.lrp("z"):
            y, _, _ = tf.nn.fused_batch_norm(x, tf.ones([3]), tf.zeros([3]), is_training=True)
        with pytest.raises(gg.GradientError, match="knows a batch normalisation in inference; operation .* is in training"):
            tf.gradients(y, x)


def test_straight_through():
    """The types it is given, which must be there; without any, the family of steps."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(X)
        with gg.straight_through("Sign"):
            z = tf.sign(x)
        with gg.straight_through():
            r = tf.floor(x)
        assert [g.tolist() for g in session.run([tf.gradients(t, x)[0] for t in (z, r)])] == [[1.0, 1.0, 1.0]] * 2
        with pytest.warns(gg.OverrideWarning, match="'Ceil' matched no operation"), gg.straight_through("Ceil"):
            tf.floor(x)
    with pytest.raises(gg.OverrideError, match="Did you mean Sign"):
        gg.straight_through("sign")


@pytest.mark.parametrize("make, text", [
    (lambda: gg.lrp("eps"), "rule must be one of 'z', 'epsilon'.* but got 'eps'"),
    (lambda: gg.lrp("epsilon", epsilon=-1), "epsilon must be a finite number not below 0"),
    (lambda: gg.lrp("alpha_beta", alpha=1, beta=1), "alpha - beta must be 1"),
    (lambda: gg.lrp("z", epsilon=1), "the rule 'z' takes no parameters, but got epsilon"),
    (lambda: gg.lrp("gamma", beta=1), "lrp: lrp_gamma is called with other parameters"),
    (lambda: gg.rectgrad(101), "percentile must be")])
def test_bad_parameters(make, text):
    """One sentence, when the preset is made."""
    with pytest.raises(ValueError, match=text):
        make()


def test_a_network_without_the_family():
    """None of the types: a warning, or an error if strict, that says what was there."""
    with tf.Graph().as_default():
        x = tf.constant(X)
        with pytest.raises(gg.OverrideError, match="'Relu' matched no operation"), gg.guided_backprop(strict=True):
            tf.tanh(x)
