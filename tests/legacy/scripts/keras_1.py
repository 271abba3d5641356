"""Keras 1.2 code: python keras_1.py OUTPUT.npz. Its arguments, its protocol for layers, a reversal of the gradient."""
import sys

import numpy as np
import tensorflow as tf
from keras import backend as K  # noqa: N812 (as Keras code has it)
from keras import initializations
from keras.constraints import maxnorm
from keras.engine import InputSpec
from keras.engine.topology import Layer, merge
from keras.layers import Input
from keras.layers import merge as merge_too
from keras.layers.convolutional import Convolution2D, MaxPooling2D
from keras.layers.core import Dense, Dropout, Flatten
from keras.models import Model, Sequential
from keras.optimizers import RMSprop
from keras.regularizers import l2
from keras.utils import np_utils

out = {}


def fill(model):
    weights = [weight for layer in model.layers for weight in layer.weights]
    for index, weight in enumerate(weights):
        K.set_value(weight, 0.3 * np.random.RandomState(index).randn(*weight.get_shape().as_list()))


class GradientReversal(Layer):
    def __init__(self, factor, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = False
        self.factor = factor

    def build(self, input_shape):
        self.trainable_weights = []

    def call(self, x, mask=None):
        @tf.RegisterGradient("Flip")
        def flip(op, grad):
            return [tf.negative(grad) * self.factor]

        with K.get_session().graph.gradient_override_map({"Identity": "Flip"}):
            return tf.identity(x)

    def get_output_shape_for(self, input_shape):
        return input_shape


class Mine(Layer):
    def __init__(self, output_dim, init="glorot_uniform", **kwargs):
        self.output_dim = output_dim
        self.init = initializations.get(init)
        self.input_spec = [InputSpec(ndim=2)]
        super().__init__(**kwargs)

    def build(self, input_shape):
        self.W = K.variable(np.ones((input_shape[1], self.output_dim)), name="W")
        self.trainable_weights = [self.W]
        self.built = True

    def call(self, x, mask=None):
        return K.dot(x, self.W)

    def get_output_shape_for(self, input_shape):
        return (input_shape[0], self.output_dim)


K.set_image_dim_ordering("tf")
out["ordering"] = np.array(K.image_dim_ordering() == "tf")
x = Input(shape=(8, 8, 3))
a = Convolution2D(4, 3, 3, border_mode="same", activation="relu", W_regularizer=l2(0.01), dim_ordering="tf")(x)
b = Convolution2D(nb_filter=4, nb_row=3, nb_col=3, border_mode="same", subsample=(1, 1), init="he_normal",
                  W_constraint=maxnorm(2))(x)
h = merge([a, b], mode="concat", concat_axis=3)
h = MaxPooling2D(pool_size=(2, 2), border_mode="valid")(merge_too([h, h], mode="sum"))
h = Mine(5)(GradientReversal(0.5)(Dropout(p=0.5)(Flatten()(h))))
model = Model(input=x, output=Dense(output_dim=3, init="uniform", activation="softmax", bias=True)(h))
fill(model)
images = np.random.RandomState(0).rand(4, 8, 8, 3).astype("float32")
out["predict"] = model.predict(images)
function = K.function([model.input, K.learning_phase()], [K.gradients(model.output[:, 1], model.input)[0]])
out["gradient"] = function([images, 0])[0]
out["trainable"] = np.array(len(model.trainable_weights))
one = Sequential()
one.add(Dense(output_dim=1, input_dim=3, init="glorot_uniform"))
fill(one)
one.compile(loss="mse", optimizer=RMSprop(lr=0.01))
z = np.random.RandomState(2).rand(6, 3)
out["loss"] = np.array(one.fit(z, z.sum(1, keepdims=True), nb_epoch=3, batch_size=6, verbose=0).history["loss"])
out["categorical"] = np_utils.to_categorical([1, 0, 2], 3)
np.savez(sys.argv[1], **out)
