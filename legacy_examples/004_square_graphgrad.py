"""004_square.py with graphgrad."""
import numpy as np
import tensorflow.compat.v1 as tf

import graphgrad as gg

tf.disable_v2_behavior()

x = tf.constant(np.array([-3., 0., 0.5, 2.], np.float32), name="x")
ordinary = tf.gradients(tf.square(x), x)[0]
with gg.override_gradients({"Square": lambda op, grad: grad * 2}):
    y = tf.square(x, name="y")
twice = tf.gradients(y, x)[0]
with tf.Session() as sess:
    sess.run(ordinary)
    sess.run(twice)
