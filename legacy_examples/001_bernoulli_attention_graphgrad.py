"""001_bernoulli_attention.py with graphgrad: the forward in TensorFlow, which the blog's author could not find a way for."""
import numpy as np
import tensorflow.compat.v1 as tf

import graphgrad as gg

tf.disable_v2_behavior()

FEATURES = np.arange(1., 7., dtype=np.float32).reshape(2, 3)
PROBABILITIES = np.array([[0.1, 0.5, 0.9], [0.3, 0.7, 0.99]], np.float32)
NOISE = np.random.RandomState(0).uniform(size=(2, 3)).astype(np.float32)


def sample_and_mask(p, features, u):
    return tf.cast(u < p, tf.float32) * features


def mask_backprop(op, grad):
    p, features, u = op.inputs
    return features * grad, tf.cast(u < p, tf.float32) * grad, None


p, features, u = tf.constant(PROBABILITIES), tf.constant(FEATURES), tf.constant(NOISE)
attended = gg.tf_func_with_grad(sample_and_mask, [p, features, u], grad=mask_backprop)
d_p, d_features = tf.gradients(tf.reduce_sum(tf.square(attended)), [p, features])
with tf.Session() as sess:
    sess.run(attended)
    sess.run(d_p)
    sess.run(d_features)
