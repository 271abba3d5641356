"""The shipped digits model as a Keras model, for the scripts that record what other libraries compute on it."""
import os

import tensorflow as tf

DIGITS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "legacy_examples", "digits")


def keras_digits(keras):
    """The model in a given Keras, with the weights of the checkpoint."""
    reader = tf.train.load_checkpoint(os.path.join(DIGITS, "model.ckpt"))
    names = ["conv1", "Variable", "conv2", "Variable_1", "dense1", "Variable_2", "dense2", "Variable_3"]
    layers = keras.layers
    model = keras.models.Sequential([
        layers.Conv2D(16, 3, padding="same", activation="relu", input_shape=(8, 8, 1)),
        layers.Conv2D(32, 3, padding="same", activation="relu"), layers.MaxPooling2D(2), layers.Flatten(),
        layers.Dense(64, activation="relu"), layers.Dense(10)])
    model.set_weights([reader.get_tensor(name) for name in names])
    return model
