"""10,000 overrides and 10,000 functions-with-gradient in dropped graphs: resident memory after 1,000 and at the end.

    python -m tests.benchmarks.bench_memory [NUMBER]
"""
import gc
import sys

import numpy as np
import tensorflow.compat.v1 as tf

import graphgrad as gg


def resident():
    """Resident megabytes of this process, from /proc."""
    with open("/proc/self/status") as stream:
        return next(int(line.split()[1]) for line in stream if line.startswith("VmRSS")) / 1024.0


def override(number):
    x = tf.constant(1.0)
    with gg.override_gradients({"Relu": lambda op, grad: grad * number}):
        y = tf.nn.relu(x)
    tf.gradients(y, x)


def function(number):
    x = tf.constant(np.ones(2, np.float32))
    y = gg.py_func_with_grad(lambda a: a + number, [x], tf.float32, grad=lambda op, grad: grad * number)
    z = gg.tf_func_with_grad(lambda a: a * number, [x], grad=lambda op, grad: grad * number)
    tf.gradients(y + z, x)


def main():
    tf.disable_eager_execution()
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 10000
    for title, build in (("overrides", override), ("functions with gradient", function)):
        start = None
        for count in range(number):
            with tf.Graph().as_default():
                build(float(count))
            if count + 1 == number // 10:
                gc.collect()
                start = resident()
        gc.collect()
        print("{:>6} {}: {:.0f} MB after {}, {:.0f} MB at the end ({:+.1f} MB)".format(
            number, title, start, number // 10, resident(), resident() - start), flush=True)


if __name__ == "__main__":
    main()
