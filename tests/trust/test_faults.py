"""An exception wherever user code is called, and worse: the process stays usable, and the next call gives the right number."""
import errno
import json
import linecache
import os
import resource
import signal
import subprocess
import sys

import numpy as np
import pytest
import tensorflow
from conftest import tf

import graphgrad as gg
from graphgrad import _tf, cli
from graphgrad.golden import load
from graphgrad.golden.files import write

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HOME = os.path.dirname(os.path.abspath(gg.__file__))
DIGITS = os.path.join(ROOT, "legacy_examples", "digits")


class Planted(Exception):
    """What is raised."""


def tenfold(op, grad):
    return 10.0 * grad


def everything_installed(graph):
    """What overrides put on a graph, on its operation "old", and into TensorFlow."""
    return (dict(graph._gradient_override_map), len(graph._device_functions_outer_to_inner),
            [_tf.bound_gradient(op) for op in graph.get_operations() if op.name.startswith("old")],
            _tf._hook_users, _tf._execute.record_gradient, _tf.lock._is_owned(), graph.get_name_scope())


@pytest.fixture
def untouched(graph):
    """x = [-1, 2] and old = relu(x); afterwards nothing is installed and gradients are ordinary, and overridable."""
    x = tf.constant([-1.0, 2.0], name="x")
    old = tf.nn.relu(x, name="old")
    before = everything_installed(graph)
    yield x, old
    assert everything_installed(graph) == before
    with gg.override_gradients({"Relu": tenfold}):
        new = tf.nn.relu(x)
    with gg.override_gradients({"Relu": tenfold}).on(graph, where="old"):
        dold = tf.gradients(old, x)[0]
    wanted = [(tf.gradients(old, x)[0], [0, 1]), (tf.gradients(tf.nn.relu(x), x)[0], [0, 1]), (dold, [10, 10]),
              (tf.gradients(new, x)[0], [10, 10]),
              (tf.gradients(gg.py_func_with_grad(np.abs, [x], tf.float32, grad=tenfold), x)[0], [10, 10])]
    with tf.Session() as session:
        assert [value.tolist() for value in session.run([tensor for tensor, _ in wanted])] == [want for _, want in wanted]


KINDS = [Planted, KeyboardInterrupt, SystemExit, MemoryError, GeneratorExit]


def raising(kind):
    """A function that raises, whatever it is called with."""
    def raises(*args, **kwargs):
        raise kind("planted")
    return raises


def in_a_block(kind, x, old):
    with gg.override_gradients({"Relu": tenfold}):
        tf.nn.relu(x)
        raise kind("planted")


def in_nested_blocks(kind, x, old):
    with gg.override_gradients({"Relu": tenfold}), gg.override_gradients({"Relu": None}):
        with gg.override_gradients({"Relu": tenfold}).on(where="old"):
            tf.nn.relu(x)
            raise kind("planted")


def in_a_loop_body(kind, x, old):
    with gg.override_gradients({"Relu": tenfold}):
        tf.while_loop(lambda v: tf.reduce_sum(v) < 9.0, raising(kind), [x])


def in_on(kind, x, old):
    with gg.override_gradients({"Relu": tenfold}).on(x.graph):
        tf.gradients(old, x)
        raise kind("planted")


def in_the_predicate_of_on(kind, x, old):
    tf.nn.relu(x, name="second")
    seen = []

    def predicate(op):
        seen.append(op)
        if len(seen) > 1:   # after one was selected
            raise kind("planted")
        return True

    with gg.override_gradients({"Relu": tenfold}).on(x.graph, where=predicate):
        raise AssertionError("the block was entered")


def in_a_gradient_function_of_a_block(kind, x, old):
    with gg.override_gradients({"Relu": raising(kind)}):
        y = tf.nn.relu(x)
        tf.gradients(y, x)


def in_a_gradient_function_of_on(kind, x, old):
    with gg.override_gradients({"Relu": raising(kind)}).on(x.graph):
        tf.gradients(old, x)


def in_a_called_function(kind, x, old):
    gg.override_gradients({"Relu": tenfold})(raising(kind))(x)


