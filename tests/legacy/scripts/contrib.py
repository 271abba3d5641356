"""Parts of tf.contrib beside layers and slim, on fixed inputs: python contrib.py OUTPUT.npz."""
import os
import sys
import tempfile

import numpy as np
import tensorflow as tf
from tensorflow.contrib import framework, layers, legacy_seq2seq, rnn, seq2seq, slim
from tensorflow.contrib.rnn.python.ops import core_rnn_cell
from tensorflow.contrib.util import constant_value

out = {}


def array(*shape):
    return np.asarray(np.random.RandomState(len(shape) + sum(shape)).randn(*shape), np.float32)


def told(name, words):
    out[name] = np.array(list(words), dtype="S")


def raised(function, *arguments, **named):
    try:
        function(*arguments, **named)
    except Exception as error:
        return type(error).__name__
    return "nothing"


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


def regularizers():
    w, v = tf.constant(array(3, 4)), tf.constant(array(2))
    both = layers.l1_l2_regularizer(0.5, 0.25)
    told("regularizers", [raised(layers.l1_regularizer, 1), raised(layers.variance_scaling_initializer, mode="FAN"),
                          str(layers.l2_regularizer(0.0)(w)), str(layers.sum_regularizer([None])),
                          str(layers.sum_regularizer([layers.l2_regularizer(0.0)])(w))])
    tf.add_to_collection(tf.GraphKeys.WEIGHTS, v)
    return [both(w), layers.sum_regularizer([None, layers.l1_regularizer(0.1), layers.l2_regularizer(2.0)])(w),
            layers.apply_regularization(both, [w, v]), layers.apply_regularization(layers.l1_regularizer(0.3)),
            tf.add_n(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES))]


def smaller_layers():
    pictures, table = tf.constant(array(2, 5, 5, 3)), tf.constant(array(2, 6))
    open_size = tf.placeholder_with_default(array(2, 3, 2), [None, None, 2])
    found = [layers.separable_conv2d(pictures, None, 3, 2), layers.bias_add(pictures, tf.nn.relu),
             layers.softmax(tf.constant(array(2, 3, 4))), layers.one_hot_encoding(tf.constant([1, 0]), 3, 2.0, -1.0),
             layers.unit_norm(table, 1), layers.stack(table, layers.fully_connected, [4, (3, None)]),
             layers.embed_sequence(tf.constant([[1, 0], [3, 3]]), 4, 2), layers.flatten(open_size),
             layers.linear(table, 2), layers.relu6(4.0 * table, 2), layers.relu(table, 2),
             layers.fully_connected(tf.constant(array(2, 3, 4)), 2), layers.conv2d(pictures, 2, 3, padding="VALID", stride=[2, 1]),
             layers.conv1d(tf.constant(array(2, 5, 3)), 2, 3), layers.conv2d_transpose(pictures, 2, [3, 4], 2, "VALID"),
             layers.instance_norm(pictures, scale=False, activation_fn=tf.tanh), layers.dropout(table, is_training=False),
             layers.layer_norm(table, center=False), layers.max_pool2d(pictures, [2, 3], 1, "SAME"),
             layers.conv2d(pictures, 2, 1, biases_initializer=None, activation_fn=None, rate=2)]
    return found


def batch_norms():
    pictures, table = tf.constant(array(4, 3, 3, 2)), tf.constant(array(5, 3))
    training = tf.placeholder_with_default(True, [])
    found = [layers.batch_norm(table, scope="a"), layers.batch_norm(pictures, is_training=False, scale=True, scope="b"),
             layers.batch_norm(pictures, updates_collections=None, decay=0.5, scope="c"),
             layers.batch_norm(pictures, is_training=training, updates_collections=None, scope="d"),
             layers.batch_norm(table, fused=False, scope="e"), layers.batch_norm(pictures, fused=False, is_training=training, scope="f"),
             layers.batch_norm(pictures, center=False, activation_fn=tf.nn.relu, scope="g"),
             layers.batch_norm(tf.constant(array(2, 3, 4)), fused=False, is_training=False, data_format="NCHW", scope="h"),
             layers.batch_norm(pictures, fused=False, updates_collections=None, scope="i")]
    told("batch_norms/updates", [getattr(update, "op", update).type for update in tf.get_collection(tf.GraphKeys.UPDATE_OPS)])
    with tf.control_dependencies(found):
        return found + [tf.identity(variable) for variable in tf.get_collection("moving_average_variables")]


