"""Custom Gradients in TensorFlow (seed 004): quantize, in its three versions, with the E problem in numbers.

XNOR's backward is meant to be the identity, so the gradient of sum(quantize(x)) should be 1 everywhere. The first
version gives E (the sign's straight-through gradient times E) plus sum(sign(x)) * sign(x) / n (through the mean);
the second gives 1; the third puts a gradient of one's own in place of the identity: here the gradient, clipped.
"""
import numpy as np
import tensorflow as tf

G = tf.get_default_graph()


def quantize_first(x):
    with G.gradient_override_map({"Sign": "Identity"}):
        E = tf.reduce_mean(tf.abs(x))
        return tf.sign(x) * E


def quantize_second(x):
    with G.gradient_override_map({"Sign": "Identity"}):
        E = tf.stop_gradient(tf.reduce_mean(tf.abs(x)))
        return tf.sign(x / E) * E


@tf.RegisterGradient("QuantizeGrad")
def quantize_grad(op, x):
    return tf.clip_by_value(x, -1., 1.)


def quantize_third(x):
    with G.gradient_override_map({"Sign": "QuantizeGrad"}):
        E = tf.stop_gradient(tf.reduce_mean(tf.abs(x)))
        return tf.sign(x / E) * E


x = tf.constant(np.array([-3., -0.5, 0.25, 1., 4.], np.float32), name="x")
weights = tf.constant(np.array([1., -2., 3., 0.5, -0.25], np.float32), name="weights")
versions = [quantize_first(x), quantize_second(x), quantize_third(x)]
with tf.Session() as sess:
    for number, y in enumerate(versions):
        ones = tf.gradients(y, x)[0]
        weighted = tf.gradients(tf.reduce_sum(y * weights), x)[0]
        print("version %d: value %s" % (number + 1, sess.run(y)))
        print("   gradient of the sum %s" % sess.run(ones))
        print("   weighted            %s" % sess.run(weighted))