def in_the_forward_of_tf_func(kind, x, old):
    gg.tf_func_with_grad(raising(kind), [x], grad=tenfold)


def in_the_backward_of_tf_func(kind, x, old):
    tf.gradients(gg.tf_func_with_grad(tf.abs, [x], grad=raising(kind)), x)


def in_the_backward_of_py_func(kind, x, old):
    tf.gradients(gg.py_func_with_grad(np.abs, [x], tf.float32, grad=raising(kind)), x)


def in_the_output_shapes_of_py_func(kind, x, old):
    gg.py_func_with_grad(np.abs, [x], tf.float32, grad=tenfold, output_shapes=raising(kind))


def in_a_rules_surrogate(kind, x, old):
    rule = gg.declare_surrogate(raising(kind))(lambda op, grad: grad)
    with tf.Graph().as_default():
        gg.check_gradient(tf.nn.relu, np.float64([-1.0, 2.0]), override=gg.override_gradients({"Relu": rule}))


def in_a_skipped_function(kind, x, old):
    gg.ops.skip_gradient(raising(kind))(x)


def in_the_images_of_a_stream(kind, x, old):
    with tf.Graph().as_default() as graph, tf.Session(graph=graph) as session:
        images = tf.placeholder(tf.float32, [None, 2])
        method = gg.saliency.guided_backprop(tf.reduce_sum(tf.nn.relu(images), 1), images)

        def examples():
            yield np.ones(2)
            raise kind("planted")

        try:
            list(method.stream(session, examples(), max_batch=1))
        finally:
            assert method(session, [[-1.0, 2.0]]).tolist() == [[0.0, 1.0]]


WHERE = [in_a_block, in_nested_blocks, in_a_loop_body, in_on, in_the_predicate_of_on, in_a_gradient_function_of_a_block,
         in_a_gradient_function_of_on, in_a_called_function, in_the_forward_of_tf_func, in_the_backward_of_tf_func,
         in_the_backward_of_py_func, in_the_output_shapes_of_py_func, in_a_rules_surrogate, in_a_skipped_function,
         in_the_images_of_a_stream]


@pytest.mark.filterwarnings("ignore::graphgrad.OverrideWarning")
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("where", WHERE, ids=lambda where: where.__name__)
def test_an_exception_where_user_code_is_called(where, kind, untouched):
    """It comes out as what it is, and leaves nothing behind."""
    if where is in_the_images_of_a_stream and kind is GeneratorExit:
        kind = Planted   # in a generator it has a meaning of its own
    with pytest.raises(kind, match="planted"):
        where(kind, *untouched)