def optimizing():
    w = tf.get_variable("w", initializer=array(3))
    other = tf.get_variable("other", initializer=array(2))
    step = tf.train.get_or_create_global_step()

    def loss():
        return tf.reduce_sum(w * w) + tf.reduce_sum(other)

    trains = [
        layers.optimize_loss(loss(), step, 0.1, "Momentum", gradient_multipliers={"w:0": 0.5}, name="one"),
        layers.optimize_loss(loss(), step, 0.1, tf.train.GradientDescentOptimizer, variables=[w], name="two",
                             clip_gradients=lambda pairs: [(2.0 * gradient, v) for gradient, v in pairs]),
        layers.optimize_loss(loss(), None, None, lambda: tf.train.AdagradOptimizer(0.5), name="three"),
        layers.optimize_loss(loss(), step, 0.5, lambda rate: tf.train.GradientDescentOptimizer(rate), name="four",
                             learning_rate_decay_fn=lambda rate, step: rate / (1.0 + tf.cast(step, tf.float32)),
                             update_ops=[other.assign_add([1.0, 2.0])]),
        layers.optimize_loss(loss(), step, 0.5, tf.train.RMSPropOptimizer(0.1), name="five", increment_global_step=False),
        slim.learning.create_train_op(loss(), tf.train.GradientDescentOptimizer(0.1), variables_to_train=[w])]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for number, train in enumerate(trains):
            session.run(train)   # which returns the loss before the update, or after it, as the threads have it
            out["optimizing/after%d" % number] = np.concatenate(session.run([w, other]))
        out["optimizing/step"] = session.run(step)
    return []


def collections():
    table = tf.constant(array(2, 3))
    with slim.arg_scope([slim.fully_connected], outputs_collections="ends", activation_fn=None):
        y = slim.fully_connected(slim.fully_connected(table, 4, scope="first"), 2, scope="second")
        scope = slim.current_arg_scope()
    with slim.arg_scope(scope):
        z = slim.fully_connected(table, 2, scope="third")
    slim.utils.collect_named_outputs("ends", "mine", y)
    named = slim.utils.convert_collection_to_dict("ends", clear_collection=True)
    told("collections", list(named) + [str(slim.utils.last_dimension(table.get_shape())), str(len(tf.get_collection("ends"))),
                                       str(framework.has_arg_scope(slim.conv2d)), str(framework.has_arg_scope(told)),
                                       raised(lambda: slim.arg_scope([told], a=1).__enter__()),
                                       raised(lambda: slim.arg_scope(scope, a=1).__enter__())])
    return [y, z]


def getter(*args, **kwargs):
    told("getter", [str(kwargs.pop("reuse"))])
    return tf.get_variable(*args, **kwargs)


def variables():
    with tf.variable_scope("net") as scope:
        a = framework.model_variable("a/w", initializer=array(3), regularizer=layers.l2_regularizer(0.5))
        framework.variable("b", initializer=array(2), trainable=False, collections=["mine"],
                           custom_getter=getter)
        inside = framework.get_name_scope()
    framework.variable("b", initializer=array(4))
    framework.local_variable(array(1), name="local")
    found = [framework.get_variables(), framework.get_variables(scope), framework.get_variables("net", "w"),
             framework.get_model_variables(), framework.get_trainable_variables("net"), framework.get_local_variables(),
             framework.get_variables_by_name("b"), framework.get_variables_by_suffix("w"), tf.get_collection("mine"),
             framework.get_variables_to_restore(), framework.get_variables_to_restore(["net"], ["net/a"])]
    told("variables", [" ".join(v.name for v in part) for part in found] + [
        inside, raised(framework.get_unique_variable, "net/a"), str(framework.is_tensor(a)), str(framework.is_tensor(3)),
        str(framework.with_shape([3], tf.placeholder_with_default(array(3), [None])).get_shape()),
        str(framework.smart_constant_value(True)), str(framework.smart_cond(tf.constant(False), lambda: 1, lambda: 2))])
    path = os.path.join(tempfile.mkdtemp(), "model")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        tf.train.Saver([a]).save(session, path)
        for name, (op, feed) in (
                ("values", framework.assign_from_values({"net/a/w": 2 * array(3), "b": np.ones(4, np.float32)})),
                ("checkpoint", framework.assign_from_checkpoint(path, [a])),
                ("missing", framework.assign_from_checkpoint(path, framework.get_variables(), ignore_missing_vars=True))):
            session.run(op, feed)
            out["variables/" + name] = np.concatenate([session.run(v) for v in framework.get_variables()])
        framework.assign_from_values_fn({"b": 3 * array(4)})(session)
        framework.assign_from_checkpoint_fn(path, framework.get_variables(), ignore_missing_vars=True)(session)
        out["variables/functions"] = np.concatenate([session.run(v) for v in framework.get_variables()])
        told("variables/none", [str(framework.assign_from_checkpoint_fn(path, {"gone": a}, ignore_missing_vars=True))])
    return [a]


