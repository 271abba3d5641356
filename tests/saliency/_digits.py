"""The shipped digits model and what TF 1.15.5 computed on it, for the tests of this folder."""
import os

import numpy as np
from conftest import tf

from graphgrad.golden import load

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EXAMPLES = os.path.join(ROOT, "legacy_examples")
DIGITS = os.path.join(EXAMPLES, "digits")
FROZEN = os.path.join(DIGITS, "frozen.pb")
META = os.path.join(DIGITS, "model.ckpt.meta")
PNGS = [os.path.join(DIGITS, "digit_{}.png".format(digit)) for digit in range(10)]


def recorded():
    """(images, gradient, guided backprop) of the ten digits and their top classes, recorded on TF 1.15.5."""
    recording = load(os.path.join(EXAMPLES, "old_results", "digits_guided_backprop.npz"))
    return [recording.array("run0001/{:03d}".format(number)) for number in range(3)]


BIASES = ["Variable", "Variable_1", "Variable_2", "Variable_3"]


def import_digits(randomize=(), empty=()):
    """(session, logits, images) of the frozen graph; names of weights to redraw, and of those to set to 0."""
    definition = tf.GraphDef()
    with open(FROZEN, "rb") as stream:
        definition.ParseFromString(stream.read())
    random = np.random.RandomState(0)
    for node in definition.node:
        if node.name in randomize:
            old = tf.make_ndarray(node.attr["value"].tensor) if hasattr(tf, "make_ndarray") else None
            new = (random.randn(*old.shape) * old.std()).astype(old.dtype)
            node.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(new))
        if node.name in empty:
            old = node.attr["value"].tensor
            old.CopyFrom(tf.make_tensor_proto(np.zeros([size.size for size in old.tensor_shape.dim], "f")))
    graph = tf.Graph()
    with graph.as_default():
        tf.import_graph_def(definition, name="")
    return tf.Session(graph=graph), graph.get_tensor_by_name("logits:0"), graph.get_tensor_by_name("images:0")


def assert_close(got, want):
    """The tolerance for float32 of different TensorFlows: 1e-5 * |want| + 5e-6 * max|want|."""
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=5e-6 * np.abs(want).max())
