"""Records what SHAP's DeepExplainer computes on the shipped digits model, for test_originals.py to compare with.

    python tests/saliency/record_shap.py

In an environment of its own: tensorflow==2.15.1, shap==0.46.0. The background is one black image, so that its values are
DeepLIFT's with the rescale rule and that baseline, max-pool included.
"""
import importlib.metadata
import json
import os

os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"

import numpy as np
import shap
import tensorflow as tf

HERE = os.path.dirname(os.path.abspath(__file__))
DIGITS = os.path.join(HERE, "..", "..", "legacy_examples", "digits")
CLASSES = (0, 3, 7)


def keras_model():
    """The digits model as a Keras model, with its weights."""
    reader = tf.train.load_checkpoint(os.path.join(DIGITS, "model.ckpt"))
    names = ["conv1", "Variable", "conv2", "Variable_1", "dense1", "Variable_2", "dense2", "Variable_3"]
    weights = [reader.get_tensor(name) for name in names]
    layers = tf.keras.layers
    model = tf.keras.Sequential([
        layers.Conv2D(16, 3, padding="same", activation="relu", input_shape=(8, 8, 1)),
        layers.Conv2D(32, 3, padding="same", activation="relu"), layers.MaxPooling2D(2), layers.Flatten(),
        layers.Dense(64, activation="relu"), layers.Dense(10)])
    model.set_weights(weights)
    return model


def main():
    images = np.load(os.path.join(HERE, "recorded", "originals.npz"))["images"]
    values = np.asarray(shap.DeepExplainer(keras_model(), np.zeros((1, 8, 8, 1), np.float32)).shap_values(images))
    maps = np.stack([values[number, ..., chosen] for number, chosen in enumerate(CLASSES)]).astype(np.float32)
    versions = {name: importlib.metadata.version(name) for name in ("tensorflow", "shap", "numpy")}
    np.savez(os.path.join(HERE, "recorded", "shap.npz"), images=images, classes=np.asarray(CLASSES),
             provenance=np.frombuffer(json.dumps(versions, sort_keys=True).encode(), np.uint8), deep=maps)
    print(values.shape, maps.shape, np.abs(maps).max(), maps.sum((1, 2, 3)))


if __name__ == "__main__":
    main()
