"""A Keras model called under an override against the same model rewritten by hand with tf.custom_gradient.

    python -m tests.benchmarks.bench_keras
"""
import time

import numpy as np
import tensorflow as tf

import graphgrad as gg
from tests.benchmarks._side_by_side import figure, medians

SHAPE = (32, 32, 3)


@tf.custom_gradient
def guided_relu(x):
    y = tf.nn.relu(x)
    return y, lambda grad: tf.raw_ops.ReluGrad(gradients=tf.nn.relu(grad), features=y)


def guided(op, grad):
    return tf.raw_ops.ReluGrad(gradients=tf.nn.relu(grad), features=op.outputs[0])


def network(activation):
    layers = tf.keras.layers
    image = y = tf.keras.Input(SHAPE)
    for filters in (32, 64, 64, 128, 128):
        y = layers.Activation(activation)(layers.BatchNormalization()(layers.Conv2D(filters, 3, padding="same")(y)))
        y = layers.MaxPool2D(2)(y)
    return tf.keras.Model(image, layers.Dense(2)(layers.Dense(64, activation=activation)(layers.Flatten()(y))))


def gradient(call, images):
    with tf.GradientTape() as tape:
        tape.watch(images)
        score = call(images)
    return tape.gradient(score, images).numpy()


def main():
    images = tf.constant(np.random.RandomState(0).rand(8, *SHAPE).astype(np.float32))
    traces = []

    def counted(op, grad):
        traces.append(1)
        return guided(op, grad)

    def first(make):
        call = make()
        start = time.perf_counter()
        gradient(call, images)
        return time.perf_counter() - start

    model, rewritten = network("relu"), network(guided_relu)
    override = gg.override_gradients({"Relu": counted})
    ours, theirs = zip(*[(first(lambda: override(model)), first(lambda: tf.function(lambda x: rewritten(x)))) for _ in range(7)])
    figure("first call of override(model) / of the model rewritten by hand", np.median(ours[1:]) / np.median(theirs[1:]), "<= 1.3")

    called, by_hand = override(model), tf.function(lambda x: rewritten(x))
    times = medians({"ours": lambda: [gradient(called, images) for _ in range(5)],
                     "hand": lambda: [gradient(by_hand, images) for _ in range(5)]}, rounds=31)
    figure("each step after that", times["ours"] / times["hand"], "1.00")

    small = tf.keras.Sequential([tf.keras.layers.InputLayer((4,)), tf.keras.layers.Activation("relu")])
    called = override(small)
    inputs = [tf.constant(np.full((2, 4), number, np.float32)) for number in range(1000)]
    gradient(called, inputs[0])
    before = len(traces)
    for value in inputs:
        gradient(called, value)
    print("gradients traced anew in 1,000 calls with one signature: {}   wanted 0".format(len(traces) - before))


if __name__ == "__main__":
    main()
