"""The same with graphgrad: the model is called through an override, and is not touched."""
import importlib
import os
import sys

import numpy as np
import tensorflow as tf

import graphgrad as gg

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
question = importlib.import_module("002_guided_backprop_keras")

image = np.random.RandomState(0).rand(1, question.SIZE, question.SIZE, 3).astype(np.float32)
with tf.Graph().as_default(), tf.compat.v1.Session() as session:
    images = tf.constant(image)
    model = question.network()
    before = question.gradient(model, images, "ordinary")
    answer = question.gradient(gg.override_gradients({"Relu": "GuidedRelu"})(model), images, "answer_2")
    after = question.gradient(model, images, "answer_1")
    session.run(tf.compat.v1.global_variables_initializer())
    before, after, answer = session.run([before, after, answer])
print("the model itself is as it was:", bool((before == after).all()))
