"""What old code imports most, each used once on fixed inputs: python listed.py OUTPUT.npz."""
import json
import os
import sys
import tempfile
import traceback

import numpy as np
import tensorflow as tf
import tensorflow.contrib.graph_editor as ge
from tensorflow.contrib import data as contrib_data
from tensorflow.contrib import eager as tfe
from tensorflow.contrib import framework, layers, rnn, seq2seq, slim
from tensorflow.contrib.distributions import kl_divergence
from tensorflow.contrib.framework import assign_from_checkpoint_fn, get_or_create_global_step, list_variables, nest
from tensorflow.contrib.graph_editor import reroute, select
from tensorflow.contrib.layers.python.layers import layers as layers_by_path
from tensorflow.contrib.training import HParams
from tensorflow.python.eager import context
from tensorflow.python.framework import ops
from tensorflow.python.ops import (
    control_flow_ops,
    gen_math_ops,
    gen_nn_ops,
    gen_state_ops,
    rnn_cell_impl,
    variables,
)
from tensorflow.python.training import training_ops

ds = tf.contrib.distributions
out, kept = {}, []


def array(*shape):
    return np.asarray(np.random.RandomState(len(shape) + sum(shape)).randn(*shape), np.float32)


def x(*shape):
    return tf.constant(array(*shape))


def keep(build):
    kept.append(build)
    return build


def private(module, name):
    """1.15 had dropped the underscores already."""
    bare = tf.__version__.startswith("1.") and not hasattr(module, "_" + name)
    return getattr(module, name if bare else "_" + name)


@keep
def tf_layers():
    home = tf.layers
    with home.experimental.keras_style_scope():
        pass
    made = [home.dense(x(2, 3), 4, tf.nn.tanh, kernel_regularizer=tf.nn.l2_loss), home.conv1d(x(2, 5, 3), 4, 3),
            home.conv2d(x(2, 5, 6, 3), 4, 3, 2, "same"), home.conv3d(x(1, 4, 4, 4, 2), 3, 2),
            home.conv2d_transpose(x(2, 3, 3, 2), 3, 3, 2), home.conv3d_transpose(x(1, 2, 2, 2, 2), 2, 2),
            home.separable_conv1d(x(2, 6, 3), 4, 3), home.separable_conv2d(x(2, 6, 6, 3), 4, 3, depth_multiplier=2),
            home.dropout(x(2, 3), 0.5, training=True, seed=3), home.flatten(x(2, 3, 4)),
            home.max_pooling1d(x(2, 6, 3), 2, 2), home.max_pooling2d(x(2, 6, 6, 3), 2, 2),
            home.max_pooling3d(x(1, 4, 4, 4, 2), 2, 2), home.average_pooling1d(x(2, 6, 3), 2, 2),
            home.average_pooling2d(x(2, 6, 6, 3), 3, 2, "same"), home.average_pooling3d(x(1, 4, 4, 4, 2), 2, 2),
            home.batch_normalization(x(4, 3), training=True), home.batch_normalization(x(2, 3, 3, 4), training=True)]
    return made + [tf.gradients(made[2], tf.trainable_variables()[4])[0]] + tf.get_collection("regularization_losses")


@keep
def tf_layers_objects():
    home = tf.layers
    made = [home.Dense(4)(x(2, 3)), home.Conv1D(4, 3)(x(2, 5, 3)), home.Conv2D(4, 3)(x(2, 5, 6, 3)),
            home.Conv3D(3, 2)(x(1, 4, 4, 4, 2)), home.Conv2DTranspose(3, 3)(x(2, 3, 3, 2)),
            home.Conv3DTranspose(2, 2)(x(1, 2, 2, 2, 2)), home.SeparableConv1D(4, 3)(x(2, 6, 3)),
            home.SeparableConv2D(4, 3)(x(2, 6, 6, 3)), home.Dropout(0.5, seed=3)(x(2, 3), training=True),
            home.Flatten()(x(2, 3, 4)), home.MaxPooling1D(2, 2)(x(2, 6, 3)), home.MaxPooling2D(2, 2)(x(2, 6, 6, 3)),
            home.MaxPooling3D(2, 2)(x(1, 4, 4, 4, 2)), home.AveragePooling1D(2, 2)(x(2, 6, 3)),
            home.AveragePooling2D(2, 2)(x(2, 6, 6, 3)), home.AveragePooling3D(2, 2)(x(1, 4, 4, 4, 2)),
            home.BatchNormalization()(x(4, 3), training=True)]

    class Doubled(home.Layer):
        def build(self, shape):
            self.input_spec = home.InputSpec(ndim=2)
            self.w = self.add_variable("w", [3])
            self.built = True

        def call(self, inputs):
            return 2.0 * inputs * self.w

    return made + [Doubled(name="doubled")(x(2, 3))]


