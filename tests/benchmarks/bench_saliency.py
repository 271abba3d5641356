"""Saliency beside PAIR's saliency.tf1 and tf-keras-vis: set-up, SmoothGrad, integrated gradients, a long stream.

    pip install saliency==0.2.1 tf-keras-vis==0.8.7 "tensorflow==2.15.1" "numpy<2"    (in an environment of its own)
    cd tests && PYTHONPATH=.. python -m benchmarks.bench_saliency    (tf-keras-vis installs a package called tests)

A net of 50 convolutions in five stages, on 64 x 64 x 3 (10 layers each at 64, 32, 16, 8 and 4 pixels), a ReLU each.
"""
import os
import shutil
import tempfile

import numpy as np
import saliency.tf1 as pair
import tensorflow
import tensorflow.compat.v1 as tf
from tf_keras_vis.saliency import Saliency
from tf_keras_vis.utils.model_modifiers import GuidedBackpropagation
from tf_keras_vis.utils.scores import CategoricalScore

import graphgrad as gg

from ._side_by_side import figure, medians

CHANNELS = (8, 16, 16, 32, 32)
IMAGE = np.random.RandomState(0).rand(64, 64, 3).astype("f")


def convolutions():
    """(input channels, output channels, stride) of each of the 50."""
    before = 3
    for stage, channels in enumerate(CHANNELS):
        for layer in range(10):
            yield before, channels, 2 if stage and not layer else 1
            before = channels


def build():
    """(session, x, y) of the net in a new graph, its weights in variables."""
    random = np.random.RandomState(1)
    graph = tf.Graph()
    with graph.as_default():
        x = h = tf.placeholder(tf.float32, [None, 64, 64, 3])
        for before, after, stride in convolutions():
            kernel = (random.randn(3, 3, before, after) * np.sqrt(2.0 / (9 * before))).astype("f")
            h = tf.nn.relu(tf.nn.conv2d(h, tf.Variable(kernel), stride, "SAME"))
        y = tf.matmul(tf.reduce_mean(h, [1, 2]), tf.Variable(random.randn(CHANNELS[-1], 10).astype("f")))
        session = tf.Session()
        session.run(tf.global_variables_initializer())
    return session, x, y


def set_up():
    """Guided backprop from the built graph to the tensor that can be run; each in a graph of its own."""
    folder = tempfile.mkdtemp()
    graphs = iter([build() for _ in range(10)])

    def pairs():
        session, x, y = next(graphs)
        with session.graph.as_default():
            pair.GuidedBackprop(session.graph, session, y[:, 3], x, os.path.join(folder, "guided"))

    def ours():
        session, x, y = next(graphs)
        gg.saliency.guided_backprop(y, x, 3)

    times = medians({"pair": pairs, "ours": ours}, rounds=4)
    shutil.rmtree(folder)
    figure("set-up of guided backprop ({:.2f} s) / PAIR's ({:.2f} s)".format(times["ours"], times["pair"]),
           times["ours"] / times["pair"], "<= 0.4")


def sampled():
    """SmoothGrad of 25 samples and integrated gradients of 50 steps, built before, run on one image."""
    session, x, y = build()
    with session.graph.as_default():
        score = y[:, 3]
        gradient, stack = tf.gradients(score, x), np.stack([IMAGE] * 25)
    arguments = session.graph, session, score, x
    gradients, integrated = pair.GradientSaliency(*arguments), pair.IntegratedGradients(*arguments)
    smooth = gg.saliency.smoothgrad(y, x, 3, samples=25)
    ours = gg.saliency.integrated_gradients(y, x, 3, steps=50, rule="ends")
    times = medians({
        "smooth pair": lambda: gradients.GetSmoothedMask(IMAGE, nsamples=25, magnitude=False),
        "smooth": lambda: smooth(session, IMAGE[None]),
        "integrated pair": lambda: integrated.GetMask(IMAGE, x_steps=50),
        "integrated pair, batch_size=50": lambda: integrated.GetMask(IMAGE, x_steps=50, batch_size=50),
        "integrated": lambda: ours(session, IMAGE[None]),
        "stack": lambda: session.run(gradient, {x: stack})}, rounds=15)
    for method in ("smooth", "integrated"):
        figure("PAIR's {} ({:.2f} s) / ours ({:.3f} s)".format(
            method, times[method + " pair"], times[method]), times[method + " pair"] / times[method], ">= 5")
    figure("PAIR's smooth / one run of 25 images and nothing else, the bound", times["smooth pair"] / times["stack"], "-")
    figure("PAIR's integrated with batch_size=50 / ours", times["integrated pair, batch_size=50"] / times["integrated"], "-")
    np.testing.assert_allclose(ours(session, IMAGE[None])[0], integrated.GetMask(IMAGE, x_steps=50), rtol=1e-2, atol=1e-5)


