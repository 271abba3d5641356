"""One battery over every rule: closed-form numpy on kinks, zeros, infinities and NaN; dtypes; unknown shapes.

A rule is a row of RULES: the op it is tried on, and its formula in numpy.
"""
import numpy as np
import pytest
import tensorflow
from conftest import tf

import graphgrad as gg
from graphgrad import catalogue, rules

INF, NAN = np.inf, np.nan
#: Every x with every g.
GRID = np.array([-INF, -7.0, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 6.0, 8.0, INF])
INCOMING = np.array([-INF, -2.0, -1.0, -0.25, -0.0, 0.0, 0.25, 1.0, 2.0, INF, NAN])
X, G = [a.ravel() for a in np.meshgrid(GRID, INCOMING)]


def positive(g):
    return np.where(np.isnan(g), g, np.maximum(g, 0.0))


def clip_norm(norm):
    def formula(x, g):
        length = np.sqrt(np.sum(np.square(g)))
        return g * norm / length if length > norm else g
    return formula


RULES = {
    "guided": (rules.guided, tf.nn.relu, lambda x, g: positive(g) * (x > 0)),   # inf * 0 is NaN, as in TF's ReluGrad
    "guided on Relu6": (rules.guided, tf.nn.relu6, lambda x, g: positive(g) * ((x > 0) & (x < 6))),
    "guided on LeakyRelu": (rules.guided, lambda x: tf.nn.leaky_relu(x, 0.25),
                            lambda x, g: np.where(x > 0, positive(g), 0.25 * positive(g))),
    "deconvnet": (rules.deconvnet, tf.nn.relu, lambda x, g: positive(g)),
    "straight_through": (rules.straight_through, tf.sign, lambda x, g: g),
    "straight_through on Round": (rules.straight_through, tf.round, lambda x, g: g),
    "straight_through_clipped_input": (rules.straight_through_clipped_input(1.0), tf.sign,
                                       lambda x, g: np.where(np.abs(x) <= 1, g, 0.0)),
    "straight_through_clipped_gradient": (rules.straight_through_clipped_gradient(0.5), tf.sign,
                                          lambda x, g: np.clip(g, -0.5, 0.5)),
    "reverse": (rules.reverse(0.5), tf.identity, lambda x, g: -0.5 * g),
    "scale": (rules.scale(2.0), tf.identity, lambda x, g: 2.0 * g),
    "clip_by_value": (rules.clip_by_value(-0.25, 0.5), tf.identity, lambda x, g: np.clip(g, -0.25, 0.5)),
    "clip_by_norm": (rules.clip_by_norm(1.0), tf.identity, clip_norm(1.0)),
}
DTYPES = [tf.float16, tf.bfloat16, tf.float32, tf.float64]
#: bfloat16 has no kernel of these on the CPU of TF 1.15.
NO_BFLOAT16_ON_1_15 = tensorflow.__version__.startswith("1.")


def gradient(rule, forward, x, g, dtype=tf.float32, shape=None):
    """The rule's gradient of sum(g * forward(x)), as float64; and the forward's value with and without the rule."""
    with tf.Graph().as_default(), tf.Session() as session:
        fed = tf.placeholder(tf.float64, shape)
        inputs = tf.cast(fed, dtype)
        with gg.override_gradients({forward(inputs).op.type: rule}):
            y = forward(inputs)
        dx = tf.gradients(y, inputs, grad_ys=tf.cast(tf.constant(g), dtype))[0]
        assert dx.dtype == inputs.dtype
        got, value, plain = session.run([tf.cast(dx, tf.float64), tf.cast(y, tf.float64), tf.cast(forward(inputs), tf.float64)],
                                        {fed: x})
    np.testing.assert_array_equal(value, plain)
    return got


def usable(name, dtype, x, g):
    """The grid without what the formula or another kernel leaves open."""
    keep = np.ones(len(x), bool)
    if name == "clip_by_norm":
        keep &= np.isfinite(g)     # no direction otherwise: said in the docstring
    if name == "guided on Relu6":
        keep &= x != 6             # TensorFlow's own mask at the upper kink
    return x[keep], g[keep]


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: dtype.name)
@pytest.mark.parametrize("name", sorted(RULES))
def test_the_formula_on_the_grid(name, dtype):
    """Closed form, at every combination of input and gradient: kinks, signed zeros, infinities, NaN."""
    rule, forward, formula = RULES[name]
    if dtype == tf.bfloat16 and NO_BFLOAT16_ON_1_15:
        # The kernels are missing there for ordinary gradients as well: the rule must still build.
        with tf.Graph().as_default():
            x = tf.placeholder(dtype, [None])
            with gg.override_gradients({forward(x).op.type: rule}):
                assert tf.gradients(forward(x), x)[0].dtype == dtype
        return
    x, g = usable(name, dtype, X, G)
    with np.errstate(invalid="ignore"):
        want = formula(x, g)
    rtol = {"float16": 2e-3, "bfloat16": 2e-2}.get(dtype.name, 1e-6)
    np.testing.assert_allclose(gradient(rule, forward, x, g, dtype), want, rtol=rtol, atol=0)


