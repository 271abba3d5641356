"""001_add_grad.py with graphgrad, in both forms: numpy forward (py_func) and TensorFlow forward (tf_func).

The same gradient function serves both. The tf_func runs are checked against the py_func runs in place.
"""
import numpy as np
import tensorflow.compat.v1 as tf

import graphgrad as gg

tf.disable_v2_behavior()

STEPS = 5
C, K = np.array([0.05, -0.1], np.float32), np.array([0.15, 0.02], np.float32)


def backprop_func(op, grad):
    c, k, d = op.inputs
    e = tf.add(c, k)
    return (e + d) * grad, d * grad, e * grad


def right_backprop_func(op, grad):
    return grad, grad, tf.zeros_like(op.inputs[2])


def numpy_form(c, k, d, backprop):
    return gg.py_func_with_grad(lambda c, k, d: c + k, [c, k, d], tf.float32, grad=backprop,
                                output_shapes=lambda c, k, d: c)


def tf_form(c, k, d, backprop):
    return gg.tf_func_with_grad(lambda c, k, d: tf.add(c, k), [c, k, d], grad=backprop)


def train(backprop, form, run):
    with tf.Graph().as_default() as graph, tf.Session(graph=graph) as sess:
        labels_ph = tf.placeholder(shape=(2), dtype=tf.int32)
        b_ph = tf.placeholder(shape=(2), dtype=tf.float32)
        c, k = tf.Variable(C), tf.Variable(K)
        d = tf.add(b_ph, c)
        e = tf.add(c, k) if backprop is None else form(c, k, d, backprop)
        loss = tf.losses.softmax_cross_entropy(logits=tf.multiply(d, e), onehot_labels=labels_ph)
        opt = tf.train.AdamOptimizer(learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=0.1)
        grads = opt.compute_gradients(loss, tf.trainable_variables())
        train_op = opt.apply_gradients(grads)
        feed = {labels_ph: [0, 1], b_ph: [1, 2]}
        run(sess, tf.global_variables_initializer())
        results = [run(sess, [grad for grad, _ in grads], feed)]
        results += [run(sess, [loss, train_op], feed)[:1] for _ in range(STEPS)]
        return np.concatenate([np.ravel(value) for row in results + [run(sess, [c, k])] for value in row])


def session_run(sess, *arguments):
    return sess.run(*arguments)


def unrecorded_run(sess, fetches, feed=None):
    """No part of the old results: what it returns is compared here, with the py_func form."""
    with gg.golden.unrecorded():
        return sess.run(fetches, feed)


for backprop in (None, backprop_func, right_backprop_func):
    recorded = train(backprop, numpy_form, session_run)
    other = train(backprop, tf_form, unrecorded_run)
    np.testing.assert_array_equal(recorded, other)
    print(backprop.__name__ if backprop else "plain tf.add", recorded)
