"""One task of a cluster, or the same training in one process: run by test_cluster.py.

    python task.py JOB INDEX CLUSTER OUT     JOB: ps, worker, alone, misplace, lose; CLUSTER: json; OUT: .npz of the chief, or alone
"""
import json
import os
import subprocess
import sys
import time
import warnings

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
warnings.simplefilter("ignore")

import numpy as np
import tensorflow.compat.v1 as tf

import graphgrad as gg

STEPS = 5
WORKERS = 2
BATCH = 8   # of each worker


def data():
    random = np.random.RandomState(0)
    return random.randn(WORKERS * BATCH, 4).astype(np.float32), random.randn(WORKERS * BATCH, 1).astype(np.float32)


def variables():
    random = np.random.RandomState(1)
    return [tf.get_variable(name, initializer=random.randn(*shape).astype(np.float32), use_resource=False)
            for name, shape in (("w1", (4, 6)), ("w2", (6, 1)))]


def squared_error(op, grad):
    y, wanted = op.inputs
    return 2.0 * grad * (y - wanted), None


def forward(x, wanted, w1, w2, python_on):
    """A net with an override, a rule, a tf_func and a py_func in it; its mean squared error."""
    with gg.straight_through("Sign"):
        hidden = tf.sign(tf.tanh(tf.matmul(x, w1))) + tf.matmul(x, w1)
    y = gg.tf_func_with_grad(tf.tanh, [tf.matmul(hidden, w2)], grad=lambda op, grad: grad * (1.0 - op.outputs[0] ** 2))
    with tf.device(python_on):
        error = gg.py_func_with_grad(lambda y, wanted: (y - wanted) ** 2, [y, wanted], tf.float32, grad=squared_error,
                                     output_shapes=lambda y, wanted: y)
    return tf.reduce_mean(error)


def alone(out):
    x, wanted = data()
    weights = variables()
    loss = forward(tf.constant(x), tf.constant(wanted), *weights, python_on=None)
    step = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(STEPS):
            session.run(step)
        np.savez(out, *session.run(weights))


def meet(index, number, folder):
    """Wait for the other workers: one that runs ahead would take their token, and give its gradient twice."""
    open(os.path.join(folder, "{}.{}".format(number, index)), "w").close()
    while not all(os.path.exists(os.path.join(folder, "{}.{}".format(number, i))) for i in range(WORKERS)):
        time.sleep(0.005)


def work(index, cluster, out):
    server = tf.train.Server(tf.train.ClusterSpec(cluster), "worker", index)
    here = "/job:worker/task:{}".format(index)
    x, wanted = (part[index * BATCH:(index + 1) * BATCH] for part in data())
    with tf.device(tf.train.replica_device_setter(worker_device=here, cluster=tf.train.ClusterSpec(cluster))):
        weights = variables()
        global_step = tf.train.get_or_create_global_step()
        loss = forward(tf.constant(x), tf.constant(wanted), *weights, python_on=here + "/cpu:0")
        optimizer = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(0.1), WORKERS, WORKERS)
        step = optimizer.minimize(loss, global_step=global_step)
    chief = index == 0
    # No tokens to begin with: then no worker runs ahead, and each step has one gradient of each.
    hook = optimizer.make_session_run_hook(chief, num_tokens=0)
    uninitialized = tf.report_uninitialized_variables(tf.global_variables())
    while not chief:   # MonitoredTrainingSession would look again only after half a minute
        with tf.Session(server.target) as session:
            if not len(session.run(uninitialized)):
                break
        time.sleep(0.1)
    session = tf.train.MonitoredTrainingSession(server.target, is_chief=chief, hooks=[hook])
    for number in range(STEPS):
        session.run(step)
        meet(index, number, os.path.dirname(out))
    if chief:
        np.savez(out, *session.run(weights))
    os._exit(0)   # to close the session would wait for the threads that feed its token queue


def misplace(cluster):
    """Put a py_func on the ps, whose process has py_funcs of its own, and print what TensorFlow says."""
    server = tf.train.Server(tf.train.ClusterSpec(cluster), "worker", 0)
    with tf.device("/job:ps/task:0/cpu:0"):
        y = gg.py_func_with_grad(np.square, [tf.constant([3.0])], tf.float32, grad=lambda op, grad: 6.0 * grad)
    with tf.Session(server.target) as session:
        try:
            print("computed", session.run(y))
        except tf.errors.OpError as error:
            print("refused", " ".join(error.message.split()))


def lose(cluster):
    """Kill the ps between two runs of a Session; save what is computed before, then alone, and with a new ps."""
    server = tf.train.Server(tf.train.ClusterSpec(cluster), "worker", 0)

    def new_ps():
        ps = subprocess.Popen([sys.executable, "-W", "ignore", __file__, "ps", "0", json.dumps(cluster), "-"])
        gg.check_cluster(cluster, wait=60)
        return ps

    def gradients(ps):
        x = tf.constant(data()[0])
        with tf.device(ps):
            weights = variables()
        return tf.gradients(forward(x, tf.constant(data()[1]), *weights, python_on="/job:worker/task:0" if ps else None),
                            weights)

    def computed(session, fetches):
        session.run(tf.global_variables_initializer())
        return session.run(fetches)

    ps = new_ps()
    try:
        fetches = gradients("/job:ps/task:0")
        # Without a limit TensorFlow 1.15 waited for the lost task as long as it was let.
        session = tf.Session(server.target, config=tf.ConfigProto(operation_timeout_in_ms=10000))
        before = computed(session, fetches)
        ps.kill()
        ps.wait()
        try:
            print("computed", session.run(fetches))
        except tf.errors.OpError as error:
            print("lost:", type(error).__name__)
        with tf.Graph().as_default(), tf.Session() as other:
            alone = computed(other, gradients(None))
        ps = new_ps()
        again = computed(tf.Session(server.target), fetches)
    finally:
        ps.kill()
    for came in (alone, again):
        for one, other in zip(came, before):
            np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)
    print("computed again")
    sys.stdout.flush()
    os._exit(0)   # to close the session would wait for the task that is no more


def main():
    job, index, cluster, out = sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3]), sys.argv[4]
    tf.disable_eager_execution()
    tf.logging.set_verbosity(tf.logging.ERROR)
    if job == "alone":
        alone(out)
    elif job == "misplace":
        misplace(cluster)
    elif job == "lose":
        lose(cluster)
    elif job == "ps":
        with tf.Session() as session:   # this process has py_funcs too: tokens must not be taken for each other
            session.run(gg.py_func_with_grad(np.negative, [tf.constant([3.0])], tf.float32, grad=lambda op, grad: -grad))
        tf.train.Server(tf.train.ClusterSpec(cluster), "ps", index).join()
    else:
        work(index, cluster, out)


if __name__ == "__main__":
    main()
