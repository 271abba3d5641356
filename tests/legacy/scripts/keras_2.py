"""Standalone Keras 2.2 code: python keras_2.py OUTPUT.npz. Layers, gradients, functions, optimizers, a layer of its own."""
import sys

import numpy as np
import tensorflow as tf
from keras import backend as K  # noqa: N812 (as Keras code has it)
from keras import optimizers, regularizers
from keras.backend.tensorflow_backend import set_session
from keras.engine.topology import Layer
from keras.layers import Input
from keras.layers.advanced_activations import ELU, LeakyReLU, PReLU
from keras.layers.convolutional import Conv2D, MaxPooling2D
from keras.layers.core import Dense, Dropout, Flatten
from keras.layers.embeddings import Embedding
from keras.layers.merge import Concatenate
from keras.layers.normalization import BatchNormalization
from keras.layers.recurrent import GRU, LSTM
from keras.layers.wrappers import Bidirectional, TimeDistributed
from keras.models import Model, Sequential
from keras.utils.np_utils import to_categorical

out = {}
set_session(tf.Session())


def fill(model):
    weights = [weight for layer in model.layers for weight in layer.weights]
    for index, weight in enumerate(weights):
        value = 0.3 * np.random.RandomState(index).randn(*K.int_shape(weight))
        K.set_value(weight, np.abs(value) if "variance" in weight.name else value)


class Scale(Layer):
    def __init__(self, factor, **kwargs):
        self.factor = factor
        super().__init__(**kwargs)

    def build(self, input_shape):
        self.w = self.add_weight(name="w", shape=(input_shape[-1],), initializer="ones", trainable=True)
        super().build(input_shape)

    def call(self, x, mask=None):
        return x * self.w * self.factor

    def compute_output_shape(self, input_shape):
        return input_shape


x = Input(shape=(8, 8, 3))
h = MaxPooling2D()(BatchNormalization()(Conv2D(4, (3, 3), padding="same", activation="relu")(x)))
h = Scale(2.0)(PReLU()(LeakyReLU(0.1)(h)))
h = Flatten()(Dropout(0.5)(Concatenate()([h, ELU()(h)])))
model = Model(inputs=x, outputs=Dense(3, activation="softmax", kernel_regularizer=regularizers.l2(0.01))(h))
fill(model)
images = np.random.RandomState(0).rand(4, 8, 8, 3).astype("float32")
labels = to_categorical([0, 1, 2, 1], 3)
out["predict"] = model.predict(images)
function = K.function([model.input, K.learning_phase()], [K.gradients(model.output[:, 1], model.input)[0]])
out["gradient"] = function([images, 0])[0]
model.compile(loss="categorical_crossentropy", optimizer="adagrad", metrics=["accuracy"])
out["evaluate"] = np.array(model.evaluate(images, labels, verbose=0))

recurrent = Sequential()
recurrent.add(Embedding(10, 4, input_length=5))
recurrent.add(LSTM(3, return_sequences=True))
recurrent.add(GRU(3, return_sequences=True))
recurrent.add(TimeDistributed(Dense(2)))
recurrent.add(Bidirectional(LSTM(2)))
fill(recurrent)
out["recurrent"] = recurrent.predict(np.arange(10).reshape(2, 5))

one = Sequential()
one.add(Dense(1, input_shape=(3,)))
z = np.random.RandomState(2).rand(6, 3)
for optimizer in (optimizers.RMSprop(lr=0.01), optimizers.SGD(lr=0.05), "adagrad", "adadelta"):
    name = optimizer if isinstance(optimizer, str) else type(optimizer).__name__
    fill(one)
    one.compile(loss="mse", optimizer=optimizer)
    out["loss_" + name] = np.array([one.train_on_batch(z, z.sum(1, keepdims=True)) for _ in range(3)])
np.savez(sys.argv[1], **out)
