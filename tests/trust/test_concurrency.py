"""Many threads, forked processes and processes that write one file: no cross-talk, nothing lost, no half-written file.

The interpreter is made to switch threads after every few instructions, and threads start at a barrier, so that they meet.
"""
import functools
import gc
import os
import subprocess
import sys
import threading
import time
import traceback

import numpy as np
import pytest
from conftest import tf

import graphgrad as gg
from graphgrad import _tf, blocks, existing, functions, registry

THREADS = 16
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


@pytest.fixture(autouse=True)
def switching_often():
    """Let Python change threads a thousand times as often as it does."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def at_once(work, number=THREADS, timeout=240):
    """Call ``work(0)``, ``work(1)``, ... in threads that start together; returns what they returned, or raises their errors."""
    barrier = threading.Barrier(number)
    results, errors = [None] * number, []

    def run(index):
        try:
            barrier.wait()
            results[index] = work(index)
        except BaseException:
            errors.append(traceback.format_exc())

    threads = [threading.Thread(target=run, args=(index,), daemon=True) for index in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout)
    assert not any(thread.is_alive() for thread in threads), "threads wait for each other"
    assert not errors, "{} of {} threads failed; the first:\n{}".format(len(errors), number, errors[0])
    return results


def times(factor):
    """A gradient function of its own for each factor."""
    def scaled(op, grad):
        return factor * grad

    return scaled


def run(graph, fetches, feed_dict=None):
    with tf.Session(graph=graph) as session:
        return session.run(fetches, feed_dict)


# Graphs of their own.

def test_one_override_in_sixteen_graphs_at_once():
    """Each thread's operations are in the report of its graph, and only there; nothing is lost while others read it."""
    override = gg.override_gradients({"Relu": times(3.0)})
    blocks_each = 25
    done = threading.Event()
    reports = []

    def read():
        while not done.is_set():
            reports.append(len(override.report.tagged))

    reader = threading.Thread(target=read)
    reader.start()

    def build(index):
        graphs = []
        for number in range(blocks_each):
            with tf.Graph().as_default() as graph:
                x = tf.constant([1.0, -1.0])
                with override:
                    y = tf.nn.relu(x, name="relu_{}_{}".format(index, number))
                graphs.append((graph, tf.gradients(y, x)[0], y.op.name))
        return graphs

    try:
        built = at_once(build)
    finally:
        done.set()
        reader.join()
    assert reports
    for graph, _, name in sum(built, []):
        log = override.log_for(graph)
        assert list(log.tagged["Relu"]) == list(log.differentiated["Relu"]) == [name]
    assert sorted(override.report["Relu"].tagged) == sorted(name for _, _, name in sum(built, []))
    for graph, gradient, _ in [graphs[-1] for graphs in built]:
        assert run(graph, gradient).tolist() == [3.0, 3.0]


def test_a_graph_has_one_log():
    """However many threads ask one Override at once: what one of them saw would be lost with a second log."""
    for _ in range(10):
        override = gg.override_gradients({"Relu": times(3.0)})
        graphs = [tf.Graph() for _ in range(20)]
        logs = at_once(lambda index: [override.log_for(graph) for graph in graphs])  # noqa: B023 (called at once)
        assert all(log.graph() is graph for each in logs for log, graph in zip(each, graphs))
        assert all(len(set(map(id, each))) == 1 for each in zip(*logs))


def test_hooks_are_off_when_the_last_block_is_closed():
    """TensorFlow's functions are wrapped while any block is open in any thread, and are TensorFlow's afterwards."""
    original = _tf._execute.record_gradient
    override = gg.override_gradients({"Relu": times(2.0)})

    def build(index):
        for _ in range(40):
            with tf.Graph().as_default():
                x = tf.constant(1.0)
                with override:
                    assert _tf._execute.record_gradient is _tf._record_binding
                    tf.nn.relu(x)

    at_once(build)
    assert _tf._execute.record_gradient is original and _tf._hook_users == 0


