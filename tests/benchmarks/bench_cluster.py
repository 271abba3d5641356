"""Two workers and a parameter server against one worker on the same total batch, straight-through; processes on loopback.

    python -m tests.benchmarks.bench_cluster
"""
import json
import os
import socket
import subprocess
import sys
import tempfile
import time

STEPS, BATCH, WIDTH = 40, 512, 512


def address():
    """A free port of this machine."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return "127.0.0.1:{}".format(one.getsockname()[1])


def meet(folder, name, index, number):
    """Wait until as many tasks have come here."""
    open(os.path.join(folder, "{}.{}".format(name, index)), "w").close()
    while sum(entry.startswith(name + ".") for entry in os.listdir(folder)) < number:
        time.sleep(0.001)


def task(job, index, cluster, folder):
    """The parameter server, or one worker: prints the seconds that its steps take, from when all are ready."""
    import numpy as np
    import tensorflow.compat.v1 as tf

    import graphgrad as gg
    tf.disable_eager_execution()
    tf.logging.set_verbosity(tf.logging.ERROR)
    spec = tf.train.ClusterSpec(cluster)
    one_core = tf.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
    server = tf.train.Server(spec, job, index, config=one_core)
    if job == "ps":
        server.join()
    gg.check_cluster(spec, wait=60)
    workers = len(cluster["worker"])
    batch = np.random.RandomState(index).randn(BATCH // workers, WIDTH).astype(np.float32)
    here = "/job:worker/task:{}".format(index)
    with tf.device(tf.train.replica_device_setter(worker_device=here, cluster=spec)):
        x = y = tf.constant(batch)
        for number in range(4):
            w = tf.get_variable("w{}".format(number), [WIDTH, WIDTH], use_resource=False)
            with gg.straight_through("Sign"):
                y = tf.sign(tf.matmul(y, w))
        loss = tf.reduce_mean((y - x) ** 2)
        step = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
        start = tf.global_variables_initializer()
    with tf.Session(server.target, config=one_core) as session:
        if index == 0:
            session.run(start)
        meet(folder, "initialised", index, workers)
        for _ in range(5):
            session.run(step)
        meet(folder, "warm", index, workers)
        began = time.perf_counter()
        for _ in range(STEPS):
            session.run(step)
        print(time.perf_counter() - began, flush=True)
        meet(folder, "done", index, workers)
    os._exit(0)


def seconds(workers):
    """What the slowest of some workers takes."""
    cluster = json.dumps({"ps": [address()], "worker": [address() for _ in range(workers)]})
    with tempfile.TemporaryDirectory() as folder:
        def start(job, index):
            return subprocess.Popen([sys.executable, "-W", "ignore", "-m", "tests.benchmarks.bench_cluster", job, str(index),
                                     cluster, folder], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                    env=dict(os.environ, CUDA_VISIBLE_DEVICES=""), universal_newlines=True)

        server, running = start("ps", 0), [start("worker", index) for index in range(workers)]
        try:
            return max(float(one.communicate(timeout=300)[0].split()[-1]) for one in running)
        finally:
            for one in [server] + running:
                one.kill()
                one.communicate()


def main():
    one, two = zip(*[(seconds(1), seconds(2)) for _ in range(3)])
    print("{:<72} {:6.2f}   reported".format(
        "two workers / one on the same total batch, each on one core", sorted(two)[1] / sorted(one)[1]))


if __name__ == "__main__":
    if sys.argv[1:]:
        task(sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3]), sys.argv[4])
    else:
        main()
