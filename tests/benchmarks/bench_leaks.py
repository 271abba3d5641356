"""Every public name, 10,000 times: what is left of each kind, and resident memory, after a tenth of the cycles and at the end.

    python -m tests.benchmarks.bench_leaks [NUMBER [NAME ...]]

The first line is TensorFlow alone: a graph, a py_func, a gradient and a Session, as most cycles have them.
"""
import os
import sys
import warnings

sys.path[:0] = [os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), *parts)
                for parts in ((), ("trust",))]

from conftest import tf  # noqa: E402
from test_leaks import CYCLES, ONE, counted  # noqa: E402

from tests.benchmarks.bench_memory import resident  # noqa: E402


def tensorflow_alone(number):
    """What a cycle does without us: a graph, a gradient, a Session."""
    x = tf.constant(ONE)
    y = tf.py_func(lambda a: a + number, [x], tf.float32)
    with tf.Session() as session:
        session.run([y] + tf.gradients(tf.nn.relu(x), x))


def main(number=10000, *names):
    """Print a line per name."""
    warnings.simplefilter("ignore")
    number = int(number)
    print("TensorFlow {}, {:,} cycles of each name".format(tf.__version__, number), flush=True)
    called = {tensorflow_alone: ["TensorFlow alone"]}
    for name in sorted(names or CYCLES):
        called.setdefault(CYCLES[name], []).append(name)    # one cycle may call what several names stand for
    for cycle, together in called.items():
        for count in range(number):
            with tf.Graph().as_default():
                cycle(count)
            if count + 1 == max(1, number // 10):
                before, start = counted(), resident()
        after = counted()
        more = ["{} {:+d}".format(kind, after[kind] - before[kind]) for kind in sorted(after) if after[kind] != before[kind]]
        print("{:<40} {:5.0f} MB after a tenth, {:5.0f} MB at the end ({:+6.1f} MB); left: {}".format(
            ", ".join(together), start, resident(), resident() - start, ", ".join(more) or "nothing"), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
