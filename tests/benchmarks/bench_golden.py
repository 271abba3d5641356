"""Recording and comparing: against the plain run, against numpy, and how long the command line takes to start.

    python -m tests.benchmarks.bench_golden
"""
import os
import subprocess
import sys
import tempfile

import numpy as np

from graphgrad.golden import compare, load, recorder
from tests.benchmarks._side_by_side import figure, medians

TRAIN = """import numpy as np
import tensorflow.compat.v1 as tf
tf.disable_v2_behavior()
tf.set_random_seed(1)
x = tf.placeholder(tf.float32, [None, 784])
y = tf.placeholder(tf.int64, [None])
w1 = tf.get_variable("w1", [784, 512])
w2 = tf.get_variable("w2", [512, 10])
hidden = tf.nn.relu(tf.matmul(x, w1))
loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=tf.matmul(hidden, w2)))
train = tf.train.AdamOptimizer(0.001).minimize(loss)
images = np.random.RandomState(0).rand(256, 784).astype(np.float32)
labels = np.arange(256) % 10
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for _ in range(30):
        session.run([loss, train], {x: images, y: labels})
"""


def main():
    with tempfile.TemporaryDirectory() as folder:
        _recording(folder)
        _start_up(folder)
        _comparing(folder)


def _recording(folder):
    script, output = os.path.join(folder, "train.py"), os.path.join(folder, "old.npz")
    with open(script, "w") as stream:
        stream.write(TRAIN)
    environment = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3")

    def run(*words):
        subprocess.run([sys.executable, "-W", "ignore"] + list(words), check=True, stderr=subprocess.DEVNULL, env=environment)

    times = medians({"plain": lambda: run(script), "recorded": lambda: run(recorder.__file__, "-o", output, script)}, rounds=5)
    figure("recording a training run of 30 Adam steps / the plain run", times["recorded"] / times["plain"], "<= 1.15")
    print("    {:.2f} s recorded, {:.2f} s plain, {:.1f} MB".format(
        times["recorded"], times["plain"], os.path.getsize(output) / 1e6))


def _start_up(folder):
    one = recorder.Recorder()
    one._record(["y"], {}, [np.ones(3)])
    one.meta.update(complete=True)
    path = os.path.join(folder, "one.npz")
    one.save(path)

    def run(*words):
        subprocess.run([sys.executable, "-m", "graphgrad", "compare"] + list(words), check=True, stdout=subprocess.DEVNULL)

    times = medians({"--help": lambda: run("--help"), "npz to npz": lambda: run(path, path)}, rounds=7)
    for name, seconds in times.items():
        figure("seconds for graphgrad compare, {}".format(name), seconds, "<= 0.40")


def _comparing(folder, arrays=10, size=26 * 1024 * 1024):
    """1 GB on each side, float32, all of it different by rounding."""
    paths = []
    random = np.random.RandomState(0)
    for name in ("old", "new"):
        one = recorder.Recorder(archive=recorder.Archive(recorder.new_part(os.path.join(folder, name))), max_bytes=1 << 40)
        values = np.random.RandomState(1).randn(size).astype(np.float32)
        for _ in range(arrays):
            one._record(["y"], {}, [values])
            if name == "new":
                values *= np.float32(1 + 1e-7 * random.rand())
        one.meta.update(complete=True)
        paths.append(os.path.join(folder, name + ".npz"))
        one.save(paths[-1])

    def ours():
        with load(paths[1]) as new, load(paths[0]) as old:
            result = compare(new, old)
            assert result.same and result.worst > 0

    def theirs():
        with np.load(paths[1]) as new, np.load(paths[0]) as old:
            for key in old.files:
                if key.startswith("run"):
                    new_array, old_array = new[key], old[key]
                    if old_array.dtype == np.float32:
                        assert np.allclose(new_array, old_array, rtol=1e-5, atol=2e-5)

    code = ("import sys, graphgrad.cli\ngraphgrad.cli.main(['compare'] + sys.argv[1:])\n"
            "print([line for line in open('/proc/self/status') if line.startswith('VmHWM')][0])")
    done = subprocess.run([sys.executable, "-c", code] + paths[::-1], check=True, stdout=subprocess.PIPE)
    peak = int(done.stdout.split()[-2]) * 1024 / (4 * size)
    figure("peak memory of comparing 1 GB with 1 GB / the largest array", peak, "<= 3.00")
    times = medians({"ours": ours, "theirs": theirs}, rounds=3)
    figure("comparing 1 GB with 1 GB / reading both with numpy and np.allclose", times["ours"] / times["theirs"], "<= 1.5")
    print("    {:.1f} s, {:.1f} s".format(times["ours"], times["theirs"]))


if __name__ == "__main__":
    main()
