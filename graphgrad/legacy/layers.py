"""tf.layers where Keras 3 is installed: what TensorFlow still carries, and the batch normalization that it does not.

Stands on tensorflow.python.layers.layers and the Keras that is vendored under it, on TF 2.16 to 2.21.
"""
import types

from tensorflow.python.keras.engine.input_spec import InputSpec
from tensorflow.python.keras.legacy_tf_layers import base
from tensorflow.python.layers import layers as _carried
from tensorflow.python.ops import init_ops, variable_scope

from ._tf1 import tf
from .batch_norm import normalize

Layer = base.Layer
#: tf.layers.experimental.
experimental = types.SimpleNamespace(keras_style_scope=base.keras_style_scope, set_keras_style=base.set_keras_style)


class BatchNormalization(Layer):
    """TF 1.15's tf.layers.BatchNormalization, without renorm and virtual batches.

    Variables gamma, beta, moving_mean, moving_variance, in that order; the updates of the moving averages go into the
    collection UPDATE_OPS. 4-D inputs normalized over their channels use FusedBatchNormV3, as on 1.15.
    """

    def __init__(self, axis=-1, momentum=0.99, epsilon=1e-3, center=True, scale=True,
                 beta_initializer=None, gamma_initializer=None,
                 moving_mean_initializer=None, moving_variance_initializer=None,
                 beta_regularizer=None, gamma_regularizer=None, beta_constraint=None, gamma_constraint=None,
                 renorm=False, renorm_clipping=None, renorm_momentum=0.99, fused=None, trainable=True,
                 virtual_batch_size=None, adjustment=None, name=None, **kwargs):
        super().__init__(trainable=trainable, name=name, **kwargs)
        if renorm or virtual_batch_size is not None or adjustment is not None:
            raise NotImplementedError(
                "graphgrad's batch_normalization has no renorm, virtual_batch_size or adjustment; install tf_keras.")
        self.axis = axis
        self.momentum = momentum
        self.epsilon = epsilon
        self.center = center
        self.scale = scale
        self.fused = fused
        self._how = {
            "gamma": (gamma_initializer or init_ops.ones_initializer(), gamma_regularizer, gamma_constraint),
            "beta": (beta_initializer or init_ops.zeros_initializer(), beta_regularizer, beta_constraint),
            "moving_mean": (moving_mean_initializer or init_ops.zeros_initializer(), None, None),
            "moving_variance": (moving_variance_initializer or init_ops.ones_initializer(), None, None)}

    def build(self, input_shape):
        """Make the variables."""
        axis = self.axis[0] if isinstance(self.axis, (list, tuple)) else self.axis
        rank = len(input_shape)
        self._axis = axis + rank if axis < 0 else axis
        size = tf.TensorShape(input_shape)[self._axis]
        size = getattr(size, "value", size)
        if size is None:
            raise ValueError("The size of axis {} of the input must be known, but the shape is {}.".format(
                self._axis, input_shape))
        self.input_spec = InputSpec(ndim=rank, axes={self._axis: size})
        if self.fused in (None, True):
            self.fused = rank == 4 and self._axis in (1, 3)
        for name, wanted in (("gamma", self.scale), ("beta", self.center), ("moving_mean", True),
                             ("moving_variance", True)):
            setattr(self, name, self._variable(name, size) if wanted else None)
        self.built = True

    def _variable(self, name, size):
        initializer, regularizer, constraint = self._how[name]
        moving = name.startswith("moving")
        dtype = "float32" if self.dtype in (None, "float16", "bfloat16") else self.dtype
        return self.add_weight(
            name=name, shape=[size], dtype=dtype, initializer=initializer, regularizer=regularizer,
            constraint=constraint, trainable=not moving,
            synchronization=(variable_scope.VariableSynchronization.ON_READ if moving
                             else variable_scope.VariableSynchronization.AUTO),
            aggregation=(variable_scope.VariableAggregation.MEAN if moving
                         else variable_scope.VariableAggregation.NONE))

    def call(self, inputs, training=False):
        """Normalize [batch, ..., channels, ...]; ``training`` is a bool or a boolean tensor."""
        outputs, updates = normalize(inputs, self._axis, training, self.gamma, self.beta, self.moving_mean,
                                     self.moving_variance, self.momentum, self.epsilon, self.fused)
        for update in updates:
            self.add_update(update)
        return outputs

    def compute_output_shape(self, input_shape):
        """The input's."""
        return input_shape


def batch_normalization(inputs, axis=-1, momentum=0.99, epsilon=1e-3, center=True, scale=True,
                        beta_initializer=None, gamma_initializer=None, moving_mean_initializer=None,
                        moving_variance_initializer=None, beta_regularizer=None, gamma_regularizer=None,
                        beta_constraint=None, gamma_constraint=None, training=False, trainable=True, name=None,
                        reuse=None, renorm=False, renorm_clipping=None, renorm_momentum=0.99, fused=None,
                        virtual_batch_size=None, adjustment=None):
    """TF 1.15's tf.layers.batch_normalization."""
    layer = BatchNormalization(
        axis=axis, momentum=momentum, epsilon=epsilon, center=center, scale=scale, beta_initializer=beta_initializer,
        gamma_initializer=gamma_initializer, moving_mean_initializer=moving_mean_initializer,
        moving_variance_initializer=moving_variance_initializer, beta_regularizer=beta_regularizer,
        gamma_regularizer=gamma_regularizer, beta_constraint=beta_constraint, gamma_constraint=gamma_constraint,
        renorm=renorm, renorm_clipping=renorm_clipping, renorm_momentum=renorm_momentum, fused=fused,
        trainable=trainable, virtual_batch_size=virtual_batch_size, adjustment=adjustment, name=name,
        dtype=inputs.dtype.base_dtype, _reuse=reuse, _scope=name)
    return layer.apply(inputs, training=training)


def __getattr__(name):
    return getattr(_carried, name)
