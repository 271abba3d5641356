"""004_quantize.py with graphgrad."""
import numpy as np
import tensorflow.compat.v1 as tf

import graphgrad as gg

tf.disable_v2_behavior()


def quantize_first(x):
    with gg.straight_through("Sign"):
        return tf.sign(x) * tf.reduce_mean(tf.abs(x))


def quantize(x, override):
    E = tf.stop_gradient(tf.reduce_mean(tf.abs(x)))
    with override:
        return tf.sign(x / E) * E


x = tf.constant(np.array([-3., -0.5, 0.25, 1., 4.], np.float32), name="x")
weights = tf.constant(np.array([1., -2., 3., 0.5, -0.25], np.float32), name="weights")
clipped = gg.override_gradients({"Sign": gg.rules.straight_through_clipped_gradient(1.0)})
versions = [quantize_first(x), quantize(x, gg.straight_through("Sign")), quantize(x, clipped)]
with tf.Session() as sess:
    for y in versions:
        ones = tf.gradients(y, x)[0]
        weighted = tf.gradients(tf.reduce_sum(y * weights), x)[0]
        sess.run(y)
        sess.run(ones)
        sess.run(weighted)
