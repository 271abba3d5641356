"""Records what iNNvestigate computes on the shipped digits model, for test_saliency_originals.py to compare with.

    python tests/saliency/record_innvestigate.py

In an environment of its own, once with innvestigate==1.0.9, tensorflow==1.15.5, keras==2.2.4, "h5py<3", "protobuf<3.21" on
Python 3.7, once with innvestigate==2.1.2, tensorflow==2.14.1. Noise is not left to chance: each image's is graphgrad's,
of the seed [0, number of the image].
"""
import json
import os

os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"

import innvestigate
import innvestigate.layers
import numpy as np
import tensorflow as tf
from _keras_digits import keras_digits

if tf.__version__.startswith("1."):
    import keras
    from pkg_resources import get_distribution
    version = lambda name: get_distribution(name).version  # noqa: E731
    Noise = innvestigate.layers.TestPhaseGaussianNoise
else:
    import importlib.metadata
    tf.compat.v1.disable_eager_execution()
    keras, version = tf.keras, importlib.metadata.version
    Noise = innvestigate.layers.AddGaussianNoise

HERE = os.path.dirname(os.path.abspath(__file__))
SAMPLES = 25


def fix_noise(images):
    """Replace iNNvestigate's noise, which is in the graph, by graphgrad's."""
    noise = np.concatenate([
        np.random.RandomState([0, number]).normal(size=(SAMPLES,) + image.shape) * 0.15 * np.ptp(image)
        for number, image in enumerate(images)]).astype(np.float32)
    Noise.call = lambda self, inputs: inputs + tf.reshape(noise, tf.shape(inputs))


def main():
    with np.load(os.path.join(HERE, "recorded", "originals.npz")) as originals:
        images, classes = originals["images"], originals["classes"]
    fix_noise(images)
    model = keras_digits(keras)
    kept = {}
    for name, more in [
            ("gradient", {}), ("input_t_gradient", {}), ("guided_backprop", {}), ("deconvnet", {}),
            ("smoothgrad", {"augment_by_n": SAMPLES}), ("integrated_gradients", {"steps": 50}),
            ("lrp.z", {}), ("lrp.epsilon", {"epsilon": 1e-4}), ("lrp.z_plus", {}), ("lrp.flat", {}), ("lrp.w_square", {}),
            ("deep_taylor", {}), ("lrp.alpha_2_beta_1", {})]:
        if name == "lrp.alpha_2_beta_1":     # it adds biases to the sums of the other sign
            model.set_weights([weights * (weights.ndim > 1) for weights in model.get_weights()])
        analyzer = innvestigate.create_analyzer(name, model, neuron_selection_mode="index", **more)
        kept[name] = np.asarray(analyzer.analyze(images, neuron_selection=list(map(int, classes))))
        print(name, kept[name].shape, np.abs(kept[name]).max(), kept[name].sum((1, 2, 3)))
    provenance = {name: version(name) for name in ("innvestigate", "tensorflow", "keras", "numpy")}
    np.savez(os.path.join(HERE, "recorded", "innvestigate_{}.npz".format(provenance["innvestigate"][0])), images=images,
             classes=classes, provenance=np.frombuffer(json.dumps(provenance, sort_keys=True).encode(), np.uint8), **kept)


if __name__ == "__main__":
    main()
