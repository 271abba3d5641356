"""tf.contrib.layers and tf.contrib.slim: the common set, with 1.15's variable and operation names."""
import collections as _collections
import functools

from .._tf1 import smart_cond, tf
from ..batch_norm import normalize
from . import arg_scopes
from .arg_scopes import add_arg_scope, arg_scope, has_arg_scope  # noqa: F401 (handed on)
from .framework import (  # noqa: F401 (handed on)
    assign_from_checkpoint,
    assign_from_checkpoint_fn,
    assign_from_values,
    assign_from_values_fn,
    create_global_step,
    get_local_variables,
    get_model_variables,
    get_or_create_global_step,
    get_trainable_variables,
    get_unique_variable,
    get_variables,
    get_variables_by_name,
    get_variables_by_suffix,
    get_variables_to_restore,
    local_variable,
    model_variable,
    variable,
)

# --- Initializers and regularizers ------------------------------------------------------------------------


def xavier_initializer(uniform=True, seed=None, dtype=tf.float32):
    """Glorot: variance 2 / (fan in + fan out)."""
    return variance_scaling_initializer(1.0, "FAN_AVG", uniform, seed, dtype)


xavier_initializer_conv2d = xavier_initializer


def variance_scaling_initializer(factor=2.0, mode="FAN_IN", uniform=False, seed=None, dtype=tf.float32):
    """Normal or uniform with variance factor / n; n is the fan in, the fan out or their mean. 1.15's numbers."""
    if mode not in ("FAN_IN", "FAN_OUT", "FAN_AVG"):
        raise TypeError("Unknown mode {} [FAN_IN, FAN_OUT, FAN_AVG]".format(mode))

    def initializer(shape, dtype=dtype, partition_info=None):
        shape = [int(side) for side in shape]
        fan_in = float(shape[-2]) if len(shape) > 1 else float(shape[-1])
        fan_out = float(shape[-1])
        for side in shape[:-2]:
            fan_in *= float(side)
            fan_out *= float(side)
        n = {"FAN_IN": fan_in, "FAN_OUT": fan_out, "FAN_AVG": (fan_in + fan_out) / 2.0}[mode]
        if uniform:
            limit = (3.0 * factor / n) ** 0.5
            return tf.random_uniform(shape, -limit, limit, dtype, seed=seed)
        return tf.truncated_normal(shape, 0.0, (1.3 * factor / n) ** 0.5, dtype, seed=seed)

    return initializer


def _regularizer(scale, scope, value):
    if isinstance(scale, int) and not isinstance(scale, bool):
        raise ValueError("scale cannot be an integer: {}".format(scale))
    if scale == 0.0:
        return lambda weights, name=None: None

    def regularize(weights, name=None):
        with tf.name_scope(scope, name, [weights]) as full:
            factor = tf.convert_to_tensor(scale, dtype=weights.dtype.base_dtype, name="scale")
            return tf.multiply(factor, value(weights), name=full)

    return regularize


def l1_regularizer(scale, scope=None):
    """Scale * sum |w|."""
    return _regularizer(scale, scope or "l1_regularizer", lambda w: tf.reduce_sum(tf.abs(w)))


def l2_regularizer(scale, scope=None):
    """Scale * sum w^2 / 2."""
    return _regularizer(scale, scope or "l2_regularizer", tf.nn.l2_loss)


def l1_l2_regularizer(scale_l1=1.0, scale_l2=1.0, scope=None):
    """Both."""
    return sum_regularizer([l1_regularizer(scale_l1), l2_regularizer(scale_l2)], scope or "l1_l2_regularizer")


def sum_regularizer(regularizer_list, scope=None):
    """The sum of several."""
    parts = [regularizer for regularizer in regularizer_list if regularizer is not None]
    if not parts:
        return None

    def regularize(weights):
        with tf.name_scope(scope, "sum_regularizer", [weights]) as full:
            values = [value for value in (part(weights) for part in parts) if value is not None]
            return tf.add_n(values, name=full) if values else None

    return regularize