@keep
def cells():
    home, found = tf.nn.rnn_cell, []

    class Sum(home.RNNCell):
        state_size = output_size = 3

        def call(self, inputs, state):
            return inputs + state, state + 1.0

    state = home.LSTMStateTuple(x(2, 4), 2.0 * x(2, 4))
    for number, (cell, before) in enumerate((
            (home.BasicRNNCell(4), x(2, 4)), (home.BasicLSTMCell(4), state), (home.GRUCell(4), x(2, 4)),
            (home.LSTMCell(4, use_peepholes=True, cell_clip=0.5, num_proj=3), home.LSTMStateTuple(x(2, 4), x(2, 3))),
            (home.MultiRNNCell([home.GRUCell(4), home.BasicLSTMCell(4)]), (x(2, 4), state)),
            (home.DropoutWrapper(home.GRUCell(4), input_keep_prob=0.5, seed=7), x(2, 4)),
            (home.ResidualWrapper(home.GRUCell(3)), x(2, 3)), (home.DeviceWrapper(home.GRUCell(4), "/cpu:0"), x(2, 4)),
            (Sum(), x(2, 3)))):
        with tf.variable_scope("c%d" % number):
            output, after = cell(x(2, 3), before)
        found += [output] + nest.flatten(after)
    steps = [x(2, 3), 2.0 * x(2, 3)]
    with tf.variable_scope("by_rnn"):
        outputs, state = rnn.static_rnn(rnn.BasicLSTMCell(3), steps, dtype=tf.float32)
        both = rnn.static_bidirectional_rnn(rnn.GRUCell(2), rnn.GRUCell(2), steps, dtype=tf.float32)[0]
        dynamic = tf.nn.dynamic_rnn(rnn.GRUCell(2), x(2, 3, 4), sequence_length=[2, 3], dtype=tf.float32)[0]
    gradient = tf.gradients(dynamic, [v for v in tf.trainable_variables() if "by_rnn/rnn/gru" in v.name])
    return found + outputs + list(state) + both + [dynamic] + gradient


@keep
def slim_set():
    @slim.add_arg_scope
    def scaled(inputs, by=1.0):
        return inputs * by

    with slim.arg_scope([slim.conv2d, slim.fully_connected], activation_fn=tf.nn.elu,
                        weights_regularizer=slim.l2_regularizer(0.1)), slim.arg_scope([scaled], by=3.0):
        made = [slim.conv2d(x(2, 5, 6, 3), 4, [3, 3], 2, normalizer_fn=slim.batch_norm), scaled(x(2, 3)),
                slim.fully_connected(x(2, 3), 4), slim.max_pool2d(x(2, 6, 6, 3), [2, 2]),
                slim.avg_pool2d(x(2, 6, 6, 3), 3, stride=2, padding="SAME"), slim.flatten(x(2, 3, 4)),
                slim.dropout(x(2, 3), 0.5, seed=4), slim.repeat(x(2, 3), 2, slim.fully_connected, 3, scope="r")]
    with framework.arg_scope([layers.batch_norm], is_training=True):
        made += [layers.batch_norm(x(4, 3), scale=True), layers.batch_norm(x(2, 3, 3, 4), 0.9, scale=True),
                 layers.batch_norm(x(2, 3, 3, 4), 0.9, scale=True, updates_collections=None),
                 layers.batch_norm(x(2, 3, 3, 4), 0.9, scale=True, updates_collections="others"),
                 layers.batch_norm(x(4, 3), scale=True, is_training=tf.placeholder_with_default(True, [])),
                 layers.layer_norm(x(4, 3)),
                 layers.fully_connected(x(2, 3), 2, weights_regularizer=layers.l1_regularizer(0.2))]
    made += [layers_by_path.conv2d(x(2, 5, 6, 3), 2, 3), layers.bias_add(x(2, 3)), layers.one_hot_encoding([1, 2], 3),
             layers.unit_norm(x(2, 3), 1), layers.softmax(x(2, 3)), layers.linear(x(2, 3), 2)]
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    out["slim_set/updates"] = np.array([type(update).__name__ == "Operation" for update in updates])
    return made + tf.get_collection("others") + tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)


