"""One battery over every rule: closed-form numpy on kinks, zeros, infinities and NaN; dtypes; unknown shapes; second order.

A rule is a row of RULES: the op it is tried on, its formula in numpy, and the inputs if a grid of x and g will not do.
"""
import numpy as np
import pytest
import tensorflow
from conftest import TF1, tf

import graphgrad as gg
from graphgrad import catalogue, rules

INF, NAN = np.inf, np.nan
#: Every x with every g.
GRID = np.array([-INF, -7.0, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 6.0, 8.0, INF])
INCOMING = np.array([-INF, -2.0, -1.0, -0.25, -0.0, 0.0, 0.25, 1.0, 2.0, INF, NAN])
X, G = [a.ravel() for a in np.meshgrid(GRID, INCOMING)]
RANDOM = np.random.RandomState(7)


def positive(g):
    return np.where(np.isnan(g), g, np.maximum(g, 0.0))


def clip_norm(norm):
    def formula(x, g):
        length = np.sqrt(np.sum(np.square(g)))
        return g * norm / length if length > norm else g
    return formula


def sigmoid(x):
    return np.where(x >= 0, 1 / (1 + np.exp(-np.abs(x))), np.exp(-np.abs(x)) / (1 + np.exp(-np.abs(x))))


class Row:
    """One rule on one forward.

    Attributes:
        rule, forward: the rule and ``forward(x)``, whose operations of ``types`` it is put on; without types, on the
            last one; with types () the forward has it already.
        formula: ``formula(x, g)`` in float64.
        x, g: what it is tried on; by default the grid, less what ``keep(x, g)`` leaves out.
        tolerance: what float32 is allowed, relative to the largest entry; None for entry by entry at 1e-6.
        second: whether the derivative with respect to g is that of the formula (not through a rounding).
        dtypes: those it is tried on.
    """

    def __init__(self, rule, forward, formula, types=None, x=None, g=None, keep=None, tolerance=None, second=True,
                 dtypes=("float16", "bfloat16", "float32", "float64"), rtol16=4e-3):
        self.rule, self.forward, self.formula, self.types = rule, forward, formula, types
        self.x, self.g = (X, G) if x is None else (x, g)
        self.on_grid = x is None
        if keep is not None:
            kept = keep(self.x, self.g)
            self.x, self.g = self.x[kept], self.g[kept]
        self.tolerance, self.second, self.dtypes, self.rtol16 = tolerance, second, dtypes, rtol16


def finite(x, g):
    return np.isfinite(x) & np.isfinite(g)


def finite_g(x, g):
    return np.isfinite(g)


# --- Closed forms that take more than a line ------------------------------------------------------------

IMAGES = RANDOM.randn(3, 5, 6, 2)
IMAGES_G = RANDOM.randn(3, 5, 6, 2)
IMAGES[1], IMAGES_G[1] = -np.abs(IMAGES[1]), np.abs(IMAGES_G[1])      # a sample whose whole ReLU gradient dies


def redirected(x, g, six=False, past=False):
    out = (x < 0) | (x > 6) if six else x < 0
    r = np.where(out, 0.0, g)
    d = np.where((x < 0) & (g > 0), 0.0, g)
    if six:
        d = np.where((x > 6) & (g < 0), 0.0, d)
    alive = np.sqrt(np.sum(r.reshape(len(r), -1) ** 2, axis=1)) > 0
    return np.where(alive.reshape([-1] + [1] * (x.ndim - 1)) | past, r, d)


def rectgrad(percentile):
    def formula(x, g):
        a = (np.maximum(x, 0) * g).reshape(len(x), -1)
        place = int(np.round((a.shape[1] - 1) * (1 - percentile / 100.0)))
        threshold = np.sort(a, axis=1)[:, ::-1][:, place]
        return np.where(a > threshold[:, None], g.reshape(a.shape), 0).reshape(g.shape)
    return formula


def dorefa(k):
    def formula(x, g):
        n = 2 ** k - 1
        m = np.abs(g.reshape(len(g), -1)).max(axis=1).reshape([-1] + [1] * (g.ndim - 1))
        m = np.where(m == 0, 1, m)
        return 2 * m * (np.round(np.clip(g / (2 * m) + 0.5, 0, 1) * n) / n - 0.5) * (np.abs(g).max() > 0)
    return formula


def channel_mean(x):
    return np.abs(x).mean(axis=tuple(range(x.ndim - 1)), keepdims=True)


