"""Records what DeepExplain computes on the shipped digits model, for test_originals.py to compare with.

    PYTHONPATH=DeepExplain python tests/saliency/record_deepexplain.py

TensorFlow 1.15.5, and a clone of github.com/marcoancona/DeepExplain at commit 87fb43a (August 2020). Its occlusion needs
scikit-image, which is not used here: a stand-in lets it import.
"""
import json
import os
import sys
import types

import numpy as np
import tensorflow as tf

sys.modules["skimage"] = types.ModuleType("skimage")
sys.modules["skimage.util"] = types.ModuleType("skimage.util")
sys.modules["skimage.util"].view_as_windows = None

from deepexplain.tensorflow import DeepExplain  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
DIGITS = os.path.join(HERE, "..", "..", "legacy_examples", "digits")
CLASSES = (0, 3, 7)


def main():
    images = np.load(os.path.join(HERE, "recorded", "originals.npz"))["images"]
    kept = {}
    session = tf.Session()
    with DeepExplain(session=session, graph=session.graph) as explain:    # the network is built again inside
        saver = tf.train.import_meta_graph(os.path.join(DIGITS, "model.ckpt.meta"))
        saver.restore(session, os.path.join(DIGITS, "model.ckpt"))
        x, y, flat = [session.graph.get_tensor_by_name(name) for name in ("images:0", "logits:0", "Reshape:0")]
        for name, more in [("grad*input", {}), ("elrp", {"epsilon": 1e-4}), ("intgrad", {"steps": 50})]:
            kept["deepexplain/" + name] = explain.explain(name, y * tf.one_hot(list(CLASSES), 10), x, images, **more)
        kept["features"] = session.run(flat, {x: images})
        weights = session.run(tf.trainable_variables()[4:])
    # Its DeepLIFT has no rule for max-pools, and runs all activations of the graph for the baseline: the dense layers alone.
    with tf.Graph().as_default() as graph, tf.Session() as session:
        with DeepExplain(session=session, graph=graph) as explain:
            x = tf.placeholder(tf.float32, [None, weights[0].shape[0]])
            y = tf.matmul(tf.nn.relu(tf.matmul(x, weights[0]) + weights[1]), weights[2]) + weights[3]
            kept["deepexplain/deeplift"] = explain.explain(
                "deeplift", y * tf.one_hot(list(CLASSES), 10), x, kept["features"])
    kept = {name: np.asarray(values, np.float32) for name, values in kept.items()}
    provenance = {"DeepExplain": "87fb43a", "numpy": np.__version__, "tensorflow": tf.__version__}
    np.savez(os.path.join(HERE, "recorded", "deepexplain.npz"), images=images, classes=np.asarray(CLASSES),
             provenance=np.frombuffer(json.dumps(provenance, sort_keys=True).encode(), np.uint8), **kept)
    for name, values in kept.items():
        print(name, values.shape, np.abs(values).max())


if __name__ == "__main__":
    main()