@pytest.mark.parametrize("shape", [None, [None], [None, 3], []], ids=str)
@pytest.mark.parametrize("name", sorted(RULES))
def test_unknown_shapes(name, shape):
    """Unknown rank, unknown batch, scalars."""
    rule, forward, formula = RULES[name]
    x = np.full({"None": [2], "[None]": [2], "[None, 3]": [2, 3], "[]": []}[str(shape)], 0.5)
    g = np.full(x.shape, 0.5)
    np.testing.assert_allclose(gradient(rule, forward, x, g, shape=shape), formula(x, g), rtol=1e-6)


def test_every_rule_is_in_the_battery():
    """Adding a rule is adding a row."""
    tried = {name.split(" on ")[0] for name in RULES} | {"stop"}
    assert tried == set(rules.__all__) == {entry.name for entry in catalogue.read()}


def test_stop():
    """None for every input."""
    with tf.Graph().as_default():
        x = tf.constant([1.0])
        with gg.override_gradients({"Mul": rules.stop}):
            assert tf.gradients(x * x, x) == [None]


@pytest.mark.parametrize("entry", catalogue.read(), ids=lambda entry: entry.name)
def test_docstrings_say_what_they_must(entry):
    """Formula, op types, second order and source, in every rule."""
    assert entry.summary.endswith((".", "x")) or "``" in entry.summary
    for part in ("Forward:", "Backward:", "Op types:", "Second order:", "Source:"):
        assert part in entry.doc, (entry.name, part)


def test_second_order():
    """guided: the second derivative through g. d/dw of (guided gradient of w * relu(x)) is the guided gradient / w."""
    with tf.Graph().as_default(), tf.Session() as session:
        x, w = tf.constant([-1.0, 2.0, 3.0]), tf.constant([5.0, 6.0, -7.0])
        with gg.guided_backprop():
            y = tf.nn.relu(x)
        first = tf.gradients(w * y, x)[0]
        assert session.run(tf.gradients(first, w)[0]).tolist() == [0.0, 1.0, 0.0]


def test_a_wrong_rule_turns_the_battery_red():
    """A rule that is off by 0.001 is caught: the battery is no formality."""
    with pytest.raises(AssertionError):
        np.testing.assert_allclose(gradient(rules.scale(2.001), tf.identity, np.ones(3), np.ones(3)), 2.0 * np.ones(3), rtol=1e-6)


@pytest.mark.parametrize("make, text", [
    (lambda: rules.straight_through_clipped_input(-1), "limit must be a finite number not below zero, but got -1"),
    (lambda: rules.scale(float("nan")), "factor must be a finite number, but got nan"),
    (lambda: rules.scale("x"), "factor must be a number, but got 'x'"),
    (lambda: rules.clip_by_value(1, -1), "minimum 1.0 is above maximum -1.0"),
    (lambda: rules.clip_by_norm(-2), "norm must be a finite number not below zero")],
    ids=["limit", "nan", "text", "order", "norm"])
def test_bad_parameters(make, text):
    """One sentence, when the rule is made."""
    with pytest.raises(ValueError, match=text):
        make()


def test_a_rule_on_an_operation_of_two_inputs():
    """Said at build time, naming the rule and the operation."""
    with tf.Graph().as_default():
        x = tf.constant([1.0])
        with gg.override_gradients({"Maximum": rules.straight_through}):
            y = tf.maximum(x, 0.0)
        with pytest.raises(gg.GradientError, match="straight_through is for operations with one input.*type Maximum has 2"):
            tf.gradients(y, x)


# Presets.

def test_guided_backprop_covers_a_family():
    """Each activation by its own derivative and the positive gradient; no warning for those that are not there."""
    activations = [tf.nn.relu, tf.nn.relu6, tf.nn.elu, tf.nn.selu, tf.nn.softplus, tf.nn.softsign, tf.nn.leaky_relu]
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant([-1.0, 0.5, 2.0])
        signs = tf.constant([1.0, 1.0, -1.0])
        for activation in activations:
            override = gg.guided_backprop()
            with override:
                y = activation(x)
            guided, ordinary = session.run([tf.gradients(y, x, grad_ys=signs)[0], tf.gradients(activation(x), x)[0]])
            np.testing.assert_allclose(guided, ordinary * [1, 1, 0], rtol=1e-6)
            assert len(override.report.differentiated) == 1


def test_deconvnet_and_straight_through_presets():
    """deconvnet ignores x, straight_through is the identity for the types it is given."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant([-1.0, 2.0])
        with gg.deconvnet():
            y = tf.nn.relu(x)
        with gg.straight_through("Sign"):
            z = tf.sign(x)
        with gg.straight_through():
            r = tf.floor(x)
        got = session.run([tf.gradients(t, x)[0] for t in (y, z, r)])
    assert [g.tolist() for g in got] == [[1.0, 1.0]] * 3
    with pytest.raises(gg.OverrideError, match="Did you mean Sign"):
        gg.straight_through("sign")
