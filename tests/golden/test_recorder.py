"""The recorder on six TensorFlows, and what it leaves of scripts that end badly."""
import json
import os
import subprocess
import sys
import types

import numpy as np
import pytest
import tensorflow

import graphgrad as gg
from graphgrad.golden import compare, load
from graphgrad.golden import recorder as recorder_module
from graphgrad.golden.recorder import SAMPLES, Archive, Recorder, new_part, salvage, sample_places, unrecorded

HERE = os.path.dirname(os.path.abspath(__file__))
RECORDINGS = os.path.join(HERE, "recordings")
RECORDER = os.path.join(os.path.dirname(gg.__file__), "golden", "recorder.py")
VERSIONS = ["0.12.1", "1.0.1", "1.4.1", "1.15.5", "2.15.1", "2.21.0"]
#: Pythons with other TensorFlows, separated as in PATH, to make and compare the recordings anew on.
PYTHONS = [sys.executable] + [path for path in os.environ.get("GRAPHGRAD_PYTHONS", "").split(os.pathsep) if path]


def everything(version):
    return load(os.path.join(RECORDINGS, "everything_{}.npz".format(version)))


def values(recording, run):
    return [recording.array(entry["key"]).tolist() if "key" in entry else entry.get("values") for entry in
            recording.runs[run]["fetches"]]


@pytest.mark.parametrize("version", VERSIONS)
def test_what_six_tensorflows_recorded(version):
    """Every kind of fetch, with values known in closed form; made on that TensorFlow from the script that is there."""
    with everything(version) as recording:
        meta = recording.meta
        assert (meta["tensorflow"], meta["complete"], meta["arguments"]) == (version, True, [])
        assert meta["onednn"] == version.startswith("2.")
        assert meta["session_threads"] == [0, 1] and meta["threads"] >= 1 and meta["python"] and meta["numpy"]
        import hashlib
        with open(os.path.join(RECORDINGS, "everything.py"), "rb") as stream:
            assert meta["script_sha256"] == hashlib.sha256(stream.read()).hexdigest()
        names = [[entry["name"] for entry in run["fetches"]] for run in recording.runs]
        assert len(names) == 12
        assert names[0] == ["w/Assign", "noise/Assign", "table/Assign"] and values(recording, 0) == [None] * 3
        assert names[2][:2] == ["y:0", "w:0"]
        assert values(recording, 2) == [[0, 4], [1, 2], [7, 14]]
        feeds = recording.runs[2]["feeds"]
        assert [(entry["name"], recording.array(entry["key"]).tolist()) for entry in feeds] == [("x:0", [-1, 2])]
        assert values(recording, 3) == [[3, 0]]
        slices, sparse = recording.runs[4]["fetches"]
        parts = [[recording.array(part["key"]).tolist() for part in entry["parts"]] for entry in (slices, sparse)]
        assert (slices["kind"], parts[0]) == ("IndexedSlicesValue", [[[1] * 3] * 2, [1, 1], [3, 3]])
        assert (sparse["kind"], parts[1]) == ("SparseTensorValue", [[[0, 1], [1, 0]], [1, 2], [2, 2]])
        assert values(recording, 5) == [["text"], ["a", "\\xff\\x00"]]
        assert names[7] == ["double"] and values(recording, 7) == [None]
        assert values(recording, 8) == [[2, 4]] and values(recording, 9) == [[14, 28]]
        assert values(recording, 10) == [[10, 0]]
        assert names[11] == ["total:0"] and values(recording, 11) == [7]


