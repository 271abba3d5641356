"""tf.contrib.rnn: the cells that TensorFlow still carries, and 1.x's private ``_linear``."""
from tensorflow.python.ops import rnn_cell_impl as _cells

from .._tf1 import tf

#: AutoGraph leaves TensorFlow's own cells as they are written, and contrib's were among them.
_as_written = tf.autograph.experimental.do_not_convert

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


def linear(args, output_size, bias, bias_start=0.0, scope=None):
    """TF 0.x's rnn_cell.linear: concat(args, 1) @ Matrix + Bias."""
    args = list(args) if isinstance(args, (list, tuple)) else [args]
    total = sum(a.get_shape().as_list()[1] for a in args)
    with tf.variable_scope(scope or "Linear"):
        result = tf.matmul(args[0] if len(args) == 1 else tf.concat(args, 1),
                           tf.get_variable("Matrix", [total, output_size]))
        return result if not bias else result + tf.get_variable(
            "Bias", [output_size], initializer=tf.constant_initializer(bias_start))


rnn = tf.nn.static_rnn
bidirectional_rnn = tf.nn.static_bidirectional_rnn


class OutputProjectionWrapper(RNNCell):
    """A cell whose output is projected to ``output_size``: variables kernel and bias."""

    def __init__(self, cell, output_size, activation=None, reuse=None):
        super().__init__(_reuse=reuse)
        self._cell, self._output_size, self._activation = cell, output_size, activation

    @property
    def state_size(self):
        """The cell's."""
        return self._cell.state_size

    @property
    def output_size(self):
        """That of the projection."""
        return self._output_size

    def zero_state(self, batch_size, dtype):
        """The cell's."""
        return self._cell.zero_state(batch_size, dtype)

    @_as_written
    def call(self, inputs, state):
        """(projected output, new state)."""
        output, state = self._cell(inputs, state)
        projected = _linear(output, self._output_size, True)
        return projected if self._activation is None else self._activation(projected), state


class InputProjectionWrapper(OutputProjectionWrapper):
    """A cell whose input is projected to ``num_proj``: variables kernel and bias."""

    def __init__(self, cell, num_proj, activation=None, input_size=None, reuse=None):
        super().__init__(cell, cell.output_size, activation, reuse)
        self._num_proj = num_proj

    @_as_written
    def call(self, inputs, state):
        """The cell's (output, new state) of the projected input."""
        projected = _linear(inputs, self._num_proj, True)
        return self._cell(projected if self._activation is None else self._activation(projected), state)


class LayerNormBasicLSTMCell(RNNCell):
    """An LSTM with layer normalization and recurrent dropout (arXiv:1607.06450, 1603.05118), as contrib's."""

    def __init__(self, num_units, forget_bias=1.0, input_size=None, activation=tf.tanh, layer_norm=True,
                 norm_gain=1.0, norm_shift=0.0, dropout_keep_prob=1.0, dropout_prob_seed=None, reuse=None):
        super().__init__(_reuse=reuse)
        self._num_units, self._forget_bias, self._activation = num_units, forget_bias, activation
        self._layer_norm, self._norm_gain, self._norm_shift = layer_norm, norm_gain, norm_shift
        self._keep_prob, self._seed = dropout_keep_prob, dropout_prob_seed

    @property
    def state_size(self):
        """(c, h)."""
        return tf.nn.rnn_cell.LSTMStateTuple(self._num_units, self._num_units)

    @property
    def output_size(self):
        """Units."""
        return self._num_units

    def _norm(self, x, scope, dtype):
        shape = x.get_shape()[-1:]
        with tf.variable_scope(scope):
            gamma = tf.get_variable("gamma", shape, dtype, tf.constant_initializer(self._norm_gain))
            beta = tf.get_variable("beta", shape, dtype, tf.constant_initializer(self._norm_shift))
        mean, variance = tf.nn.moments(x, [1], keep_dims=True)
        return tf.nn.batch_normalization(x, mean, variance, beta, gamma, 1e-12)

    @_as_written
    def call(self, inputs, state):
        """(h, (c, h))."""
        c, h = state
        args = tf.concat([inputs, h], 1)
        kernel = tf.get_variable("kernel", [args.get_shape()[-1], 4 * self._num_units], args.dtype)
        gates = tf.matmul(args, kernel)
        if not self._layer_norm:
            gates = tf.nn.bias_add(gates, tf.get_variable("bias", [4 * self._num_units], args.dtype))
        i, j, f, o = tf.split(value=gates, num_or_size_splits=4, axis=1)
        if self._layer_norm:
            i, j, f, o = (self._norm(gate, name, args.dtype) for gate, name in zip(
                (i, j, f, o), ("input", "transform", "forget", "output")))
        j = self._activation(j)
        if not isinstance(self._keep_prob, float) or self._keep_prob < 1:
            j = tf.nn.dropout(j, self._keep_prob, seed=self._seed)
        c = c * tf.sigmoid(f + self._forget_bias) + tf.sigmoid(i) * j
        if self._layer_norm:
            c = self._norm(c, "state", args.dtype)
        h = self._activation(c) * tf.sigmoid(o)
        return h, tf.nn.rnn_cell.LSTMStateTuple(c, h)