def apply_regularization(regularizer, weights_list=None):
    """The sum of a regularizer over weights, added to REGULARIZATION_LOSSES."""
    weights_list = weights_list or tf.get_collection(tf.GraphKeys.WEIGHTS)
    total = tf.add_n([regularizer(weights) for weights in weights_list]) if weights_list else tf.constant(0.0)
    tf.add_to_collection(tf.GraphKeys.REGULARIZATION_LOSSES, total)
    return total


_XAVIER = xavier_initializer()
_ZEROS = tf.zeros_initializer()

# --- Layers -----------------------------------------------------------------------------------------------

def _collect(value, collections, alias=None):
    if collections:
        tf.add_to_collections(collections, value)
    if alias is not None:
        value.aliases = getattr(value, "aliases", []) + [alias]
    return value


def _for_variable(collections, name):
    return collections.get(name) if isinstance(collections, dict) else collections


def _parameter(scope, name, layer_name, shape, dtype, initializer, regularizer, trainable, collections):
    """A model variable; its regularization loss has the name that the core layer under it gave: kernel or bias."""
    known = len(tf.get_collection(tf.GraphKeys.GLOBAL_VARIABLES))
    made = model_variable(name, shape, dtype, initializer, None, trainable, _for_variable(collections, name))
    new = len(tf.get_collection(tf.GraphKeys.GLOBAL_VARIABLES)) > known
    if regularizer is not None and new:
        with tf.name_scope("{}{}/Regularizer/".format(scope.original_name_scope, layer_name)):
            loss = regularizer(made)
        if loss is not None:
            tf.add_to_collection(tf.GraphKeys.REGULARIZATION_LOSSES, loss)
    return made


def _pair(value, rank=2):
    return [value] * rank if isinstance(value, int) else list(value)


@add_arg_scope
def convolution(inputs, num_outputs, kernel_size, stride=1, padding="SAME", data_format=None, rate=1,
                activation_fn=tf.nn.relu, normalizer_fn=None, normalizer_params=None,
                weights_initializer=_XAVIER, weights_regularizer=None,
                biases_initializer=_ZEROS, biases_regularizer=None, reuse=None,
                variables_collections=None, outputs_collections=None, trainable=True, scope=None,
                conv_dims=None):
    """Convolution, bias or normalization, activation. Variables ``weights`` and ``biases``, scope ``Conv``."""
    with tf.variable_scope(scope, "Conv", [inputs], reuse=reuse) as sc:
        inputs = tf.convert_to_tensor(inputs)
        rank = inputs.get_shape().ndims - 2
        channels_first = bool(data_format and data_format.startswith("NC"))
        channels = inputs.get_shape().as_list()[1 if channels_first else -1]
        dtype = inputs.dtype.base_dtype
        weights = _parameter(sc, "weights", "kernel", _pair(kernel_size, rank) + [channels, num_outputs], dtype,
                             weights_initializer, weights_regularizer, trainable, variables_collections)
        finish = _Finish(sc, num_outputs, dtype, normalizer_fn, normalizer_params, biases_initializer,
                         biases_regularizer, variables_collections, trainable, activation_fn,
                         "NCHW" if channels_first else "NHWC")
        outputs = tf.nn.convolution(
            inputs, weights, padding.upper(), strides=_pair(stride, rank), dilation_rate=_pair(rate, rank),
            data_format=data_format, name={1: "conv1d", 2: "Conv2D", 3: "Conv3D"}[rank])
        return _collect(finish(outputs), outputs_collections, sc.name)


conv2d = conv3d = conv1d = conv = convolution2d = convolution3d = convolution1d = convolution


class _Finish:
    """What follows a layer's product: its bias, whose variable is made before the product, or a normalizer."""

    def __init__(self, scope, num_outputs, dtype, normalizer_fn, normalizer_params, biases_initializer,
                 biases_regularizer, variables_collections, trainable, activation_fn, data_format="NHWC"):
        self.normalize = normalizer_fn and functools.partial(normalizer_fn, **(normalizer_params or {}))
        self.biases = None
        if normalizer_fn is None and biases_initializer is not None:
            self.biases = _parameter(scope, "biases", "bias", [num_outputs], dtype, biases_initializer,
                                     biases_regularizer, trainable, variables_collections)
        self.activation = activation_fn
        self.data_format = data_format

    def __call__(self, outputs):
        if self.normalize is not None:
            outputs = self.normalize(outputs)
        elif self.biases is not None:
            outputs = tf.nn.bias_add(outputs, self.biases, data_format=self.data_format, name="BiasAdd")
        return self.activation(outputs) if self.activation is not None else outputs


