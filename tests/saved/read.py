"""Load a graph that make.py saved, and print its stored gradient and one that is built now.

    python read.py KIND FOLDER WITH       KIND: saved, meta or graph_def; WITH: net (its module), graphgrad, or nothing
"""
import os
import sys

import tensorflow.compat.v1 as tf


def main():
    kind, folder, imported = sys.argv[1:4]
    if imported == "graphgrad":
        import graphgrad
        assert graphgrad.rules.guided
    elif imported == "net":
        import net
        assert net.five
    tf.disable_eager_execution()
    tf.disable_control_flow_v2()
    with tf.Session() as session:
        if kind == "saved":
            tf.saved_model.load(session, ["serve"], os.path.join(folder, "saved"))
        elif kind == "meta":
            tf.train.import_meta_graph(os.path.join(folder, "graph.meta"))
        else:
            definition = tf.GraphDef()
            with open(os.path.join(folder, "graph.pb"), "rb") as stream:
                definition.ParseFromString(stream.read())
            tf.import_graph_def(definition, name="")
        graph = session.graph
        x, z, dx = (graph.get_tensor_by_name(name) for name in ("x:0", "z:0", "dx:0"))
        print("stored", session.run(dx, {x: [-1.0, 2.0]}).tolist())
        try:
            print("built", session.run(tf.gradients(z, x)[0], {x: [-1.0, 2.0]}).tolist())
            if kind != "graph_def":   # a GraphDef does not keep what TensorFlow needs to differentiate a v1 loop
                loop = graph.get_tensor_by_name("loop:0")
                print("loop", session.run(tf.gradients(loop, x)[0], {x: [-1.0, 2.0]}).tolist())
        except LookupError:
            print("LookupError")


if __name__ == "__main__":
    main()
