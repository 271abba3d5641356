"""py_func_with_grad against raw tf.py_func at 1 MB; tf_func_with_grad against tf.custom_gradient.

    python -m tests.benchmarks.bench_functions
"""
import numpy as np
import tensorflow.compat.v1 as tf

import graphgrad as gg
from tests.benchmarks._side_by_side import figure, medians


def main():
    tf.disable_eager_execution()
    tf.logging.set_verbosity(tf.logging.ERROR)   # tf.py_func is deprecated, at length
    values = np.random.RandomState(0).randn(256 * 1024).astype(np.float32)
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.Variable(values)
        session.run(x.initializer)

        def forward(a):
            return a * np.float32(2)

        raw = session.make_callable(tf.py_func(forward, [x], tf.float32).op)
        ours = session.make_callable(gg.py_func_with_grad(
            forward, [x], tf.float32, grad=lambda op, grad: 2.0 * grad, output_shapes=lambda a: a).op)
        times = medians({"raw": lambda: [raw() for _ in range(20)], "ours": lambda: [ours() for _ in range(20)]}, rounds=31)
        figure("py_func_with_grad at 1 MB / tf.py_func", times["ours"] / times["raw"], "<= 1.10")

        @tf.custom_gradient
        def custom(a):
            return tf.tanh(a), lambda grad: 3.0 * grad

        with_custom = tf.gradients(custom(x) * 2.0, x)[0]
        with_ours = tf.gradients(gg.tf_func_with_grad(tf.tanh, [x], grad=lambda op, grad: 3.0 * grad) * 2.0, x)[0]
        custom_run, ours_run = session.make_callable(with_custom.op), session.make_callable(with_ours.op)
        times = medians({"custom": lambda: [custom_run() for _ in range(20)],
                         "ours": lambda: [ours_run() for _ in range(20)]}, rounds=31)
        figure("tf_func_with_grad, forward and backward / tf.custom_gradient", times["ours"] / times["custom"], "<= 1.05")


if __name__ == "__main__":
    main()
