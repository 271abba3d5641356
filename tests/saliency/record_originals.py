"""Records what the public originals compute on the shipped digits model, for test_originals.py to compare with.

    python tests/saliency/record_originals.py

In an environment of its own: tensorflow==2.15.1, saliency==0.2.1, tf-keras-vis==0.8.7. Noise is not left to chance: each
image's random stream is seeded as graphgrad seeds it, [0, number of the image].
"""
import os

os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"

import importlib.metadata
import json

import numpy as np
import saliency.tf1 as pair
import tensorflow as tf
from tf_keras_vis.gradcam import Gradcam
from tf_keras_vis.gradcam_plus_plus import GradcamPlusPlus
from tf_keras_vis.saliency import Saliency
from tf_keras_vis.utils.model_modifiers import GuidedBackpropagation
from tf_keras_vis.utils.scores import CategoricalScore

HERE = os.path.dirname(os.path.abspath(__file__))
DIGITS = os.path.join(HERE, "..", "..", "legacy_examples", "digits")
v1 = tf.compat.v1
NUMBERS = (0, 3, 7)


def read_digits():
    paths = [os.path.join(DIGITS, "digit_{}.png".format(number)) for number in NUMBERS]
    return np.stack([tf.io.decode_png(tf.io.read_file(path), channels=1).numpy() for path in paths]) / np.float32(255)


def restore():
    """(session, x, y, the class score of each image) of the checkpoint, with control flow and variables of TF 1."""
    graph = v1.Graph()
    with graph.as_default():
        saver = v1.train.import_meta_graph(os.path.join(DIGITS, "model.ckpt.meta"))
        session = v1.Session(graph=graph)
        session.run(v1.global_variables_initializer())   # PAIR saves the optimizer's variables too
        saver.restore(session, os.path.join(DIGITS, "model.ckpt"))
    return session, graph.get_tensor_by_name("images:0"), graph.get_tensor_by_name("logits:0")


def record_pair(images, kept):
    session, x, y = restore()
    layer = session.graph.get_tensor_by_name("Relu_1:0")
    for place, number in enumerate(NUMBERS):
        with session.graph.as_default():
            score = y[:, number]
        arguments = (session.graph, session, score, x)
        image = images[place]
        keep = {
            "gradient": pair.GradientSaliency(*arguments).GetMask(image),
            "guided_backprop": pair.GuidedBackprop(
                *arguments, tmp_ckpt_path=os.path.join(os.environ.get("TMPDIR", "/tmp"), "pair_ckpt")).GetMask(image, feed_dict={}),
            "integrated_gradients": pair.IntegratedGradients(*arguments).GetMask(image, x_steps=25, batch_size=25),
            "occlusion": pair.Occlusion(*arguments).GetMask(image, size=3),
            "grad_cam": pair.GradCam(*(arguments + (layer,))).GetMask(image, should_resize=False, three_dims=False),
        }
        for name, squared in (("smoothgrad", False), ("smoothgrad_squared", True)):
            np.random.seed([0, place])
            keep[name] = pair.GradientSaliency(*arguments).GetSmoothedMask(image, nsamples=25, magnitude=squared)
        for name, value in keep.items():
            kept.setdefault("pair/" + name, []).append(np.asarray(value, np.float32))


def keras_model():
    """The digits model as a Keras model, with its weights."""
    session, _, _ = restore()
    with session.graph.as_default():
        weights = session.run(v1.trainable_variables())
    model = tf.keras.Sequential([
        tf.keras.layers.Conv2D(weights[0].shape[-1], 3, padding="same", activation="relu", input_shape=(8, 8, 1)),
        tf.keras.layers.Conv2D(weights[2].shape[-1], 3, padding="same", activation="relu"),
        tf.keras.layers.MaxPooling2D(2),
        tf.keras.layers.Flatten(),
        tf.keras.layers.Dense(weights[4].shape[-1], activation="relu"),
        tf.keras.layers.Dense(10)])
    model.set_weights(weights)
    return model


def record_tf_keras_vis(images, kept):
    model = keras_model()
    score = CategoricalScore(list(NUMBERS))
    kept["tf_keras_vis/gradient"] = Saliency(model)(score, images, keepdims=True, normalize_map=False, gradient_modifier=None)
    kept["tf_keras_vis/guided_backprop"] = Saliency(model, model_modifier=GuidedBackpropagation(), clone=True)(
        score, images, keepdims=True, normalize_map=False, gradient_modifier=None)
    plain = dict(expand_cam=False, normalize_cam=False)
    kept["tf_keras_vis/grad_cam"] = Gradcam(model)(score, images, **plain)
    kept["tf_keras_vis/grad_cam_plus_plus"] = GradcamPlusPlus(model)(score, images, **plain)
    kept["tf_keras_vis/scores"] = model(images).numpy()[np.arange(len(NUMBERS)), NUMBERS]


def main():
    images = read_digits()
    kept = {}
    record_pair(images, kept)
    record_tf_keras_vis(images, kept)
    kept = {name: np.asarray(values, np.float32) for name, values in kept.items()}
    versions = {name: importlib.metadata.version(name) for name in ("tensorflow", "saliency", "tf-keras-vis", "numpy")}
    np.savez(os.path.join(HERE, "recorded", "originals.npz"), images=images, classes=np.asarray(NUMBERS),
             provenance=np.frombuffer(json.dumps(versions, sort_keys=True).encode(), np.uint8), **kept)
    for name, values in kept.items():
        print(name, values.shape, np.abs(values).max())


if __name__ == "__main__":
    main()