@add_arg_scope
def conv2d_transpose(inputs, num_outputs, kernel_size, stride=1, padding="SAME", data_format="NHWC",
                     activation_fn=tf.nn.relu, normalizer_fn=None, normalizer_params=None,
                     weights_initializer=_XAVIER, weights_regularizer=None,
                     biases_initializer=_ZEROS, biases_regularizer=None, reuse=None,
                     variables_collections=None, outputs_collections=None, trainable=True, scope=None):
    """Transposed convolution. Variables ``weights`` [h, w, out, in] and ``biases``, scope ``Conv2d_transpose``."""
    with tf.variable_scope(scope, "Conv2d_transpose", [inputs], reuse=reuse) as sc:
        inputs = tf.convert_to_tensor(inputs)
        first = data_format == "NCHW"
        size, step = _pair(kernel_size), _pair(stride)
        static = inputs.get_shape().as_list()
        channels, sides = static[1 if first else 3], static[2:] if first else static[1:3]
        dtype = inputs.dtype.base_dtype
        weights = _parameter(sc, "weights", "kernel", size + [num_outputs, channels], dtype, weights_initializer,
                             weights_regularizer, trainable, variables_collections)
        finish = _Finish(sc, num_outputs, dtype, normalizer_fn, normalizer_params, biases_initializer,
                         biases_regularizer, variables_collections, trainable, activation_fn, data_format)
        more = [max(k - s, 0) if padding.upper() == "VALID" else 0 for k, s in zip(size, step)]
        dynamic = tf.shape(inputs)
        batch, height, width = [dynamic[i] for i in ((0, 2, 3) if first else (0, 1, 2))]
        wanted = [side * s + m if m else side * s for side, s, m in zip((height, width), step, more)]
        shape = [batch, num_outputs] + wanted if first else [batch] + wanted + [num_outputs]
        strides = [1, 1] + step if first else [1] + step + [1]
        shape = tf.stack(shape)
        _ = shape[0]   # 1.15 builds this, and counts it where op seeds are derived
        with tf.name_scope("conv2d_transpose"):   # taken by the core layer
            pass
        outputs = tf.nn.conv2d_transpose(inputs, weights, shape, strides, padding.upper(), data_format)
        known = [None if side is None else side * s + m for side, s, m in zip(sides, step, more)]
        outputs.set_shape([static[0], num_outputs] + known if first else [static[0]] + known + [num_outputs])
        return _collect(finish(outputs), outputs_collections, sc.name)


convolution2d_transpose = conv2d_transpose


@add_arg_scope
def separable_convolution2d(inputs, num_outputs, kernel_size, depth_multiplier=1, stride=1, padding="SAME",
                            data_format="NHWC", rate=1, activation_fn=tf.nn.relu, normalizer_fn=None,
                            normalizer_params=None, weights_initializer=_XAVIER,
                            pointwise_initializer=None, weights_regularizer=None,
                            biases_initializer=_ZEROS, biases_regularizer=None, reuse=None,
                            variables_collections=None, outputs_collections=None, trainable=True, scope=None):
    """Depthwise, then pointwise (unless num_outputs is None). Scope ``SeparableConv2d``."""
    with tf.variable_scope(scope, "SeparableConv2d", [inputs], reuse=reuse) as sc:
        inputs = tf.convert_to_tensor(inputs)
        channels = inputs.get_shape().as_list()[-1]
        dtype = inputs.dtype.base_dtype
        strides = [1] + _pair(stride) + [1]
        depthwise = _parameter(sc, "depthwise_weights", "depthwise_kernel",
                               _pair(kernel_size) + [channels, depth_multiplier], dtype, weights_initializer,
                               weights_regularizer, trainable, variables_collections)
        pointwise = None
        if num_outputs is not None:
            pointwise = _parameter(sc, "pointwise_weights", "pointwise_kernel",
                                   [1, 1, depth_multiplier * channels, num_outputs], dtype,
                                   pointwise_initializer or weights_initializer, weights_regularizer, trainable,
                                   variables_collections)
        finish = _Finish(sc, num_outputs or depth_multiplier * channels, dtype, normalizer_fn, normalizer_params,
                         biases_initializer, biases_regularizer, variables_collections, trainable, activation_fn)
        if pointwise is not None:
            outputs = tf.nn.separable_conv2d(inputs, depthwise, pointwise, strides, padding.upper(),
                                             rate=_pair(rate), name="separable_conv2d")
        else:
            outputs = tf.nn.depthwise_conv2d(inputs, depthwise, strides, padding.upper(), rate=_pair(rate))
        return _collect(finish(outputs), outputs_collections, sc.name)