def test_an_overridden_function_called_from_sixteen_threads():
    """Form 3 in eager mode: each thread gets the gradient, with a tape of its own."""
    import tensorflow
    function = gg.override_gradients({"Tanh": times(5.0)})(lambda x: tf.tanh(x) * 2.0)

    def call(index):
        results = []
        for size in (1 + index % 4, 2):
            x = tensorflow.constant(np.full(size, 0.5, np.float32))
            with tensorflow.GradientTape() as tape:
                tape.watch(x)
                y = function(x)
            results.append(tape.gradient(y, x).numpy().tolist())
        return results

    for index, (one, two) in enumerate(at_once(call)):
        assert one == [10.0] * (1 + index % 4) and two == [10.0] * 2


# One graph.

def test_one_graph_under_one_override():
    """A block that one thread opened holds for all that build in the graph while it is open; none of them is lost."""
    override = gg.override_gradients({"Relu": times(7.0)})
    with tf.Graph().as_default() as graph:
        x = tf.constant([1.0, -1.0])
        with override:
            def build(index):
                with graph.as_default():
                    return [tf.nn.relu(x, name="relu_{}_{}".format(index, number)) for number in range(15)]

            built = sum(at_once(build), [])
        gradients = [tf.gradients(y, x)[0] for y in built]
    assert sorted(override.report["Relu"].tagged) == sorted(y.op.name for y in built)
    assert all(value.tolist() == [7.0, 7.0] for value in run(graph, gradients))


class Slow(dict):
    """The names of a graph: another thread has its turn between the question for a name and its being noted."""

    def get(self, *arguments):
        value = super().get(*arguments)
        time.sleep(1e-4)
        return value


@pytest.mark.parametrize("kind", ["py_func", "numpy_grad", "tf_func"])
def test_functions_with_a_gradient_of_their_own_in_one_graph(kind):
    """Sixteen threads add functions, and plain py_funcs, to one graph: each operation has the gradient it was given.

    TensorFlow gives names without a lock, so that two threads may get one: plain operations have names of their own here.
    """
    graph = tf.Graph()
    with graph.as_default():
        x = tf.constant([1.0, 2.0])
    graph._names_in_use = Slow(graph._names_in_use)

    def build(index):
        built = []
        with graph.as_default():
            for number in range(6):
                factor = float(1 + index * 6 + number)
                if kind == "py_func":
                    y = gg.py_func_with_grad(lambda a, f=factor: np.float32(f) * a, x, tf.float32, grad=times(factor))
                elif kind == "numpy_grad":
                    y = gg.py_func_with_grad(lambda a, f=factor: np.float32(f) * a, x, tf.float32,
                                             numpy_grad=lambda op, grad, f=factor: np.float32(f) * grad)
                else:
                    y = gg.tf_func_with_grad(lambda a, f=factor: f * a, x, grad=times(factor))
                name = "plain_{}_{}".format(index, number)
                plain = (tf.py_func(lambda a: a, [x], tf.float32, name=name) if index % 2
                         else tf.identity_n([x], name=name)[0])
                built.append((factor, y, plain))
        return built

    built = sum(at_once(build), [])
    with graph.as_default():
        gradients = [tf.gradients(y, x)[0] for _, y, _ in built]
        for _, _, plain in built:
            assert tf.gradients(plain, x) == [None] if plain.op.type == "PyFunc" else _tf.bound_gradient(plain.op) is None
    values = run(graph, [y for _, y, _ in built] + gradients)
    for place, (factor, _, _) in enumerate(built):
        assert values[place].tolist() == [factor, 2 * factor]
        assert values[len(built) + place].tolist() == [factor, factor]
    assert graph._gradient_override_map == {} and not graph._device_functions_outer_to_inner


