"""Agreement with the public originals: their numbers, computed by running them on TF 1.15.5 (original_numbers.json).

The file has, per original, what was run (project, version or commit, function), on which TensorFlow, the inputs and
the outputs: value and gradient, or the attribution. Their code is not here. Where ours departs on purpose, the
test says at which entries.
"""
import json
import os

import numpy as np
import pytest
from conftest import tf

import graphgrad as gg
from graphgrad import rules

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "original_numbers.json"), encoding="utf-8") as stream:
    NUMBERS = json.load(stream)


def override(op_type, rule, forward):
    def build(x):
        with gg.override_gradients({op_type: rule}):
            return forward(x)
    return build


def max_pool(x):
    return tf.nn.max_pool2d(x, [1, 3, 3, 1], [1, 2, 2, 1], "SAME")


#: Value and gradient of a function of x.
FUNCTIONS = {
    "larq ste_sign": gg.ops.sign_ste,
    "larq approx_sign": gg.ops.approx_sign,
    "larq swish_sign": gg.ops.swish_sign,
    "larq ste_tern": lambda x: gg.ops.ternarize(x, 0.3, "twn"),
    "larq ste_tern_twn": lambda x: gg.ops.ternarize(x, None, "twn"),
    "larq ste_heaviside": gg.ops.heaviside_ste,
    "larq magnitude_aware_sign": gg.ops.magnitude_aware_sign,
    "larq dorefa": lambda x: gg.ops.dorefa_activations(x, 2),
    "tensorpack fw 2": lambda x: gg.ops.dorefa_weights(x, 2),
    "tensorpack fw 1": lambda x: gg.ops.dorefa_weights(x, 1),
    "tensorpack fa 2": lambda x: gg.ops.dorefa_activations(x, 2, clip=False),
    "tensorpack fg 2": override("Identity", rules.dorefa_gradients(2, noise=False), tf.identity),
    "lucid redirected_relu": override("Relu", rules.redirected(), tf.nn.relu),
    "lucid redirected_relu6": override("Relu6", rules.redirected(), tf.nn.relu6),
    "lucid avg_smoothed_maxpool": override("MaxPool", rules.smoothed_max_pool, max_pool),
    "lucid l2_smoothed_maxpool": override("MaxPool", rules.smoothed_max_pool_l2(), max_pool),
    "lsnn spike": gg.ops.spike,
}
for mode in ("identity_if_towards", "identity", "disconnected"):
    FUNCTIONS["tfc lower_bound " + mode] = lambda x, mode=mode: gg.ops.lower_bound(x, 0.25, mode)
    FUNCTIONS["tfc upper_bound " + mode] = lambda x, mode=mode: gg.ops.upper_bound(x, 0.25, mode)


def arrays(name):
    entry = NUMBERS[name]
    assert entry["ran_on"] == "TensorFlow 1.15.5"
    return {key: np.array(value, np.float32) for key, value in entry["inputs"].items()}, [
        np.array(output) for output in entry["outputs"]]


def assert_close(got, want):
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=5e-6 * max(np.abs(want).max(), 1e-30))


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_value_and_gradient(name):
    """The same value and the same gradient."""
    inputs, wanted = arrays(name)
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(inputs["x"])
        y = FUNCTIONS[name](x)
        got = session.run([y, tf.gradients(y, x, grad_ys=tf.constant(inputs["g"]))[0]])
    for mine, theirs in zip(got, wanted):
        assert_close(mine, theirs)


def test_ternarize():
    """tensorpack's trained ternary weights: value, and the gradients of x, Wp and Wn."""
    inputs, wanted = arrays("tensorpack ternarize")
    with tf.Graph().as_default(), tf.Session() as session:
        x, wp, wn = tf.constant(inputs["x"]), tf.constant(2.0), tf.constant(3.0)
        y = gg.ops.ternarize(x, 0.3, wp=wp, wn=wn)
        got = session.run([y] + tf.gradients(y, [x, wp, wn], grad_ys=tf.constant(inputs["g"])))
    for mine, theirs in zip(got, wanted):
        assert_close(mine, theirs)


def network(x, kernel, weights):
    """What the attributions were taken of, in Rectified-Gradient's DeepExplain."""
    h = tf.nn.relu(tf.nn.conv2d(x, tf.constant(kernel), [1, 1, 1, 1], "SAME"))
    h = tf.reshape(tf.nn.max_pool2d(h, [1, 2, 2, 1], [1, 2, 2, 1], "VALID"), [-1, 12])
    return tf.reduce_sum(tf.nn.softplus(tf.matmul(h, tf.constant(weights))), 1)


ATTRIBUTIONS = {
    "rectgrad": (gg.rectgrad(60), True),
    "rectgradconst": (gg.override_gradients({"Relu": rules.rectgrad_constant(0.05), "Softplus": rules.rectgrad_constant(0.05),
                                             "Conv2D": rules.rectgrad_padding}), True),
    "rectgradprr": (gg.override_gradients({"Relu": rules.rectgrad(60), "Softplus": rules.rectgrad(60), "Conv2D": rules.rectgrad_padding,
                                           "MaxPool": rules.prr()}), True),
    "deconv": (gg.deconvnet(), False),
    "guidedbp": (gg.override_gradients({"Relu": rules.guided_input_mask, "Softplus": rules.guided_input_mask}), False),
    "elrp": (gg.override_gradients(dict.fromkeys(["Relu", "Softplus"], rules.lrp_epsilon_gradient(0.01))), True),
}