def windows(x, size, strides):
    """(output position, input rows, input columns) of a SAME pool on NHWC."""
    height, width = x.shape[1:3]
    places = []
    for total, window, stride in ((height, size[0], strides[0]), (width, size[1], strides[1])):
        outputs = -(-total // stride)
        before = max((outputs - 1) * stride + window - total, 0) // 2
        places.append([slice(max(o * stride - before, 0), min(o * stride - before + window, total)) for o in range(outputs)])
    return [((i, j), rows, columns) for i, rows in enumerate(places[0]) for j, columns in enumerate(places[1])]


def pool_back(share):
    """A pool's gradient from ``share(window, g)``, which spreads g [n, c] over a window [n, h, w, c]."""
    def formula(x, g):
        dx = np.zeros_like(x)
        for (i, j), rows, columns in windows(x, (3, 2), (2, 2)):
            dx[:, rows, columns] += share(x[:, rows, columns], g[:, i, j][:, None, None])
        return dx
    return formula


def mean(window):
    return window.mean(axis=(1, 2), keepdims=True)


def l2_share(window, g):
    count = window.shape[1] * window.shape[2]
    a, b = mean(window ** 2), 0.01 + mean(np.abs(window))
    return g / count * (2 * window / b - np.sign(window) * a / b ** 2)


def max_pool(x):
    return tf.nn.max_pool2d(x, [1, 3, 2, 1], [1, 2, 2, 1], "SAME")


POOL_X, POOL_G = RANDOM.randn(2, 5, 6, 2), RANDOM.randn(2, 3, 3, 2)

# LRP: on a dense layer, and on a convolution written as one: its matrix has one weight an entry.

DENSE_X, DENSE_W, DENSE_B, DENSE_R = RANDOM.randn(3, 5), RANDOM.randn(5, 4), RANDOM.randn(4), RANDOM.randn(3, 4)
CONV_X, CONV_W, CONV_R = RANDOM.randn(2, 4, 5, 2), RANDOM.randn(3, 3, 2, 3), RANDOM.randn(2, 2, 3, 3)
CONV_B = RANDOM.randn(3)


def dense(x):
    return tf.nn.bias_add(tf.matmul(x, tf.cast(tf.constant(DENSE_W), x.dtype)), tf.cast(tf.constant(DENSE_B), x.dtype))


def convolution(x):
    z = tf.nn.conv2d(x, tf.cast(tf.constant(CONV_W), x.dtype), [1, 2, 2, 1], "SAME")
    return tf.nn.bias_add(z, tf.cast(tf.constant(CONV_B), x.dtype))


def convolution_matrix():
    """[inputs, outputs] of CONV_W, by numpy."""
    matrix = np.zeros((4, 5, 2, 2, 3, 3))
    for i in range(2):
        for j in range(3):
            for di in range(3):
                for dj in range(3):
                    # SAME, stride 2, size 3: 4 rows are padded by 0 above and 1 below, 5 columns by 1 on each side
                    row, column = 2 * i + di, 2 * j + dj - 1
                    if 0 <= row < 4 and 0 <= column < 5:
                        matrix[row, column, :, i, j, :] += CONV_W[di, dj]
    return matrix.reshape(40, 18)


def shares(inputs, weights, bias, relevance):
    """Relevance of inputs: sum_j x_i w_ij R_j / (sum_i x_i w_ij + b_j), for a list of inputs and weights that share."""
    z = sum(x @ w for x, w in zip(inputs, weights)) + bias
    s = np.where(z == 0, 0, relevance / np.where(z == 0, 1, z))
    return sum(x * (s @ w.T) for x, w in zip(inputs, weights))


def plus(a):
    return np.maximum(a, 0)


def minus(a):
    return np.minimum(a, 0)


def z_rule(x, w, b, r):
    return shares([x], [w], b, r)


def epsilon_rule(x, w, b, r):
    z = x @ w + b
    return x * ((r / (z + 0.1 * np.where(z >= 0, 1, -1))) @ w.T)


def alpha_beta_rule(alpha, beta, bias=True):
    def rule(x, w, b, r):
        b = b if bias else 0 * b
        return alpha * shares([plus(x), minus(x)], [plus(w), minus(w)], plus(b), r) - (
            beta * shares([plus(x), minus(x)], [minus(w), plus(w)], minus(b), r))
    return rule


def by_weights_rule(change):
    def rule(x, w, b, r):
        w = change(w)
        return (r / w.sum(axis=0)) @ w.T * np.ones_like(x)
    return rule


def box_rule(x, w, b, r):
    low, high = -4.0 * np.ones_like(x), 4.0 * np.ones_like(x)
    z = x @ w - low @ plus(w) - high @ minus(w)
    s = r / z
    return x * (s @ w.T) - low * (s @ plus(w).T) - high * (s @ minus(w).T)


def gamma_rule(x, w, b, r):
    z = x @ w + b
    up, down = w + 0.25 * plus(w), w + 0.25 * minus(w)
    return shares([plus(x), minus(x)], [up, down], b + 0.25 * plus(b), r * (z > 0)) + (
        shares([plus(x), minus(x)], [down, up], b + 0.25 * minus(b), r * (z < 0)))


LRP = {
    "lrp_z": (rules.lrp_z, z_rule), "lrp_epsilon": (rules.lrp_epsilon(0.1), epsilon_rule),
    "lrp_flat": (rules.lrp_flat, by_weights_rule(lambda w: 1.0 * (w != 0))),
    "lrp_w_square": (rules.lrp_w_square, by_weights_rule(np.square)),
    "lrp_alpha_beta": (rules.lrp_alpha_beta(2.0, 1.0), alpha_beta_rule(2.0, 1.0)),
    "lrp_z_plus": (rules.lrp_z_plus, alpha_beta_rule(1.0, 0.0)),
    "excitation_backprop": (rules.excitation_backprop, alpha_beta_rule(1.0, 0.0, bias=False)),
    "lrp_z_box": (rules.lrp_z_box(-4, 4), box_rule), "lrp_gamma": (rules.lrp_gamma(0.25), gamma_rule),
}


def lrp_rows():
    for name, (rule, formula) in LRP.items():
        def on_dense(x, r, formula=formula):
            return formula(x, DENSE_W, DENSE_B, r)

        def on_convolution(x, r, formula=formula):
            return formula(x.reshape(len(x), -1), convolution_matrix(), np.tile(CONV_B, 6), r.reshape(len(r), -1)).reshape(x.shape)

        yield name + " on MatMul", Row(rule, dense, on_dense, ("MatMul", "BiasAdd"), DENSE_X, DENSE_R, tolerance=1e-4, rtol16=0.2)
        yield name + " on Conv2D", Row(rule, convolution, on_convolution, ("Conv2D", "BiasAdd"), CONV_X, CONV_R, tolerance=1e-4,
                                       dtypes=("float32", "float64"))


# DeepLIFT: samples and baselines in one batch; the result is the same for both halves.

PAIR_X = np.concatenate([RANDOM.randn(3, 4), RANDOM.randn(3, 4)])
PAIR_X[0, 0] = PAIR_X[3, 0]            # no difference
PAIR_X[1, 1], PAIR_X[4, 1] = 2e-6, -4e-6   # a difference below "near", across the kink: the middle is negative
PAIR_G = np.tile(RANDOM.randn(3, 4), [2, 1])
PAIR_OTHER = np.concatenate([1.5 + RANDOM.rand(3, 4), 3 + RANDOM.rand(3, 4)])


def halves(a):
    return a[:len(a) // 2], a[len(a) // 2:]


def both(a):
    return np.concatenate([a, a])


def rescale(f, derivative):
    def formula(x, g):
        (x1, x0), (g1, _) = halves(x), halves(g)
        near = np.abs(x1 - x0) <= 1e-5
        return both(np.where(near, g1 * derivative((x1 + x0) / 2), g1 * (f(x1) - f(x0)) / np.where(near, 1, x1 - x0)))
    return formula


def two_inputs(f, second):
    def formula(x, g):
        (a, a0), (b, b0), (g1, _) = halves(x), halves(second(x)), halves(g)
        effect = 0.5 * (f(a, b) - f(a0, b) + f(a, b0) - f(a0, b0))
        near = np.abs(a - a0) < 1e-7
        return both(np.where(near, 0, g1 * effect / np.where(near, 1, a - a0)))
    return formula


def paired(x):
    return tf.identity(x, name=rules.relevance.PAIRED)


def other_of_pair(x):
    """A second input that depends on the pair, with a gradient of its own of zero."""
    return tf.stop_gradient(paired(tf.cast(tf.constant(PAIR_OTHER), x.dtype)))


def pool_pairs(x, g):
    (x1, x0), (g1, _) = halves(x), halves(g)
    up = np.zeros_like(x1)
    for (i, j), rows, columns in windows(x1, (3, 2), (2, 2)):
        for n in range(len(x1)):
            for c in range(x1.shape[3]):
                w1, w0 = x1[n, rows, columns, c], x0[n, rows, columns, c]
                m = max(w1.max(), w0.max())
                for window, part in ((w1, m - w0.max()), (w0, w1.max() - m)):
                    place = np.unravel_index(np.argmax(window), window.shape)
                    up[n, rows.start + place[0], columns.start + place[1], c] += g1[n, i, j, c] * part
    return both(up / (x1 - x0))


def softmax_pairs(x, g):
    """SHAP's decomposition with one shift: exponentials, their sum, and the quotient of two inputs."""
    (x1, x0), (g1, _) = halves(x), halves(g)
    e, e0 = np.exp(x1), np.exp(x0)
    s, s0 = e.sum(1, keepdims=True), e0.sum(1, keepdims=True)
    near = np.abs(x1 - x0) <= 1e-5
    to_e = 0.5 * (e / s - e0 / s + e / s0 - e0 / s0) / np.where(near, 1, e - e0)
    to_e = np.where(near, 0.5 * (1 / s + 1 / s0), to_e)
    to_s = (g1 * 0.5 * (e / s - e / s0 + e0 / s - e0 / s0)).sum(1, keepdims=True) / (s - s0)
    slope = np.where(near, np.exp((x1 + x0) / 2), (e - e0) / np.where(near, 1, x1 - x0))
    return both((g1 * to_e + to_s) * slope)


def softmax(x):
    e = np.exp(x)
    return e / e.sum(1, keepdims=True)


def softmax_centred(x, g):
    (x1, x0), (g1, _) = halves(x), halves(g)
    near = np.abs(x1 - x0) <= 1e-10
    own = softmax(x1) * (g1 - (g1 * softmax(x1)).sum(1, keepdims=True))
    m = np.where(near, own, g1 * (softmax(x1) - softmax(x0)) / np.where(near, 1, x1 - x0))
    return both(m - m.mean(1, keepdims=True))


def function(forward, rule):
    return lambda x: gg.tf_func_with_grad(forward, [x], grad=rule)


def ternary(rule):
    def forward(x):
        scalars = [tf.cast(value, x.dtype) for value in (2.0, 3.0, 0.5)]
        return gg.tf_func_with_grad(lambda x, wp, wn, t: tf.identity(x), [x] + scalars, grad=rule)
    return forward


FLOAT32_UP = ("float32", "float64")

RULES = {
    "guided": Row(rules.guided, tf.nn.relu, lambda x, g: positive(g) * (x > 0)),   # inf * 0 is NaN, as in TF's ReluGrad
    # TensorFlow's own mask at the upper kink is left open.
    "guided on Relu6": Row(rules.guided, tf.nn.relu6, lambda x, g: positive(g) * ((x > 0) & (x < 6)), keep=lambda x, g: x != 6),
    "guided on LeakyRelu": Row(rules.guided, lambda x: tf.nn.leaky_relu(x, 0.25),
                               lambda x, g: np.where(x > 0, positive(g), 0.25 * positive(g))),
    "guided_after": Row(rules.guided_after, tf.nn.relu, lambda x, g: positive(g * (x > 0))),
    "guided_select": Row(rules.guided_select, tf.nn.relu, lambda x, g: np.where(g > 0, g * (x > 0), 0.0)),
    "guided_input_mask": Row(rules.guided_input_mask, tf.nn.relu, lambda x, g: np.where(x > 0, positive(g), 0.0)),
    "guided_input_mask on Relu6": Row(rules.guided_input_mask, tf.nn.relu6, lambda x, g: np.where(x > 0, positive(g), 0.0)),
    "guided_output_mask": Row(rules.guided_output_mask, tf.nn.relu, lambda x, g: np.where((x > 0) & (g > 0), g, 0.0)),
    "deconvnet": Row(rules.deconvnet, tf.nn.relu, lambda x, g: positive(g)),
    # A vector has one sample an entry, so that an entry with x < 0 is a dead sample.
    "redirected on a grid": Row(rules.redirected(), tf.nn.relu, lambda x, g: np.where((x < 0) & (g > 0), 0.0, g)),
    "redirected": Row(rules.redirected(), tf.nn.relu, redirected, x=IMAGES, g=IMAGES_G),
    "redirected on Relu6": Row(rules.redirected(), tf.nn.relu6, lambda x, g: redirected(x, g, six=True),
                               x=np.where(IMAGES < -0.5, 7.0, IMAGES), g=IMAGES_G),
    "redirected on a late step": Row(rules.redirected(lambda: tf.constant(17)), tf.nn.relu, lambda x, g: redirected(x, g, past=True),
                                     x=IMAGES, g=IMAGES_G),
    "redirected on an early step": Row(rules.redirected(lambda: tf.constant(16)), tf.nn.relu, redirected, x=IMAGES, g=IMAGES_G),
    "zero": Row(rules.zero, tf.nn.relu, lambda x, g: 0.0 * np.ones_like(x), second=False),
    "rectgrad": Row(rules.rectgrad(80), tf.nn.relu, rectgrad(80), x=IMAGES, g=IMAGES_G),
    "rectgrad on its default": Row(rules.rectgrad(), tf.nn.relu, rectgrad(98), x=IMAGES, g=IMAGES_G),
    "rectgrad_constant": Row(rules.rectgrad_constant(0.5), tf.nn.relu, lambda x, g: np.where(np.maximum(x, 0) * g > 0.5, g, 0.0)),
    "beta_smooth": Row(rules.beta_smooth(2.0), tf.nn.relu, lambda x, g: sigmoid(2 * x) * g, keep=finite_g,
                       tolerance=1e-6),   # TF 1.15's sigmoid is exact to 1e-7 of 1, not of itself
    "spike": Row(rules.spike(0.3), tf.sign, lambda x, g: 0.3 * np.maximum(1 - np.abs(x), 0) * g, keep=finite_g),
    "straight_through": Row(rules.straight_through, tf.sign, lambda x, g: g),
    "straight_through on Floor": Row(rules.straight_through, tf.floor, lambda x, g: g),
    "straight_through on Ceil": Row(rules.straight_through, tf.math.ceil, lambda x, g: g),
    "straight_through on Round": Row(rules.straight_through, tf.round, lambda x, g: g),
    "straight_through_clipped_input": Row(rules.straight_through_clipped_input(1.0), tf.sign,
                                          lambda x, g: np.where(np.abs(x) <= 1, g, 0.0)),
    "straight_through_clipped_gradient": Row(rules.straight_through_clipped_gradient(0.5), tf.sign,
                                             lambda x, g: np.clip(g, -0.5, 0.5)),
    "approx_sign": Row(rules.approx_sign, tf.sign, lambda x, g: np.where(np.abs(x) <= 1, 2 * (1 - np.abs(x)) * g, 0.0)),
    "swish_sign": Row(rules.swish_sign(2.0), tf.sign, lambda x, g: np.where(np.isinf(x), 0.0, 2 * (
        2 - 2 * x * np.tanh(x)) / (1 + np.cosh(2 * x)) * g), keep=finite_g, tolerance=1e-5),
    "tanh_surrogate": Row(rules.tanh_surrogate, tf.sign, lambda x, g: (1.001 - np.tanh(x) ** 2) * g, tolerance=1e-6),
    "magnitude_aware": Row(rules.magnitude_aware(), function(tf.sign, rules.magnitude_aware()),
                           lambda x, g: channel_mean(x) * g * (np.abs(x) <= 1), (), IMAGES, IMAGES_G),
    "xnor": Row(rules.xnor, function(tf.sign, rules.xnor),
                lambda x, g: g * (1 / 90.0 + channel_mean(x) * (np.abs(x) <= 1)), (), IMAGES, IMAGES_G),
    "ttq": Row(rules.ttq, ternary(rules.ttq), lambda x, g: g * np.where(x > 0.5, 2.0, np.where(x < -0.5, 3.0, 1.0)), ()),
    "straight_through_interval": Row(rules.straight_through_interval(-0.5, 1.0), tf.round,
                                     lambda x, g: np.where((x >= -0.5) & (x <= 1), g, 0.0)),
    "dorefa_gradients": Row(rules.dorefa_gradients(2, noise=False), tf.identity, dorefa(2), x=IMAGES, g=IMAGES_G, second=False),
    "dorefa_gradients on zeros": Row(rules.dorefa_gradients(2, noise=False), tf.identity, dorefa(2), x=IMAGES, g=0 * IMAGES_G,
                                     second=False),
    "reverse": Row(rules.reverse(0.5), tf.identity, lambda x, g: -0.5 * g),
    "reverse on a schedule": Row(rules.reverse(lambda: tf.constant(0.25)), tf.identity, lambda x, g: -0.25 * g),
    "scale": Row(rules.scale(2.0), tf.identity, lambda x, g: 2.0 * g),
    "clip_by_value": Row(rules.clip_by_value(-0.25, 0.5), tf.identity, lambda x, g: np.clip(g, -0.25, 0.5)),
    # No direction where g is not finite: said in the docstring.
    "clip_by_norm": Row(rules.clip_by_norm(1.0), tf.identity, clip_norm(1.0), keep=finite_g),
    "lower_bound": Row(rules.lower_bound(), lambda x: tf.maximum(x, tf.cast(0.5, x.dtype)),
                       lambda x, g: np.where((x >= 0.5) | (g < 0), g, 0.0)),
    "lower_bound on identity": Row(rules.lower_bound("identity"), lambda x: tf.maximum(x, tf.cast(0.5, x.dtype)), lambda x, g: g),
    "lower_bound on disconnected": Row(rules.lower_bound("disconnected"), lambda x: tf.maximum(x, tf.cast(0.5, x.dtype)),
                                       lambda x, g: np.where(x >= 0.5, g, 0.0)),
    "upper_bound": Row(rules.upper_bound(), lambda x: tf.minimum(x, tf.cast(0.5, x.dtype)),
                       lambda x, g: np.where((x <= 0.5) | (g > 0), g, 0.0)),
    "upper_bound on disconnected": Row(rules.upper_bound("disconnected"), lambda x: tf.minimum(x, tf.cast(0.5, x.dtype)),
                                       lambda x, g: np.where(x <= 0.5, g, 0.0)),
    "substitute": Row(rules.substitute(tf.square), tf.sign, lambda x, g: 2 * x * g, keep=finite),
    "bpda": Row(rules.bpda(lambda x, g: g * tf.abs(x)), tf.sign, lambda x, g: g * np.abs(x), keep=finite),
    "smoothed_max_pool": Row(rules.smoothed_max_pool, max_pool, pool_back(lambda w, g: g / (w.shape[1] * w.shape[2]) + 0 * w),
                             x=POOL_X, g=POOL_G, tolerance=1e-5, rtol16=2e-2),
    "smoothed_max_pool_l2": Row(rules.smoothed_max_pool_l2(), max_pool, pool_back(l2_share), x=POOL_X, g=POOL_G, tolerance=1e-5,
                                rtol16=5e-2),
    "prr": Row(rules.prr(), max_pool, pool_back(lambda w, g: w * g / (w.shape[1] * w.shape[2]) / (mean(w) + 1e-10)),
               x=np.abs(POOL_X) + 0.1, g=POOL_G, tolerance=1e-5, rtol16=3e-2),
    "lrp_epsilon_gradient": Row(rules.lrp_epsilon_gradient(0.01), tf.nn.relu, lambda x, g: g * np.maximum(x, 0) / (
        x + 0.01 * np.where(x >= 0, 1, -1)), keep=finite),
    "deeplift_rescale": Row(rules.deeplift_rescale(), tf.nn.relu, rescale(lambda x: np.maximum(x, 0), lambda x: 1.0 * (x > 0)),
                            x=PAIR_X, g=PAIR_G, tolerance=1e-5, rtol16=2e-2),
    "deeplift_rescale on Tanh": Row(rules.deeplift_rescale(), tf.tanh, rescale(np.tanh, lambda x: 1 - np.tanh(x) ** 2),
                                    x=PAIR_X, g=PAIR_G, tolerance=1e-5, dtypes=FLOAT32_UP),
    "deeplift_two_inputs": Row(rules.deeplift_two_inputs, lambda x: paired(x) / other_of_pair(x),
                               two_inputs(lambda a, b: a / b, lambda x: PAIR_OTHER), ("RealDiv",), PAIR_X, PAIR_G, tolerance=1e-5,
                               dtypes=FLOAT32_UP),
    "deeplift_two_inputs on Mul": Row(rules.deeplift_two_inputs, lambda x: paired(x) * other_of_pair(x),
                                      lambda x, g: both(halves(g)[0] * sum(halves(PAIR_OTHER)) / 2), ("Mul",), PAIR_X, PAIR_G,
                                      tolerance=1e-5, rtol16=2e-2),
    "deeplift_two_inputs on Maximum": Row(rules.deeplift_two_inputs, lambda x: tf.maximum(paired(x), other_of_pair(x)),
                                          two_inputs(np.maximum, lambda x: PAIR_OTHER), ("Maximum",), 2 * PAIR_X, PAIR_G,
                                          tolerance=1e-5, dtypes=FLOAT32_UP),
    "deeplift_max_pool": Row(rules.deeplift_max_pool, max_pool, pool_pairs, x=np.concatenate([POOL_X, 0.3 + POOL_X[::-1]]),
                             g=both(POOL_G), tolerance=1e-5, dtypes=FLOAT32_UP),
    "deeplift_softmax": Row(rules.deeplift_softmax, tf.nn.softmax, softmax_pairs, x=PAIR_X, g=PAIR_G, tolerance=1e-5, dtypes=FLOAT32_UP),
    "deeplift_softmax_centred": Row(rules.deeplift_softmax_centred, tf.nn.softmax, softmax_centred, x=PAIR_X, g=PAIR_G, tolerance=1e-4,
                                    dtypes=FLOAT32_UP),
}
RULES.update(lrp_rows())
#: Rules with tests of their own below, because a formula of x and g does not say it all.
ELSEWHERE = {"stop", "rectgrad_padding"}

#: bfloat16 has no kernel of these on the CPU of TF 1.15.
NO_BFLOAT16_ON_1_15 = TF1


def last_type(forward, dtype, shape):
    with tf.Graph().as_default():
        return forward(tf.placeholder(dtype, shape)).op.type


def build(row, inputs, g):
    """(y, the rule's gradient of sum(g * y)) for a row."""
    types = row.types
    if types is None:
        types = [last_type(row.forward, inputs.dtype, inputs.shape)]
    if not types:
        y = row.forward(inputs)
        return y, tf.gradients(y, inputs, grad_ys=g)[0]
    with gg.override_gradients({op_type: row.rule for op_type in types}):
        y = row.forward(inputs)
    return y, tf.gradients(y, inputs, grad_ys=g)[0]


def gradient(row, x, g, dtype=tf.float32, shape=None):
    """The rule's gradient of sum(g * forward(x)), as float64; the forward's value is the same with and without the rule."""
    with tf.Graph().as_default(), tf.Session() as session:
        fed = tf.placeholder(tf.float64, shape)
        inputs = tf.cast(fed, dtype)
        y, dx = build(row, inputs, tf.cast(tf.constant(g), dtype))
        assert dx.dtype == inputs.dtype
        wanted = [tf.cast(tensor, tf.float64) for tensor in (dx, y, row.forward(inputs))]
        got, value, plain = session.run(wanted, {fed: x})
    np.testing.assert_array_equal(value, plain)
    return got


@pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16, tf.float32, tf.float64], ids=lambda dtype: dtype.name)
@pytest.mark.parametrize("name", sorted(RULES))
def test_the_formula(name, dtype):
    """Closed form, at every combination of input and gradient: kinks, signed zeros, infinities, NaN."""
    row = RULES[name]
    if dtype == tf.bfloat16 and NO_BFLOAT16_ON_1_15 or dtype.name not in row.dtypes:
        # The kernels are missing, for ordinary gradients as well: the rule must still build. (float16 of those that
        # divide by differences says nothing: it is left to the formula in float32.)
        with tf.Graph().as_default():
            shape = [None] + list(row.x.shape[1:])
            assert build(row, tf.placeholder(dtype, shape), tf.cast(tf.constant(row.g), dtype))[1].dtype == dtype
        return
    with np.errstate(invalid="ignore", over="ignore"):
        want = row.formula(row.x, row.g)
        got = gradient(row, row.x, row.g, dtype, None if row.on_grid else [None] + list(row.x.shape[1:]))
    rtol = {"float16": row.rtol16, "bfloat16": 8 * row.rtol16, "float32": 1e-6, "float64": 1e-12}[dtype.name]
    atol = 0
    if row.tolerance or dtype.name in ("float16", "bfloat16"):
        largest = np.abs(want[np.isfinite(want)]).max()
        atol = max(rtol, (row.tolerance or 0) * (1e-5 if dtype == tf.float64 else 1)) * largest
    np.testing.assert_allclose(got, want, rtol=rtol, atol=atol)


