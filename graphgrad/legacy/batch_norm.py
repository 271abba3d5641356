"""Batch normalization as TF 1.15 builds it, operation for operation: for tf.layers and tf.contrib.layers."""
from tensorflow.python.framework import ops, tensor_util

from ._tf1 import smart_cond, tf


def normalize(inputs, axis, training, gamma, beta, moving_mean, moving_variance, momentum, epsilon, fused, core=True):
    """Batch normalization over ``axis``; returns (outputs, [update of the mean, update of the variance]).

    Without updates where ``training`` is False for certain. The operations are those of TF 1.15: of its core layer, or,
    with ``core=False``, of contrib's own fused one.
    """
    channels = moving_mean.get_shape()[0]
    if fused:
        data_format = "NHWC" if axis == 3 else "NCHW"
        weight = gamma if gamma is not None else tf.constant(1.0, shape=[channels])
        offset = beta if beta is not None else tf.constant(0.0, shape=[channels])

        def train():
            return tf.nn.fused_batch_norm(inputs, weight, offset, epsilon=epsilon, data_format=data_format)

        def infer():
            return tf.nn.fused_batch_norm(inputs, weight, offset, mean=moving_mean, variance=moving_variance,
                                          epsilon=epsilon, is_training=False, data_format=data_format)

        outputs, mean, variance = smart_cond(training, train, infer)
    else:
        others = [index for index in range(inputs.get_shape().ndims) if index != axis]
        shape = [1] * inputs.get_shape().ndims
        shape[axis] = channels
        last = axis == inputs.get_shape().ndims - 1

        def spread(value):
            return value if value is None or last else tf.reshape(value, shape)

        if _certain(training) is False:
            mean, variance = moving_mean, moving_variance
        else:
            batch_mean, batch_variance = tf.nn.moments(inputs, others, keep_dims=False)
            mean = smart_cond(training, lambda: batch_mean, lambda: moving_mean)
            variance = smart_cond(training, lambda: batch_variance, lambda: moving_variance)
        outputs = tf.nn.batch_normalization(inputs, spread(mean), spread(variance), spread(beta), spread(gamma),
                                            epsilon)
        outputs.set_shape(inputs.get_shape())
    certain = _certain(training)
    if fused and core and certain is False:
        tf.convert_to_tensor(momentum)   # 1.15 builds it, and counts it where op seeds are derived
    if certain is False:
        return outputs, []
    if fused and not core:
        return outputs, list(smart_cond(
            training, lambda: (_moving_average(moving_mean, mean, momentum),
                               _moving_average(moving_variance, variance, momentum)),
            lambda: (moving_mean, moving_variance)))
    if fused:
        rate = tf.convert_to_tensor(momentum) if certain else smart_cond(training, lambda: momentum, lambda: 1.0)
        return outputs, [_moving_average(moving_mean, mean, rate), _moving_average(moving_variance, variance, rate)]

    def update(variable, value):
        return smart_cond(training, lambda: _moving_average(variable, value, momentum), lambda: variable)

    return outputs, [update(moving_mean, mean), update(moving_variance, variance)]


def _certain(training):
    if isinstance(training, (bool, int)):
        return bool(training)
    value = tensor_util.constant_value(training)
    return None if value is None else bool(value)


def _moving_average(variable, value, momentum):
    with tf.name_scope("AssignMovingAvg", values=[variable, value, momentum]) as scope:
        with ops.colocate_with(variable):
            decay = tf.convert_to_tensor(1.0 - momentum, name="decay")
            if decay.dtype != variable.dtype.base_dtype:
                decay = tf.cast(decay, variable.dtype.base_dtype)
            return tf.assign_sub(variable, (variable - tf.cast(value, variable.dtype.base_dtype)) * decay, name=scope)