@keep
def initializers():
    made = [layers.xavier_initializer(seed=1)([3, 4]), layers.xavier_initializer(False, seed=2)([3, 4]),
            layers.xavier_initializer_conv2d(seed=3)([3, 3, 2, 4])]
    for mode in ("FAN_IN", "FAN_OUT", "FAN_AVG"):
        made += [layers.variance_scaling_initializer(1.0, mode, uniform, seed=5)([3, 3, 2, 4])
                 for uniform in (False, True)]
    return made


@keep
def optimize():
    w = tf.get_variable("w", initializer=array(3))
    step = get_or_create_global_step()
    loss = layers.optimize_loss(tf.reduce_sum(w * w), step, 0.1, "SGD", clip_gradients=1.0)
    with tf.control_dependencies([loss]):
        after = tf.identity(w.read_value() if hasattr(w, "read_value") else w)
    return [after]


@keep
def framework_set():
    folder = tempfile.mkdtemp()
    with tf.Graph().as_default(), tf.Session() as session:
        tf.get_variable("a/w", initializer=array(3))
        session.run(tf.global_variables_initializer())
        path = tf.train.Saver().save(session, os.path.join(folder, "model"))
    out["list_variables"] = np.array([json.dumps([n, list(s)]) for n, s in list_variables(path)], dtype="S")
    with tf.Graph().as_default(), tf.Session() as session:
        got = framework.model_variable("a/w", [3])
        assign_from_checkpoint_fn(path, framework.get_model_variables())(session)
        out["assign_from_checkpoint_fn"] = session.run(got)
        out["get_unique_variable"] = np.array([framework.get_unique_variable("a/w").op.name], dtype="S")
    out["nest"] = np.array(nest.flatten(nest.map_structure(lambda v: v + 1, {"b": 1, "a": (2, [3])})))
    with framework.arg_scope([layers.fully_connected], activation_fn=None):
        made = layers.fully_connected(x(2, 3), 2)
    return [made, tf.constant(framework.load_variable(path, "a/w"))]


@keep
def hparams():
    h = HParams(a=1, b=0.5, c="x", d=[1, 2], e=True)
    h.add_hparam("f", 3)
    h.parse("a=7,d=[3,4,5],c=y,e=false").set_hparam("b", 2)
    h.override_from_dict({"f": 4})
    out["HParams"] = np.array([json.dumps(h.values(), sort_keys=True), h.to_json(sort_keys=True), str(h.get("q", 5)),
                               str("a" in h), str(HParams(u=2).parse_json('{"u": 6}').u)], dtype="S")
    return []


@keep
def eager_set():
    @tfe.custom_gradient
    def clipped(v):
        return tf.identity(v), lambda dy: tf.clip_by_value(dy, -0.5, 0.5)

    v = x(3)
    resource = tfe.Variable(array(3), name="resource")
    out["tfe"] = np.array([tfe.executing_eagerly(), tfe.in_eager_mode(), context.in_graph_mode() if hasattr(
        context, "in_graph_mode") else not context.executing_eagerly()])
    out["tfe.Variable"] = np.array([resource.op.type if hasattr(resource, "op") else ""], dtype="S")
    return [tf.gradients(3.0 * clipped(v), v)[0], tfe.defun(lambda t: t * 2.0)(v), tfe.py_func(lambda t: t + 1.0, [v],
                                                                                           tf.float32)]


