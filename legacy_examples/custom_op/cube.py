"""A custom op in C++ with its gradient from Python, and the same op under an override.

    graphgrad build legacy_examples/custom_op/cube.cc
    python legacy_examples/custom_op/cube.py
"""
import os

import tensorflow.compat.v1 as tf

import graphgrad as gg

tf.disable_eager_execution()


def cube_gradient(op, grad):
    return 3.0 * tf.square(op.inputs[0]) * grad


library = gg.load_op_library(os.path.join(os.path.dirname(os.path.abspath(__file__)), "cube.so"),
                             gradients={"Cube": cube_gradient})

x = tf.constant([-1.0, 2.0])
y = library.cube(x)
with gg.straight_through("Cube"):
    skipped = library.cube(x)   # executed forward, skipped backward

with tf.Session() as session:
    print("x**3                    ", session.run(y))
    print("its gradient, 3 * x**2  ", session.run(tf.gradients(y, x)[0]))
    print("skipped in backward     ", session.run(tf.gradients(skipped, x)[0]))
