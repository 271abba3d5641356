"""Old names, each used once; prints a JSON object from what was tried to what came of it. TF 0.12 to 1.15 spellings."""
import json
import sys
import warnings

import numpy as np
import tensorflow as tf
import tensorflow.contrib.graph_editor as ge
from tensorflow.contrib.framework import nest
from tensorflow.contrib.training import HParams
from tensorflow.python.eager import context
from tensorflow.python.framework import ops
from tensorflow.python.ops import control_flow_ops, gen_math_ops, gen_nn_ops, gen_state_ops, rnn_cell_impl, variables
from tensorflow.python.training import training_ops
from tensorflow.python.util import all_util

out = {}
session = tf.Session()
a, b = tf.constant([1., 2.]), tf.constant([3., 5.])


def tried(name, value):
    if isinstance(value, (tf.Tensor, tf.Operation)):
        value = session.run(value)
    out[name] = value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value


tried("mul", tf.mul(a, b))
tried("sub", tf.sub(a, b))
tried("neg", tf.neg(a))
tried("pack", tf.pack([a, b]))
tried("unpack", tf.unpack(a)[1])
tried("select", tf.select([True, False], a, b))
tried("batch_matmul", tf.batch_matmul([[[1., 2.]]], [[[3.], [4.]]]))
tried("concat", tf.concat(0, [a, b]))
tried("concat_new", tf.concat([a, b], 0))
tried("split", tf.split(0, 2, a)[1])
tried("split_new", tf.split(a, 2, 0)[1])
tried("reverse", tf.reverse(a, [True]))
tried("reverse_new", tf.reverse(a, [0]))
logits, labels = tf.constant([[2., 1.]]), tf.constant([[1., 0.]])
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    tried("cross_entropy", tf.nn.softmax_cross_entropy_with_logits(logits, labels))
    tried("sparse_cross_entropy", tf.nn.sparse_softmax_cross_entropy_with_logits(logits, tf.constant([0])))
    tried("sparse_new_order", tf.nn.sparse_softmax_cross_entropy_with_logits(tf.constant([0]), logits))
    tried("sigmoid_targets", tf.nn.sigmoid_cross_entropy_with_logits(logits=logits, targets=labels))
tried("told", [str(w.message).split(": ", 1)[1][:60] for w in told if "position" in str(w.message)])
tried("cross_entropy_named", tf.nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits))
tf.scalar_summary("loss", a[0])
tf.histogram_summary("h", a)
tried("merge_all_summaries", len(session.run(tf.merge_all_summaries())) > 10)
tried("SummaryWriter", tf.train.SummaryWriter is tf.summary.FileWriter)
v = variables.RefVariable(1.0, name="ref")
session.run(tf.initialize_all_variables())
tried("all_variables", [x.name for x in tf.all_variables()])
tried("relu_grad", gen_nn_ops._relu_grad(a, b))
tried("max_pool_grad", gen_nn_ops._max_pool_grad.__name__.lstrip("_"))
tried("tanh_grad", gen_math_ops._tanh_grad(a, b))
tried("temporary", gen_state_ops._temporary_variable.__name__.lstrip("_"))
tried("Tensor", isinstance(a, ops.Tensor))
tried("IndexedSlices", ops.IndexedSlices.__name__)
with ops.op_scope([a], None, "scope") as scope:
    tried("op_scope", scope)
tried("cond", control_flow_ops.cond(tf.constant(True), lambda: a, lambda: b))
tried("training_ops", hasattr(training_ops, "apply_gradient_descent") or hasattr(training_ops, "ApplyGradientDescent"))
tried("in_graph_mode", context.in_graph_mode())
tried("remove_undocumented", callable(all_util.remove_undocumented))
tried("_inputs", [x.name for x in tf.add(a, b, name="s").op._inputs])
tried("_linear", rnn_cell_impl._linear([tf.ones([2, 3])], 4, True).get_shape().as_list())
tried("python", hasattr(tf, "python"))
tried("HParams", HParams(x=1, y=0.5, z=[1, 2]).parse("x=3,z=[4,5]").values())
tried("nest", nest.flatten({"b": 1, "a": [2, 3]}))
x = tf.placeholder(tf.float32, [2], name="in")
y = tf.exp(tf.square(x, name="squared") + 1., name="end")
tried("graph_replace", ge.graph_replace(y, {y.op.inputs[0]: tf.zeros([2])}))
tried("backward_walk", sorted(op.type for op in ge.get_backward_walk_ops(y.op, stop_at_ts=[x])))
tried("filter", [op.name for op in ge.filter_ops_from_regex(ge.make_list_of_op(tf.get_default_graph()), "^squared$")])
tried("select_ops", [op.name for op in ge.select_ops("^squared$", graph=tf.get_default_graph())])
copies, info = ge.copy_with_input_replacements([y.op, y.op.inputs[0].op], {y.op.inputs[0].op.inputs[0]: tf.zeros([2])})
tried("copy", info.transformed(y))
tried("reroute", ge.reroute_ts([tf.constant([2., 3.])], [x], can_modify=[y.op.inputs[0].op.inputs[0].op]))
session = tf.Session()   # one that has not seen the graph before
tried("rerouted", y)
tried("numpy", [np.int(3.7), np.float(2), bool(np.bool(1)), np.asscalar(np.array([4])), np.infty > 1, int(np.product([2, 3]))])
try:
    tf.contrib.nothing_of_the_kind.at_all(3)
except AttributeError as error:
    tried("gone", str(error)[:70])
try:
    print(tf.nothing_of_the_kind)
except AttributeError as error:
    tried("unknown", "nothing_of_the_kind" in str(error))
json.dump(out, open(sys.argv[1], "w"), indent=1, sort_keys=True)