@keep
def graph_editor():
    found = []
    a, b, c = (tf.placeholder_with_default(array(3) * k, [3], name=n) for k, n in ((1, "a"), (2, "b"), (3, "c")))
    with tf.name_scope("scope"):
        first = tf.exp(a, name="first")
        total = tf.add(first, b, name="total")
    end = tf.multiply(total, c, name="end")
    graph = tf.get_default_graph()
    names = [
        [op.name for op in select.select_ops("^scope/", graph=graph)],
        [op.name for op in ge.select_ops("(?#ts)first", "^end", total, first.op, graph=graph)],
        [op.name for op in ge.select_ops("^scope/", graph=graph, positive_filter=lambda op: op.type == "Exp")],
        [t.name for t in ge.select_ts("(?#ts)^scope/", graph=graph)],
        sorted(op.name for op in ge.get_forward_walk_ops(a.op)),
        sorted(op.name for op in ge.get_backward_walk_ops(total.op, inclusive=False)),
        sorted(op.name for op in ge.get_walks_intersection_ops(b.op, end.op)),
        sorted(op.name for op in ge.get_walks_union_ops(total.op, first.op)),
        sorted(op.name for op in ge.get_within_boundary_ops(graph, total.op, [first.op, end.op])),
        [op.name for op in ge.get_generating_ops([first, total])],
        [op.name for op in ge.get_consuming_ops([first, total])],
        [op.name for op in ge.get_name_scope_ops(graph, "scope")],
        [op.name for op in ge.filter_ops_from_regex(ge.make_list_of_op(graph), "fir|end")],
        [op.name for op in ge.filter_ops(graph.get_operations(), lambda op: op.type == "Mul")],
        [t.name for t in ge.make_list_of_t([first, total])],
        [t.name for t in ge.sgv_scope("scope", graph).inputs], [t.name for t in ge.sgv([first.op, total.op]).outputs]]
    out["graph_editor/names"] = np.array([json.dumps(n) for n in names], dtype="S")
    found += [ge.graph_replace(end, {a: tf.zeros([3])}), ge.graph_replace([total, end], {first: b})[1]]
    copies, info = ge.copy_with_input_replacements(ge.sgv([first.op, total.op]), {a: c}, dst_scope="copied")
    found += [info.transformed(total)]
    out["graph_editor/copied"] = np.array(sorted(t.name for t in copies.outputs), dtype="S")
    chain = [tf.identity(v, name="id%d" % i) for i, v in enumerate((a, b, c, a, b))]
    swapped, mixed = tf.add(chain[3], chain[4]), tf.subtract(chain[0], chain[1])
    out["graph_editor/changed"] = np.array([
        ge.reroute_ts([chain[2], chain[0]], [chain[0], chain[1]]),
        reroute.swap_ts([a], [b], can_modify=[chain[3].op, chain[4].op]),
        ge.swap_ts([chain[3]], [chain[4]])])
    copied = tf.exp(a + 1.0)
    ge.reroute_inputs([c], copied.op)
    other = tf.tanh(tf.sin(a, name="sin"))
    ge.reroute_outputs(ge.sgv(tf.cos(b, name="cos").op), ge.sgv(graph.get_operation_by_name("sin")))
    ge.add_control_inputs(other.op, total.op)
    ge.remove_control_inputs(other.op, total.op)
    return found + [swapped, mixed, copied, other]