@pytest.mark.parametrize("name", sorted(RULES))
def test_unknown_shapes(name):
    """Unknown rank, unknown sizes, scalars."""
    row = RULES[name]
    x, g = row.x, row.g
    shapes = [[None] * x.ndim]
    if row.on_grid:
        shapes = [None, [None], [None, 3], []]
    elif row.types is None and "Pool" not in last_type(row.forward, tf.float32, x.shape) or name in ("magnitude_aware", "xnor"):
        shapes.append(None)
    for shape in shapes:
        if row.on_grid:
            x = np.full({"None": [2], "[None]": [2], "[None, 3]": [2, 3], "[]": []}[str(shape)], 0.75)
            g = np.full(x.shape, 0.5)
        want = row.formula(x, g)
        np.testing.assert_allclose(gradient(row, x, g, tf.float64, shape), want, rtol=1e-9, atol=1e-9 * np.abs(want).max())


@pytest.mark.parametrize("name", sorted(name for name in RULES if RULES[name].second))
def test_second_order(name):
    """The gradient's own gradient with respect to g, along a direction, is the difference of the formula."""
    row = RULES[name]
    x, g = row.x, row.g
    if row.on_grid:
        x, g = RANDOM.uniform(-2, 2, 20), RANDOM.uniform(-2, 2, 20)
    direction, weight = RANDOM.randn(*g.shape), RANDOM.randn(*x.shape)
    if name.startswith("deeplift"):
        direction = both(halves(direction)[0])
    with tf.Graph().as_default(), tf.Session() as session:
        inputs, incoming = tf.constant(x), tf.constant(g)
        dx = build(row, inputs, incoming)[1]
        second = tf.gradients(dx * weight, incoming)[0]
        got = session.run(second)
    step = 1e-6
    want = np.sum(weight * (row.formula(x, g + step * direction) - row.formula(x, g - step * direction))) / (2 * step)
    np.testing.assert_allclose(np.sum(got * direction), want, rtol=1e-5, atol=1e-6)