@pytest.mark.parametrize("kind", [Planted, ValueError, MemoryError, NotImplementedError], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("place", ["forward", "backward"])
def test_an_exception_while_the_session_runs(place, kind, untouched):
    """In a numpy forward or backward: the run fails with the function's name; the same Session then runs the rest."""
    x, old = untouched
    broken = [True]

    def forward(a):
        if broken[0] and place == "forward":
            raise kind("planted")
        return 2 * a

    def backward(op, grad):
        if broken[0] and place == "backward":
            raise kind("planted")
        return 7 * grad

    y = gg.py_func_with_grad(forward, [x], tf.float32, numpy_grad=backward)
    fetches = [y, tf.gradients(y, x)[0]]
    with tf.Session() as session:
        for _ in range(3):
            with pytest.raises(tf.errors.OpError, match="numpy {} '.*{}' .* raised {}: planted".format(
                    "gradient" if place == "backward" else place, place, kind.__name__)):
                session.run(fetches)
            assert session.run(tf.gradients(old, x)[0]).tolist() == [0, 1]
        broken[0] = False
        assert [value.tolist() for value in session.run(fetches)] == [[-2, 4], [7, 7]]


def interrupted_at(line, action):
    """Run an action; raise KeyboardInterrupt at so many lines of graphgrad's; returns whether it came so far.

    Not where a ``with`` is left, which is a line to a trace, but no place for Python to raise it at.
    """
    left = [line]

    def lines_of_a_frame():
        entered = set()

        def each_line(frame, event, argument):
            if event == "line":
                left[0] -= 1
                if linecache.getline(frame.f_code.co_filename, frame.f_lineno).lstrip().startswith("with "):
                    if frame.f_lineno in entered:
                        return each_line
                    entered.add(frame.f_lineno)
                if left[0] <= 0:
                    sys.settrace(None)
                    raise KeyboardInterrupt("planted")
            return each_line

        return each_line

    def each_call(frame, event, argument):
        if not frame.f_code.co_filename.startswith(HOME):
            return None
        caller = frame
        while caller is not None:
            if caller.f_code.co_name in NOT_INTERRUPTED and caller.f_code.co_filename.startswith(HOME):
                return None
            caller = caller.f_back
        return lines_of_a_frame()

    before = sys.gettrace()
    sys.settrace(each_call)
    try:
        action()
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(before)
    return left[0] <= 0


#: What takes an override off again: an interrupt there is like one at no time at all, as in any ``finally``.
NOT_INTERRUPTED = {"__exit__", "close", "_take_off", "_sweep", "_sweep_bodies", "_look_for_unseen", "hooks", "unbind",
                   "restore", "__del__", "_forget", "_remove_cache_key", "tell", "tell_unmatched", "tell_missed", "override_existing", "bind"}


def enter_and_leave(x, old):
    with gg.override_gradients({"Relu": tenfold}):
        tf.nn.relu(x)


def differentiate_what_exists(x, old):
    with gg.override_gradients({"Relu": tenfold}).on(x.graph):
        tf.gradients(old, x)


def build_functions(x, old):
    y = gg.py_func_with_grad(np.abs, [x], tf.float32, grad=lambda op, grad: grad)
    tf.gradients(y + gg.tf_func_with_grad(tf.abs, [x], grad=lambda op, grad: grad), x)


@pytest.mark.parametrize("action", [enter_and_leave, differentiate_what_exists, build_functions],
                         ids=lambda action: action.__name__)
def test_ctrl_c_at_every_third_line(action):
    """Wherever in graphgrad it comes while something is put on: nothing stays on, and what was there is as it was."""
    assert gg.override_gradients and gg.py_func_with_grad   # imported by now
    for line in range(1, 3000, 3):
        with tf.Graph().as_default() as graph:
            x = tf.constant([-1.0, 2.0])
            old = tf.nn.relu(x, name="old")
            before = everything_installed(graph)
            reached = interrupted_at(line, lambda x=x, old=old: action(x, old))
            assert everything_installed(graph) == before, line
            assert tf.gradients(old, x)[0].op.type == "ReluGrad", line
        if not reached:
            break
    assert line > 60   # it had lines to be interrupted at
    with tf.Graph().as_default() as graph, tf.Session() as session:
        x = tf.constant([-1.0, 2.0])
        with gg.override_gradients({"Relu": tenfold}):
            y = tf.nn.relu(x)
        assert session.run(tf.gradients(y, x)[0]).tolist() == [10, 10]


def test_ctrl_c_while_graphgrad_is_imported():
    """The next import works: names that the first one entered into TensorFlow's registry are taken over."""
    code = """
import sys, tensorflow, graphgrad as gg
from graphgrad import _tf
register, count = _tf.register, [0]
def interrupted(name, gradient):
    register(name, gradient)
    count[0] += 1
    if count[0] == NUMBER:
        raise KeyboardInterrupt
_tf.register = interrupted
try:
    gg.rules
    print("no interrupt")
except KeyboardInterrupt:
    pass
_tf.register = register
for name in [name for name in sys.modules if name.startswith("graphgrad.")]:
    del sys.modules[name]
tf = tensorflow.compat.v1
with tf.Graph().as_default(), tf.Session() as session:
    x = tf.constant([-1.0, 2.0])
    with gg.override_gradients({"Relu": "graphgrad.straight_through"}) if gg.rules else None:
        y = tf.nn.relu(x)
    print(session.run(tf.gradients(y, x)[0]).tolist())
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code.replace("NUMBER", "3")], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, universal_newlines=True, env=dict(os.environ, PYTHONPATH=ROOT))
    assert done.stdout == "[1.0, 1.0]\n", done.stderr


# --- Sessions ----------------------------------------------------------------------------------------------

class LittleMemory:
    """A Session that has no memory for more than so many rows, as a GPU would say."""

    def __init__(self, session, rows, x):
        self._session, self._rows, self._x, self.graph = session, rows, x, session.graph
        self.sizes = []

    def run(self, fetches, feed):
        self.sizes.append(len(feed[self._x]))
        if len(feed[self._x]) > self._rows:
            raise tf.errors.ResourceExhaustedError(None, None, "OOM when allocating tensor")
        return self._session.run(fetches, feed)


def test_memory_that_runs_out_in_a_saliency_batch(graph):
    """Batches are halved until they fit; the maps are the right ones; where one row is too much it is said."""
    x = tf.placeholder(tf.float32, [None, 3])
    method = gg.saliency.gradient(tf.reduce_sum(x * x, 1), x)
    images = np.arange(60, dtype=np.float32).reshape(20, 3)
    with tf.Session() as session:
        little = LittleMemory(session, 3, x)
        assert method(little, images, max_batch=16).tolist() == (2 * images).tolist()
        assert little.sizes[:3] == [16, 8, 4] and set(little.sizes[3:]) == {2}
        with pytest.raises(tf.errors.ResourceExhaustedError, match="OOM"):
            method(LittleMemory(session, 0, x), images)
        assert method(session, images).tolist() == (2 * images).tolist()


def test_a_session_closed_under_us(graph):
    """TensorFlow's error, and the method works with the next Session."""
    x = tf.placeholder(tf.float32, [None, 3])
    method = gg.saliency.guided_backprop(tf.reduce_sum(tf.nn.relu(x), 1), x)
    image = np.float32([[-1, 2, 3]])
    session = tf.Session()
    maps = method.stream(session, iter([image[0], image[0]]), max_batch=1)
    assert next(maps).tolist() == [0, 1, 1]
    session.close()
    with pytest.raises(RuntimeError, match="closed"):
        next(maps)
    with tf.Session() as session:
        assert method(session, image).tolist() == [[0, 1, 1]]


def test_a_model_closed_under_us():
    """The same for what load opens."""
    path = os.path.join(DIGITS, "frozen.pb")
    with gg.saliency.load(path) as model:
        method = gg.saliency.gradient(model.y, model.x, target=3)
    with pytest.raises(RuntimeError, match="closed"):
        method(model.session, np.zeros([1, 8, 8, 1]))
    with gg.saliency.load(path) as again:
        assert gg.saliency.gradient(again.y, again.x, target=3)(again.session, np.zeros([1, 8, 8, 1])).shape == (1, 8, 8, 1)


# --- Disks -------------------------------------------------------------------------------------------------

@pytest.fixture
def small_disk():
    """A function that runs another where no file may be larger than so many bytes, as on a full disk."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)   # the write fails instead

    def run(size, action):
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
        try:
            return action()
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)

    yield run
    signal.signal(signal.SIGXFSZ, handler)


def contents(folder):
    return {name: (folder / name).read_bytes() for name in sorted(os.listdir(str(folder)))}


NOISE = np.random.RandomState(0).randn(20000).astype(np.float32)


@pytest.mark.parametrize("size", [0, 100, 5000, 70000])
def test_a_full_disk_and_a_golden_file(size, tmp_path, small_disk):
    """Whole or absent: the old one stays, and nothing is left beside it."""
    path = tmp_path / "kept.npz"
    write(str(path), {"y": np.float32([1, 2])})
    before = contents(tmp_path)
    for target in (path, tmp_path / "new.npz"):
        with pytest.raises((OSError, IOError)) as caught:
            small_disk(size, lambda target=target: write(str(target), {"y": NOISE}))
        assert caught.value.errno == errno.EFBIG
    assert contents(tmp_path) == before
    write(str(path), {"y": NOISE})
    with load(str(path)) as recording:
        assert (recording.array("run0000/000") == NOISE).all()


@pytest.mark.parametrize("kind", ["json", "junit", "html"])
def test_a_full_disk_and_a_report(kind, tmp_path, small_disk, capsys):
    """The report of the last time stays; the exit status is 2, with a sentence."""
    for name, value in (("old", 1.0), ("new", 2.0)):
        write(str(tmp_path / (name + ".npz")), {"y": np.float32([value])})
    (tmp_path / "report").write_text("the last one")
    before = contents(tmp_path)
    words = ["compare", str(tmp_path / "new.npz"), str(tmp_path / "old.npz"), "--" + kind, str(tmp_path / "report")]
    assert small_disk(64, lambda: cli.main(words)) == 2
    assert "report cannot be written: File too large." in capsys.readouterr().err
    assert contents(tmp_path) == before
    assert cli.main(words) == 1 and (tmp_path / "report").read_text() != "the last one"


def test_a_full_disk_and_a_source_that_scan_rewrites(tmp_path, small_disk, capsys):
    """A script is never cut short; its permissions stay as they were."""
    script = tmp_path / "script.py"
    script.write_text("import tensorflow as tf\n" + "# a comment\n" * 20 + "tf.disable_eager_execution()\n")
    os.chmod(str(script), 0o750)
    before = contents(tmp_path)
    assert small_disk(64, lambda: cli.main(["scan", "--write", str(script)])) == 2
    assert "script.py cannot be written: File too large." in capsys.readouterr().err
    assert contents(tmp_path) == before
    assert cli.main(["scan", "--write", str(script)]) == 0
    assert "tf.disable_v2_behavior" in script.read_text() and os.stat(str(script)).st_mode & 0o777 == 0o750
    assert os.listdir(str(tmp_path)) == ["script.py"]


def test_a_full_disk_and_maps(tmp_path, small_disk, capsys):
    """A map is whole or absent, and the next run writes them all."""
    out = tmp_path / "out"
    words = ["saliency", os.path.join(DIGITS, "frozen.pb"), "--image", os.path.join(DIGITS, "digit_0.png"),
             "--method", "gradient", "-o", str(out), "--preprocess", "0,255"]
    for size, whole in ((100, []), (500, ["digit_0.gradient.npy"]), (5000, ["digit_0.gradient.npy", "digit_0.gradient.png"])):
        assert small_disk(size, lambda: cli.main(words)) == 2
        assert "cannot be written to {}: File too large.".format(out) in capsys.readouterr().err
        assert sorted(os.listdir(str(out))) == whole
    assert cli.main(words) == 0
    assert np.load(str(out / "digit_0.gradient.npy")).shape == (8, 8, 1)
    assert sorted(os.listdir(str(out))) == ["digit_0.gradient.npy", "digit_0.gradient.png", "index.html"]


def test_images_that_vanish(tmp_path, capsys):
    """One that was there when the folder was read is named and skipped."""
    import shutil

    from graphgrad.saliency import images
    for name in ("a.png", "b.png"):
        shutil.copy(os.path.join(DIGITS, "digit_0.png"), str(tmp_path / name))
    find = images.find

    def then_gone(patterns):
        paths = find(patterns)
        os.remove(paths[0])
        return paths

    images.find = then_gone
    try:
        status = cli.main(["saliency", os.path.join(DIGITS, "frozen.pb"), "--image", str(tmp_path), "--method", "gradient",
                           "-o", str(tmp_path / "out")])
    finally:
        images.find = find
    assert status == 1
    assert "a.png: it cannot be read: No such file or directory" in capsys.readouterr().err
    assert "b.gradient.npy" in os.listdir(str(tmp_path / "out"))


# --- Scripts, and processes that are killed ---------------------------------------------------------------

SCRIPT = """import os, signal, sys
import tensorflow as tf
if not tf.__version__.startswith("1."):
    tf = tf.compat.v1
    tf.disable_eager_execution()
x = tf.constant([-1.0, 2.0])
y = tf.nn.relu(x)
with tf.Session() as session:
    session.run(y)
    ACTION
"""


def in_a_process(*words, **options):
    return subprocess.run([sys.executable, "-W", "ignore", "-m", "graphgrad"] + list(words), stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, universal_newlines=True, env=dict(os.environ, PYTHONPATH=ROOT), **options)


def test_a_worker_that_is_killed(tmp_path):
    """compare -j 2: its row says so, the other script's is right, and nothing is left in the temporary folder."""
    temporary = tmp_path / "temporary"
    results = tmp_path / "scripts" / "old_results"
    os.makedirs(str(results))
    temporary.mkdir()
    for name, action in (("dies", "os.kill(os.getpid(), signal.SIGKILL)"), ("lives", "pass")):
        script = tmp_path / "scripts" / (name + ".py")
        script.write_text(SCRIPT.replace("ACTION", "pass"))
        done = in_a_process("record", str(script), "-o", str(results / (name + ".npz")))
        assert done.returncode == 0, done.stderr
        script.write_text(SCRIPT.replace("ACTION", action))
    environment = dict(os.environ, PYTHONPATH=ROOT, TMPDIR=str(temporary))
    done = subprocess.run([sys.executable, "-m", "graphgrad", "compare", "-j", "2", str(tmp_path / "scripts"), "--json",
                           str(tmp_path / "report.json")], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          universal_newlines=True, env=environment)
    assert done.returncode == 1, done.stderr
    assert {row["title"]: row["verdict"] for row in json.loads((tmp_path / "report.json").read_text())} == {
        "dies.py": "failed", "lives.py": "same"}
    assert "killed by signal 9" in done.stdout and "1 of 2 scripts give the same" in done.stdout
    assert os.listdir(str(temporary)) == []


def test_a_legacy_script_that_raises_leaves_the_process_as_it_was():
    """run_script in a process that goes on: modules, arguments and TensorFlow are put back."""
    code = """
import os, sys, tempfile, graphgrad.legacy as legacy
path = os.path.join(tempfile.mkdtemp(), "script.py")
open(path, "w").write('''
import tensorflow as tf
@tf.RegisterGradient("Mine")
def mine(op, grad): raise ValueError("planted")
x = tf.constant([-1.0, 2.0])
with tf.get_default_graph().gradient_override_map({"Relu": "Mine"}):
    y = tf.nn.relu(x)
    tf.gradients(y, x)
''')
before = sys.argv, list(sys.path), sys.modules["__main__"]
for _ in range(2):
    try:
        legacy.run_script(path)
    except ValueError as error:
        print(error)
    assert (sys.argv, sys.path, sys.modules["__main__"]) == before
import tensorflow as tf
tf = tf.compat.v1
with tf.Graph().as_default() as graph, tf.Session() as session:
    x = tf.constant([-1.0, 2.0])
    print(dict(graph._gradient_override_map), session.run(tf.gradients(tf.nn.relu(x), x)[0]).tolist())
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          universal_newlines=True, env=dict(os.environ, PYTHONPATH=ROOT))
    assert done.stdout == "planted\nplanted\n{} [0.0, 1.0]\n", done.stderr


def test_a_progress_that_cannot_be_shown(graph, monkeypatch):
    """A terminal that went away: the exception comes out, and the next call gives the map."""
    x = tf.placeholder(tf.float32, [None, 2])
    method = gg.saliency.gradient(tf.reduce_sum(x * x, 1), x)
    with tf.Session() as session:
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stderr", open(os.devnull))   # not open for writing
            with pytest.raises(OSError):
                method(session, [[1.0, 2.0]], progress=True)
            sys.stderr.close()
        assert method(session, [[1.0, 2.0]]).tolist() == [[2.0, 4.0]]


@pytest.mark.filterwarnings("ignore::graphgrad.OverrideWarning")
def test_a_fault_in_eager_mode():
    """Form 3: what raised while it was traced is traced anew, and right."""
    broken = [True]

    def model(x):
        if broken[0]:
            raise Planted("planted")
        return tensorflow.nn.relu(x)

    overridden = gg.override_gradients({"Relu": tenfold})(model)
    x = tensorflow.constant([-1.0, 2.0])
    with pytest.raises(Planted):
        overridden(x)
    broken[0] = False
    with tensorflow.GradientTape() as tape:
        tape.watch(x)
        y = overridden(x)
    assert tape.gradient(y, x).numpy().tolist() == [10, 10]