separable_conv2d = separable_convolution2d


@add_arg_scope
def fully_connected(inputs, num_outputs, activation_fn=tf.nn.relu, normalizer_fn=None, normalizer_params=None,
                    weights_initializer=_XAVIER, weights_regularizer=None,
                    biases_initializer=_ZEROS, biases_regularizer=None, reuse=None,
                    variables_collections=None, outputs_collections=None, trainable=True, scope=None):
    """Matrix product with ``weights`` over the last axis, ``biases``, activation; scope ``fully_connected``."""
    with tf.variable_scope(scope, "fully_connected", [inputs], reuse=reuse) as sc:
        inputs = tf.convert_to_tensor(inputs)
        static = inputs.get_shape().as_list()
        dtype = inputs.dtype.base_dtype
        weights = _parameter(sc, "weights", "kernel", [static[-1], num_outputs], dtype, weights_initializer,
                             weights_regularizer, trainable, variables_collections)
        finish = _Finish(sc, num_outputs, dtype, normalizer_fn, normalizer_params, biases_initializer,
                         biases_regularizer, variables_collections, trainable, activation_fn)
        if len(static) > 2:
            outputs = tf.tensordot(inputs, weights, [[len(static) - 1], [0]])
            outputs.set_shape(static[:-1] + [num_outputs])
        else:
            outputs = tf.matmul(inputs, weights, name="MatMul")
        return _collect(finish(outputs), outputs_collections, sc.name)


def linear(*args, **kwargs):
    """fully_connected without activation."""
    return fully_connected(*args, **dict({"activation_fn": None}, **kwargs))


def relu(*args, **kwargs):
    """fully_connected with relu."""
    return fully_connected(*args, **dict({"activation_fn": tf.nn.relu}, **kwargs))


def relu6(*args, **kwargs):
    """fully_connected with relu6."""
    return fully_connected(*args, **dict({"activation_fn": tf.nn.relu6}, **kwargs))


def _channels(inputs, data_format):
    """(rank of the inputs, axis of their channels, number of channels)."""
    shape = inputs.get_shape().as_list()
    axis = 1 if data_format.startswith("NC") else len(shape) - 1
    return len(shape), axis, shape[axis]


