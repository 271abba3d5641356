"""Each method against its closed form on tiny nets."""
import numpy as np
import pytest
import tensorflow
from conftest import TF1, tf

import graphgrad as gg

RANDOM = np.random.RandomState(7)
W = RANDOM.randn(4, 5).astype("f")
V = RANDOM.randn(5, 3).astype("f")
X = RANDOM.randn(6, 4).astype("f")


def dense_net(graph):
    """(y, x, hidden) of x [None, 4] -> relu -> y [None, 3]."""
    x = tf.placeholder(tf.float32, [None, 4], name="x")
    hidden = tf.nn.relu(tf.matmul(x, W), name="hidden")
    return tf.matmul(hidden, V, name="y"), x, hidden


def quadratic(graph):
    """(y, x) with y = sum(c * x ** 2), one score per example."""
    x = tf.placeholder(tf.float64, [None, 4], name="x")
    return tf.reduce_sum(np.array([1.0, -2.0, 3.0, 0.5]) * x * x, 1), x


OPEN = (X.dot(W) > 0).astype("f")
CLOSED_FORMS = {
    "gradient": (OPEN * V[:, 1]).dot(W.T),
    "gradient_times_input": (OPEN * V[:, 1]).dot(W.T) * X,
    "guided_backprop": (OPEN * np.maximum(V[:, 1], 0)).dot(W.T),
    "deconvnet": np.broadcast_to(np.maximum(V[:, 1], 0), (6, 5)).dot(W.T),
}


@pytest.mark.parametrize("method", sorted(CLOSED_FORMS))
@pytest.mark.parametrize("max_batch", [1, 4, 100])
def test_one_gradient(graph, method, max_batch):
    """Gradient, times input, guided, deconvnet; whatever the size of the stacks."""
    y, x, _ = dense_net(graph)
    built = getattr(gg.saliency, method)(y, x, target=1)
    with tf.Session() as session:
        for _ in range(2):
            maps = built(session, X, max_batch=max_batch)
            assert maps.dtype == np.float32 and maps.shape == X.shape
            np.testing.assert_allclose(maps, CLOSED_FORMS[method], rtol=1e-5, atol=1e-6)


def test_the_graph_stays_as_it_was(graph):
    """After guided backprop was built, a plain tf.gradients of the same graph is the ordinary one; no op is tagged."""
    y, x, _ = dense_net(graph)
    before = graph.as_graph_def().node[:]
    gg.saliency.guided_backprop(y, x, target=1)
    assert graph.as_graph_def().node[:len(before)] == before
    with tf.Session() as session:
        got = session.run(tf.gradients(y[:, 1], x)[0], {x: X})
    np.testing.assert_allclose(got, CLOSED_FORMS["gradient"], rtol=1e-5, atol=1e-6)


