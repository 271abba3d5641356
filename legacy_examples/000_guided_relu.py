"""Guided backpropagation in TensorFlow, question and answer (seed 000), in the answer's own spelling.

Shows the registered GuidedRelu and the map; that a map put around tf.gradients alone does nothing; and that
the answer's tf.zeros(grad.get_shape()) fails where the batch size is unknown, with the form that works.
"""
import numpy as np
import tensorflow as tf
from tensorflow.python.framework import ops
from tensorflow.python.ops import gen_nn_ops

# The answer calls gen_nn_ops._relu_grad; TF 1.15 has it as relu_grad only.
_relu_grad = getattr(gen_nn_ops, "_relu_grad", None) or gen_nn_ops.relu_grad


@ops.RegisterGradient("GuidedRelu")
def _GuidedReluGrad(op, grad):
    return tf.where(0. < grad, _relu_grad(grad, op.outputs[0]), tf.zeros(grad.get_shape()))


@ops.RegisterGradient("GuidedReluAnyBatch")
def _GuidedReluAnyBatchGrad(op, grad):
    return tf.where(0. < grad, _relu_grad(grad, op.outputs[0]), tf.zeros_like(grad))


VALUES = np.array([[-2., -1., 0., 1., 2., 3.]], np.float32)
WEIGHTS = np.array([[1., -1., 1., -1., 1., -1.]], np.float32)

g = tf.get_default_graph()
x = tf.constant(VALUES, name="x")
with g.gradient_override_map({'Relu': 'GuidedRelu'}):
    y = tf.nn.relu(x, name="y")
guided = tf.gradients(tf.reduce_sum(y * WEIGHTS), x, name="guided")[0]

plain_y = tf.nn.relu(x, name="plain_y")
with g.gradient_override_map({'Relu': 'GuidedRelu'}):   # too late: the Relu is there already
    ordinary = tf.gradients(tf.reduce_sum(plain_y * WEIGHTS), x, name="ordinary")[0]

batch = tf.placeholder(tf.float32, [None, 6], name="batch")
with g.gradient_override_map({'Relu': 'GuidedRelu'}):
    fails = tf.nn.relu(batch)
try:
    tf.gradients(fails, batch)
except (ValueError, TypeError) as error:
    print("unknown batch size, tf.zeros(grad.get_shape()): " + str(error).split("\n")[0][:100])
with g.gradient_override_map({'Relu': 'GuidedReluAnyBatch'}):
    works = tf.nn.relu(batch, name="works")
batch_guided = tf.gradients(tf.reduce_sum(works * WEIGHTS), batch, name="batch_guided")[0]

with tf.Session() as sess:
    print("guided  ", sess.run(guided))
    print("ordinary", sess.run(ordinary))
    print("batch   ", sess.run([works, batch_guided], {batch: np.concatenate([VALUES, -VALUES])})[1])
