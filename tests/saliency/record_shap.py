"""Records what SHAP's DeepExplainer computes on the shipped digits model, for test_saliency_originals.py to compare with.

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
from _keras_digits import keras_digits

HERE = os.path.dirname(os.path.abspath(__file__))
CLASSES = (0, 3, 7)


def main():
    images = np.load(os.path.join(HERE, "recorded", "originals.npz"))["images"]
    values = np.asarray(shap.DeepExplainer(keras_digits(tf.keras), np.zeros((1, 8, 8, 1), np.float32)).shap_values(images))
    maps = np.stack([values[number, ..., chosen] for number, chosen in enumerate(CLASSES)]).astype(np.float32)
    versions = {name: importlib.metadata.version(name) for name in ("tensorflow", "shap", "numpy")}
    np.savez(os.path.join(HERE, "recorded", "shap.npz"), images=images, classes=np.asarray(CLASSES),
             provenance=np.frombuffer(json.dumps(versions, sort_keys=True).encode(), np.uint8), deep=maps)
    print(values.shape, maps.shape, np.abs(maps).max(), maps.sum((1, 2, 3)))


if __name__ == "__main__":
    main()