@add_arg_scope
def batch_norm(inputs, decay=0.999, center=True, scale=False, epsilon=0.001, activation_fn=None,
               param_initializers=None, param_regularizers=None, updates_collections=tf.GraphKeys.UPDATE_OPS,
               is_training=True, reuse=None, variables_collections=None, outputs_collections=None, trainable=True,
               batch_weights=None, fused=None, data_format="NHWC", zero_debias_moving_mean=False, scope=None,
               renorm=False, renorm_clipping=None, renorm_decay=0.99, adjustment=None):
    """Batch normalization. Variables beta, gamma (if ``scale``), moving_mean, moving_variance; scope ``BatchNorm``.

    ``updates_collections=None`` updates the moving averages at once, before the outputs.
    """
    if batch_weights is not None or renorm or zero_debias_moving_mean or adjustment is not None:
        raise NotImplementedError("graphgrad's batch_norm has no batch_weights, renorm, zero_debias_moving_mean or "
                                  "adjustment; install tf_slim.")
    how = dict(param_initializers or {})
    regularizers = dict(param_regularizers or {})
    with tf.variable_scope(scope, "BatchNorm", [inputs], reuse=reuse) as sc:
        inputs = tf.convert_to_tensor(inputs)
        rank, axis, channels = _channels(inputs, data_format)
        dtype = inputs.dtype.base_dtype if inputs.dtype.base_dtype != tf.float16 else tf.float32
        flat = inputs
        as_pictures = rank == 2 and fused in (None, True)   # contrib fuses these too, as pictures of one pixel
        own = as_pictures or (rank == 4 and fused in (None, True) and updates_collections != tf.GraphKeys.UPDATE_OPS)
        if as_pictures:
            inputs, axis = tf.reshape(inputs, [-1, 1, 1, channels]), 3

        def parameter(name, initializer, wanted=True, learned=True):
            if not wanted:
                return None
            return model_variable(
                name, [channels], dtype, how.get(name, initializer), regularizers.get(name) if learned else None,
                learned and trainable, _for_variable(variables_collections, name))

        # contrib's own fused path builds beta first, the core layer, which the rest of it stood on, gamma.
        beta = parameter("beta", tf.zeros_initializer(), center and own)
        gamma = parameter("gamma", tf.ones_initializer(), scale)
        beta = beta if own else parameter("beta", tf.zeros_initializer(), center)
        mean = parameter("moving_mean", tf.zeros_initializer(), learned=False)
        variance = parameter("moving_variance", tf.ones_initializer(), learned=False)
        outputs, updates = normalize(inputs, axis, is_training, gamma, beta, mean, variance, decay, epsilon,
                                     as_pictures or (fused in (None, True) and rank == 4), core=not own)
        if updates and updates_collections is None:
            with tf.control_dependencies(updates):
                outputs = tf.identity(outputs)
        else:
            for update in updates:
                tf.add_to_collections(updates_collections, update if own else update.op)
        if as_pictures:
            outputs = tf.reshape(outputs, tf.shape(flat))
            outputs.set_shape(flat.get_shape())
        if activation_fn is not None:
            outputs = activation_fn(outputs)
        return _collect(outputs, outputs_collections, sc.name)


@add_arg_scope
def layer_norm(inputs, center=True, scale=True, activation_fn=None, reuse=None, variables_collections=None,
               outputs_collections=None, trainable=True, begin_norm_axis=1, begin_params_axis=-1, scope=None):
    """Normalize each example over its axes from ``begin_norm_axis``; variables beta, gamma; scope ``LayerNorm``."""
    with tf.variable_scope(scope, "LayerNorm", [inputs], reuse=reuse) as sc:
        inputs = tf.convert_to_tensor(inputs)
        rank = inputs.get_shape().ndims
        shape = inputs.get_shape()[begin_params_axis:]
        dtype = inputs.dtype.base_dtype
        beta = model_variable("beta", shape, dtype, tf.zeros_initializer(), None, trainable,
                              _for_variable(variables_collections, "beta")) if center else None
        gamma = model_variable("gamma", shape, dtype, tf.ones_initializer(), None, trainable,
                               _for_variable(variables_collections, "gamma")) if scale else None
        first = begin_norm_axis if begin_norm_axis >= 0 else rank + begin_norm_axis
        mean, variance = tf.nn.moments(inputs, list(range(first, rank)), keep_dims=True)
        outputs = tf.nn.batch_normalization(inputs, mean, variance, beta, gamma,
                                            1e-12 if dtype != tf.float16 else 1e-3)
        outputs.set_shape(inputs.get_shape())
        return _collect(activation_fn(outputs) if activation_fn else outputs, outputs_collections, sc.name)