def test_every_rule_is_in_the_battery():
    """Adding a rule is adding a row."""
    tried = {name.split(" on ")[0] for name in RULES} | ELSEWHERE
    assert tried == set(rules.__all__) == {entry.name for entry in catalogue.read()}


# Rules with more than one input, and attributes.

def test_stop():
    """None for every input."""
    with tf.Graph().as_default():
        x = tf.constant([1.0])
        with gg.override_gradients({"Mul": rules.stop}):
            assert tf.gradients(x * x, x) == [None]


@pytest.mark.parametrize("size", [1, 2, 3, 5])
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_rectgrad_padding(size, padding):
    """SAME: TensorFlow's gradients of g without its border, for images of any size; VALID: of g."""
    w = RANDOM.randn(1, 1, 2, 3)
    images, g = RANDOM.randn(2, size, 4, 2), RANDOM.randn(2, size, 4, 3)
    g[0, 0, 0, 0] = np.inf if padding == "SAME" else 1.0
    inner = np.zeros_like(g)
    inner[:, 1:-1, 1:-1] = g[:, 1:-1, 1:-1]
    with tf.Graph().as_default(), tf.Session() as session:
        x, weights = tf.placeholder(tf.float64, [None] * 4), tf.constant(w)
        with gg.override_gradients({"Conv2D": rules.rectgrad_padding}):
            y = tf.nn.conv2d(x, weights, [1, 1, 1, 1], padding)
        plain = tf.nn.conv2d(x, weights, [1, 1, 1, 1], padding)
        got = tf.gradients(y, [x, weights], grad_ys=tf.constant(g))
        want = tf.gradients(plain, [x, weights], grad_ys=tf.constant(inner if padding == "SAME" else g))
        got, want = session.run([got, want], {x: images})
    for mine, theirs in zip(got, want):
        np.testing.assert_allclose(mine, theirs, rtol=1e-12, atol=1e-12)


