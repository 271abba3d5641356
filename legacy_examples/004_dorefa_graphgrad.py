"""004_dorefa.py with graphgrad."""
import numpy as np
import tensorflow.compat.v1 as tf

import graphgrad as gg

tf.disable_v2_behavior()


def quantize(x, k):
    n = float(2 ** k - 1)
    with gg.straight_through("Round"):
        return tf.round(x * n) / n


def fw(x, bits):
    x = tf.tanh(x)
    x = x / tf.reduce_max(tf.abs(x)) * 0.5 + 0.5
    return 2 * quantize(x, bits) - 1


def fa(x, bits):
    return quantize(tf.clip_by_value(x, 0., 1.), bits)


x = tf.constant(np.array([[-1.5, -0.3, 0.], [0.2, 0.7, 1.3]], np.float32), name="x")
w = tf.constant(np.array([[0.5, -1.], [2., 0.1], [-0.7, 0.3]], np.float32), name="w")
out = tf.matmul(fa(x, 2), fw(w, 2), name="out")
d_x, d_w = tf.gradients(tf.reduce_sum(tf.square(out)), [x, w])
with tf.Session() as sess:
    sess.run(out)
    sess.run(d_x)
    sess.run(d_w)