@pytest.mark.parametrize("version", VERSIONS)
def test_what_six_tensorflows_say_of_the_graph(version):
    """Variables where they are first initialised and at the end, seeds, tags, forward operations, op types."""
    with everything(version) as recording:
        variables = {variable["name"]: variable for variable in recording.variables}
        read = {name: [recording.array(variable[when]["key"]).tolist() for when in ("initial", "final")]
                for name, variable in variables.items()}
        noise = values(recording, 6)[1]
        assert read == {"w:0": [[1, 2], [2, 4]], "noise:0": [noise, noise], "table:0": [np.eye(3).tolist()] * 2,
                        "local:0": [5, 5], "monitored:0": [[1, 2, 4]] * 2}
        assert [variables[name]["session"] for name in ("w:0", "local:0", "monitored:0")] == [0, 0, 1]
        # TF 1 counts the operations built so far, TF 2 the unseeded random ones.
        drawn = 8 if version < "2" else 0
        assert recording.seeds == [["random_normal", None, 3, drawn], ["uniform", 11, 3, 11]]
        graph = recording.graphs[0]
        assert [entry[1:] for entry in graph["random"]] == [["RandomStandardNormal", 3, drawn], ["RandomUniform", 3, 11]]
        assert graph["tags"] == {"y": "Sevenfold"}
        assert recording.meta["overrides"] == [{"op_type": "Relu", "tag": "Sevenfold", "tagged": 1, "differentiated": 1}]
        nodes = graph["nodes"]
        assert {nodes[forward][0] for _, forward in graph["forward"]} >= {"mul"}
        assert all(nodes[backward][0].startswith("gradients") for backward, _ in graph["forward"])
        for op_type in ("Relu", "Placeholder", "RandomUniform"):
            assert graph["histogram"][op_type] == 1
        place = {name: place for place, (name, _, _) in enumerate(nodes)}
        assert [nodes[i][0] for i in nodes[place["y"]][2]] == ["mul"]


@pytest.mark.parametrize("version", VERSIONS[:4])
def test_todays_results_are_those_of_then(version):
    """Four old TensorFlows against 2.21: only what chance gave differs, and the operations that carry it."""
    with everything(version) as old, everything("2.21.0") as new:
        result = compare(new, old)
        assert {difference.tensor.name for difference in result.differences} == {"noise:0"}