def interleaved(graph, first, second, between):
    """Two threads with a block each: the first opens, the second opens, ``between()`` in the first; closed in turn or not."""
    opened, closing = threading.Event(), threading.Event()
    errors = []

    def other():
        with graph.as_default():
            try:
                with second:
                    opened.set()
                    closing.wait(60)
                    tf.tanh(graph.get_tensor_by_name("x:0"))
            except BaseException as error:
                errors.append(error)

    thread = threading.Thread(target=other)
    try:
        with graph.as_default(), first:
            tf.tanh(graph.get_tensor_by_name("x:0"))
            thread.start()
            assert opened.wait(60)
            between(thread, closing)
    finally:
        closing.set()
        thread.join()
    assert not errors, errors
    return thread


@pytest.fixture
def shared():
    graph = tf.Graph()
    with graph.as_default():
        tf.constant([1.0, -1.0], name="x")
    yield graph
    assert graph._gradient_override_map == {} and not graph._device_functions_outer_to_inner
    assert not blocks._open_blocks.get(graph) and _tf._hook_users == 0


def test_another_threads_block_in_the_same_graph_takes_nothing_in_silence(shared):
    """An operation built under an own override, which a block that another thread opened since would take, is refused."""
    first, second = gg.override_gradients({"Tanh": times(2.0)}), gg.override_gradients({"Tanh": times(3.0)})

    def between(thread, closing):
        with pytest.raises(gg.OverrideError, match="another thread has opened Override.* in the same graph meanwhile"):
            tf.tanh(shared.get_tensor_by_name("x:0"))
        tf.sin(shared.get_tensor_by_name("x:0"))   # neither's
        closing.set()
        thread.join()
        y = tf.tanh(shared.get_tensor_by_name("x:0"), name="after")
        assert run(shared, tf.gradients(y, shared.get_tensor_by_name("x:0"))[0]).tolist() == [2.0, 2.0]

    interleaved(shared, first, second, between)


def test_closed_in_the_wrong_order_by_two_threads(shared):
    """The one that closes too early is told, and afterwards the graph is as it was; later operations are ordinary."""
    first, second = gg.override_gradients({"Tanh": times(2.0)}), gg.override_gradients({"Tanh": times(3.0)})
    with pytest.raises(gg.OverrideError, match="was closed before Override"):
        interleaved(shared, first, second, lambda thread, closing: None)
    with shared.as_default():
        x = shared.get_tensor_by_name("x:0")
        y = tf.sin(tf.tanh(x))
        assert _tf.tag_of(y.op.inputs[0].op) is None and _tf.bound_gradient(y.op.inputs[0].op) is None


def test_turns_in_one_graph():
    """With a lock around each block, sixteen threads with overrides of their own build in one graph: each has its own."""
    graph, lock = tf.Graph(), threading.Lock()
    with graph.as_default():
        x = tf.constant([1.0, -1.0])

    def build(index):
        built = []
        for _ in range(5):
            with lock, graph.as_default(), gg.override_gradients({"Tanh": times(float(index))}):
                y = tf.tanh(x)
                built.append(tf.gradients(y, x)[0])
        return built

    built = at_once(build)
    for index, values in enumerate(run(graph, built)):
        assert np.array(values).tolist() == [[float(index)] * 2] * 5


class Meeting(list):
    """A list that lets another thread have its turn once: before an entry comes, or when one was looked at (``at``)."""

    def __init__(self, at, other):
        super().__init__()
        self.at, self.thread = at, threading.Thread(target=other)

    def _meet(self, at):
        if at == self.at:
            self.at = None
            self.thread.start()
            self.thread.join(0.5)   # it waits for us, or is done

    def append(self, entry):
        self._meet("append")
        super().append(entry)

    def __getitem__(self, place):
        entry = super().__getitem__(place)
        if place == -1:
            self._meet("look")
        return entry