def test_ttq_trains_its_scales():
    """The scales get the sum of g above the threshold, and minus the sum of g below."""
    values = np.array([-2.0, -0.5, 0.1, 0.5, 0.75, 3.0])
    with tf.Graph().as_default(), tf.Session() as session:
        inputs = [tf.constant(value) for value in (values, 2.0, 3.0, 0.5)]
        inputs = [tf.cast(tensor, tf.float64) for tensor in inputs]
        y = gg.tf_func_with_grad(lambda x, wp, wn, t: x, inputs, grad=rules.ttq)
        gradients = tf.gradients(y, inputs, grad_ys=tf.constant([1.0, 2.0, 4.0, 8.0, 16.0, 32.0], tf.float64))
        assert gradients[3] is None
        assert session.run(gradients[1:3]) == [48.0, -1.0]


def test_dorefa_noise_is_unbiased():
    """With its noise the quantised gradient is g on average, within the levels; a seed makes it repeat."""
    g = np.concatenate([RANDOM.uniform(-1, 1, [1, 20]), [[1.0] * 20]], axis=1)
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(np.tile(np.zeros_like(g), [4000, 1]))
        with gg.override_gradients({"Identity": rules.dorefa_gradients(2, seed=5)}):
            y = tf.identity(x)
        got = session.run(tf.gradients(y, x, grad_ys=tf.constant(np.tile(g, [4000, 1])))[0])
    assert set(np.round(np.unique(got), 6)) == {-1.0, -0.333333, 0.333333, 1.0}
    np.testing.assert_allclose(got.mean(axis=0), g[0], atol=0.03)