@add_arg_scope
def instance_norm(inputs, center=True, scale=True, epsilon=1e-06, activation_fn=None, param_initializers=None,
                  reuse=None, variables_collections=None, outputs_collections=None, trainable=True,
                  data_format="NHWC", scope=None):
    """Normalize each channel of each example; variables beta, gamma; scope ``InstanceNorm``."""
    how = dict(param_initializers or {})
    with tf.variable_scope(scope, "InstanceNorm", [inputs], reuse=reuse) as sc:
        inputs = tf.convert_to_tensor(inputs)
        rank, axis, channels = _channels(inputs, data_format)
        spread = [1 if i != axis else channels for i in range(rank)]
        dtype = inputs.dtype.base_dtype
        beta = gamma = None
        if center:
            beta = model_variable("beta", [channels], dtype, how.get("beta", tf.zeros_initializer()), None, trainable)
        if scale:
            gamma = model_variable("gamma", [channels], dtype, how.get("gamma", tf.ones_initializer()), None, trainable)
        if axis == 1:
            beta, gamma = [None if each is None else tf.reshape(each, spread) for each in (beta, gamma)]
        mean, variance = tf.nn.moments(inputs, [i for i in range(1, rank) if i != axis], keep_dims=True)
        outputs = tf.nn.batch_normalization(inputs, mean, variance, beta, gamma, epsilon, name="instancenorm")
        outputs.set_shape(inputs.get_shape())
        return _collect(activation_fn(outputs) if activation_fn else outputs, outputs_collections, sc.name)


@add_arg_scope
def bias_add(inputs, activation_fn=None, initializer=_ZEROS, regularizer=None, reuse=None,
             variables_collections=None, outputs_collections=None, trainable=True, data_format="NHWC", scope=None):
    """Add a learned bias to each channel; variable biases, scope ``BiasAdd``."""
    with tf.variable_scope(scope, "BiasAdd", [inputs], reuse=reuse) as sc:
        inputs = tf.convert_to_tensor(inputs)
        size = inputs.get_shape().as_list()[1 if data_format.startswith("NC") else -1]
        biases = model_variable("biases", [size], inputs.dtype.base_dtype, initializer, regularizer, trainable,
                                variables_collections)
        outputs = tf.nn.bias_add(inputs, biases, data_format=data_format)
        return _collect(activation_fn(outputs) if activation_fn else outputs, outputs_collections, sc.name)


def _pool(kind, scope_name):
    @add_arg_scope
    def pool(inputs, kernel_size, stride=2, padding="VALID", data_format="NHWC", outputs_collections=None, scope=None):
        with tf.name_scope(scope, scope_name, [inputs]) as sc:
            inputs = tf.convert_to_tensor(inputs)
            around = (lambda sides: [1, 1] + sides) if data_format == "NCHW" else (lambda sides: [1] + sides + [1])
            outputs = kind(inputs, around(_pair(kernel_size)), around(_pair(stride)), padding.upper(),
                           data_format=data_format)
            return _collect(outputs, outputs_collections, sc.rstrip("/"))
    pool.__doc__ = "{} over [height, width].".format(scope_name)
    return pool


max_pool2d = _pool(tf.nn.max_pool, "MaxPool2D")
max_pool2d._key_op.__qualname__ = "max_pool2d"
avg_pool2d = _pool(tf.nn.avg_pool, "AvgPool2D")
avg_pool2d._key_op.__qualname__ = "avg_pool2d"


@add_arg_scope
def dropout(inputs, keep_prob=0.5, noise_shape=None, is_training=True, outputs_collections=None, scope=None,
            seed=None):
    """Keep each element with ``keep_prob``, scaled up, while training; scope ``Dropout``."""
    with tf.variable_scope(scope, "Dropout", [inputs]) as sc:
        inputs = tf.convert_to_tensor(inputs)
        with tf.name_scope("dropout"):   # taken by the core layer, so that the operations are in dropout_1
            pass
        outputs = smart_cond(
            is_training, lambda: tf.nn.dropout(inputs, rate=1 - keep_prob, noise_shape=noise_shape, seed=seed),
            lambda: tf.identity(inputs))
        return _collect(outputs, outputs_collections, sc.name)


@add_arg_scope
def flatten(inputs, outputs_collections=None, scope=None):
    """[batch, ...] to [batch, k]; scope ``Flatten``."""
    with tf.name_scope(scope, "Flatten", [inputs]) as sc, tf.name_scope("flatten"):
        inputs = tf.convert_to_tensor(inputs)
        sides = inputs.get_shape().as_list()
        size = 1
        for side in sides[1:]:
            size = None if None in (size, side) else size * side
        batch = sides[0] if sides[0] is not None else -1
        if size is None:
            outputs = tf.reshape(inputs, tf.stack([tf.shape(inputs)[0], -1]))
        else:
            outputs = tf.reshape(inputs, [batch, size])   # 1.15 has the shape as one constant too
        return _collect(outputs, outputs_collections, sc.rstrip("/"))