def sequences():
    logits, targets = [tf.constant(array(2, 4) * k) for k in (1.0, 2.0, 3.0)], [tf.constant([k, 3]) for k in range(3)]
    weights = [tf.constant([1.0, k]) for k in (1.0, 0.5, 0.0)]
    found = [seq2seq.sequence_loss(tf.stack(logits, 1), tf.stack(targets, 1), tf.stack(weights, 1), time, batch)
             for time, batch in ((True, True), (True, False), (False, True), (False, False))]

    def squared(labels, logits):
        return tf.reduce_sum(logits * logits, -1) * tf.cast(labels, tf.float32)

    found += [seq2seq.sequence_loss(tf.stack(logits, 1), tf.stack(targets, 1), tf.stack(weights, 1), softmax_loss_function=squared)]
    home = legacy_seq2seq
    return found + [home.sequence_loss_by_example(logits, targets, weights), home.sequence_loss(logits, targets, weights),
                    home.sequence_loss_by_example(logits, targets, weights, False, squared),
                    home.sequence_loss(logits, targets, weights, average_across_batch=False)]


def hyperparameters():
    h = tf.contrib.training.HParams(a=1, b=0.5, c="x", d=[1, 2], e=True)
    told("hyperparameters", [
        raised(h.add_hparam, "a", 2), raised(h.add_hparam, "f", []), raised(h.set_hparam, "d", 3), raised(h.set_hparam, "a", [3]),
        raised(h.set_hparam, "a", "seven"), raised(h.parse, "unknown=1"), raised(h.parse, "e=maybe"),
        str(h.parse("e=true,d=[5]").d), str(h.e), str(h.set_hparam("b", 2)), str(h.get("a", None)), str(h)])
    h.del_hparam("c")
    told("hyperparameters/left", sorted(h.values()))
    return []


def others():
    table = tf.contrib.lookup.MutableHashTable(tf.string, tf.int64, -1)
    area = tf.contrib.staging.StagingArea([tf.float32])
    put = area.put([tf.constant(3.0)])
    with tf.control_dependencies([table.insert(tf.constant(["a"]), tf.constant([5], tf.int64)), put]):
        found = [table.lookup(tf.constant(["a", "b"])), area.get()]
    rows = tf.data.Dataset.range(5).apply(tf.contrib.data.batch_and_drop_remainder(2))
    padded = tf.data.Dataset.range(5).map(lambda n: tf.fill([n], n)).apply(
        tf.contrib.data.padded_batch_and_drop_remainder(2, [None]))
    for data in (rows, padded):
        following = data.make_one_shot_iterator().get_next()
        found += [following]
    labels, predictions = tf.constant([1, 0, 1, 1]), tf.constant([1, 1, 1, 0])
    found += [tf.contrib.metrics.accuracy(predictions, labels, weights=tf.constant([1.0, 2.0, 3.0, 4.0])),
              tf.contrib.losses.mean_squared_error(tf.constant([1.0, 2.0]), tf.constant([3.0, 5.0]), weights=2.0),
              tf.contrib.losses.softmax_cross_entropy(logits=tf.constant(array(3, 4)), onehot_labels=tf.nn.softmax(array(3, 4)))]
    return found


for build in (losses, metrics, images, cells, tables, regularizers, smaller_layers, batch_norms, optimizing, collections,
              variables, sequences, hyperparameters, others):
    kept(build.__name__, build)
np.savez(sys.argv[1], **out)
