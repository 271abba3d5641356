"""tf.contrib.eager."""
from .._tf1 import tf

enable_eager_execution = tf.enable_eager_execution
executing_eagerly = tf.executing_eagerly
py_func = tf.py_function
GradientTape = tf.GradientTape
Variable = tf.Variable
in_eager_mode = tf.executing_eagerly


def in_graph_mode():
    """Whether graphs are built."""
    return not tf.executing_eagerly()


def num_gpus():
    """The number of GPUs."""
    return len(tf.config.experimental.list_physical_devices("GPU"))


def defun(function=None, **kwargs):
    """tf.function."""
    return tf.function(function, **kwargs)


def list_devices():
    """The names of the devices."""
    return [device.name for device in tf.config.experimental.list_logical_devices()]