@add_arg_scope
def softmax(logits, scope=None):
    """Softmax over the last axis of a tensor of any rank; scope ``softmax``."""
    with tf.variable_scope(scope, "softmax", [logits]):
        size = logits.get_shape().as_list()[-1]
        predictions = tf.reshape(tf.nn.softmax(tf.reshape(logits, [-1, size])), tf.shape(logits))
        predictions.set_shape(logits.get_shape())
        return predictions


@add_arg_scope
def one_hot_encoding(labels, num_classes, on_value=1.0, off_value=0.0, outputs_collections=None, scope=None):
    """tf.one_hot; scope ``OneHotEncoding``."""
    with tf.name_scope(scope, "OneHotEncoding", [labels]):
        labels = tf.convert_to_tensor(labels)
        if labels.dtype == tf.int32:
            labels = tf.cast(labels, tf.int64)
        return _collect(tf.one_hot(labels, num_classes, on_value=on_value, off_value=off_value), outputs_collections)


@add_arg_scope
def unit_norm(inputs, dim, epsilon=1e-7, scope=None):
    """Divide by the length along ``dim``; scope ``UnitNorm``."""
    with tf.variable_scope(scope, "UnitNorm", [inputs]):
        return inputs / tf.sqrt(epsilon + tf.reduce_sum(tf.square(inputs), dim, True))


def stack(inputs, layer, stack_args, **kwargs):
    """Apply a layer again and again, with the arguments of each turn."""
    scope, reuse = kwargs.pop("scope", None), kwargs.pop("reuse", None)
    name = getattr(layer, "__name__", "Stack")
    with tf.variable_scope(scope, "Stack", [inputs], reuse=reuse):
        for index, args in enumerate(stack_args):
            args = args if isinstance(args, (list, tuple)) else [args]
            inputs = layer(inputs, *args, scope="{}_{}".format(name, index + 1), **kwargs)
        return inputs


def repeat(inputs, repetitions, layer, *args, **kwargs):
    """Apply a layer several times, each in a scope of its own."""
    scope = kwargs.pop("scope", None)
    name = getattr(layer, "__name__", None) or layer.func.__name__
    with tf.variable_scope(scope, "Repeat", [inputs]):
        for index in range(repetitions):
            inputs = layer(inputs, *args, **dict(kwargs, scope="{}_{}".format(scope or name, index + 1)))
        return inputs


@add_arg_scope
def embed_sequence(ids, vocab_size=None, embed_dim=None, unique=False, initializer=None, regularizer=None,
                   trainable=True, scope=None, reuse=None):
    """Embeddings of ids; variable embeddings, scope ``EmbedSequence``."""
    with tf.variable_scope(scope, "EmbedSequence", [ids], reuse=reuse):
        table = model_variable("embeddings", [vocab_size, embed_dim], None, initializer, regularizer, trainable)
        return tf.nn.embedding_lookup(table, ids)


# --- Optimizing -------------------------------------------------------------------------------------------

OPTIMIZER_SUMMARIES = ["learning_rate", "loss", "gradients", "gradient_norm", "global_gradient_norm"]
_OPTIMIZERS = {"Adagrad": "AdagradOptimizer", "Adam": "AdamOptimizer", "Ftrl": "FtrlOptimizer",
               "RMSProp": "RMSPropOptimizer", "SGD": "GradientDescentOptimizer",
               "Momentum": "MomentumOptimizer"}


