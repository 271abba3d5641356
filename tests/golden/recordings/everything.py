"""Every kind of thing that a recording keeps, on TensorFlow 0.12 to 2.21; its values are known in closed form.

    python ../../../graphgrad/golden/recorder.py everything.py -o everything_VERSION.npz
"""
from __future__ import print_function

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import ops

if not tf.__version__.startswith(("0.", "1.")):
    tf = tf.compat.v1
    tf.disable_v2_behavior()


@ops.RegisterGradient("Sevenfold")
def _sevenfold(op, grad):
    return 7.0 * grad


tf.set_random_seed(3)
x = tf.placeholder(tf.float32, [2], name="x")
w = tf.Variable([1.0, 2.0], name="w")
noise = tf.Variable(tf.random_normal([3]), name="noise")
local = tf.Variable(5.0, name="local", trainable=False, collections=["local_variables"])
with tf.get_default_graph().gradient_override_map({"Relu": "Sevenfold"}):
    y = tf.nn.relu(x * w, name="y")
gradient = tf.gradients(y, x)[0]
uniform = tf.random_uniform([4], seed=11, name="uniform")
step = tf.assign(w, w * 2.0, name="double")
table = tf.Variable(np.eye(3, dtype=np.float32), name="table")
slices = tf.gradients(tf.gather(table, [1, 1]), table)[0]
sparse = tf.SparseTensor([[0, 1], [1, 0]], tf.constant([1.0, 2.0]), [2, 2])
init_local = tf.variables_initializer([local]) if hasattr(tf, "variables_initializer") else tf.initialize_variables([local])

with tf.Session(config=tf.ConfigProto(intra_op_parallelism_threads=1)) as session:
    session.run([v.initializer for v in (w, noise, table)])                    # run 0: nothing but operations
    session.run(init_local)                                                    # run 1
    session.run([y, {"b": gradient, "a": w}], {x: [-1.0, 2.0]})                # run 2: structured, fed
    y.eval({x: [3.0, -1.0]})                                                   # run 3: Tensor.eval
    session.run([slices, sparse])                                              # run 4: IndexedSlices, SparseTensor
    session.run([tf.constant(b"text"), tf.constant([b"a", b"\xff\x00"])])      # run 5: strings, one no UTF-8
    session.run([uniform, noise])                                              # run 6: chance
    step.op.run()                                                              # run 7: an operation; w becomes [2, 4]
    handle = session.partial_run_setup([y, gradient], [x])
    session.partial_run(handle, y, {x: [1.0, 1.0]})                            # run 8: partial_run
    session.partial_run(handle, gradient)                                      # run 9
    if hasattr(session, "make_callable"):
        session.make_callable(y, [x])(np.array([5.0, -5.0], np.float32))       # run 10: make_callable, since TF 1.2
    else:
        session.run(y, {x: np.array([5.0, -5.0], np.float32)})

with tf.Graph().as_default():
    total = tf.reduce_sum(tf.Variable([1.0, 2.0, 4.0], name="monitored"), name="total")
    scaffold = tf.train.Scaffold(init_op=tf.global_variables_initializer()) if hasattr(
        tf, "global_variables_initializer") else None
    with tf.train.MonitoredSession(tf.train.ChiefSessionCreator(scaffold)) as monitored:
        monitored.run(total)                                                   # run 11: MonitoredSession
print("done")
