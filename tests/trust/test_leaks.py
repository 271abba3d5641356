"""Every public name, called again and again: graphs, functions, names, Sessions, threads and files are as many as before."""
import contextlib
import gc
import os
import socket
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest
import tensorflow
from conftest import TF1, tf

import graphgrad as gg
from graphgrad import _tf

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DIGITS = os.path.join(ROOT, "legacy_examples", "digits")
OLD = os.path.join(ROOT, "tests", "golden", "recordings", "everything_1.15.5.npz")
ONE = np.float32([1.0, -2.0])


def scaled(number):
    """A gradient function of its own each time."""
    return lambda op, *grads: [number * grads[0]] + [None] * (len(op.inputs) - 1)


def a_block(number):
    """Build and differentiate under an override of a new function, in loops too."""
    x = tf.constant(ONE)
    with gg.override_gradients({"Relu": scaled(float(number))}) as override:
        y = tf.while_loop(lambda v: tf.reduce_sum(v) < 0.0, lambda v: tf.nn.relu(v), [tf.nn.relu(x)])
    tf.gradients(y, x)
    assert override.report["Relu"].tagged


def on_existing(number):
    """The same over what exists."""
    x = tf.constant(ONE)
    y = tf.nn.relu(x)
    with gg.override_gradients({"Relu": scaled(float(number))}).on():
        tf.gradients(y, x)


def preset(make, build=tf.nn.relu):
    """Enter a preset."""
    def cycle(number):
        x = tf.placeholder(tf.float32, [2, 4, 4, 1])
        with make():
            y = build(x)
        tf.gradients(y, x)
    return cycle


def py_func(number):
    """Numpy forward, numpy backward, run in a Session."""
    x = tf.constant(ONE)
    y = gg.py_func_with_grad(lambda a: a + number, [x], tf.float32, numpy_grad=lambda op, grad: number * grad)
    with tf.Session() as session:
        session.run(tf.gradients(y, x))


def tf_func(number):
    """TensorFlow forward and backward."""
    x = tf.constant(ONE)
    tf.gradients(gg.tf_func_with_grad(lambda a: a * float(number), [x], grad=scaled(number)), x)


def registered(number):
    """The same function again and again, as a cell that is run again."""
    @gg.register_gradient("LeakOfOne")
    def gradient(op, grad):
        return grad
    preset(lambda: gg.override_gradients({"Relu": "LeakOfOne"}))(number)


def surrogate(number):
    """A rule with a surrogate of its own."""
    rule = gg.declare_surrogate(lambda op, x: number * x)(scaled(number))
    gg.check_gradient(tf.sign, np.ones(2), override=gg.override_gradients({"Sign": rule}), entries=False)


def original(number):
    """Composed with TensorFlow's own."""
    preset(lambda: gg.override_gradients({"Relu": lambda op, grad: gg.original_gradient(op, number * grad)}))(number)


def diagnosed(number):
    """Looked at."""
    x = tf.constant(ONE)
    gg.diagnose(tf.round(x), x)


def assertion(number):
    """Arrays against a file."""
    gg.assert_matches(OLD, OLD)
    gg.assert_matches({"a": ONE}, {"a": ONE})


def recording(number):
    """A file that is opened and closed, and one that is refused."""
    with gg.golden.load(OLD) as read:
        read.array("run0002/000")
    with contextlib.suppress(gg.ResultFileError):
        gg.golden.load(__file__)


def saliency(number):
    """A model from a file, a method, a map."""
    with gg.saliency.load(os.path.join(DIGITS, "frozen.pb")) as model:
        gg.saliency.guided_backprop(model.y, model.x, target="top")(model.session, np.zeros([1, 8, 8, 1]))


def ready_functions(number):
    """Functions of ops, each a tf_func inside."""
    x = tf.constant(ONE)
    tf.gradients(gg.ops.flip_gradient(x, float(number)) + gg.ops.sign_ste(x), x)


def rules(number):
    """A rule made for its parameters."""
    preset(lambda: gg.override_gradients({"Relu": gg.rules.rectgrad(50.0 + number % 3)}))(number)


def op_library(number):
    """What is refused leaves nothing: a library that is none, a source that is not there."""
    with contextlib.suppress(gg.OpLibraryError):
        gg.load_op_library(__file__)
    with contextlib.suppress(gg.OpLibraryError):
        gg.build_op_library("none.cc")


def refused(error, action):
    """What raises an error of ours leaves nothing behind it."""
    def cycle(number):
        with pytest.raises(error):
            action()
    return cycle


def forward_error(number):
    """An error while a Session runs."""
    y = gg.py_func_with_grad(lambda a: 1 / 0, [tf.constant(ONE)], tf.float32)
    with tf.Session() as session, pytest.raises(tf.errors.OpError, match="ZeroDivisionError"):
        session.run(y)


def warned(number):
    """A warning about a key without operation."""
    with pytest.warns(gg.OverrideWarning):
        with gg.override_gradients({"Relu": scaled(number)}):
            pass


def wrong_gradient():
    x = tf.constant(ONE)
    with gg.override_gradients({"Relu": lambda op, grad: [grad, grad]}):
        y = tf.nn.relu(x)
    tf.gradients(y, x)


def legacy(number):
    """A script, scanned and diagnosed."""
    gg.legacy.scan.scan(os.path.join(ROOT, "legacy_examples", "001_add_grad.py"))


