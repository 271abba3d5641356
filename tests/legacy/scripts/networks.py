"""Written for TF 1.x: layers, slim and cells under a graph seed. Prints names and numbers as JSON.

Its output in ../old/networks.json was made by plain `python networks.py` on TF 1.15.5.
"""
import json
import sys

import numpy as np
import tensorflow as tf
import tensorflow.contrib.layers as layers
from tensorflow.contrib import slim

out = {}


def numbers(name, build):
    with tf.Graph().as_default() as graph:
        tf.set_random_seed(7)
        images = tf.constant(np.random.RandomState(0).randn(4, 8, 8, 3).astype(np.float32), name="images")
        y = build(images)
        loss = tf.reduce_mean(tf.square(y))
        train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
        updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            before = {v.name: float(np.abs(session.run(v)).sum()) for v in tf.global_variables()}
            first = session.run(y)
            session.run([train, updates])
            after = {v.name: float(np.abs(session.run(v)).sum()) for v in tf.global_variables()}
        out[name] = {
            "variables": [v.name for v in tf.global_variables()], "trainable": [v.name for v in tf.trainable_variables()],
            "updates": [op.name for op in updates], "output": y.name, "before": before, "after": after,
            "y": [float(np.abs(first).sum()), float(first.ravel()[0])],
            "losses": [loss.op.name for loss in tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)],
            "seeds": [[op.name, int(op.get_attr("seed2"))] for op in graph.get_operations()
                      if "seed2" in op.node_def.attr]}


def core(x):
    x = tf.layers.conv2d(x, 4, 3, padding="same", activation=tf.nn.relu)
    x = tf.layers.batch_normalization(x, training=True)
    x = tf.layers.max_pooling2d(x, 2, 2)
    x = tf.layers.conv2d(x, 4, 3, use_bias=False, name="again", kernel_regularizer=layers.l2_regularizer(0.1))
    x = tf.layers.batch_normalization(x, training=False)
    x = tf.layers.flatten(x)
    x = tf.layers.dropout(x, 0.5, training=True)
    x = tf.layers.dense(x, 5, activation=tf.nn.tanh)
    return tf.layers.batch_normalization(tf.layers.dense(x, 3), training=True, momentum=0.9)


def conditional(x):
    training = tf.placeholder_with_default(True, [])
    x = tf.layers.batch_normalization(tf.layers.conv2d(x, 2, 1), training=training)
    return tf.layers.batch_normalization(tf.layers.dense(tf.layers.flatten(x), 3), training=training)


def with_slim(x):
    with slim.arg_scope([slim.conv2d, slim.fully_connected], weights_regularizer=slim.l2_regularizer(0.01),
                        weights_initializer=slim.variance_scaling_initializer()):
        with slim.arg_scope([slim.conv2d], normalizer_fn=slim.batch_norm,
                            normalizer_params={"is_training": True, "scale": True}):
            x = slim.conv2d(x, 4, [3, 3], scope="first")
            x = slim.repeat(x, 2, slim.conv2d, 4, 3, scope="more")
        x = slim.max_pool2d(x, [2, 2])
        x = slim.avg_pool2d(x, [2, 2])
        x = slim.flatten(x)
        x = slim.dropout(x, 0.8)
        return slim.fully_connected(x, 5)


def with_contrib(x):
    x = layers.conv2d_transpose(x, 4, 3, stride=2)
    x = layers.instance_norm(x)
    x = layers.separable_conv2d(x, 4, 3, 1)
    x = layers.layer_norm(layers.flatten(x))
    x = layers.fully_connected(x, 6, activation_fn=None, weights_initializer=layers.xavier_initializer(uniform=False))
    return layers.batch_norm(x, is_training=True, updates_collections=None)


def cells(x):
    steps = tf.reshape(x, [4, 8, 24])
    a, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.BasicLSTMCell(5), steps, dtype=tf.float32)
    b, _ = tf.nn.dynamic_rnn(tf.contrib.rnn.GRUCell(5), steps, dtype=tf.float32, scope="gru")
    c, _ = tf.nn.static_rnn(tf.nn.rnn_cell.DropoutWrapper(tf.nn.rnn_cell.LSTMCell(5), output_keep_prob=0.5),
                            tf.unstack(steps, axis=1)[:2], dtype=tf.float32)
    return tf.layers.dense(tf.concat([a[:, -1], b[:, -1], c[-1]], 1), 2)


for build in (core, conditional, with_slim, with_contrib, cells):
    numbers(build.__name__, build)
json.dump(out, open(sys.argv[1], "w"), indent=1, sort_keys=True)
