"""Guided backprop on a frozen graph of a trained digit classifier, the TF1 way: import it under the map.

    python digits_guided_backprop.py [--png PATH]

Writes one picture, a row per digit: the digit, its ordinary gradient and its guided-backprop map, for the class
that the network chose. Blue is negative, red positive, white zero; each map is scaled by its largest value.
"""
import glob
import os
import sys
import tempfile

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import ops
from tensorflow.python.ops import gen_nn_ops

HERE = os.path.dirname(os.path.abspath(__file__))
_relu_grad = getattr(gen_nn_ops, "_relu_grad", None) or gen_nn_ops.relu_grad


@ops.RegisterGradient("GuidedRelu")
def _GuidedReluGrad(op, grad):
    return tf.where(0. < grad, _relu_grad(grad, op.outputs[0]), tf.zeros_like(grad))


def load_graph(path):
    graph_def = tf.GraphDef()
    with open(path, "rb") as stream:
        graph_def.ParseFromString(stream.read())
    return graph_def


def map_of(graph_def, images):
    """(logits, gradient of the chosen class's logit) of a fresh import of the graph."""
    logits = tf.import_graph_def(graph_def, {"images": images}, ["logits:0"], name="net")[0]
    chosen = tf.reduce_sum(tf.reduce_max(logits, 1))
    return logits, tf.gradients(chosen, images)[0]


def coloured(values):
    """A map of one channel as RGB: blue negative, white zero, red positive."""
    v = values[..., 0] / max(np.abs(values).max(), 1e-12)
    return np.stack([1 - np.maximum(-v, 0), 1 - np.abs(v), 1 - np.maximum(v, 0)], -1)


def panel(digits, ordinary, guided, zoom=16, gap=8):
    rows = []
    for digit, one, other in zip(digits, ordinary, guided):
        tiles = [np.repeat(1 - digit, 3, -1), coloured(one), coloured(other)]
        tiles = [np.kron(tile, np.ones((zoom, zoom, 1))) for tile in tiles]
        rows.append(np.concatenate([np.pad(tile, [(gap, gap), (gap, gap), (0, 0)], "constant", constant_values=0.85)
                                    for tile in tiles], 1))
    half = (len(rows) + 1) // 2
    columns = [np.concatenate(rows[:half]), np.concatenate(rows[half:])]
    return np.round(255 * np.concatenate(columns, 1)).astype(np.uint8)


def main():
    paths = sorted(glob.glob(os.path.join(HERE, "digits", "digit_*.png")))
    files = []
    for path in paths:
        with open(path, "rb") as stream:
            files.append(stream.read())
    graph_def = load_graph(os.path.join(HERE, "digits", "frozen.pb"))
    images = tf.stack([tf.cast(tf.image.decode_png(data, channels=1), tf.float32) / 255. for data in files])
    images = tf.reshape(images, [len(files), 8, 8, 1], name="pixels")
    logits, ordinary = map_of(graph_def, images)
    with tf.get_default_graph().gradient_override_map({"Relu": "GuidedRelu"}):
        _, guided = map_of(graph_def, images)
    with tf.Session() as sess:
        scores = sess.run(logits)
        digits, ordinary_map, guided_map = sess.run([images, ordinary, guided])
        print("the network reads", scores.argmax(1))
        path = sys.argv[sys.argv.index("--png") + 1] if "--png" in sys.argv else os.path.join(
            tempfile.mkdtemp(prefix="digits-"), "digits_guided_backprop.png")
        sess.run(tf.write_file(path, tf.image.encode_png(panel(digits, ordinary_map, guided_map))))
        print("wrote " + path)


if __name__ == "__main__":
    main()