#: What each public name is called by.
def cluster(number):
    with socket.socket() as task:
        task.bind(("127.0.0.1", 0))
        task.listen(1)
        gg.check_cluster({"ps": ["127.0.0.1:{}".format(task.getsockname()[1])]})


CYCLES = {
    "override_gradients": a_block, "Override": on_existing, "py_func_with_grad": py_func, "tf_func_with_grad": tf_func,
    "register_gradient": registered, "declare_surrogate": surrogate, "original_gradient": original,
    "diagnose": diagnosed, "check_gradient": surrogate, "load_op_library": op_library, "build_op_library": op_library,
    "guided_backprop": preset(gg.guided_backprop), "deconvnet": preset(gg.deconvnet), "rectgrad": preset(gg.rectgrad),
    "straight_through": preset(lambda: gg.straight_through("Sign"), tf.sign), "redirected": preset(gg.redirected),
    "smoothed_max_pool": preset(gg.smoothed_max_pool, lambda x: tf.nn.max_pool2d(x, 2, 2, "SAME")),
    "lrp": preset(gg.lrp), "deeplift": preset(gg.deeplift), "assert_matches": assertion,
    "GraphGradError": refused(gg.GraphGradError, lambda: gg.override_gradients({})),
    "RegistrationError": refused(gg.RegistrationError, lambda: gg.override_gradients({"Relu": "nobody's"})),
    "OverrideError": refused(gg.OverrideError, lambda: gg.override_gradients({"ReLU": None})),
    "GradientError": refused(gg.GradientError, wrong_gradient), "ForwardError": forward_error,
    "CheckError": refused(gg.CheckError, lambda: gg.check_gradient(tf.nn.relu, np.ones(1), override=gg.override_gradients(
        {"Relu": lambda op, grad: 3.0 * grad}))),
    "ResultFileError": recording, "SaliencyError": refused(gg.SaliencyError, lambda: gg.saliency.load("none")),
    "check_cluster": cluster, "ClusterError": refused(gg.ClusterError, lambda: gg.check_cluster({"ps": ["nowhere"]})),
    "OpLibraryError": op_library, "OverrideWarning": warned,
    "errors": refused(gg.errors.UsageError, lambda: gg.assert_matches(tf.constant(1.0), 1.0)), "golden": recording,
    "legacy": legacy, "ops": ready_functions, "presets": preset(gg.presets.guided_backprop), "registry": registered,
    "rules": rules, "saliency": saliency,
}


def test_every_public_name_has_a_cycle():
    """A new public name without one fails here."""
    assert set(CYCLES) == set(gg.__all__)


def counted():
    """What there is of each kind in this process."""
    gc.collect()
    things = gc.get_objects()
    kinds = {"graphs": tf.Graph, "sessions": (tf.Session,), "GradientRecords": type(gg.registry.gradients["graphgrad.no_gradient"])}
    numbers = {name: sum(isinstance(thing, kind) for thing in things if not isinstance(thing, weakref.ProxyTypes))
               for name, kind in kinds.items()}
    del things
    numbers["names"] = len(_tf.registered_names())
    numbers["tokens"] = len(_tf.script_ops._py_funcs._funcs)
    numbers["threads"] = threading.active_count()
    numbers["files"] = len(os.listdir("/proc/self/fd"))
    numbers["hooks"] = _tf._hook_users
    return numbers


SLOW = ("saliency", "legacy", "lrp", "deeplift", "check_gradient", "declare_surrogate", "CheckError")


@pytest.mark.filterwarnings("ignore::graphgrad.OverrideWarning")
@pytest.mark.parametrize("name", sorted(CYCLES))
def test_nothing_is_left(name):
    """After a warm-up, cycles in graphs that are dropped leave as many graphs, functions, names, threads and files."""
    def cycles(numbers):
        for number in numbers:
            with tf.Graph().as_default():
                CYCLES[name](number)

    cycles(range(2))
    before = counted()
    cycles(range(2, 12 if name in SLOW else 102))
    assert counted() == before


@pytest.mark.skipif(TF1, reason="TF 1.15 keeps the functions of eager mode for the life of the process, ours or not")
def test_a_called_override_in_eager_mode():
    """Form 3: the functions that it traced go with it."""
    gone = []
    for number in range(10):
        def model(x, number=number):
            return tensorflow.nn.relu(x) * float(number)

        overridden = gg.override_gradients({"Relu": scaled(number)})(model)
        with tensorflow.GradientTape() as tape:
            x = tensorflow.constant(ONE)
            tape.watch(x)
            y = overridden(x)
        tape.gradient(y, x)
        gone += [weakref.ref(model), weakref.ref(overridden)]
        del model, overridden, tape, x, y
    gc.collect()
    assert [reference() for reference in gone] == [None] * len(gone)


def test_no_public_name_calls_what_tensorflow_calls_deprecated():
    """TensorFlow 1.15 logs that once for each function, with the file of the caller."""
    done = subprocess.run([sys.executable, "-m", "tests.benchmarks.bench_leaks", "1"], cwd=ROOT, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, universal_newlines=True, timeout=500)
    assert done.returncode == 0 and "smoothed_max_pool" in done.stdout, done.stdout
    ours = os.path.dirname(gg.__file__)
    assert [line for line in done.stdout.splitlines() if "From {}".format(ours) in line] == []