@pytest.mark.parametrize("python", PYTHONS, ids=lambda path: os.path.basename(path))
def test_recorded_anew(python, tmp_path):
    """The file by itself, on the TensorFlow of that Python: the same as what is kept here."""
    output = str(tmp_path / "anew.npz")
    environment = {name: value for name, value in os.environ.items() if name != "TF2_BEHAVIOR"}   # this TF's, not that's
    done = subprocess.run([python, "-W", "ignore", RECORDER, os.path.join(RECORDINGS, "everything.py"), "-o", output],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, cwd=str(tmp_path),
                          env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "done\n"
    with load(output) as new, everything(load(output).meta["tensorflow"]) as old:
        result = compare(new, old)
        assert result.same and result.compared >= 20, [str(difference) for difference in result.differences]
        assert new.seeds == old.seeds and new.graphs == old.graphs
    assert os.listdir(str(tmp_path)) == ["anew.npz"]


RUNS_ONE = """import os, signal, sys, time
import tensorflow as tf
if not tf.__version__.startswith("1."):
    tf = tf.compat.v1
    tf.disable_eager_execution()
v = tf.get_variable("v", [2], initializer=tf.random_uniform_initializer())
big = tf.range(5000)
session = tf.Session()
session.run(v.initializer)
session.run(big)
for step in range(3):
    session.run(v + float(step))
"""
#: How the script ends, what the message says, and the error that the recording keeps.
ENDS = {
    "raises": ("raise KeyError('gone')", "died after 5 runs (KeyError: 'gone')", "KeyError: 'gone'"),
    "exits": ("sys.exit(3)", "it called sys.exit(3)", "sys.exit(3)"),
    "is_killed": ("time.sleep(1.1); session.run(v); os.kill(os.getpid(), signal.SIGKILL)", "killed by signal 9",
                  "the process was killed by signal 9"),
    "leaves": ("time.sleep(1.1); session.run(v); os._exit(0)", "left by os._exit(0)", "the process left by os._exit(0)"),
    "exits_well": ("import atexit; atexit.register(sys.stderr.write, 'farewell\\n'); sys.exit(0)", "farewell", None),
    "changes_folder": ("os.chdir('/')", "recorded 5 runs", None),
    "forks": ("pid = os.fork()\nif pid: os.waitpid(pid, 0)\nelse: sys.exit(1)", "recorded 5 runs", None),
    "removes_its_output": ("import shutil; shutil.rmtree(sys.argv[1])", "recorded 5 runs", None),
}


#: Cases in which there was a file already: what is to be left of it, and what is said.
KEPT = {
    "dies": (RUNS_ONE + "1 / 0\n", "script.py died after 5 runs (ZeroDivisionError"),
    "runs_nothing": ("print('hello')\n", "made no Session.run, so there is nothing to record"),
    "fills_the_disk": ("import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))\n" + RUNS_ONE.replace(
        "range(5000)", "range(500000)"), "old.npz cannot be written: File too large"),
}
#: Imports TensorFlow once, and is forked for each script, before any session.
DRIVER = """import importlib.util, json, os, sys
spec = importlib.util.spec_from_file_location("recorder", sys.argv[1])
recorder = importlib.util.module_from_spec(spec)
spec.loader.exec_module(recorder)
import tensorflow
running, ended = {}, {}
for folder, words in json.load(sys.stdin):
    process = os.fork()
    if not process:
        os.chdir(folder)
        os.dup2(os.open("stderr", os.O_WRONLY | os.O_CREAT), 2)
        sys.exit(recorder.main(words))
    running[process] = folder
while running:
    process, status = os.wait()
    ended[running.pop(process)] = os.WEXITSTATUS(status)
sys.stdout.write(json.dumps(ended))
"""


@pytest.fixture(scope="module")
def ended(tmp_path_factory):
    """Every script, recorded side by side: {name: (exit status, stderr, path of the recording)}."""
    home = tmp_path_factory.mktemp("ends")
    cases = {name: RUNS_ONE + code + "\n" for name, (code, _, _) in ENDS.items()}
    cases.update((name, code) for name, (code, _) in KEPT.items())
    cases["limits"] = RUNS_ONE + "session.run(big + 1)\n"
    jobs = []
    for name, code in cases.items():
        folder = home / name
        (folder / "out").mkdir(parents=True)
        (folder / "script.py").write_text(code)
        if name in KEPT:
            (folder / "out" / "old.npz").write_bytes(b"old")
        limits = ["--every", "2", "--max-bytes", "1000"] if name == "limits" else []
        jobs.append((str(folder), limits + ["-o", os.path.join("out", "old.npz"), "script.py", str(folder / "out")]))
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", DRIVER, RECORDER], input=json.dumps(jobs),
                          stdout=subprocess.PIPE, universal_newlines=True, timeout=250)
    status = json.loads(done.stdout[done.stdout.index("{"):])
    return {name: (status[str(home / name)], (home / name / "stderr").read_text(), str(home / name / "out" / "old.npz"))
            for name in cases}


@pytest.mark.parametrize("name", sorted(ENDS))
def test_how_scripts_end(ended, name):
    """Whatever ends the script, a readable recording is left that says so; the exit status is 2 if it is not whole."""
    status, stderr, output = ended[name]
    _, message, error = ENDS[name]
    assert message in stderr
    assert status == (2 if error else 0), stderr
    assert len([line for line in stderr.splitlines() if line.startswith("graphgrad")]) == 1
    with load(output) as recording:
        assert (recording.meta["complete"], recording.meta["error"]) == (error is None, error)
        assert len(recording.runs) >= 5 and recording.array("run0001/000").tolist() == list(range(5000))
    assert os.listdir(os.path.dirname(output)) == ["old.npz"]


