"""000_guided_relu.py with graphgrad: the same runs, the same numbers."""
import numpy as np
import tensorflow.compat.v1 as tf

import graphgrad as gg

tf.disable_v2_behavior()

VALUES = np.array([[-2., -1., 0., 1., 2., 3.]], np.float32)
WEIGHTS = np.array([[1., -1., 1., -1., 1., -1.]], np.float32)

x = tf.constant(VALUES, name="x")
plain_y = tf.nn.relu(x, name="plain_y")
ordinary = tf.gradients(tf.reduce_sum(plain_y * WEIGHTS), x, name="ordinary")[0]
with gg.guided_backprop().on(plain_y.graph):   # the Relu is there already: no rebuild
    guided = tf.gradients(tf.reduce_sum(plain_y * WEIGHTS), x, name="guided")[0]

batch = tf.placeholder(tf.float32, [None, 6], name="batch")
with gg.guided_backprop():
    works = tf.nn.relu(batch, name="works")
batch_guided = tf.gradients(tf.reduce_sum(works * WEIGHTS), batch, name="batch_guided")[0]

with tf.Session() as sess:
    sess.run(guided)
    sess.run(ordinary)
    sess.run([works, batch_guided], {batch: np.concatenate([VALUES, -VALUES])})
