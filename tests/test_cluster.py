"""TensorFlow's own distributed runtime: separate processes on the loopback interface train what one process trains."""
import contextlib
import json
import os
import re
import socket
import subprocess
import sys

import numpy as np
import pytest
from conftest import TF1, tf

import graphgrad as gg

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cluster")


def addresses(*numbers):
    """Free ports, as lists of addresses."""
    sockets = [socket.socket() for _ in range(sum(numbers))]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    free = ["127.0.0.1:{}".format(one.getsockname()[1]) for one in sockets]
    for one in sockets:
        one.close()
    return [free[sum(numbers[:i]):sum(numbers[:i + 1])] for i in range(len(numbers))]


@contextlib.contextmanager
def process(script, *arguments, **environment):
    """A Python process of tests/cluster; it does not outlive the block."""
    running = subprocess.Popen(
        [sys.executable, "-W", "ignore", os.path.join(HERE, script)] + [str(argument) for argument in arguments],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True,
        env=dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path), **environment))
    try:
        yield running
    finally:
        running.kill()
        running.communicate()


def finish(running):
    output = running.communicate(timeout=300)[0]
    assert running.returncode == 0, output
    return output


def run(script, *arguments):
    with process(script, *arguments) as running:
        return finish(running)


def assert_same_weights(one, other):
    with np.load(str(one)) as one, np.load(str(other)) as other:
        assert one.files == other.files and one.files
        for name in one.files:
            np.testing.assert_allclose(one[name], other[name], rtol=1e-6, atol=1e-6)
            assert np.abs(one[name]).max() > 0.1


def test_a_parameter_server_and_two_workers(tmp_path):
    """SyncReplicasOptimizer in a MonitoredTrainingSession: an override, a tf_func and a py_func on each worker."""
    ps, workers = addresses(1, 2)
    cluster = json.dumps({"ps": ps, "worker": workers})
    chief, alone = tmp_path / "chief.npz", tmp_path / "alone.npz"
    with process("task.py", "ps", 0, cluster, "-"), process("task.py", "worker", 1, cluster, chief), \
            process("task.py", "worker", 0, cluster, chief) as running:
        run("task.py", "alone", 0, "{}", alone)
        finish(running)
    assert_same_weights(chief, alone)


def test_a_task_that_is_not_there_is_named():
    """TensorFlow waits for it for ever, in its first Session.run; a listening socket stands for a task that is there."""
    (missing,), (port,) = addresses(1, 1)
    with socket.socket() as there:
        host, number = port.split(":")
        there.bind((host, int(number)))
        there.listen(8)
        cluster = tf.train.ClusterSpec({"ps": [missing], "worker": [port]})
        with pytest.raises(gg.ClusterError, match=r"/job:ps/task:0 \({}\) does not answer.*start it, or correct".format(missing)):
            gg.check_cluster(cluster, wait=0.1)
        gg.check_cluster({"worker": [port]}, wait=0.1)
        gg.check_cluster({"worker": {3: port}}, wait=0.1)
    with pytest.raises(gg.ClusterError, match="no HOST:PORT"):
        gg.check_cluster({"worker": ["nowhere"]})


def test_a_py_func_on_another_task_is_named(tmp_path):
    """TensorFlow would run whatever function has the same number there; ours is not found, and is named."""
    ps, workers = addresses(1, 1)
    cluster = json.dumps({"ps": ps, "worker": workers})
    with process("task.py", "ps", 0, cluster, "-"):
        output = run("task.py", "misplace", 0, cluster, "-")
    assert re.search(r"refused .*(callback {0} is not found|not find callback with key={0})".format(
        r"square@only-in-the-process-that-built-it\.\w+\.0"), output), output


def test_a_task_that_is_killed_under_a_session():
    """The run fails within the limit that was given; then the same gradients come alone, and from a new task."""
    ps, workers = addresses(1, 1)
    output = run("task.py", "lose", 0, json.dumps({"ps": ps, "worker": workers}), "-")
    assert re.search(r"^lost: (Unavailable|DeadlineExceeded|Aborted)Error$", output, re.M), output
    assert "computed" not in output.split("computed again")[0], output
    assert output.rstrip().endswith("computed again"), output


if not TF1:   # 1.15's strategies run in graphs of their own making, and its multi-worker one is experimental
    @pytest.fixture(scope="module")
    def weights_without(tmp_path_factory):
        path = tmp_path_factory.mktemp("strategy") / "none.npz"
        run("strategy.py", "none", path)
        return path

    def test_mirrored_strategy(weights_without, tmp_path):
        """Two logical CPUs of one process."""
        run("strategy.py", "mirrored", tmp_path / "mirrored.npz")
        assert_same_weights(tmp_path / "mirrored.npz", weights_without)

    def test_multi_worker_mirrored_strategy(weights_without, tmp_path):
        """Two processes."""
        (workers,) = addresses(2)

        def config(index):
            return json.dumps({"cluster": {"worker": workers}, "task": {"type": "worker", "index": index}})

        out = tmp_path / "multi.npz"
        with process("strategy.py", "multiworker", "-", TF_CONFIG=config(1)) as other, \
                process("strategy.py", "multiworker", out, TF_CONFIG=config(0)) as chief:
            finish(chief)
            finish(other)
        assert_same_weights(out, weights_without)