def test_an_unseeded_script_is_given_seeds(ended):
    """They are recorded, so that it can be run again."""
    with load(ended["exits_well"][2]) as recording:
        (_, asked, seed, seed2), = recording.seeds
        assert asked is None and seed > 0 and seed2 > 0 and recording.meta["seeds_drawn"] == 1
        assert recording.graphs[0]["random"][0][2:] == [seed, seed2]


@pytest.mark.parametrize("name", sorted(KEPT))
def test_an_old_file_is_replaced_by_a_whole_one_only(ended, name):
    """A script that dies, runs nothing, or fills the disk leaves what was there as it was, and nothing of its own."""
    status, stderr, output = ended[name]
    assert status == 2 and KEPT[name][1] in stderr, stderr
    with open(output, "rb") as stream:
        assert stream.read() == b"old"
    folder = os.path.dirname(output)
    assert sorted(os.listdir(folder)) == (["old.incomplete.npz", "old.npz"] if name == "dies" else ["old.npz"])
    if name == "dies":
        with load(os.path.join(folder, "old.incomplete.npz")) as recording:
            assert not recording.meta["complete"] and len(recording.runs) == 5


def test_limits_on_size(ended, tmp_path):
    """--every N counts the runs between; above --max-bytes a digest and sampled entries are kept, and compared."""
    status, stderr, output = ended["limits"]
    assert status == 0, stderr
    with load(output) as recording:
        assert [run.get("skipped", False) for run in recording.runs] == [False, True, False, True, False, True]
    recorder = Recorder(max_bytes=1000)
    recorder._record(["big"], {}, [np.arange(5000.0)])
    recorder.meta.update(complete=True)
    recorder.save(str(tmp_path / "sampled.npz"))
    recorder = Recorder()
    recorder._record(["big"], {}, [np.arange(5000.0) + (np.arange(5000) == 4999)])
    recorder.meta.update(complete=True)
    recorder.save(str(tmp_path / "whole.npz"))
    with load(str(tmp_path / "sampled.npz")) as sampled, load(str(tmp_path / "whole.npz")) as whole:
        entry, = sampled.runs[0]["fetches"]
        assert (entry["kind"], entry["shape"], entry["largest"]) == ("sampled", [5000], 4999)
        assert sampled.array(entry["key"]).tolist() == sample_places(5000).tolist()
        assert len(sample_places(5000)) == SAMPLES and sample_places(3).tolist() == [0, 1, 2]
        assert compare(sampled, sampled).same
        assert "1 of 1000 values differ" in str(compare(whole, sampled).differences[0])


@pytest.mark.parametrize("words", [[], ["-o"], ["-o", "x.npz"], ["script.py"], ["--every", "0", "-o", "x.npz", "s.py"],
                                   ["--every", "two", "-o", "x.npz", "s.py"], ["--nonsense", "-o", "x.npz"]])
def test_usage(words, tmp_path):
    """One look at how it is called, exit status 2; the same for a script or a folder that is not there."""
    done = subprocess.run([sys.executable, RECORDER] + words, stderr=subprocess.PIPE, universal_newlines=True,
                          cwd=str(tmp_path))
    assert done.returncode == 2 and done.stderr.startswith("usage: python recorder.py")
    assert os.listdir(str(tmp_path)) == []


def test_what_cannot_be_read_or_written(tmp_path):
    """No such script, no such folder: one sentence, exit status 2."""
    (tmp_path / "s.py").write_text("print(1)\n")
    for words, text in ((["gone.py", "-o", "x.npz"], "there is no script 'gone.py'"),
                        (["s.py", "-o", "no/x.npz"], "cannot be written: No such file or directory")):
        done = subprocess.run([sys.executable, RECORDER] + words, stderr=subprocess.PIPE, universal_newlines=True,
                              cwd=str(tmp_path))
        assert done.returncode == 2 and text in done.stderr and len(done.stderr.splitlines()) == 1