def resident():
    with open("/proc/self/statm") as stream:
        return int(stream.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2.0 ** 20


def streamed():
    """Resident memory after 200 images of a stream of 1,000, and at its end."""
    session, x, y = build()
    method = gg.saliency.guided_backprop(y, x, "top")
    random = np.random.RandomState(2)
    sizes = []
    for number, _ in enumerate(method.stream(session, (random.rand(64, 64, 3) for _ in range(1000))), 1):
        if number in (200, 1000):
            sizes.append(resident())
    figure("resident MiB after 1,000 images ({:.0f}) / after 200 ({:.0f})".format(*sizes[::-1]), sizes[1] / sizes[0],
           "<= 1.05")


def keras_net(relu_layers):
    """The net as a Keras model: activations in the convolutions, or as layers in nested models."""
    keras = tensorflow.keras
    inputs = h = keras.layers.Input((64, 64, 3))
    for _, after, stride in convolutions():
        if relu_layers:
            block = keras.Sequential([keras.layers.Conv2D(after, 3, strides=stride, padding="same", use_bias=False),
                                      keras.layers.ReLU()])
            h = block(h)
        else:
            h = keras.layers.Conv2D(after, 3, strides=stride, padding="same", use_bias=False, activation="relu")(h)
    return keras.Model(inputs, keras.layers.Dense(10)(keras.layers.GlobalAveragePooling2D()(h)))


def beside_tf_keras_vis():
    images = np.random.RandomState(3).rand(8, 64, 64, 3).astype("f")
    tensorflow.keras.utils.set_random_seed(0)
    plain, nested = keras_net(False), keras_net(True)
    nested.set_weights(plain.get_weights())
    theirs = Saliency(plain, model_modifier=GuidedBackpropagation(), clone=True)
    more = dict(keepdims=True, normalize_map=False, gradient_modifier=None)
    model = gg.saliency.load(plain)
    ours = gg.saliency.guided_backprop(model.y, model.x, 3)
    times = medians({"theirs": lambda: theirs(CategoricalScore(3), images, **more),
                     "ours": lambda: ours(model.session, images)}, rounds=5)
    figure("tf-keras-vis's guided backprop, 8 images ({:.2f} s) / ours ({:.2f} s)".format(
        times["theirs"], times["ours"]), times["theirs"] / times["ours"], ">= 1")
    right = ours(model.session, images)

    def off(maps):
        return np.abs(maps - right).max() / np.abs(right).max()

    figure("tf-keras-vis, activations in the layers: error of the map", off(theirs(CategoricalScore(3), images, **more)), "0")
    wrong = Saliency(nested, model_modifier=GuidedBackpropagation(), clone=True)(CategoricalScore(3), images, **more)
    figure("tf-keras-vis, ReLU layers in nested models: error of the map", off(wrong), "0")
    with gg.saliency.load(nested) as other:
        got = gg.saliency.guided_backprop(other.y, other.x, 3)(other.session, images)
    figure("ours, ReLU layers in nested models: error of the map", off(got), "0")


def main():
    set_up()
    sampled()
    streamed()
    beside_tf_keras_vis()


if __name__ == "__main__":
    main()
