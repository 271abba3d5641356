"""Building 40,000 Relus under an override against TensorFlow's own map; on() against re-importing the graph.

    python -m tests.benchmarks.bench_build
"""
import warnings

import tensorflow.compat.v1 as tf

import graphgrad as gg
from tests.benchmarks._side_by_side import figure, medians

NUMBER = 40000


def chain(x, number=NUMBER):
    for _ in range(number):
        x = tf.nn.relu(x)
    return x


def under_map():
    with tf.Graph().as_default() as graph:
        with graph.gradient_override_map({"Relu": "graphgrad.guided"}):
            chain(tf.constant(1.0))


def under_override():
    with tf.Graph().as_default():
        with gg.override_gradients({"Relu": gg.rules.guided}):
            chain(tf.constant(1.0))


def main():
    tf.disable_eager_execution()
    assert callable(gg.rules.guided)   # registered when the rules are first used
    times = medians({"map": under_map, "override": under_override}, rounds=3)
    figure("40,000 Relus in a with block / TensorFlow's map", times["override"] / times["map"], "<= 1.25")

    with tf.Graph().as_default() as graph:
        chain(tf.constant(1.0))
    definition = graph.as_graph_def()
    override = gg.override_gradients({"Relu": gg.rules.guided})

    def on():
        with override.on(graph):
            pass

    def reimport():
        with tf.Graph().as_default() as new, new.gradient_override_map({"Relu": "graphgrad.guided"}):
            tf.import_graph_def(definition, name="")

    warnings.simplefilter("ignore", gg.OverrideWarning)   # no gradient is built inside on(): that is not timed here
    times = medians({"on": on, "import": reimport}, rounds=3)
    figure("on() over 40,000 ops, enter and leave / re-importing the GraphDef", times["on"] / times["import"], "<= 0.15")


if __name__ == "__main__":
    main()