def test_values_of_all_kinds(tmp_path):
    """Ragged values by their parts, attrs by their fields, namedtuples and dicts by their leaves, bfloat16 as float32."""
    import collections
    tf = tensorflow.compat.v1
    pair = collections.namedtuple("Pair", "first second")
    with tf.Graph().as_default(), Recorder() as recorder, tf.Session() as session:
        ragged = tf.ragged.constant([[1, 2], [], [3]])
        a, b = tf.constant(1.0, name="a"), tf.cast(tf.constant([1.5], name="b"), tf.bfloat16)
        session.run({"z": pair(a, [b]), "k": ragged, "e": []})
    recorder.save(str(tmp_path / "kinds.npz"))
    with load(str(tmp_path / "kinds.npz")) as recording:
        entries = recording.runs[0]["fetches"]
        assert [entry["kind"] for entry in entries] == ["RaggedTensorValue", "array", "array"]
        assert [recording.array(part["key"]).tolist() for part in entries[0]["parts"]] == [[1, 2, 3], [0, 2, 2, 3]]
        assert [(entry["dtype"], recording.array(entry["key"]).tolist()) for entry in entries[1:]] == [
            ("float32", 1.0), ("bfloat16", [1.5])]


def test_attrs_classes_are_fetched_by_their_fields():
    """In the order of the class; ``__attrs_attrs__`` is all that TensorFlow looks at, too."""
    class Field:
        def __init__(self, name):
            self.name = name

    class Pair:
        __attrs_attrs__ = [Field("second"), Field("first")]

        def __init__(self, second, first):
            self.second, self.first = second, first

    tf = tensorflow.compat.v1
    with tf.Graph().as_default(), Recorder() as recorder, tf.Session() as session:
        got = session.run(Pair(tf.constant(2.0, name="b"), tf.constant(1.0, name="a")))
    entries = recorder._journal[0]["fetches"]
    assert (got.second, got.first) == (2.0, 1.0) and [entry["name"] for entry in entries] == ["b:0", "a:0"]
    recorder.discard()


def test_unrecorded():
    """In the block nothing is kept, however a session is run; what a callable computes is kept by where it is called."""
    tf = tensorflow.compat.v1
    with tf.Graph().as_default(), Recorder() as recorder, tf.Session() as session:
        x = tf.placeholder(tf.float32, name="x")
        y = tf.multiply(x, 2.0, name="y")
        outside = session.make_callable(y, [x])
        with unrecorded():
            inside = session.make_callable(y, [x])
            with unrecorded():
                assert session.run(y, {x: 1.0}) == 2.0
            assert outside(2.0) == 4.0 and inside(3.0) == 6.0
            handle = session.partial_run_setup([y], [x])
            assert session.partial_run(handle, y, {x: 4.0}) == 8.0
            tf.random_normal([1], name="unseeded")
            with tf.Graph().as_default():
                tf.train.create_global_step()
                with tf.train.MonitoredTrainingSession() as monitored:
                    monitored.run(tf.train.get_global_step())
        assert recorder.runs == 0 and recorder._seeds == []
        assert outside(5.0) == 10.0 and recorder.runs == 1
    recorder.discard()


@pytest.mark.parametrize("version", [1, 2])
def test_overrides_in_loops_are_counted(version):
    """Those in the bodies of control flow v2 as well; TensorFlow's own tags of custom gradients are none."""
    tf = tensorflow.compat.v1
    was_on = tf.control_flow_v2_enabled()
    (tf.enable_control_flow_v2 if version == 2 else tf.disable_control_flow_v2)()
    try:
        with tf.Graph().as_default(), Recorder() as recorder, tf.Session() as session:
            x = tf.constant([1.0, -2.0])
            with gg.override_gradients({"Relu": "Identity"}):
                y = tf.map_fn(lambda row: tf.nn.relu(row), x)
            z = tf.custom_gradient(lambda v: (tf.identity(v), lambda grad: 3.0 * grad))(y)
            assert session.run(tf.gradients(z, x)[0]).tolist() == [3.0, 3.0]
    finally:
        (tf.enable_control_flow_v2 if was_on else tf.disable_control_flow_v2)()
        recorder.discard()
    override, = recorder.meta["overrides"]
    assert (override["op_type"], override["tag"], override["tagged"]) == ("Relu", "Identity", 1)


