"""tf.contrib.distributions: those that TensorFlow itself carries; install tensorflow_probability for the rest."""
from .._tf1 import tf


def __getattr__(name):
    return getattr(tf.distributions, name)