def test_relevance_is_kept():
    """LRP-z over dense, ReLU, residual sum, average and max-pool, without biases: what goes in comes out."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(np.abs(RANDOM.randn(2, 4, 4, 3)))
        with gg.lrp("z"):
            h = tf.nn.relu(tf.nn.conv2d(x, tf.constant(RANDOM.rand(3, 3, 3, 3)), [1, 1, 1, 1], "SAME"))
            h = tf.nn.avg_pool2d(h + x, [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
            h = tf.reshape(tf.nn.max_pool2d(h, [1, 2, 2, 1], [1, 2, 2, 1], "VALID"), [2, 3])
            y = tf.matmul(h, tf.constant(RANDOM.rand(3, 2)))
        relevance, value = session.run([tf.gradients(y, x, grad_ys=y)[0], y])
    np.testing.assert_allclose(relevance.sum(axis=(1, 2, 3)), value.sum(axis=1), rtol=1e-9)


def test_a_bias_is_found_beside_a_summary():
    """What looks at the output of a linear op without computing with it does not part it from its bias; nor does a gradient."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(DENSE_X)
        with gg.lrp("z_plus"):
            z = tf.matmul(x, tf.constant(DENSE_W))
            tf.summary.histogram("z", z)
            y = z + tf.constant(DENSE_B) * tf.cast(tf.ones([tf.shape(z)[1]]), tf.float64)
        relevance = [tf.gradients(y, x, grad_ys=tf.constant(DENSE_R))[0] for _ in range(2)]
        first, second = session.run(relevance)
    np.testing.assert_allclose(first, LRP["lrp_z_plus"][1](DENSE_X, DENSE_W, DENSE_B, DENSE_R), rtol=1e-9)
    assert (first == second).all()