def test_a_large_graph_is_described_by_its_numbers(monkeypatch):
    """The histogram and the random operations; not every node."""
    monkeypatch.setattr(recorder_module, "_MAX_NODES", 2)
    tf = tensorflow.compat.v1
    with tf.Graph().as_default(), Recorder() as recorder, tf.Session() as session:
        tf.set_random_seed(1)
        session.run([tf.random_uniform([2], seed=4), tf.constant(1.0), tf.constant(2.0)])
    described, = recorder.meta["graphs"]
    assert set(described) == {"histogram", "random", "variables"} and described["histogram"]["RandomUniform"] == 1
    assert [entry[1:] for entry in described["random"]] == [["RandomUniform", 1, 4]]
    recorder.discard()


def test_what_is_upstream_of_a_run():
    """Each tensor once, also where paths meet; the inside of a loop, which no run can fetch, is left out."""
    tf = tensorflow.compat.v1
    was_on = tf.control_flow_v2_enabled()
    tf.disable_control_flow_v2()
    try:
        with tf.Graph().as_default(), Recorder(intermediates=0) as recorder, tf.Session() as session:
            a = tf.square(3.0, name="a")
            loop = tf.while_loop(lambda i: i < 20.0, lambda i: i + a, [a])
            assert session.run(tf.add(loop * a, a, name="y")) == 252.0
            session.run(a)
    finally:
        if was_on:
            tf.enable_control_flow_v2()
    runs = recorder._journal
    names = [entry["name"] for entry in runs[0]["fetches"]]
    assert names[0] == "y:0" and names.count("a:0") == 1 and not any("while/add" in name for name in names)
    assert runs[0]["intermediates"] == len(names) - 1 and "intermediates" not in runs[1]
    recorder.discard()


def test_what_is_no_variable_is_let_be():
    """A tensor that a script has put among its variables."""
    tf = tensorflow.compat.v1
    with tf.Graph().as_default() as graph, Recorder() as recorder, tf.Session() as session:
        tf.add_to_collection("variables", tf.constant(1.0))
        v = tf.get_variable("v", initializer=2.0, use_resource=False)
        for _ in range(2):   # asked once for each kind of fetch, not each time
            session.run(v.initializer)
    assert [entry["name"] for entry in recorder._variables] == ["v:0"] and len(graph.get_operations()) == 5
    recorder.discard()


@pytest.mark.parametrize("chosen", ["0", "1", None])
def test_whose_rounding_it_is(chosen, monkeypatch):
    """Whether the kernels are oneDNN's, which TensorFlow 2.5 has and 2.9 takes by default on x86 Linux."""
    if chosen is None:
        monkeypatch.delenv("TF_ENABLE_ONEDNN_OPTS", raising=False)
    else:
        monkeypatch.setenv("TF_ENABLE_ONEDNN_OPTS", chosen)
    with Recorder() as recorder:
        pass
    version = tuple(int(word) for word in tensorflow.__version__.split(".")[:2])
    x86 = os.uname().machine == "x86_64" and sys.platform == "linux"
    assert recorder.meta["onednn"] == (version >= (2, 5) and (chosen == "1" or chosen is None and version >= (2, 9) and x86))
    recorder.discard()


