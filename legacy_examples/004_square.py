"""Custom Gradients in TensorFlow (seed 004): the gradient of Square.

As written, @tf.RegisterGradient("Square") raises: TensorFlow has registered Square itself. And "grad * 2" lacks the
factor x. Registered under a name of its own and mapped, it does what is written.
"""
import numpy as np
import tensorflow as tf

try:
    @tf.RegisterGradient("Square")
    def _square_grad(op, grad):
        return grad * 2
except KeyError as error:
    print("as written: %s..." % str(error)[:60])


@tf.RegisterGradient("TwiceTheGradient")
def _twice_grad(op, grad):
    return grad * 2


x = tf.constant(np.array([-3., 0., 0.5, 2.], np.float32), name="x")
ordinary = tf.gradients(tf.square(x), x)[0]
with tf.get_default_graph().gradient_override_map({"Square": "TwiceTheGradient"}):
    y = tf.square(x, name="y")
twice = tf.gradients(y, x)[0]
with tf.Session() as sess:
    print("2x       ", sess.run(ordinary))
    print("overriden", sess.run(twice))
