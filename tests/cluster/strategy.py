"""Training under a tf.distribute strategy, or without one: run by test_cluster.py.

    python strategy.py NAME OUT       NAME: none, mirrored, or multiworker (one of two processes, by TF_CONFIG)
"""
import json
import os
import sys
import warnings

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
warnings.simplefilter("ignore")

import numpy as np
import tensorflow as tf
from task import BATCH, STEPS, WORKERS, data

import graphgrad as gg


def make_strategy(name):
    if name == "multiworker":
        return tf.distribute.MultiWorkerMirroredStrategy()
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * WORKERS)
    return tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"]) if name == "mirrored" else tf.distribute.get_strategy()


def part(strategy, array):
    """What each replica gets: its part of the batch, or all of it without a strategy."""
    if strategy.num_replicas_in_sync == 1:
        return tf.constant(array)
    return strategy.experimental_distribute_values_from_function(
        lambda context: tf.constant(array[context.replica_id_in_sync_group * BATCH:][:BATCH]))


def main():
    name, out = sys.argv[1:3]
    strategy = make_strategy(name)
    x, wanted = (part(strategy, array) for array in data())
    random = np.random.RandomState(1)
    with strategy.scope():
        weights = [tf.Variable(random.randn(*shape).astype(np.float32)) for shape in ((4, 6), (6, 1))]
        steps = tf.Variable(0.0)
    override = gg.straight_through("Sign")

    def replica_step(x, wanted):
        with tf.GradientTape() as tape:
            with override:
                inner = tf.matmul(x, weights[0])
                hidden = tf.sign(tf.tanh(inner)) + inner
            y = gg.tf_func_with_grad(tf.tanh, [tf.matmul(hidden, weights[1])],
                                     grad=lambda op, grad: grad * (1.0 - op.outputs[0] ** 2))
            loss = tf.reduce_sum((y - wanted) ** 2) / (WORKERS * BATCH)
        return tape.gradient(loss, weights)

    @tf.function
    def step():
        gradients = strategy.run(replica_step, args=(x, wanted))
        for weight, gradient in zip(weights, gradients):
            weight.assign_sub(0.1 * strategy.reduce(tf.distribute.ReduceOp.SUM, gradient, axis=None))
        steps.assign_add(1.0)

    with strategy.scope():
        for _ in range(STEPS):
            step()
    if json.loads(os.environ.get("TF_CONFIG", '{"task": {"index": 0}}'))["task"]["index"] == 0:
        np.savez(out, *[weight.numpy() for weight in weights])
    assert steps.numpy() == STEPS


if __name__ == "__main__":
    main()