def test_a_block_opened_while_another_threads_is_being_closed(shared):
    """One comes after the other: closed in the wrong order, an override would stay in force."""
    x, gradients, errors = shared.get_tensor_by_name("x:0"), [], []
    closed = threading.Event()

    def other():
        try:
            with shared.as_default(), gg.override_gradients({"Tanh": times(3.0)}):
                assert closed.wait(60)
                gradients.append(tf.gradients(tf.tanh(x), x)[0])
        except BaseException as error:
            errors.append(error)

    opened = blocks._open_blocks[shared] = Meeting("look", other)
    try:
        with shared.as_default(), gg.override_gradients({"Tanh": times(2.0)}):
            gradients.append(tf.gradients(tf.tanh(x), x)[0])
    finally:
        closed.set()
        opened.thread.join()
    assert not errors, errors
    with shared.as_default():
        gradients.append(tf.gradients(tf.tanh(x), x)[0])
    two, three, ordinary = run(shared, gradients)
    assert two.tolist() == [2.0, 2.0] and three.tolist() == [3.0, 3.0]
    assert np.allclose(ordinary, 1 - np.tanh([1.0, -1.0]) ** 2)


def test_a_block_opened_while_another_thread_opens_one(shared):
    """One comes after the other, in the list of what is open as in the graph."""
    x, errors = shared.get_tensor_by_name("x:0"), []
    inside, closing = threading.Event(), threading.Event()

    def other():
        try:
            with shared.as_default(), gg.override_gradients({"Sin": times(3.0)}):
                tf.sin(x)
                inside.set()
                assert closing.wait(60)
        except BaseException as error:
            errors.append(error)

    opened = blocks._open_blocks[shared] = Meeting("append", other)
    override = gg.override_gradients({"Tanh": times(2.0)})
    with shared.as_default():
        try:
            with pytest.raises(gg.OverrideError, match="opened later in the same graph: close them in the opposite order"):
                with override:
                    assert inside.wait(60)
                    y = tf.tanh(x)
        finally:
            closing.set()
            opened.thread.join()
        dx = tf.gradients(y, x)[0]
    assert not errors, errors
    assert run(shared, dx).tolist() == [2.0, 2.0]


def test_on_of_two_threads_at_the_same_moment(shared):
    """The second finds what the first holds, however close they come."""
    x, refused = shared.get_tensor_by_name("x:0"), []
    inside = threading.Event()
    with shared.as_default():
        y = tf.tanh(x)

    def other():
        with pytest.raises(gg.OverrideError, match="is held by on.. in another thread"):
            with shared.as_default(), gg.override_gradients({"Tanh": times(3.0)}).on(shared):
                inside.wait(5)
        refused.append(True)

    held = existing._held[shared] = Meeting("append", other)
    with shared.as_default(), gg.override_gradients({"Tanh": times(2.0)}).on(shared):
        held.thread.join()
        inside.set()
        dx = tf.gradients(y, x)[0]
    assert refused and run(shared, dx).tolist() == [2.0, 2.0]
    assert not held


def test_on_closed_in_another_order_than_opened(shared):
    """Each on() takes off what it put on, and nothing else."""
    x = shared.get_tensor_by_name("x:0")
    with shared.as_default():
        y = tf.tanh(x)
        first = gg.override_gradients({"Tanh": times(2.0)}).on(shared)
        second = gg.override_gradients({"Tanh": times(3.0)}).on(shared)
        first.__enter__()
        second.__enter__()
        both = tf.gradients(y, x)[0]
        with pytest.warns(gg.OverrideWarning, match="No gradient was built"):
            first.__exit__(None, None, None)
        one = tf.gradients(y, x)[0]
        second.__exit__(None, None, None)
        ordinary = tf.gradients(y, x)[0]
    both, one, ordinary = run(shared, [both, one, ordinary])
    assert both.tolist() == one.tolist() == [3.0, 3.0]
    assert np.allclose(ordinary, 1 - np.tanh([1.0, -1.0]) ** 2)