@pytest.mark.parametrize("zip64", [False, True], ids=["small", "beyond 4 GB"])
def test_a_process_killed_while_it_writes(zip64, tmp_path, monkeypatch):
    """Cut anywhere, the temporary file gives back the runs that are whole in it, and nothing if there are none.

    zipfile writes the size of an entry last: while an array is being written it says 0.
    """
    import zipfile
    if zip64:   # how an array of more than 4 GB is written
        monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 64)
    part, path = new_part(str(tmp_path / "x.npz")), str(tmp_path / "x.npz")
    recorder = Recorder(archive=Archive(part))
    recorder._add_json("start", recorder.meta)
    ends = []
    for number in range(3):
        recorder._record(["y:0"], {}, [np.arange(30.0) + number])
        recorder._flush_journal()
        ends.append(os.path.getsize(part))
    with open(part, "rb") as stream:
        written = stream.read()
    monkeypatch.undo()
    cuts = [written[:size] for size in sorted({0, 10, 200, *range(ends[0] - 3, ends[2], 97), *ends})]
    cuts.append(written[:ends[1] + 14] + 12 * b"\0" + written[ends[1] + 26:ends[2] - 20])
    if zip64:
        cuts.append(written[:ends[1] + 35])
    for left in cuts:
        whole = sum(end <= len(left) for end in ends)
        with open(part, "wb") as stream:
            stream.write(left)
        assert salvage(part, path, "killed") == (whole > 0), len(left)
        if whole:
            with load(path) as recording:
                assert [recording.array(run["fetches"][0]["key"])[0] for run in recording.runs] == list(range(whole))
                assert (recording.meta["complete"], recording.meta["error"]) == (False, "killed")
            os.remove(path)
        assert os.listdir(str(tmp_path)) == [os.path.basename(part)]
    recorder.discard()


def test_progress_on_a_terminal(monkeypatch):
    """A line now and then, written over itself; none where nobody watches."""
    import io
    tf = tensorflow.compat.v1
    clock = []
    monkeypatch.setattr(recorder_module, "time", types.SimpleNamespace(time=lambda: 1.5 * len(clock)))
    for watched in (True, False):
        terminal = io.StringIO()
        terminal.isatty = lambda watched=watched: watched
        monkeypatch.setattr(sys, "stderr", terminal)
        with tf.Graph().as_default(), Recorder(progress=True) as recorder, tf.Session() as session:
            for _ in range(4):
                clock.append("a second and a half more")
                session.run(tf.constant(1.0))
        recorder.discard()
        assert (terminal.getvalue() == "\r2 runs recorded\r4 runs recorded") if watched else not terminal.getvalue()


def test_the_graph_stays_as_the_script_builds_it():
    """Recording adds no operation, also in a graph that is finalized; and everything is put back at the end."""
    from tensorflow.python.client import session as session_module
    from tensorflow.python.framework import random_seed
    tf = tensorflow.compat.v1
    before = dict(vars(session_module.BaseSession)), random_seed.get_seed
    with tf.Graph().as_default() as graph:
        variable = tf.get_variable("v", [2], use_resource=False)
        other = tf.get_variable("r", [2], use_resource=True)
        operations = len(graph.get_operations())
        graph.finalize()
        with Recorder() as recorder:
            with tf.Session() as session:
                session.run([variable.initializer, other.initializer])
        recorder.discard()
        assert len(graph.get_operations()) == operations
        assert [(entry["name"], "final" in entry) for entry in recorder._variables] == [("v:0", True), ("r:0", True)]
    assert (dict(vars(session_module.BaseSession)), random_seed.get_seed) == before


def test_two_recordings_of_one_script_are_the_same_bytes_but_for_chance(tmp_path):
    """No time, no path, no machine's name in the file."""
    for name in ("one", "two"):
        recorder = Recorder(["test"])
        recorder._record(["y"], {"x": np.ones(3)}, [np.arange(4.0)])
        recorder.save(str(tmp_path / name))
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    with load(str(tmp_path / "one")) as recording:
        assert os.uname().nodename not in json.dumps(recording.meta)