def test_lrp_epsilon_both_ways():
    """LRP-epsilon layer by layer, and as a gradient times x at the end, are the same on a network of ReLUs."""
    weights = [tf_value for tf_value in (RANDOM.randn(4, 5), RANDOM.randn(5), RANDOM.randn(5, 3))]

    def net(x):
        h = tf.nn.relu(tf.nn.bias_add(tf.matmul(x, tf.constant(weights[0])), tf.constant(weights[1])))
        return tf.nn.relu(tf.matmul(h, tf.constant(weights[2])))

    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(RANDOM.randn(6, 4))
        with gg.lrp("epsilon", epsilon=1e-2):
            y = net(x)
        layered = tf.gradients(y, x, grad_ys=y)[0]
        with gg.override_gradients({"Relu": rules.lrp_epsilon_gradient(1e-2)}):
            z = net(x)
        layered, at_the_end = session.run([layered, x * tf.gradients(z, x)[0]])
    np.testing.assert_allclose(layered, at_the_end, rtol=1e-9, atol=1e-12)


def test_contributions_add_up():
    """DeepLIFT over dense, tanh, product, max-pool and softmax: the contributions sum to the output's difference."""
    w, v = RANDOM.randn(3, 3, 2, 4), RANDOM.randn(16, 3)
    with tf.Graph().as_default(), tf.Session() as session:
        x, baseline = tf.placeholder(tf.float64, [None, 4, 4, 2]), RANDOM.randn(4, 4, 2)
        pair = gg.ops.paired(x, baseline)
        with gg.deeplift():
            h = tf.nn.conv2d(pair, tf.constant(w), [1, 1, 1, 1], "SAME")
            h = tf.tanh(h) * tf.sigmoid(h)
            h = tf.reshape(tf.nn.max_pool2d(h, [1, 2, 2, 1], [1, 2, 2, 1], "VALID"), [-1, 16])
            y = tf.nn.softmax(tf.matmul(h, tf.constant(v)))[:, 1]
        contributions = gg.ops.contributions(tf.gradients(y, pair)[0], pair)
        got, value = session.run([contributions, y], {x: RANDOM.randn(5, 4, 4, 2)})
    assert got.shape == (5, 4, 4, 2)
    np.testing.assert_allclose(got.sum(axis=(1, 2, 3)), value[:5] - value[5:], rtol=1e-8)


@pytest.mark.parametrize("name", [
    "guided", "redirected", "rectgrad", "straight_through_clipped_input", "dorefa_gradients", "smoothed_max_pool_l2", "substitute",
    "lrp_epsilon on MatMul", "lrp_alpha_beta on Conv2D", "deeplift_rescale", "deeplift_max_pool"])
def test_in_eager_mode(name):
    """Form 3: a function under the rule, an eager tape outside; the same numbers."""
    row = RULES[name]
    types = row.types or [last_type(row.forward, tf.float64, row.x.shape)]
    function = gg.override_gradients({op_type: row.rule for op_type in types})(row.forward)
    x = tf.constant(row.x)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = function(x)
    dx = tape.gradient(y, x, output_gradients=tf.constant(row.g)).numpy()
    with np.errstate(invalid="ignore"):
        want = row.formula(row.x, row.g)
    np.testing.assert_allclose(dx, want, rtol=1e-9, atol=1e-9 * np.abs(want[np.isfinite(want)]).max())


def test_in_bodies(control_flow, run):
    """A rule that builds operations, in the body of a loop: lrp_z of x @ w twice, and redirected with its schedule outside."""
    w = np.array([[1.0, 2.0], [3.0, -1.0]])
    with tf.Graph().as_default():
        x, step = tf.constant([[1.0, 2.0]], tf.float64), tf.constant(3)
        with gg.override_gradients({"MatMul": rules.lrp_z, "Relu": rules.redirected(step)}, require="any"):
            y = tf.while_loop(lambda i, v: i < 2, lambda i, v: (i + 1, tf.matmul(v, tf.constant(w))), [0, x])[1]
            z = tf.cond(tf.constant(True), lambda: tf.nn.relu(-x), lambda: x)
        relevance, value, dead = run([tf.gradients(y, x, grad_ys=y)[0], y, tf.gradients(z, x)[0]])
    np.testing.assert_allclose(relevance.sum(), value.sum(), rtol=1e-9)
    assert dead.tolist() == [[0.0, 0.0]]     # g is positive where -x is below 0: a descent step would lead further out


# Documentation and bad input.

@pytest.mark.parametrize("entry", catalogue.read(), ids=lambda entry: entry.name)
def test_the_list_of_rules(entry):
    """One line each: formula, op types and a paper or source, none empty and none cut in the middle of code."""
    line = catalogue.line(entry)
    assert entry.formula and entry.op_types and entry.paper and "\n" not in line and "``" not in line
    assert "arXiv:" in entry.paper or "doi:" in entry.paper or entry.paper in entry.doc.replace("\n", " ")


@pytest.mark.parametrize("entry", catalogue.read(), ids=lambda entry: entry.name)
def test_docstrings_say_what_they_must(entry):
    """Formula, op types, second order and source, in every rule."""
    assert "``" in entry.summary or entry.summary.endswith(".")
    for part in ("Forward:", "Backward:", "Op types:", "Second order:", "Source:"):
        assert part in entry.doc, (entry.name, part)


def test_a_wrong_rule_turns_the_battery_red():
    """A rule that is off by 0.001 is caught: the battery is no formality."""
    wrong = Row(rules.scale(2.001), tf.identity, None)
    with pytest.raises(AssertionError):
        np.testing.assert_allclose(gradient(wrong, np.ones(3), np.ones(3)), 2.0 * np.ones(3), rtol=1e-6)