@keep
def datasets():
    numbers = tf.data.Dataset.range(10)
    made = [numbers.apply(contrib_data.batch_and_drop_remainder(4)),
            numbers.batch(5).apply(contrib_data.unbatch()).batch(10),
            numbers.apply(contrib_data.map_and_batch(lambda v: v * v, 5)),
            numbers.apply(contrib_data.shuffle_and_repeat(4, 2, seed=5)).batch(20).map(tf.sort),
            numbers.apply(contrib_data.scan(tf.constant(0, tf.int64), lambda s, v: (s + v, s))).batch(10),
            numbers.apply(contrib_data.group_by_window(lambda v: v % 2, lambda k, d: d.batch(5), 5)),
            numbers.apply(contrib_data.enumerate_dataset()).map(lambda i, v: i * v).batch(10),
            numbers.apply(contrib_data.padded_batch_and_drop_remainder(5, [])),
            numbers.apply(contrib_data.parallel_interleave(lambda v: tf.data.Dataset.from_tensors(v), 2)).batch(10),
            contrib_data.Counter(3, 2).take(4).batch(4), numbers.apply(contrib_data.ignore_errors()).batch(10)]
    return [tf.data.make_one_shot_iterator(dataset).get_next() for dataset in made]


@keep
def decoding():
    embedding = tf.constant(array(6, 3))
    found = []
    for number, (helper, layer, more) in enumerate((
            (seq2seq.TrainingHelper(x(2, 4, 3), [4, 2]), None, {}),
            (seq2seq.TrainingHelper(x(2, 4, 3), [3, 2]), 6, {"impute_finished": True, "output_time_major": True}),
            (seq2seq.GreedyEmbeddingHelper(embedding, [1, 2], 3), 6, {"maximum_iterations": 7}),
            (seq2seq.GreedyEmbeddingHelper(lambda ids: tf.gather(embedding, ids), [1, 4], 0), 6,
             {"maximum_iterations": 5, "impute_finished": True}))):
        with tf.variable_scope("d%d" % number):
            cell = rnn.BasicLSTMCell(4)
            layer = layer and tf.layers.Dense(layer, use_bias=False)
            decoder = seq2seq.BasicDecoder(cell, helper, rnn.LSTMStateTuple(x(2, 4), x(2, 4)), layer)
            outputs, state, lengths = seq2seq.dynamic_decode(decoder, **more)
        found += [outputs.rnn_output, outputs.sample_id, lengths] + list(state)
        if number < 2:
            own = [v for v in tf.trainable_variables() if "d%d/" % number in v.name]
            found += tf.gradients(outputs.rnn_output, own)
    custom = seq2seq.CustomHelper(lambda: (tf.tile([False], [2]), x(2, 3)),
                                  lambda time, outputs, state: tf.argmax(outputs, 1, output_type=tf.int32),
                                  lambda time, outputs, state, sample_ids: (tf.fill([2], time >= 2), x(2, 3), state))
    with tf.variable_scope("custom"):
        outputs, _, lengths = seq2seq.dynamic_decode(seq2seq.BasicDecoder(rnn.GRUCell(4), custom, x(2, 4)))
    found += [outputs.rnn_output, outputs.sample_id, lengths]
    weights = tf.constant([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0]])
    found += [seq2seq.sequence_loss(x(2, 3, 4), tf.constant([[0, 1, 2], [3, 2, 1]]), weights)]
    return found + [seq2seq.tile_batch(x(2, 3), 2), seq2seq.hardmax(x(2, 3))]


@keep
def distributions():
    found = []
    for made, at in ((ds.Normal(0.5, [1.0, 2.0]), 0.3), (ds.Uniform(-1.0, 2.0), 0.3), (ds.Beta(2.0, 3.0), 0.3),
                     (ds.Gamma(2.0, 3.0), 0.3), (ds.Exponential(2.0), 0.3), (ds.Laplace(0.0, 2.0), 0.3),
                     (ds.StudentT(3.0, 0.0, 1.0), 0.3), (ds.Bernoulli(logits=0.4), 1),
                     (ds.Categorical(logits=[0.1, 0.2, 0.9]), 2), (ds.Dirichlet([1.0, 2.0, 3.0]), [0.2, 0.3, 0.5])):
        found += [made.log_prob(at), made.entropy()]
        if not isinstance(made, ds.Categorical):
            found += [made.mean(), made.variance()]
    found += [ds.Multinomial(4.0, probs=[0.2, 0.3, 0.5]).log_prob([1.0, 1.0, 2.0])]
    return found + [kl_divergence(ds.Normal(0.0, 1.0), ds.Normal(1.0, 2.0)), ds.Normal(0.0, 1.0).sample(3, seed=2)]