def test_on_in_two_threads_at_once(shared):
    """Operations that another thread's on() holds are refused, in one sentence; when that is closed they are free."""
    x = shared.get_tensor_by_name("x:0")
    with shared.as_default():
        y = tf.tanh(x)
    opened, closing = threading.Event(), threading.Event()

    def other():
        with shared.as_default(), gg.override_gradients({"Tanh": times(3.0)}).on(shared):
            opened.set()
            closing.wait(60)
            tf.gradients(y, x)

    thread = threading.Thread(target=other)
    thread.start()
    assert opened.wait(60)
    override = gg.override_gradients({"Tanh": times(2.0)})
    try:
        with pytest.raises(gg.OverrideError, match="'Tanh' .type Tanh. is held by on.. in another thread"):
            with override.on(shared):
                pass
    finally:
        closing.set()
        thread.join()
    with shared.as_default(), override.on(shared):
        dx = tf.gradients(y, x)[0]
    assert run(shared, dx).tolist() == [2.0, 2.0]


# One Session.

def test_py_funcs_in_one_session():
    """Sixteen threads run one Session with numpy forwards and backwards: each gets the numbers of what it fed."""
    seen = []

    def forward(a, b):
        seen.append(threading.get_ident())
        return a * b

    def backward(op, grad):
        return grad * op.inputs[1], grad * op.inputs[0]

    with tf.Graph().as_default():
        a, b = tf.placeholder(tf.float64, [None]), tf.placeholder(tf.float64, [None])
        one = gg.py_func_with_grad(forward, [a, b], tf.float64, grad=backward, output_shapes=[None])
        two = gg.py_func_with_grad(forward, [one, b], tf.float64, numpy_grad=backward, output_shapes=[None])
        fetches = [two] + tf.gradients(two, [a, b])
        with tf.Session() as session:
            def work(index):
                for number in range(25):
                    size = 1 + (index + number) % 5
                    first, second = np.arange(size) + index, np.arange(size) * 2.0 + number
                    got = session.run(fetches, {a: first, b: second})
                    wanted = [first * second ** 2, second ** 2, 2 * first * second]
                    assert all(np.array_equal(g, w) for g, w in zip(got, wanted))

            at_once(work)
    assert len(seen) == THREADS * 25 * 2


def test_an_exception_in_one_threads_run_is_that_threads():
    """A numpy forward that raises for one thread's feed fails that thread's run alone, with its message."""
    def forward(a):
        if a[0] < 0:
            raise KeyError("thread {:.0f}".format(-a[0]))
        return a

    with tf.Graph().as_default():
        a = tf.placeholder(tf.float64, [1])
        y = gg.py_func_with_grad(forward, a, tf.float64, grad=times(1.0), output_shapes=[1])
        with tf.Session() as session:
            def work(index):
                for _ in range(10):
                    if index % 2:
                        with pytest.raises(tf.errors.OpError, match="raised KeyError: 'thread {}'".format(index)):
                            session.run(y, {a: [-float(index)]})
                    else:
                        assert session.run(y, {a: [float(index)]}).tolist() == [index]

            at_once(work)


# The registry.

def rule_of_the_module(op, grad):
    return grad


def registered_as(name, index):
    return registry.gradients.register(rule_of_the_module, name)


def test_registering_the_same_function_at_once_is_quiet():
    """All get the one record, with and without a name; it is in TensorFlow's registry once."""
    for number in range(30):
        named = at_once(functools.partial(registered_as, "trust.same.{}".format(number)))
        assert len(set(map(id, named))) == 1 and "trust.same.{}".format(number) in registry.gradients
    unnamed = at_once(lambda index: registry.gradients.register(rule_of_the_module))
    assert len(set(map(id, unnamed))) == 1
    for number in range(30):
        registry.gradients.drop("trust.same.{}".format(number))


def test_registering_other_names_at_once_loses_none():
    """Sixteen threads register 60 names each: all are there, in both registries, with the function they were given."""
    def register(index):
        registered = [times(float(number)) for number in range(60)]
        for number, function in enumerate(registered):
            gg.register_gradient("trust.other.{}.{}".format(index, number))(function)
            assert sorted(registry.gradients)   # reading meanwhile
        return registered

    for index, registered in enumerate(at_once(register)):
        for number, function in enumerate(registered):
            name = "trust.other.{}.{}".format(index, number)
            assert registry.gradients[name].function is function and _tf.is_registered(name)
            registry.gradients.drop(name)
            assert not _tf.is_registered(name)


