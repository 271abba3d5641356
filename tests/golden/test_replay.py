"""Old training runs, recorded on TensorFlow 1.15.5, run again here: the chance of then, and nothing but the chance."""
import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
import tensorflow

import graphgrad as gg
from graphgrad.golden import load
from graphgrad.golden.recorder import Recorder
from graphgrad.golden.replay import Replay

HERE = os.path.dirname(os.path.abspath(__file__))
RECORDINGS = os.path.join(HERE, "recordings")
KINDS = ["plain_0.0", "plain_0.5", "layers_0.0", "layers_0.5"]
tf = tensorflow.compat.v1


def graphgrad(*words):
    environment = dict(os.environ, PYTHONPATH=os.path.dirname(os.path.dirname(gg.__file__)))
    return subprocess.run([sys.executable, "-m", "graphgrad"] + list(words), stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, universal_newlines=True, env=environment)


@pytest.fixture(scope="module")
def suite(tmp_path_factory):
    """The four models as a folder, compared with the chance of then: {name: report}."""
    folder = tmp_path_factory.mktemp("suite")
    os.makedirs(str(folder / "old_results"))
    for kind in KINDS:
        shutil.copy(os.path.join(RECORDINGS, "train.py"), str(folder / ("train_{}.py".format(kind))))
        shutil.copy(os.path.join(RECORDINGS, "train_{}.npz".format(kind)), str(folder / "old_results"))
    path = str(folder / "report.json")
    done = graphgrad("compare", str(folder), "-j", "2", "--json", path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "4 of 4 scripts give the same as the old results." in done.stdout
    assert sorted(line[:5] for line in done.stderr.splitlines()) == ["[1/4]", "[2/4]", "[3/4]", "[4/4]"]
    with open(path) as stream:
        return {report["title"]: report for report in json.load(stream)}


@pytest.mark.parametrize("kind", KINDS)
def test_thirty_adam_steps_come_out_the_same(suite, kind):
    """Plain and tf.layers, dropout on and off: every loss, the logits, all variables and slots, at the tolerance."""
    replayed = suite["train_{}.py".format(kind)]
    assert replayed["verdict"] == "same" and replayed["old"]["tensorflow"] == "1.15.5"
    assert sum(tensor["where"].endswith("loss:0") for tensor in replayed["tensors"]) == 30
    assert sum("final value" in tensor["where"] for tensor in replayed["tensors"]) >= 9


def test_without_replay_op_seeds_are_derived_as_then():
    """--no-replay: the runner derives the seeds of random operations as 1.x did, so the same script draws the same."""
    done = graphgrad("compare", "--no-replay", os.path.join(RECORDINGS, "train.py"),
                     os.path.join(RECORDINGS, "train_plain_0.5.npz"))
    assert done.returncode == 0, done.stdout


def test_without_replay_the_other_chance_is_named(tmp_path):
    """One operation more before the first random one: another stream, with both seeds and the remedy, on every TF."""
    with open(os.path.join(RECORDINGS, "train.py")) as stream:
        source = stream.read()
    seeded = "tf.set_random_seed(7)\n"
    assert source.count(seeded) == 1
    (tmp_path / "train.py").write_text(source.replace(seeded, seeded + "tf.constant(0.0)\n"))
    done = graphgrad("compare", "--no-replay", str(tmp_path / "train.py"),
                     os.path.join(RECORDINGS, "train_plain_0.5.npz"))
    assert done.returncode == 1
    assert done.stdout.startswith("train.py: differs, first at initial value of w1:0: 192 of 192 values differ; ")
    assert "why: another stream of random numbers: w1/Initializer/truncated_normal/TruncatedNormal has the seeds (7, " \
           "6) now, (7, 5) then; graphgrad compare SCRIPT OLD.npz replays those of then" in done.stdout
    replayed = graphgrad("compare", str(tmp_path / "train.py"), os.path.join(RECORDINGS, "train_plain_0.5.npz"))
    assert replayed.returncode == 0, replayed.stdout


def test_the_recordings_are_old():
    """Made on 1.15.5 from the script that is there."""
    import hashlib
    with open(os.path.join(RECORDINGS, "train.py"), "rb") as stream:
        digest = hashlib.sha256(stream.read()).hexdigest()
    for kind in KINDS:
        with load(os.path.join(RECORDINGS, "train_{}.npz".format(kind))) as recording:
            meta = recording.meta
            assert (meta["tensorflow"], meta["script_sha256"], meta["complete"]) == ("1.15.5", digest, True)
            assert "_".join(meta["arguments"]) == kind


def saved(recorder, tmp_path, name):
    recorder.meta.update(complete=True)
    recorder.save(str(tmp_path / name))
    return load(str(tmp_path / name))


def test_only_chance_is_replayed(tmp_path):
    """A constant initial value is the script's own, and so is one that a Saver restores: a change in it is a difference."""
    def run(constant, replay=None, name="w"):
        with tf.Graph().as_default(), Recorder(replay=replay) as recorder, tf.Session() as session:
            random = tf.get_variable(name, [3], initializer=tf.random_normal_initializer(seed=1), use_resource=False)
            resource = tf.get_variable("r", [2], initializer=tf.random_uniform_initializer(), use_resource=True)
            fixed = tf.get_variable("fixed", initializer=tf.constant([constant]), use_resource=False)
            session.run(tf.global_variables_initializer())
            session.run([random, resource, fixed])
        return recorder

    with saved(run(1.0), tmp_path, "old.npz") as old:
        recorder = run(2.0, Replay(old))
        with saved(recorder, tmp_path, "new.npz") as new:
            result = gg.golden.compare(new, old)
            assert {difference.where for difference in result.differences} == {
                "initial value of fixed:0", "run 1, fixed:0", "final value of fixed:0"}
            assert {one["name"]: one.get("replayed", False) for one in new.variables} == {
                "w:0": True, "r:0": True, "fixed:0": False}
        with saved(run(1.0, Replay(old, {"w:0": "other:0"}), "other"), tmp_path, "mapped.npz") as new:
            assert gg.golden.compare(new, old, mapping={"w:0": "other:0"}).same


def test_what_is_chance_and_what_is_not(tmp_path):
    """Also what a Python function draws; not what a Saver restores, nor a variable that is new or has another shape."""
    checkpoint = str(tmp_path / "model.ckpt")

    def run(replay=None, restore=False, new=False):
        with tf.Graph().as_default(), Recorder(replay=replay) as recorder, tf.Session() as session:
            drawn = tf.py_func(lambda: np.frombuffer(os.urandom(8), np.uint16).astype(np.float32), [], tf.float32)
            drawn.set_shape([4])
            tf.get_variable("drawn", initializer=drawn, use_resource=False)
            tf.get_variable("shape", [3 if new else 2], initializer=tf.random_normal_initializer(), use_resource=False)
            if new:
                tf.get_variable("new", [2], initializer=tf.random_normal_initializer(), use_resource=False)
            saver = tf.train.Saver()
            if restore:
                saver.restore(session, checkpoint)
            else:
                session.run(tf.global_variables_initializer())
                saver.save(session, checkpoint, write_meta_graph=False)
            session.run(tf.constant(0.0))
        return recorder

    def replayed(recording):
        return {one["name"][:-2] for one in recording.variables if one.get("replayed")}

    with saved(run(), tmp_path, "old.npz") as old:
        with saved(run(Replay(old)), tmp_path, "new.npz") as new:
            assert gg.golden.compare(new, old).same and replayed(new) == {"drawn", "shape"}
        with saved(run(Replay(old), new=True), tmp_path, "other.npz") as other:
            assert replayed(other) == {"drawn"}
        run().discard()   # other values, in the checkpoint
        with saved(run(Replay(old), restore=True), tmp_path, "restored.npz") as restored:
            assert replayed(restored) == set() and not gg.golden.compare(restored, old).same


def test_generators_are_replayed(tmp_path):
    """A script that seeds neither numpy's nor Python's generator gets the numbers of then."""
    import random
    def run(replay=None):
        with tf.Graph().as_default(), Recorder(replay=replay) as recorder, tf.Session() as session:
            session.run(tf.constant(np.random.randn(3)))
            session.run(tf.constant([random.random(), random.gauss(0, 1)]))
        return recorder

    state = np.random.get_state(), random.getstate()
    try:
        with saved(run(), tmp_path, "old.npz") as old, saved(run(), tmp_path, "other.npz") as other:
            assert len(gg.golden.compare(other, old).differences) == 2
            with saved(run(Replay(old)), tmp_path, "new.npz") as new:
                assert gg.golden.compare(new, old).worst == 0
    finally:
        np.random.set_state(state[0])
        random.setstate(state[1])


class Plain:
    """A recording with nothing but seeds."""

    variables = []

    def __init__(self, seeds):
        self.seeds = seeds
        self.meta = {}


def test_seeds_are_matched_by_scope_then_by_order():
    """Random operations that are new keep their own seeds, and do not take those of others."""
    replay = Replay(Plain([["a/normal", None, 1, 10], ["b/normal", None, 1, 20], ["b/normal", None, 1, 30],
                           ["drop", 5, 1, 5]]))
    graph = tf.Graph()
    ask = [("b/normal", None), ("new", None), ("prefix/a/normal", None), ("b/normal", None), ("drop", None), ("drop", 5)]
    got = [replay.seed(scope, op_seed, (1, 0), graph)[1] for scope, op_seed in ask]
    assert got == [20, 0, 10, 30, 0, 5] and replay.unmatched == 2


def test_without_recorded_seeds_operations_are_counted():
    """TensorFlow 1's rule, for recordings of the first format: the seeds that 1.15.5 recorded for the same graph."""
    with load(os.path.join(RECORDINGS, "train_plain_0.0.npz")) as old:
        wanted = [seed[3] for seed in old.seeds]
    replay = Replay(Plain(None))
    with tf.Graph().as_default(), Recorder(replay=replay) as recorder:
        tf.set_random_seed(7)
        tf.placeholder(tf.float32, [None, 12], name="x")
        tf.placeholder(tf.int64, [None], name="y")
        tf.get_variable("w1", [12, 16], initializer=tf.truncated_normal_initializer(stddev=0.3), use_resource=False)
        tf.random_uniform([1], seed=11)
    recorder.discard()
    assert [seed[2:] for seed in recorder._seeds] == [[7, wanted[0]], [7, 11]]


BISECTED = """
import sys
import tensorflow as tf
if not tf.__version__.startswith("1."):
    tf = getattr(tf, "compat", tf).v1
    tf.disable_v2_behavior()
x = tf.placeholder(tf.float32, [2], name="x")
noise = tf.random_normal([2], name="noise")
a = tf.multiply(x + noise, 2.0, name="a")
b = tf.exp(a, name="b") if "graphgrad" not in sys.modules else tf.exp(a + 1.0, name="b")
c = tf.reduce_sum(tf.tanh(b, name="t"), name="c")
with tf.Session() as session:
    session.run(noise)
    session.run(c, {x: [0.1, -2.0]})
"""


def test_bisect(tmp_path):
    """With a Python of the old side at hand, the first tensor between that differs; chance is that of the same run."""
    (tmp_path / "s.py").write_text(BISECTED)
    old, script = str(tmp_path / "old.npz"), str(tmp_path / "s.py")
    from graphgrad.golden import recorder
    subprocess.run([sys.executable, "-W", "ignore", recorder.__file__, "-o", old, script], check=True,
                   stderr=subprocess.DEVNULL)
    done = graphgrad("compare", script, old, "--bisect", sys.executable)
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("s.py: differs, first at run 1, c:0: ")
    line, = [line for line in done.stdout.splitlines() if "bisect" in line]
    assert line.startswith("  note: bisect: of 9 tensors of run 1 that both have, the first that differs is run 1, b:0: 2 of 2")
    done = graphgrad("compare", script, old, "--bisect", str(tmp_path / "nopython"))
    assert done.returncode == 2 and "nopython cannot be run: No such file or directory" in done.stderr
