"""Save a graph with an override and a tf_func_with_grad in it, in every form; by_1_15_5 was made on TensorFlow 1.15.5.

    python make.py FOLDER

The gradient of z to x is 5 * 6, by the override of Relu and the tf_func; it is in the graph as dx. That of the loop is 5.
"""
import os
import sys

import net
import tensorflow.compat.v1 as tf

import graphgrad as gg


def main():
    folder = sys.argv[1]
    tf.disable_eager_execution()
    tf.disable_control_flow_v2()
    x = tf.placeholder(tf.float32, [2], name="x")
    with gg.override_gradients({"Relu": net.five}):
        y = tf.nn.relu(x)
        loop = tf.while_loop(lambda i, y: i < 1, lambda i, y: (i + 1, tf.nn.relu(y)), [0, x])[1]
    tf.identity(loop, name="loop")
    z = tf.identity(gg.tf_func_with_grad(tf.abs, [y], grad=net.six), name="z")
    tf.identity(tf.gradients(z, x)[0], name="dx")
    with tf.Session() as session:
        builder = tf.saved_model.Builder(os.path.join(folder, "saved"))
        builder.add_meta_graph_and_variables(session, ["serve"])
        builder.save()
        tf.train.export_meta_graph(os.path.join(folder, "graph.meta"))
        with open(os.path.join(folder, "graph.pb"), "wb") as stream:
            stream.write(session.graph_def.SerializeToString())


if __name__ == "__main__":
    main()