@pytest.mark.parametrize("make, text", [
    (lambda: rules.straight_through_clipped_input(-1), "limit must be a finite number not below 0, but got -1"),
    (lambda: rules.scale(float("nan")), "factor must be a finite number, but got nan"),
    (lambda: rules.scale("x"), "factor must be a number, but got 'x'"),
    (lambda: rules.clip_by_value(1, -1), "minimum 1.0 is above maximum -1.0"),
    (lambda: rules.clip_by_norm(-2), "norm must be a finite number not below 0"),
    (lambda: rules.lrp_alpha_beta(2, 0), "alpha - beta must be 1.*alpha 2 and beta 0"),
    (lambda: rules.lrp_epsilon(-1e-4), "epsilon must be a finite number not below 0"),
    (lambda: rules.lrp_epsilon_gradient(0), "epsilon must be above 0"),
    (lambda: rules.rectgrad(101), "percentile must be a finite number not below 0 and not above 100"),
    (lambda: rules.dorefa_gradients(0), "k, the number of bits, must be an int from 1 to 16, but got 0"),
    (lambda: rules.dorefa_gradients(2.0), "must be an int from 1 to 16, but got 2.0"),
    (lambda: rules.lower_bound("none"), "gradient must be one of 'identity_if_towards', 'identity', 'disconnected', but got 'none'"),
    (lambda: rules.dorefa_gradients(True), "must be an int from 1 to 16, but got True"),
    (lambda: rules.lrp_z_box(1, 0), "lrp_z_box: low must not be above high, but got 1.0 and 0.0"),
    (lambda: rules.lrp_z_box(0, None), "lrp_z_box: high must be a number or an array of numbers, but got None"),
    (lambda: rules.redirected("late"), "redirected: step must be a tensor, a variable or a function that returns one, but got 'late'"),
    (lambda: rules.bpda(3), "bpda: backward must be a callable over .inputs, grad., but got 3"),
    (lambda: rules.substitute(None), "substitute: forward must be a callable over tensors, but got None"),
    (lambda: gg.declare_surrogate("tanh"), "A surrogate must be callable as forward.op, .inputs., but got 'tanh'"),
    (lambda: rules.straight_through_interval(1, 0), "minimum 1.0 is above maximum 0.0")])
def test_bad_parameters(make, text):
    """One sentence, when the rule is made."""
    with pytest.raises((ValueError, TypeError), match=text):
        make()


@pytest.mark.parametrize("op_type, rule, forward, text", [
    ("Maximum", rules.straight_through, lambda x: tf.maximum(x, 0.0), "straight_through is for operations with one input.*type Maximum has 2"),
    ("Relu6", rules.guided_output_mask, tf.nn.relu6, "guided_output_mask knows operations of type Relu; operation .* is of type Relu6"),
    ("Elu", rules.redirected(), tf.nn.elu, "redirected knows operations of type Relu, Relu6; .* of type Elu"),
    ("Relu", rules.smoothed_max_pool, tf.nn.relu, "smoothed_max_pool knows operations of type MaxPool; .* of type Relu"),
    ("Mul", rules.lrp_z, lambda x: 2.0 * x, "lrp_z knows operations of type MatMul, .* is of type Mul"),
    ("Minimum", rules.lower_bound(), lambda x: tf.minimum(x, 0.0), "lower_bound knows operations of type Maximum; .* of type Minimum"),
    ("Maximum", rules.lower_bound(), lambda x: tf.maximum(0.0, x), "takes the first input as x and the second as its bound"),
    ("Relu", rules.deeplift_softmax, tf.nn.relu, "deeplift_softmax knows operations of type Softmax"),
    ("L2Loss", rules.approx_sign, tf.nn.l2_loss, r"output has the shape of the input; operation 'L2Loss' of type L2Loss turns \(2,\) into \(\)"),
    ("AddN", rules.ttq, lambda x: tf.add_n([x, x]), "ttq is for functions of x, wp, wn and threshold, such as ops.ternarize; .* has 2 inputs"),
    ("Relu", rules.deeplift_rescale(), lambda x: tf.nn.relu(x[:1]), r"takes samples and as many baselines in one batch .ops.paired.*shape \(1,\)"),
    ("Maximum", rules.substitute(tf.sign), lambda x: tf.maximum(x, 0.0), "The substitute for operation .* does not take its 2 input"),
    ("Sign", rules.substitute(lambda x: (x, x)), tf.sign, "returns 2 outputs, but the operation has 1"),
    ("Sign", rules.substitute(lambda x: x[:1]), tf.sign, r"returns shape \(1,\), but the operation \(2,\)")])
def test_a_rule_on_an_operation_it_does_not_know(op_type, rule, forward, text):
    """Said at build time, naming the rule and the operation."""
    with tf.Graph().as_default():
        x = tf.constant([1.0, 2.0])
        with gg.override_gradients({op_type: rule}):
            y = forward(x)
        with pytest.raises(gg.GradientError, match=text):
            tf.gradients(y, x)


MADE = {"reverse": (1.0,), "scale": (2.0,), "clip_by_value": (0, 1), "clip_by_norm": (1,), "dorefa_gradients": (2,),
        "lrp_z_box": (0, 1), "substitute": (tf.tanh,), "bpda": (lambda x, g: g,)}
#: Those that are for any operation.
ANYWHERE = {"stop", "bpda", "substitute"}


def made(entry):
    """A rule of the catalogue, with parameters if it takes some."""
    rule = getattr(rules, entry.name)
    return rule(*MADE.get(entry.name, ())) if entry.signature != entry.name else rule


@pytest.mark.parametrize("entry", catalogue.read(), ids=lambda entry: entry.name)
def test_every_rule_refuses_what_it_does_not_know(entry):
    """Of several inputs, of another shape, of integers, of a scalar: a sentence with rule, operation and type, or the right shape."""
    rule = made(entry)
    with tf.Graph().as_default():
        x, scalar, number = tf.placeholder(tf.float32, [3, 2]), tf.placeholder(tf.float32, []), tf.constant([1, 2])
        ys = [tf.add_n([x, x, x]), tf.nn.l2_loss(x), tf.cast(number, tf.float32), tf.nn.relu(scalar), tf.nn.relu(x)]
        refused = 0
        for y in ys:
            g = tf.ones_like(y)
            try:
                gradients = rule(y.op, g)
            except gg.GradientError as error:
                refused += 1
                text = str(error)
                assert (entry.name in text or entry.name == "substitute") and repr(y.op.name) in text and y.op.type in text
                continue
            gradients = gradients if isinstance(gradients, (list, tuple)) else [gradients]
            if entry.name != "bpda":
                assert [gradient.shape for gradient in gradients if gradient is not None] == [
                    tensor.shape for tensor, gradient in zip(y.op.inputs, gradients) if gradient is not None]
        assert refused >= 2 or entry.name in ANYWHERE


def test_a_rule_on_integers():
    """An op from integers to floats is asked for a gradient; a rule that would multiply says what is wrong."""
    with tf.Graph().as_default():
        x = tf.constant([1, 2])
        y = tf.cast(x, tf.float32)
        with pytest.raises(gg.GradientError, match="straight_through needs a floating input; operation .* of type Cast has int32"):
            rules.straight_through(y.op, tf.ones([2]))


def test_the_version_under_test():
    """bfloat16's exception holds for TF 1.15 alone."""
    assert NO_BFLOAT16_ON_1_15 == tensorflow.__version__.startswith("1.")