class NASCell(RNNCell):
    """The cell that neural architecture search found (arXiv:1611.01578), as contrib's."""

    def __init__(self, num_units, num_proj=None, use_bias=False, reuse=None, **kwargs):
        super().__init__(_reuse=reuse, **kwargs)
        self._num_units, self._num_proj, self._use_bias = num_units, num_proj, use_bias

    @property
    def state_size(self):
        """(c, m)."""
        return tf.nn.rnn_cell.LSTMStateTuple(self._num_units, self.output_size)

    @property
    def output_size(self):
        """That of the projection, or the units."""
        return self._num_units if self._num_proj is None else self._num_proj

    @_as_written
    def call(self, inputs, state):
        """(m, (c, m))."""
        c, m = state
        width = 8 * self._num_units
        recurrent = tf.matmul(m, tf.get_variable("recurrent_kernel", [self.output_size, width]))
        given = tf.matmul(inputs, tf.get_variable("kernel", [inputs.get_shape()[-1], width]))
        if self._use_bias:
            recurrent = tf.nn.bias_add(recurrent, tf.get_variable("bias", [width],
                                                                  initializer=tf.zeros_initializer()))
        m, x = tf.split(recurrent, 8, axis=1), tf.split(given, 8, axis=1)
        first = [tf.sigmoid(x[0] + m[0]), tf.nn.relu(x[1] + m[1]), tf.sigmoid(x[2] + m[2]), tf.nn.relu(x[3] * m[3]),
                 tf.tanh(x[4] + m[4]), tf.sigmoid(x[5] + m[5]), tf.tanh(x[6] + m[6]), tf.sigmoid(x[7] + m[7])]
        second = [tf.tanh(tf.tanh(first[0] * first[1]) + c), tf.tanh(first[2] + first[3]),
                  tf.tanh(first[4] * first[5]), tf.sigmoid(first[6] + first[7])]
        c = second[0] * second[1]
        m = tf.tanh(c * tf.tanh(second[2] + second[3]))
        if self._num_proj is not None:
            m = tf.matmul(m, tf.get_variable("projection_weights", [self._num_units, self._num_proj]))
        return m, tf.nn.rnn_cell.LSTMStateTuple(c, m)


def stack_bidirectional_dynamic_rnn(cells_fw, cells_bw, inputs, initial_states_fw=None, initial_states_bw=None,
                                    dtype=None, sequence_length=None, parallel_iterations=None, time_major=False,
                                    scope=None):
    """Bidirectional layers on top of each other: (outputs, states forward, states backward)."""
    states_fw, states_bw = [], []
    with tf.variable_scope(scope or "stack_bidirectional_rnn"):
        for index, (cell_fw, cell_bw) in enumerate(zip(cells_fw, cells_bw)):
            with tf.variable_scope("cell_{}".format(index)):
                outputs, (state_fw, state_bw) = tf.nn.bidirectional_dynamic_rnn(
                    cell_fw, cell_bw, inputs, sequence_length=sequence_length,
                    initial_state_fw=initial_states_fw[index] if initial_states_fw else None,
                    initial_state_bw=initial_states_bw[index] if initial_states_bw else None, dtype=dtype,
                    parallel_iterations=parallel_iterations, time_major=time_major)
                inputs = tf.concat(outputs, 2)
            states_fw.append(state_fw)
            states_bw.append(state_bw)
    return inputs, tuple(states_fw), tuple(states_bw)


def __getattr__(name):
    if hasattr(tf.nn, name):   # dynamic_rnn and its like, which 0.x kept here
        return getattr(tf.nn, name)
    return getattr(tf.nn.rnn_cell, name)