@keep
def private_names():
    nn = gen_nn_ops
    y = tf.nn.relu(x(1, 4, 4, 2))
    pooled, size = tf.nn.max_pool(y, [1, 2, 2, 1], [1, 2, 2, 1], "SAME"), [1, 2, 2, 1]
    made = [private(nn, "relu_grad")(x(2, 3), x(2, 3)), private(nn, "relu6_grad")(x(2, 3), 4 * x(2, 3)),
            private(nn, "elu_grad")(x(2, 3), tf.nn.elu(x(2, 3))),
            private(nn, "selu_grad")(x(2, 3), tf.nn.selu(x(2, 3))),
            private(nn, "softplus_grad")(x(2, 3), x(2, 3)), private(nn, "softsign_grad")(x(2, 3), x(2, 3)),
            private(nn, "max_pool_grad")(y, pooled, x(1, 2, 2, 2), size, size, "SAME"),
            private(nn, "avg_pool_grad")([1, 4, 4, 2], x(1, 2, 2, 2), size, size, "SAME"),
            private(nn, "lrn_grad")(x(1, 2, 2, 4), x(1, 2, 2, 4), tf.nn.lrn(x(1, 2, 2, 4)), 5, 1.0, 1.0, 0.5),
            private(gen_math_ops, "sigmoid_grad")(tf.sigmoid(x(2, 3)), x(2, 3)),
            private(gen_math_ops, "select")([True, False], x(2, 3), 2.0 * x(2, 3))]
    temporary = private(gen_state_ops, "temporary_variable")([3], tf.float32, var_name="kept")
    assigned = tf.assign(temporary, array(3), validate_shape=True)
    made += [gen_state_ops.destroy_temporary_variable(assigned, "kept")]
    made += [control_flow_ops.cond(tf.constant(False), lambda: x(3), lambda: 2.0 * x(3)),
             control_flow_ops.while_loop(lambda i: i < 5, lambda i: i + 2, [tf.constant(0)]),
             control_flow_ops.case([(tf.constant(True), lambda: x(3))], default=lambda: 3.0 * x(3))]
    if tf.__version__.startswith("1.") and not hasattr(rnn_cell_impl, "_linear"):
        from tensorflow.contrib.rnn.python.ops.core_rnn_cell import _linear
    else:
        _linear = rnn_cell_impl._linear
    made += [_linear([x(2, 3), x(2, 4)], 3, True, kernel_initializer=tf.constant_initializer(array(7, 3)))]
    variable = variables.RefVariable(array(3), name="ref")
    out["RefVariable"] = np.array([variable.op.type], dtype="S")
    descended = training_ops.apply_gradient_descent(variable, 0.5, tf.ones([3]))
    with tf.control_dependencies([descended]):
        made += [tf.identity(variable)]
    slices = ops.IndexedSlices(x(2, 3), tf.constant([0, 1]))
    op = tf.add(x(3), x(3), name="summed").op
    out["python_side"] = np.array([
        str(isinstance(x(3), ops.Tensor)), str(isinstance(slices, ops.IndexedSlices)), op._inputs[0].op.type,
        op._outputs[0].name, ops.IndexedSlicesValue(1, 2, 3)._fields[0]], dtype="S")
    return made


def run(name, build):
    with tf.Graph().as_default(), tf.Session() as session:
        fetches = build()
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        if name not in ("optimize", "private_names", "eager_set"):   # these set their variables themselves
            for variable in tf.trainable_variables():
                variable.load(0.5 * array(*variable.get_shape().as_list()), session)
        for index, value in enumerate(session.run(fetches)):
            out["%s/%d" % (name, index)] = np.asarray(value)
        out[name + "/variables"] = np.array([v.op.name for v in tf.global_variables()], dtype="S")


for build in kept:
    try:
        run(build.__name__, build)
    except Exception as error:   # the others are tried all the same
        traceback.print_exc()
        out["errors/" + build.__name__] = np.array([repr(error)], dtype="S")
np.savez(sys.argv[1], **out)
