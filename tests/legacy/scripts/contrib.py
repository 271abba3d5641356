"""Parts of tf.contrib beside layers and slim, on fixed inputs: python contrib.py OUTPUT.npz."""
import sys

import numpy as np
import tensorflow as tf
from tensorflow.contrib import legacy_seq2seq, rnn
from tensorflow.contrib.rnn.python.ops import core_rnn_cell
from tensorflow.contrib.util import constant_value

out = {}


def array(*shape):
    return np.asarray(np.random.RandomState(len(shape) + sum(shape)).randn(*shape), np.float32)


def kept(name, build):
    with tf.Graph().as_default(), tf.Session() as session:
        fetches = build()
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer(), tf.tables_initializer()])
        for variable in tf.trainable_variables():
            variable.load(0.5 * array(*variable.get_shape().as_list()), session)
        for index, value in enumerate(session.run(fetches)):
            out["%s/%d" % (name, index)] = np.asarray(value)
        out[name + "/variables"] = np.array([variable.op.name for variable in tf.trainable_variables()], dtype="S")


def losses():
    labels, predictions = tf.nn.softmax(tf.constant(array(3, 4))), tf.nn.sigmoid(tf.constant(2 * array(3, 4)))
    home = tf.contrib.losses
    return [home.log_loss(predictions, labels), home.mean_squared_error(predictions, labels, 2.0),
            home.softmax_cross_entropy(tf.constant(array(3, 4)), labels), home.get_total_loss(),
            home.sigmoid_cross_entropy(tf.constant(array(3, 4)), tf.round(labels)),
            home.hinge_loss(predictions, tf.round(labels)), home.cosine_distance(predictions, labels, 1),
            home.sparse_softmax_cross_entropy(tf.constant(array(3, 4)), tf.constant([0, 2, 1]))]


def metrics():
    labels, predictions = tf.constant([1, 0, 1, 1]), tf.constant([1, 1, 1, 0])
    home = tf.contrib.metrics
    return [home.accuracy(predictions, labels), home.streaming_accuracy(predictions, labels)[1],
            home.streaming_recall(predictions, labels)[1], home.streaming_precision(predictions, labels)[1],
            home.streaming_mean(tf.constant([1.0, 4.0]))[1]]


def images():
    pictures = tf.constant(array(2, 5, 6, 3))
    home = tf.contrib.image
    return [home.rotate(pictures, 0.4), home.rotate(pictures, [0.4, -1.0], interpolation="BILINEAR"),
            home.translate(pictures, [1.0, -2.0]), home.transform(pictures, [1.0, 0.2, -1.0, 0.1, 0.9, 0.0, 0.0, 0.0]),
            tf.gradients(home.rotate(pictures, 0.4, "BILINEAR"), pictures)[0], home.rotate(pictures[0, :, :, 0], 0.4)]


def cells():
    steps = [tf.constant(array(2, 3)) for _ in range(3)]
    found = []
    for number, cell in enumerate((rnn.LayerNormBasicLSTMCell(4), rnn.NASCell(4, use_bias=True, num_proj=3),
                                   rnn.LayerNormBasicLSTMCell(4, layer_norm=False),
                                   core_rnn_cell.OutputProjectionWrapper(rnn.GRUCell(4), 2),
                                   rnn.InputProjectionWrapper(rnn.BasicRNNCell(4), 5))):
        with tf.variable_scope("c%d" % number):
            found += [rnn.static_rnn(cell, steps, dtype=tf.float32)[0][-1]]
    with tf.variable_scope("decoder"):
        found += [legacy_seq2seq.rnn_decoder(steps, tf.zeros([2, 4]), rnn.GRUCell(4))[0][-1]]
    with tf.variable_scope("looped"):
        found += [legacy_seq2seq.rnn_decoder(steps, tf.zeros([2, 3]), rnn.GRUCell(3), lambda y, _: 2. * y)[0][-1]]
    found += [legacy_seq2seq.basic_rnn_seq2seq(steps, steps, rnn.GRUCell(4))[0][-1]]
    outputs = rnn.stack_bidirectional_dynamic_rnn([rnn.GRUCell(2), rnn.GRUCell(3)], [rnn.GRUCell(2), rnn.GRUCell(3)],
                                                  tf.constant(array(2, 3, 4)), dtype=tf.float32)
    return found + [outputs[0], tf.gradients(found[0], tf.trainable_variables()[0])[0]]


def tables():
    table = tf.contrib.lookup.HashTable(tf.contrib.lookup.KeyValueTensorInitializer(
        tf.constant([1, 2], tf.int64), tf.constant([10, 20], tf.int64)), -1)
    assert constant_value(tf.constant(3)) == 3
    return [table.lookup(tf.constant([2, 3], tf.int64))]


for build in (losses, metrics, images, cells, tables):
    kept(build.__name__, build)
np.savez(sys.argv[1], **out)