def test_registering_other_functions_under_one_name_at_once():
    """One of sixteen gets the name; fifteen are told who has it."""
    functions = [times(float(index)) for index in range(THREADS)]

    def register(name, index):
        try:
            gg.register_gradient(name)(functions[index])
            return True
        except gg.RegistrationError as error:
            assert "is taken by" in str(error)
            return False

    for number in range(20):
        name = "trust.taken.{}".format(number)
        won = at_once(functools.partial(register, name))
        assert won.count(True) == 1 and registry.gradients[name].function is functions[won.index(True)]
        registry.gradients.drop(name)


def test_passing_functions_come_and_go_in_all_threads():
    """Closures dropped by one thread while others register theirs: each keeps its own, names are used again, none is left."""
    gc.collect()
    before = set(registry.gradients), set(_tf.registered_names())

    def come_and_go(index):
        for number in range(12):
            functions = [times(1000.0 * index + number), times(1000.0 * index + number + 0.5)]
            records = [registry.gradients.register(function) for function in functions]
            for record, function in zip(records, functions):
                assert record.function is function and registry.gradients[record.name] is record
                assert _tf.is_registered(record.name)
                assert int(record.name.partition("#")[2] or 1) <= 2 * THREADS
            del records, record
            if number % 6 == 0:
                gc.collect()

    at_once(come_and_go)
    registry.gradients.register(rule_of_the_module)   # takes out what went while the registry was held
    gc.collect()
    assert set(registry.gradients) - before[0] <= {registry.gradients.register(rule_of_the_module).name}
    assert {name for name in set(_tf.registered_names()) - before[1] if "times" in name} == set()


# The lock.

def of_an_override(do):
    return lambda graph: functools.partial(do, gg.override_gradients({"Tanh": times(2.0)}))


def of_a_record(do):
    def action(graph):
        log = gg.override_gradients({"Tanh": times(2.0)}).log_for(graph)
        return functools.partial(do, registry.gradients.register(rule_of_the_module), log)

    return action


def undo_a_block(graph):
    block = blocks.Block(gg.override_gradients({"Tanh": times(2.0)}), graph)
    block.open()
    return block.undo


def leave_on(graph):
    override = gg.override_gradients({"Tanh": times(2.0)}).on(graph)
    override.__enter__()
    tf.gradients(graph.get_tensor_by_name("y:0"), graph.get_tensor_by_name("x:0"))
    return functools.partial(override.__exit__, None, None, None)


def python_operation(graph):
    def identity(a):
        return a

    x = graph.get_tensor_by_name("x:0")
    return lambda: functions._python_operation(identity, "identity", [x], [tf.float32], True, "identity")


TAKES_TURNS = {
    "log_for": of_an_override(lambda override: override.log_for(tf.Graph())),
    "report": of_an_override(lambda override: override.report),
    "observe": of_a_record(lambda record, log: record.observe(log)),
    "observers": of_a_record(lambda record, log: record.observers()),
    "names": lambda graph: functools.partial(iter, registry.gradients),
    "number of names": lambda graph: functools.partial(len, registry.gradients),
    "drop": lambda graph: functools.partial(registry.gradients.drop, "trust.nobody"),
    "undo": undo_a_block,
    "leave on()": leave_on,
    "number of a Python function": python_operation,
}


@pytest.mark.parametrize("action", sorted(TAKES_TURNS))
def test_who_reads_or_changes_what_threads_share_waits_for_the_lock(action, shared):
    ready, begin, done = threading.Event(), threading.Event(), threading.Event()

    def other():
        with shared.as_default():
            tf.tanh(shared.get_tensor_by_name("x:0"), name="y")
            act = TAKES_TURNS[action](shared)
            ready.set()
            begin.wait(60)
            act()
            done.set()

    thread = threading.Thread(target=other, daemon=True)
    thread.start()
    assert ready.wait(60)
    with _tf.lock:
        begin.set()
        assert not done.wait(0.3)
    thread.join(60)
    assert done.is_set()