@pytest.mark.parametrize("method", sorted(ATTRIBUTIONS))
def test_attributions(method):
    """RectGrad, its variants, deconvnet, guided backprop and LRP-epsilon on a small convolutional network."""
    inputs, (wanted,) = arrays("rectgrad " + method)
    preset, times_x = ATTRIBUTIONS[method]
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(inputs["x"])
        with preset:
            y = network(x, inputs["kernel"], inputs["weights"])
        dx = tf.gradients(y, x)[0]
        assert_close(session.run(dx * x if times_x else dx), wanted)
    assert np.abs(wanted).max() > 0.01


def test_deeplift():
    """DeepExplain's DeepLIFT rescale, which runs the baseline beforehand and leaves max-pools their gradient."""
    inputs, (wanted,) = arrays("rectgrad deeplift")
    with tf.Graph().as_default(), tf.Session() as session:
        pair = gg.ops.paired(inputs["x"], inputs["baseline"])
        with gg.override_gradients(dict.fromkeys(["Relu", "Softplus"], rules.deeplift_rescale())):
            y = network(pair, inputs["kernel"], inputs["weights"])
        assert_close(session.run(gg.ops.contributions(tf.gradients(y, pair)[0], pair)), wanted)


@pytest.mark.parametrize("op_type", ["Relu", "Tanh", "Mul", "RealDiv", "Maximum", "Minimum", "SquaredDifference", "MaxPool"])
def test_shap(op_type):
    """SHAP's handlers on pairs, of one input and of two, each of which differs from its baseline."""
    inputs, (value, *wanted) = arrays("shap " + op_type)
    forward = max_pool if op_type == "MaxPool" else getattr(tf.raw_ops, op_type)
    with tf.Graph().as_default(), tf.Session() as session:
        xs = [tf.identity(tf.constant(inputs[key]), name=rules.relevance.PAIRED) for key in ("x", "other") if key in inputs]
        with gg.deeplift(near=1e-6):
            if op_type == "MaxPool":
                y = forward(xs[0])
            else:
                y = forward(**dict(zip(("x", "y") if len(xs) == 2 else ("features" if op_type == "Relu" else "x",), xs)))
        got = session.run([y] + tf.gradients(y, xs, grad_ys=tf.constant(inputs["g"])))
    assert_close(got[0], value)
    for x, mine, theirs in zip((inputs["x"], inputs.get("other")), got[1:], wanted):
        same = np.tile(np.abs(np.subtract(*np.split(x, 2))) < 1e-6, [2] + [1] * (x.ndim - 1))
        # Where a sample does not differ, SHAP has the derivative at each half, ours that between them.
        np.testing.assert_allclose(mine[~same], theirs[~same], rtol=1e-4, atol=1e-5 * np.abs(theirs).max())


@pytest.mark.parametrize("rule", ["z", "epsilon", "flat", "w_square", "alpha_beta", "z_plus", "z_box"])
def test_relevance(rule):
    """iNNvestigate's LRP on convolution, ReLU, average and dense; with biases where ours has them the same (z, epsilon)."""
    inputs, (wanted, output) = arrays("innvestigate " + rule)
    biased = rule in ("z", "epsilon")
    parameters = {"epsilon": {"epsilon": 0.01}, "z_box": {"low": -4, "high": 4}}.get(rule, {})
    with tf.Graph().as_default() as graph, tf.Session() as session:
        x = tf.constant(inputs["x"])
        with gg.lrp("z" if rule == "z_box" else rule, **({} if rule == "z_box" else parameters)):
            h = tf.nn.conv2d(x, tf.constant(inputs["kernel"]), [1, 1, 1, 1], "SAME", name="first")
            h = tf.nn.relu(tf.nn.bias_add(h, tf.constant(inputs["bias"])) if biased else h)
            h = tf.reshape(tf.nn.avg_pool2d(h, [1, 2, 2, 1], [1, 2, 2, 1], "VALID"), [-1, 12])
            y = tf.matmul(h, tf.constant(inputs["weights"]))
            y = tf.nn.bias_add(y, tf.constant(inputs["bias"][:2])) if biased else y
        chosen = y[:, 0]
        if rule == "z_box":
            with gg.lrp(rule, **parameters).on(graph, where="first$"):
                relevance = tf.gradients(chosen, x, grad_ys=chosen)[0]
        else:
            relevance = tf.gradients(chosen, x, grad_ys=chosen)[0]
        got, value = session.run([relevance, y])
    assert_close(value, output)
    np.testing.assert_allclose(got, wanted, rtol=1e-3, atol=1e-4 * np.abs(wanted).max())   # quotients of small sums


def test_every_original_is_compared():
    """Numbers that nobody looks at are not kept."""
    tried = set(FUNCTIONS) | {"tensorpack ternarize", "rectgrad deeplift"} | {"rectgrad " + name for name in ATTRIBUTIONS}
    assert tried | {name for name in NUMBERS if name.startswith(("innvestigate ", "shap "))} == set(NUMBERS)