def optimize_loss(loss, global_step, learning_rate, optimizer, gradient_noise_scale=None, gradient_multipliers=None,
                  clip_gradients=None, learning_rate_decay_fn=None, update_ops=None, variables=None, name=None,
                  summaries=None, colocate_gradients_with_ops=False, increment_global_step=True):
    """A train op that returns the loss. ``optimizer`` is a name, a class, a function of the rate, or an optimizer."""
    if gradient_noise_scale is not None:
        raise NotImplementedError("graphgrad's optimize_loss has no gradient_noise_scale; install tf_slim.")
    with tf.variable_scope(name, "OptimizeLoss", [loss, global_step]):
        if global_step is None:
            global_step = tf.train.get_global_step()
        update_ops = list(update_ops if update_ops is not None else tf.get_collection(tf.GraphKeys.UPDATE_OPS))
        if update_ops:
            with tf.control_dependencies(update_ops):
                loss = tf.identity(loss)
        rate = learning_rate
        if isinstance(learning_rate, float):
            rate = tf.get_variable("learning_rate", [], trainable=False,
                                   initializer=tf.constant_initializer(learning_rate))
        if learning_rate_decay_fn is not None:
            rate = learning_rate_decay_fn(rate, global_step)
        if isinstance(optimizer, str):
            opt = getattr(tf.train, _OPTIMIZERS[optimizer])(*([rate, 0.9] if optimizer == "Momentum" else [rate]))
        elif isinstance(optimizer, tf.train.Optimizer):
            opt = optimizer
        else:
            opt = optimizer(learning_rate=rate) if isinstance(optimizer, type) else (
                optimizer(rate) if rate is not None else optimizer())
        if variables is None:
            variables = tf.trainable_variables()
        gradients = opt.compute_gradients(loss, variables, colocate_gradients_with_ops=colocate_gradients_with_ops)
        if gradient_multipliers is not None:
            gradients = [(g * gradient_multipliers.get(v, gradient_multipliers.get(v.name, 1.0)), v) if g is not None
                         else (g, v) for g, v in gradients]
        if isinstance(clip_gradients, float):
            values, names = zip(*gradients)
            gradients = list(zip(tf.clip_by_global_norm(values, clip_gradients)[0], names))
        elif callable(clip_gradients):
            gradients = clip_gradients(gradients)
        update = opt.apply_gradients(gradients, global_step=global_step if increment_global_step else None,
                                     name="train")
        with tf.control_dependencies([update]):
            return tf.identity(loss)


class _Namespace:
    """A part of slim or contrib.layers that had a module of its own."""

    def __init__(self, **names):
        self.__dict__.update(names)


losses = tf.losses


def create_train_op(total_loss, optimizer, global_step=None, update_ops=None, variables_to_train=None, **kwargs):
    """slim.learning's: an op that updates, then gives the loss."""
    global_step = global_step if global_step is not None else tf.train.get_or_create_global_step()
    updates = list(update_ops if update_ops is not None else tf.get_collection(tf.GraphKeys.UPDATE_OPS))
    if updates:
        with tf.control_dependencies(updates):
            total_loss = tf.identity(total_loss)
    gradients = optimizer.compute_gradients(total_loss, variables_to_train or tf.trainable_variables())
    update = optimizer.apply_gradients(gradients, global_step=global_step)
    with tf.control_dependencies([update]):
        return tf.identity(total_loss, name="train_op")


learning = _Namespace(create_train_op=create_train_op)


def convert_collection_to_dict(collection, clear_collection=False):
    """{alias: tensor} of what layers put into a collection."""
    named = _collections.OrderedDict()
    for value in tf.get_collection(collection):
        for alias in getattr(value, "aliases", None) or [value.op.name]:
            named[alias] = value
    if clear_collection:
        tf.get_default_graph().clear_collection(collection)
    return named


def collect_named_outputs(collections, alias, outputs):
    """Put outputs into collections under an alias."""
    return _collect(outputs, collections, alias)


def last_dimension(shape, min_rank=1):
    """The size of the last axis."""
    return shape.as_list()[-1]


utils = _Namespace(convert_collection_to_dict=convert_collection_to_dict, collect_named_outputs=collect_named_outputs,
                   last_dimension=last_dimension, smart_cond=smart_cond)
initializers = _Namespace(xavier_initializer=xavier_initializer, xavier_initializer_conv2d=xavier_initializer,
                          variance_scaling_initializer=variance_scaling_initializer)
regularizers = _Namespace(l1_regularizer=l1_regularizer, l2_regularizer=l2_regularizer,
                          l1_l2_regularizer=l1_l2_regularizer, sum_regularizer=sum_regularizer,
                          apply_regularization=apply_regularization)
current_arg_scope = arg_scopes.current_arg_scope