# Processes.

FORK = """
import os, sys, threading
sys.setswitchinterval(1e-6)
import tensorflow
tf = tensorflow.compat.v1
import graphgrad as gg
from graphgrad import registry, _tf
tf.disable_eager_execution()
stop = threading.Event()

def rule(factor):
    return lambda op, grad: factor * grad

def busy(index):
    number = 0
    while not stop.is_set():
        number += 1
        registry.gradients.register(rule(float(number)))
        with _tf.hooks():
            registry.gradients.register(rule(float(-number)))

threads = [threading.Thread(target=busy, args=(index,), daemon=True) for index in range(4)]
for thread in threads:
    thread.start()
tokens, statuses = set(), []
for number in range(8):
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        status = 1
        try:
            gg.register_gradient("forked")(rule(3.0))
            with tf.Graph().as_default():
                x = tf.constant([1.0, 2.0])
                with gg.override_gradients({"Tanh": "forked"}) as override:
                    y = tf.tanh(x)
                z = gg.py_func_with_grad(lambda a: a, y, tf.float32, grad=rule(1.0))
                assert tf.gradients(z, x)[0] is not None and override.report["Tanh"].differentiated == ["Tanh"]
                os.write(writer, z.op.get_attr("token"))
            status = 0
        finally:
            os._exit(status)
    os.close(writer)
    tokens.add(os.read(reader, 1000))
    os.close(reader)
    statuses.append(os.waitpid(child, 0)[1])
stop.set()
for thread in threads:
    thread.join()
with tf.Graph().as_default():
    tokens.add(gg.py_func_with_grad(lambda a: a, tf.constant(1.0), tf.float32).op.get_attr("token"))
assert statuses == [0] * 8, statuses
assert len(tokens) == 9, tokens
print("forked")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without fork")
def test_fork_while_other_threads_register_and_build():
    """A child forked while four threads are inside graphgrad registers, overrides and differentiates; its tokens are its own."""
    done = run_python(["-W", "ignore", "-c", FORK])
    assert done.returncode == 0 and done.stdout.decode().strip() == "forked", done.stderr.decode()[-3000:]


def run_python(arguments):
    return subprocess.run([sys.executable] + arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=180,
                          cwd=ROOT, env=dict(os.environ, PYTHONPATH=ROOT))


WRITE = """
import sys, time
import numpy as np
from graphgrad.golden import files
path, value = sys.argv[1], float(sys.argv[2])
arrays = {"a": np.full(5000, value), "b": np.full([3, 70], value, np.float32)}
files.write(path, arrays)
sys.stdin.readline()
for _ in range(60):
    files.write(path, arrays)
"""


def test_processes_recording_to_one_path(tmp_path):
    """Whoever reads meanwhile finds a whole recording of one of them; nothing else is left in the folder."""
    path = str(tmp_path / "old.npz")
    writers = [subprocess.Popen([sys.executable, "-c", WRITE, path, str(value)], stdin=subprocess.PIPE, cwd=ROOT,
                                env=dict(os.environ, PYTHONPATH=ROOT)) for value in (1, 2, 3)]
    while not os.path.exists(path):
        assert all(writer.poll() is None for writer in writers)
    for writer in writers:
        writer.stdin.write(b"go\n")
        writer.stdin.close()
    seen = []
    while any(writer.poll() is None for writer in writers):
        with gg.golden.load(path) as recording:
            assert recording.meta["complete"]
            arrays = [recording.array(entry["key"]) for entry in recording.runs[0]["fetches"]]
        value = arrays[0][0]
        assert np.array_equal(arrays[0], np.full(5000, value)) and np.array_equal(arrays[1], np.full([3, 70], value))
        seen.append(value)
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    assert len(set(seen)) > 1, "they did not meet"
    assert os.listdir(str(tmp_path)) == ["old.npz"]
