"""Every public name, many times: resident memory after a tenth of the cycles and at the end, beside TensorFlow alone.

    python -m tests.benchmarks.bench_leaks [NUMBER]
"""
import gc
import os
import sys
import warnings

sys.path[:0] = [os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), *parts)
                for parts in ((), ("trust",))]

from conftest import tf  # noqa: E402
from test_leaks import CYCLES, ONE  # noqa: E402

from tests.benchmarks.bench_memory import resident  # noqa: E402


def tensorflow_alone(number):
    """What a cycle does without us: a graph, a gradient, a Session."""
    x = tf.constant(ONE)
    y = tf.py_func(lambda a: a + number, [x], tf.float32)
    with tf.Session() as session:
        session.run([y] + tf.gradients(tf.nn.relu(x), x))


def main():
    """Print a line per name."""
    warnings.simplefilter("ignore")
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 10000
    for name, cycle in [("TensorFlow alone", tensorflow_alone)] + sorted(CYCLES.items()):
        start = None
        for count in range(number):
            with tf.Graph().as_default():
                cycle(count)
            if count + 1 == max(1, number // 10):
                gc.collect()
                start = resident()
        gc.collect()
        print("{:>6} {:<22} {:5.0f} MB after a tenth, {:5.0f} MB at the end ({:+.1f} MB)".format(
            number, name, start, resident(), resident() - start), flush=True)


if __name__ == "__main__":
    main()
