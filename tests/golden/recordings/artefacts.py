"""Save one small network, with an overridden gradient, as TensorFlow 1 does.

    python ../../../graphgrad/golden/recorder.py artefacts.py artefacts -o artefacts.npz     (TensorFlow 1.15.5)
"""
import os
import shutil
import sys

import tensorflow as tf

folder = sys.argv[1]
tf.set_random_seed(5)


@tf.RegisterGradient("ArtefactDouble")
def _double(op, grad):
    return 2.0 * grad


x = tf.placeholder(tf.float32, [None, 3], name="x")
w = tf.get_variable("w", [3, 2], initializer=tf.random_normal_initializer(), use_resource=False)
with tf.get_default_graph().gradient_override_map({"Relu": "ArtefactDouble"}):
    y = tf.nn.relu(tf.matmul(x, w), name="y")
dx = tf.identity(tf.gradients(y, x)[0], name="dx")
train = tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(y), name="train")

with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    session.run(train, {x: [[1.0, 2.0, 3.0]]})
    session.run([y, dx], {x: [[1.0, -2.0, 0.5], [0.0, 1.0, 1.0]]})
    tf.train.Saver().save(session, os.path.join(folder, "model.ckpt"))
    tf.train.write_graph(session.graph_def, folder, "graph.pbtxt")
    frozen = tf.graph_util.convert_variables_to_constants(session, session.graph_def, ["y", "dx"])
    tf.train.write_graph(frozen, folder, "frozen.pb", as_text=False)
    shutil.rmtree(os.path.join(folder, "saved"), ignore_errors=True)
    tf.saved_model.simple_save(session, os.path.join(folder, "saved"), {"x": x}, {"y": y})
os.remove(os.path.join(folder, "checkpoint"))
