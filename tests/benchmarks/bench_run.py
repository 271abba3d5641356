"""Running overridden graphs: against TensorFlow's map, and the guided rule against ReluGrad and the seeds' spellings.

    python -m tests.benchmarks.bench_run
"""
import numpy as np
import tensorflow.compat.v1 as tf

import graphgrad as gg
from tests.benchmarks._side_by_side import figure, medians

SIZE = 16 * 1024 * 1024


def seed_000(op, grad):
    return tf.where(0. < grad, gg.original_gradient(op, grad)[0], tf.zeros(grad.get_shape()))


def seed_002(op, grad):
    gate_f = tf.cast(op.outputs[0] > 0, "float32")
    gate_r = tf.cast(grad > 0, "float32")
    return gate_f * gate_r * grad


def main():
    tf.disable_eager_execution()
    with tf.Graph().as_default() as graph, tf.Session() as session:
        x = tf.Variable(np.random.RandomState(0).randn(64, 512).astype(np.float32))
        w = tf.Variable(np.random.RandomState(1).randn(512, 512).astype(np.float32) / 16)

        def net():
            y = x
            for _ in range(20):
                y = tf.nn.relu(tf.matmul(y, w))
            return y

        with gg.override_gradients({"Relu": gg.rules.guided}):
            ours = tf.gradients(net(), x)[0].op
        with graph.gradient_override_map({"Relu": "graphgrad.guided"}):
            theirs = tf.gradients(net(), x)[0].op
        session.run(tf.global_variables_initializer())
        ours, theirs = session.make_callable(ours), session.make_callable(theirs)
        times = medians({"ours": ours, "theirs": theirs}, rounds=41)
        figure("a session running an overridden graph / TensorFlow's map by hand", times["ours"] / times["theirs"], "1.00")

    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.Variable(np.random.RandomState(0).randn(SIZE).astype(np.float32))
        g = tf.Variable(np.random.RandomState(1).randn(SIZE).astype(np.float32))
        session.run(tf.global_variables_initializer())
        y = tf.nn.relu(x)
        # The forward is computed once: only the backward is timed.
        kept = tf.Variable(y)
        session.run(kept.initializer)
        backwards = {}
        for name, rule in (("plain", "Relu"), ("guided", gg.rules.guided), ("000", seed_000), ("002", seed_002)):
            backwards[name] = session.make_callable(_backward(rule, kept, g).op)
        times = medians(backwards, rounds=15)
        figure("guided at 16M floats / plain ReluGrad", times["guided"] / times["plain"], "<= 1.8")
        figure("seed 000's spelling / guided", times["000"] / times["guided"], ">= 1.3")
        figure("seed 002's spelling / guided", times["002"] / times["guided"], ">= 1.3")


def _backward(rule, y, g):
    """The rule's gradient at a given y: Relu is applied to y >= 0, where it is free of recomputation beyond one pass."""
    value = tf.identity(y)

    class Kept:
        """What a gradient function reads of a Relu whose output is kept."""
        name, type = "kept", "Relu"
        inputs, outputs = [value], [value]

    gradient = gg.original_gradient if rule == "Relu" else rule
    result = gradient(Kept, tf.identity(g))
    return result[0] if isinstance(result, list) else result


if __name__ == "__main__":
    main()
