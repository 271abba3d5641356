"""tf.contrib.rnn: the cells that TensorFlow still carries, and 1.x's private ``_linear``."""
from tensorflow.python.ops import rnn_cell_impl as _cells

from .._tf1 import tf

static_rnn = tf.nn.static_rnn
static_bidirectional_rnn = tf.nn.static_bidirectional_rnn
static_state_saving_rnn = tf.nn.static_state_saving_rnn
CoreRNNCell = RNNCell = _cells.RNNCell


class _Linear:
    """``_linear`` as an object: makes its variables at once, applies them when called."""

    def __init__(self, args, output_size, build_bias, bias_initializer=None, kernel_initializer=None):
        self._list = isinstance(args, (list, tuple))
        args = list(args) if self._list else [args]
        total = sum(a.get_shape().as_list()[1] for a in args)
        dtype = args[0].dtype
        with tf.variable_scope(tf.get_variable_scope()) as scope:
            self._weights = tf.get_variable("kernel", [total, output_size], dtype=dtype,
                                            initializer=kernel_initializer)
            self._biases = None
            if build_bias:
                scope.set_partitioner(None)
                self._biases = tf.get_variable("bias", [output_size], dtype=dtype,
                                               initializer=bias_initializer or tf.constant_initializer(0.0, dtype))

    def __call__(self, args):
        args = list(args) if self._list else [args]
        result = tf.matmul(args[0] if len(args) == 1 else tf.concat(args, 1), self._weights)
        return result if self._biases is None else tf.nn.bias_add(result, self._biases)


def _linear(args, output_size, bias, bias_initializer=None, kernel_initializer=None):
    """concat(args, 1) @ kernel + bias: variables ``kernel`` [sum of widths, output_size] and ``bias``."""
    return _Linear(args, output_size, bias, bias_initializer, kernel_initializer)(args)


def __getattr__(name):
    return getattr(tf.nn.rnn_cell, name)
