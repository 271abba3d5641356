"""tf.contrib.eager."""
from tensorflow.python.eager import backprop as _backprop
from tensorflow.python.ops.resource_variable_ops import ResourceVariable as Variable  # noqa: F401 (handed on)

from .._tf1 import tf

enable_eager_execution = tf.enable_eager_execution
executing_eagerly = tf.executing_eagerly
py_func = tf.py_function
GradientTape = tf.GradientTape
TensorSpec = tf.TensorSpec
Checkpoint = tf.train.Checkpoint
custom_gradient = tf.custom_gradient
make_template = tf.make_template
run = tf.app.run
gradients_function = _backprop.gradients_function
value_and_gradients_function = _backprop.val_and_grad_function
implicit_gradients = _backprop.implicit_grad
implicit_value_and_gradients = _backprop.implicit_val_and_grad
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


function = defun


def get_optimizer_variables(optimizer):
    """The variables that an optimizer keeps."""
    return optimizer.variables()


def list_devices():
    """The names of the devices."""
    return [device.name for device in tf.config.experimental.list_logical_devices()]