def test_targets(graph):
    """A class, the top class, given classes, a neuron of a layer, a layer, a score per example, a scalar."""
    y, x, hidden = dense_net(graph)
    deep = tf.reshape(hidden, [-1, 1, 5])
    mean = tf.reduce_mean(y[:, 1])
    gradients = [(OPEN * V[:, k]).dot(W.T) for k in range(3)]
    top = np.maximum(X.dot(W), 0).dot(V).argmax(1)
    assert len(set(top)) > 1
    build = gg.saliency.gradient
    with tf.Session() as session:
        cases = [
            (build(y, x, 2), {}, gradients[2]),
            (build(y, x, "top"), {}, np.stack([gradients[k][i] for i, k in enumerate(top)])),
            (build(y, x, "top"), {"classes": [0, 1, 2, 0, 1, 2]}, np.stack([gradients[i % 3][i] for i in range(6)])),
            (build(hidden, x, 3), {}, OPEN[:, 3:4] * W[:, 3]),
            (build(deep, x, (0, 3)), {}, OPEN[:, 3:4] * W[:, 3]),
            (build(deep, x), {}, OPEN.dot(W.T)),
            (build(y[:, 1], x), {}, gradients[1]),
            (build(mean, x), {}, gradients[1]),    # one example at a time: a mean over a stack would be smaller
        ]
        for method, more, want in cases:
            np.testing.assert_allclose(method(session, X, **more), want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("target, text", [
    (3, r"target 3 is out of range: 'y:0' has 3 classes, counted from 0"),
    (-1, r"target -1 is out of range"),
    ((0, 1), r"target \(0, 1\) has 2 of the axes behind the batch, but 'y:0' has 1 of them"),
    (0.5, r"target must be a class, a neuron, 'top' or None, but got 0.5"),
    ("best", r"target must be a class, a neuron, 'top' or None, but got 'best'"),
    ([1], r"target must be a class, a neuron, 'top' or None, but got \[1\]"),
])
def test_targets_that_are_none(graph, target, text):
    """Each a sentence that says what there is."""
    y, x, _ = dense_net(graph)
    with pytest.raises(gg.SaliencyError, match=text):
        gg.saliency.gradient(y, x, target)


def test_the_top_of_what_has_no_classes(graph):
    """A layer with more axes has no top class."""
    x = tf.placeholder(tf.float32, [None, 2, 2], name="x")
    with pytest.raises(gg.SaliencyError, match=r"target='top' needs y of shape \[batch, classes\], but 'y:0' has \("):
        gg.saliency.gradient(tf.multiply(x, x, name="y"), x, "top")


def test_the_top_class_is_that_of_the_image_not_of_its_samples(graph):
    """y = (x, -x): under noise the larger one changes; the class explained must not."""
    x = tf.placeholder(tf.float32, [None, 2])
    y = tf.stack([x[:, 0], -x[:, 0]], 1)
    with tf.Session() as session:
        maps = gg.saliency.smoothgrad(y, x, target="top", samples=64, spread=5.0)(session, [[0.1, 1.0], [-0.1, 1.0]])
    np.testing.assert_array_equal(maps, [[1, 0], [-1, 0]])


def test_smoothgrad_and_its_relatives(graph):
    """Quadratic: the gradient at x + n is 2c(x + n), of which mean, mean square and variance are known."""
    y, x = quadratic(graph)
    images = X[:3].astype(np.float64)
    c = np.array([1.0, -2.0, 3.0, 0.5])
    gradients = np.stack([2 * c * (image + 0.3 * np.ptp(image) * np.random.RandomState([5, i]).randn(10, 4))
                          for i, image in enumerate(images)])
    wanted = {"smoothgrad": gradients.mean(1), "smoothgrad_squared": (gradients ** 2).mean(1), "vargrad": gradients.var(1)}
    state = np.random.get_state()[1].copy()
    with tf.Session() as session:
        for name, want in wanted.items():
            method = getattr(gg.saliency, name)(y, x, samples=10, spread=0.3, seed=5)
            for max_batch in (4, 64):
                np.testing.assert_allclose(method(session, images, max_batch=max_batch), want, rtol=1e-10)
    assert (np.random.get_state()[1] == state).all()


def test_smoothed_guided_backprop(graph):
    """An override goes with any method that differentiates."""
    y, x, _ = dense_net(graph)
    with tf.Session() as session:
        got = gg.saliency.smoothgrad(y, x, 1, samples=3, spread=0.0, override=gg.guided_backprop())(session, X)
    np.testing.assert_allclose(got, CLOSED_FORMS["guided_backprop"], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("rule", ["midpoint", "trapezoid", "gauss", "ends"])
def test_integrated_gradients(graph, rule):
    """Quadratic: each rule but PAIR's integrates a linear gradient exactly, for the baselines too; the gap says so."""
    y, x = quadratic(graph)
    images, baseline, c = X.astype(np.float64), np.array([0.5, 0.0, -1.0, 2.0]), np.array([1.0, -2.0, 3.0, 0.5])
    method = gg.saliency.integrated_gradients(y, x, baseline=baseline, steps=5, rule=rule)
    with tf.Session() as session:
        maps = method(session, images, max_batch=3)
    np.testing.assert_allclose(maps, c * (images ** 2 - baseline ** 2), rtol=1e-10)
    np.testing.assert_allclose(method.gap, 0, atol=1e-12)


@pytest.mark.parametrize("rule, order", [("midpoint", 2), ("trapezoid", 2), ("gauss", None), ("ends", 1), ("left", 1), ("right", 1)])
def test_the_gap_closes_with_the_order_of_the_rule(graph, rule, order):
    """Cubic: halving the step divides the gap by 2 ** order; Gauss is exact. The gap is the sum less the difference."""
    x = tf.placeholder(tf.float64, [None, 2])
    y = tf.reduce_sum(x ** 4, 1)
    image = np.array([[1.0, 0.7]])
    gaps = []
    with tf.Session() as session:
        for steps in (40, 80):
            method = gg.saliency.integrated_gradients(y, x, steps=steps, rule=rule)
            maps = method(session, image)
            np.testing.assert_allclose(method.gap, maps.sum(1) - (image ** 4).sum(1), atol=1e-12)
            gaps.append(abs(method.gap[0]))
    if order is None:
        assert max(gaps) < 1e-12
    else:
        assert abs(np.log2(gaps[0] / gaps[1]) - order) < 0.1


def test_a_gradient_that_is_infinite_at_the_baseline(graph):
    """sqrt at 0: its integral is finite, and rules that keep off the ends find it; the error goes with sqrt(step)."""
    x = tf.placeholder(tf.float64, [None, 2])
    method = gg.saliency.integrated_gradients(tf.reduce_sum(tf.sqrt(x), 1), x, steps=1000)
    with tf.Session() as session:
        np.testing.assert_allclose(method(session, [[4.0, 1.0]]), [[2.0, 1.0]], rtol=0.02)


def test_expected_gradients(graph):
    """Linear: c * (x - mean of the background), exactly, if each background example is drawn equally often."""
    x = tf.placeholder(tf.float64, [None, 4])
    c = np.array([1.0, -2.0, 3.0, 0.5])
    background = RANDOM.randn(5, 4)
    method = gg.saliency.expected_gradients(tf.reduce_sum(c * x, 1), x, background, samples=20)
    with tf.Session() as session:
        maps = method(session, X, max_batch=7)
    np.testing.assert_allclose(maps, c * (X - background.mean(0)), rtol=1e-10)


def test_expected_gradients_of_a_quadratic(graph):
    """Many draws: c * (x**2 - E[b**2]), within four standard errors."""
    y, x = quadratic(graph)
    c, background = np.array([1.0, -2.0, 3.0, 0.5]), RANDOM.randn(10, 4)
    with tf.Session() as session:
        got = gg.saliency.expected_gradients(y, x, background, samples=4000)(session, X[:1], max_batch=500)[0]
    draws = c * (X[0] ** 2 - background ** 2)
    error = np.sqrt(draws.var(0) / 4000 + ((2 * c * (X[0] - background) ** 2) ** 2 / 12).mean(0) / 4000)
    assert (np.abs(got - draws.mean(0)) < 4 * error).all()


def conv_net(graph, channels_first=False):
    """(y, x, features): features = relu(x * kernel + bias) at each place, y = their squares' weighted sums."""
    kernel = np.random.RandomState(3).randn(1, 1, 2, 3)
    weights = np.random.RandomState(4).randn(4, 6, 3, 2)
    x = tf.placeholder(tf.float64, [None, 4, 6, 2], name="x")
    features = tf.nn.relu(tf.nn.conv2d(x, kernel, 1, "VALID") + 0.1, name="features")
    wanted = tf.tensordot(features ** 2, weights, 3)
    return wanted, x, features, weights


def cams(features, gradients):
    """Grad-CAM and Grad-CAM++ as their papers have them, written out in loops."""
    plain = np.zeros(features.shape[:3])
    plus = np.zeros(features.shape[:3])
    for i in range(len(features)):
        for k in range(features.shape[-1]):
            a, g = features[i, ..., k], gradients[i, ..., k]
            plain[i] += g.mean() * a
            with np.errstate(all="ignore"):
                alpha = np.where(g == 0, 0, g ** 2 / (2 * g ** 2 + a.sum() * g ** 3))
            plus[i] += (alpha * np.maximum(g, 0)).sum() * a
    return np.maximum(plain, 0), np.maximum(plus, 0)


def test_grad_cam_and_plus_plus(graph):
    """The layer is found: the last convolution with its bias and activation; given by tensor or name it is the same."""
    y, x, features, weights = conv_net(graph)
    images = np.random.RandomState(5).randn(3, 4, 6, 2)
    with tf.Session() as session:
        values = session.run(features, {x: images})
        plain, plus = cams(values, 2 * values * weights[..., 1])
        for layer in (None, features, "features"):
            method = gg.saliency.grad_cam(y, x, 1, layer=layer)
            assert method.layer is features
            np.testing.assert_allclose(method(session, images), plain, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(gg.saliency.grad_cam_plus_plus(y, x, 1)(session, images), plus, rtol=1e-10, atol=1e-12)
        guided = gg.saliency.guided_backprop(y, x, 1)(session, images)
        np.testing.assert_allclose(gg.saliency.guided_grad_cam(y, x, 1)(session, images), guided * plain[..., None],
                                   rtol=1e-10, atol=1e-12)


def test_grad_cam_laid_over_the_input(graph):
    """A layer of half the size is resized as tf.image.resize does; a batch with its channels first gives the same."""
    kernel, w = RANDOM.randn(3, 3, 1, 4), RANDOM.randn(4)
    images = RANDOM.rand(2, 8, 8, 1)
    x = tf.placeholder(tf.float64, [None, 8, 8, 1])
    last = tf.nn.relu(tf.nn.conv2d(x, kernel, 2, "SAME"))
    y = tf.reduce_sum(last ** 2 * w, [1, 2, 3])
    first = tf.transpose(last, [0, 3, 1, 2])
    z = tf.reduce_sum(first ** 2 * w[:, None, None], [1, 2, 3])
    small = gg.saliency.grad_cam(y, x, upsample=False)
    want = tensorflow.compat.v2.image.resize(tf.placeholder(tf.float64, [None, 4, 4, 1], name="cam"), [8, 8])
    with tf.Session() as session:
        cam = small(session, images)
        assert cam.shape == (2, 4, 4)
        want = session.run(want, {"cam:0": cam[..., None]})[..., 0]
        np.testing.assert_allclose(gg.saliency.grad_cam(y, x)(session, images), want, rtol=1e-5, atol=1e-7)
        got = gg.saliency.grad_cam(z, x, layer=first, channels_first=True, upsample=False)(session, images)
        np.testing.assert_allclose(got, cam, rtol=1e-10, atol=1e-12)


def test_which_layer_grad_cam_takes(graph):
    """A sum of branches is a layer of its own; a layer without axes of space, or with more of them than x, is refused."""
    x = tf.placeholder(tf.float64, [None, 4, 4, 1], name="x")
    branch = tf.nn.relu(tf.nn.conv2d(x, RANDOM.randn(3, 3, 1, 1), 1, "SAME"))
    assert gg.saliency.grad_cam(tf.reduce_sum(branch + tf.square(x), [1, 2, 3]), x).layer is branch
    flat = tf.reshape(branch, [-1, 16], name="flat")
    with pytest.raises(gg.SaliencyError, match="with a spatial axis, but 'flat:0' is"):
        gg.saliency.grad_cam(tf.reduce_sum(flat * flat, 1), x, layer=flat)
    table = tf.placeholder(tf.float64, [None, 4])
    square = tf.nn.conv2d(tf.reshape(table, [-1, 2, 2, 1]), RANDOM.randn(1, 1, 1, 3), 1, "SAME")
    method = gg.saliency.grad_cam(tf.reduce_sum(square, [1, 2, 3]), table)
    with tf.Session() as session, pytest.raises(gg.SaliencyError, match=r"of \[2, 2\] cannot be laid over examples of shape \[4\]"):
        method(session, np.ones((1, 4)))


def test_grad_cam_of_a_layer_without_a_convolution(graph):
    """Nothing says where its channels are: they are last. Each weighs its mean gradient; what is left is positive."""
    x, c = tf.placeholder(tf.float64, [None, 3, 2]), np.array([[1.0, -2.0], [3.0, -4.0], [2.0, 3.0]])
    layer = tf.square(x)
    images = RANDOM.randn(5, 3, 2)
    with tf.Session() as session:
        got = gg.saliency.grad_cam(tf.reduce_sum(c * layer, [1, 2]), x, layer=layer)(session, images)
    np.testing.assert_allclose(got, np.maximum((images ** 2 * c.mean(0)).sum(-1), 0), rtol=1e-10)


def test_guided_grad_cam_of_a_signal(graph):
    """x without channels: each sample is guided backprop times Grad-CAM."""
    x = tf.placeholder(tf.float32, [None, 6])
    features = tf.nn.relu(tf.nn.conv1d(x[:, :, None], RANDOM.randn(3, 1, 4).astype("f"), 1, "SAME"))
    y = tf.reduce_sum(features * features, [1, 2])
    images = RANDOM.randn(3, 6)
    with tf.Session() as session:
        parts = [getattr(gg.saliency, name)(y, x)(session, images) for name in ("guided_backprop", "grad_cam")]
        got = gg.saliency.guided_grad_cam(y, x)(session, images)
    assert got.shape == (3, 6) and got.any()
    np.testing.assert_allclose(got, parts[0] * parts[1], rtol=1e-5)


def test_grad_cam_of_a_text(graph):
    """Embeddings [batch, time, channels] and a convolution over time: one number per word."""
    x = tf.placeholder(tf.float32, [None, 7, 4])
    features = tf.nn.relu(tf.nn.conv1d(x, RANDOM.randn(3, 4, 5).astype("f"), 1, "SAME"))
    method = gg.saliency.grad_cam(tf.reduce_max(features, 1), x, 2)
    with tf.Session() as session:
        assert method(session, RANDOM.randn(3, 7, 4)).shape == (3, 7)
    assert method.layer is features


@pytest.mark.parametrize("window, stride", [(2, 1), (3, 2), ((1, 2, 1), 1)])
def test_occlusion_of_a_linear_score(graph, window, stride):
    """Covering a window lowers the score by what is in it: the map is the mean of those, over the windows of a place."""
    c = RANDOM.randn(5, 6, 2)
    images = RANDOM.randn(2, 5, 6, 2)
    x = tf.placeholder(tf.float64, [None, 5, 6, 2])
    with tf.Session() as session:
        method = gg.saliency.occlusion(tf.reduce_sum(c * x, [1, 2, 3]), x, window=window, stride=stride, value=0.25)
        got = method(session, images, max_batch=5)
    sizes = window if isinstance(window, tuple) else (window, window, 2)
    steps = (stride, stride, 1 if isinstance(window, tuple) else 2)
    total, covers = np.zeros_like(images), np.zeros_like(images)
    for i in sorted(set(range(0, 5 - sizes[0] + 1, steps[0])) | {5 - sizes[0]}):
        for j in sorted(set(range(0, 6 - sizes[1] + 1, steps[1])) | {6 - sizes[1]}):
            for k in range(0, 2 - sizes[2] + 1):
                place = (slice(None), slice(i, i + sizes[0]), slice(j, j + sizes[1]), slice(k, k + sizes[2]))
                total[place] += (c * (images - 0.25))[place].sum((1, 2, 3), keepdims=True)
                covers[place] += 1
    np.testing.assert_allclose(got, total / covers, rtol=1e-9)


def test_occlusion_of_a_table(graph):
    """One feature at a time: w * (x - mean)."""
    x = tf.placeholder(tf.float64, [None, 4])
    c, mean = np.array([1.0, -2.0, 3.0, 0.5]), X.mean(0).astype(np.float64)
    with tf.Session() as session:
        got = gg.saliency.occlusion(tf.reduce_sum(c * x, 1), x, value=mean)(session, X)
    np.testing.assert_allclose(got, c * (X - mean), rtol=1e-6)


def test_embeddings_with_lengths_and_flags(graph):
    """x is no placeholder: the embeddings are fed; lengths go along with each example, a flag is the same for all."""
    words = tf.placeholder(tf.int32, [None, 3])
    lengths = tf.placeholder(tf.int32, [None])
    training = tf.placeholder(tf.bool, [])
    embedded = tf.gather(RANDOM.randn(9, 2).astype("f"), words)
    mask = tf.cast(tf.sequence_mask(lengths, 3), tf.float32)[:, :, None]
    y = tf.reduce_sum(embedded * mask * tf.cond(training, lambda: 100.0, lambda: 3.0), [1, 2])
    method = gg.saliency.smoothgrad(y, embedded, samples=4)
    with tf.Session() as session:
        values = session.run(embedded, {words: [[1, 2, 3], [4, 5, 6], [7, 8, 0]]})
        maps = method(session, values, along={lengths: [1, 3, 2]}, feed_dict={training: False}, max_batch=5)
    want = 3.0 * np.array([[1, 0, 0], [1, 1, 1], [1, 1, 0]])[:, :, None] * np.ones(2)
    np.testing.assert_allclose(maps, want, rtol=1e-6)


def test_loops(graph, control_flow):
    """A ReLU in a while loop is overridden, and said to be; TF 1.15 with control flow v2 refuses, by name."""
    x = tf.placeholder(tf.float64, [None, 2])
    w = np.array([[1.0, -2.0], [0.5, 1.5]])
    y = tf.while_loop(lambda i, h: i < 2, lambda i, h: (i + 1, tf.nn.relu(tf.matmul(h, w))), (0, x),
                      maximum_iterations=2)[1]
    if TF1 and control_flow == 2:
        with pytest.raises(gg.OverrideError, match="on\\(\\) cannot reach"):
            gg.saliency.guided_backprop(y, x, 1)
        return
    method = gg.saliency.guided_backprop(y, x, 1)
    images = np.array([[1.0, 0.3], [2.0, -1.0]])
    first = images.dot(w)
    second = np.maximum(first, 0).dot(w)
    g = np.array([0.0, 1.0]) * (second > 0)
    want = (np.maximum(g.dot(w.T), 0) * (first > 0)).dot(w.T)
    with tf.Session() as session:
        np.testing.assert_allclose(method(session, images), want)
    assert [len(found) for found in method.overridden.values()] == [1] and "Relu" in method.overridden
    assert "Relu" not in method.not_overridden


def test_what_was_overridden_and_what_not(graph):
    """Per op type: the ReLUs between x and y; a tanh and a product of two paths are named, a branch beside is not."""
    x = tf.placeholder(tf.float32, [None, 3])
    aside = tf.nn.relu(x, name="aside")
    h = tf.tanh(tf.nn.relu(x, name="one"), name="gate")
    y = tf.multiply(h, tf.nn.relu6(x, name="two"), name="product")
    method = gg.saliency.guided_backprop(y, x, 0)
    assert method.overridden == {"Relu": ["one"], "Relu6": ["two"]}
    assert method.not_overridden == {"Tanh": ["gate"], "Mul": ["product"]}
    assert aside.op.name not in str(method.overridden)
    assert method.describe() == ("overridden: Relu (1), Relu6 (1)\n"
                                 "nonlinear on the path, with their ordinary gradient: Tanh (1), Mul (1)")
    assert gg.saliency.gradient(y, x, 0).describe().startswith("overridden: nothing\nnonlinear on the path")


def test_quotients_that_are_nonlinear(graph):
    """By what depends on x, not by a constant; and no product of shapes."""
    x = tf.placeholder(tf.float32, [None, 3])
    y = tf.reshape(tf.ones([3]) / (x / 2.0), [tf.reduce_prod(tf.shape(x)) // 3, 3])
    assert gg.saliency.gradient(y, x, 0).not_overridden == {"RealDiv": ["truediv_1"]}


def test_nothing_to_override(graph):
    """A net without rectifiers: guided backprop is the ordinary gradient there, and a warning says so."""
    x = tf.placeholder(tf.float32, [None, 3])
    with pytest.warns(gg.OverrideWarning, match="matched no operation that on\\(\\) selected"):
        gg.saliency.guided_backprop(tf.tanh(x), x, 0)
