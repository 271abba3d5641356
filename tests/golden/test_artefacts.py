"""Old files against old recordings: saved and recorded by TensorFlow 1.15.5, loaded here."""
import os
import shutil

import numpy as np
import pytest
import tensorflow

import graphgrad as gg
from graphgrad.cli import main
from graphgrad.golden import load
from graphgrad.golden.artefacts import compare_artefact
from graphgrad.golden.recorder import Recorder

tf = tensorflow.compat.v1
RECORDINGS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "recordings")
FOLDER = os.path.join(RECORDINGS, "artefacts")
TAG = "1 Relu operations have the gradient 'ArtefactDouble', which is not registered here: "


@pytest.fixture
def old():
    with load(os.path.join(RECORDINGS, "artefacts.npz")) as recording:
        assert recording.meta["tensorflow"] == "1.15.5"
        yield recording


def copied(tmp_path):
    shutil.copytree(FOLDER, str(tmp_path / "model"))
    return str(tmp_path / "model")


@pytest.mark.parametrize("name", ["model.ckpt", "model.ckpt.meta", "frozen.pb", "graph.pbtxt", "saved"])
def test_five_kinds_of_files(old, name):
    """Checkpoint, .meta, frozen graph, text without values, SavedModel: the recorded feeds give the recorded fetches."""
    report = compare_artefact(os.path.join(FOLDER, name), old)
    assert report.verdict == "same" and report.comparison.compared == 2, report.text()
    assert [one.where for one in report.comparison.tensors] == ["run 2, y:0", "run 2, dx:0"]
    assert any(note.startswith(TAG) for note in report.comparison.notes)


def test_a_checkpoint_alone(old, tmp_path):
    """Without its .meta: the final values of the variables."""
    folder = copied(tmp_path)
    os.remove(os.path.join(folder, "model.ckpt.meta"))
    report = compare_artefact(os.path.join(folder, "model.ckpt"), old)
    assert report.verdict == "same" and [one.where for one in report.comparison.tensors] == ["final value of w:0"]


def test_a_checkpoint_alone_that_cannot_be_compared(old, tmp_path):
    """Damaged, or of another model: one sentence with its name."""
    folder = copied(tmp_path)
    os.remove(os.path.join(folder, "model.ckpt.meta"))
    other = os.path.join(folder, "other.ckpt")
    with tf.Graph().as_default(), tf.Session() as session:
        tf.get_variable("other", initializer=1.0, use_resource=False)
        session.run(tf.global_variables_initializer())
        tf.train.Saver().save(session, other, write_meta_graph=False)
    with pytest.raises(gg.GraphGradError, match="other.ckpt has none of the variables of .*artefacts.npz, so there is nothing"):
        compare_artefact(other, old)
    with open(os.path.join(folder, "model.ckpt.index"), "wb") as stream:
        stream.write(b"no table of TensorFlow's")
    with pytest.raises(gg.GraphGradError, match="model.ckpt cannot be read as a checkpoint: "):
        compare_artefact(os.path.join(folder, "model.ckpt"), old)


def test_a_meta_without_values(tmp_path, monkeypatch):
    """The chance of then makes its variables; text is fed as numbers are; runs that --every left out are left out."""
    monkeypatch.chdir(tmp_path)
    with tf.Graph().as_default(), Recorder(every=2, max_bytes=1000) as recorder, tf.Session() as session:
        tf.set_random_seed(3)
        w = tf.get_variable("w", [3], initializer=tf.random_normal_initializer(), use_resource=False)
        word = tf.placeholder_with_default(["default"], [1], name="word")
        many = tf.placeholder(tf.float64, [2000], name="many")
        y = tf.string_join([word, tf.reduce_join(tf.as_string(w))], name="y")
        session.run(w.initializer)
        session.run(y, {word: ["left out "]})
        session.run([y, w], {word: ["kept "]})
        session.run(y, {word: ["left out "]})
        for fed in ({word: [b"\xff"]}, {many: np.ones(2000)}):
            session.run(y, fed)
            session.run(y, fed)
        tf.train.export_meta_graph("model.meta")
    recorder.save("old.npz")
    with load("old.npz") as old:
        report = compare_artefact("model.meta", old)
        assert report.verdict == "same" and report.comparison.compared == 2, report.text()
        assert [one.where for one in report.comparison.tensors] == ["run 2, y:0", "run 2, w:0"]
        assert "2 runs are left out: the recording has not the whole of what they were fed" in report.comparison.notes


def test_another_model_differs(old, tmp_path):
    """Other weights are found, with a factor that is exact."""
    folder = copied(tmp_path)
    with tf.Graph().as_default(), tf.Session() as session:
        saver = tf.train.import_meta_graph(os.path.join(FOLDER, "model.ckpt.meta"))
        saver.restore(session, os.path.join(FOLDER, "model.ckpt"))
        w = tf.global_variables("w")[0]
        w.load(5.0 * session.run(w), session)
        saver.save(session, os.path.join(folder, "model.ckpt"))
    report = compare_artefact(os.path.join(folder, "model.ckpt"), old)
    assert report.verdict == "differs" and report.reasons == ["y:0 is 5 times what it was, exactly"]


def test_names_that_changed(old, tmp_path):
    """A graph imported under a prefix: not found, said so, and found with the names given."""
    definition = tf.GraphDef()
    with open(os.path.join(FOLDER, "frozen.pb"), "rb") as stream:
        definition.ParseFromString(stream.read())
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(definition, name="net/of/theirs")
        tf.train.write_graph(graph.as_graph_def(), str(tmp_path), "prefixed.pb", as_text=False)
    path = str(tmp_path / "prefixed.pb")
    with pytest.raises(gg.GraphGradError, match="has none of the tensors of"):
        compare_artefact(path, old)
    names = {name: "net/of/theirs/" + name for name in ("x:0", "y:0", "dx:0")}
    assert compare_artefact(path, old, mapping=names).verdict == "same"


def test_a_prefix_more(tmp_path, monkeypatch):
    """What Keras calls model/dense/y is found for dense/y."""
    monkeypatch.chdir(tmp_path)
    with tf.Graph().as_default() as graph, Recorder() as recorder, tf.Session() as session:
        tf.square(3.0, name="dense/y")
        session.run("dense/y:0")
    recorder.save("old.npz")
    with tf.Graph().as_default() as prefixed:
        tf.import_graph_def(graph.as_graph_def(), name="model")
        tf.train.write_graph(prefixed, ".", "prefixed.pb", as_text=False)
    with load("old.npz") as old:
        report = compare_artefact("prefixed.pb", old)
        assert report.verdict == "same" and report.comparison.compared == 1, report.text()


def twice(x):
    return 2 * x


@pytest.mark.parametrize("kind", ["frozen.pb", "graph.pbtxt", "model.ckpt", "saved"])
def test_python_functions(tmp_path, kind, monkeypatch):
    """Refused with the token, whatever function has that token here; with --py-func the function that was meant runs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(os.path.dirname(__file__))
    with tf.Graph().as_default() as graph, Recorder() as recorder, tf.Session() as session:
        x = tf.placeholder(tf.float32, [2], name="x")
        v = tf.get_variable("v", initializer=1.0, use_resource=False)
        y = tf.identity(tf.py_func(lambda x: 2 * x, [x * v], tf.float32), name="y")
        y.set_shape([2])
        session.run(tf.global_variables_initializer())
        session.run(y, {x: np.float32([1, 2])})
        token = next(op for op in graph.get_operations() if op.type == "PyFunc").get_attr("token").decode()
        if kind == "saved":
            tf.saved_model.simple_save(session, "saved", {"x": x}, {"y": y})
        elif kind == "model.ckpt":
            tf.train.Saver().save(session, str(tmp_path / "model.ckpt"))
        else:
            tf.train.write_graph(graph.as_graph_def(), ".", kind, as_text=kind.endswith("txt"))
    recorder.save("old.npz")
    path = str(tmp_path / kind)
    with load("old.npz") as old:
        with pytest.raises(gg.GraphGradError, match="holds the Python function '{}'".format(token)):
            compare_artefact(path, old)
        if kind != "saved":
            report = compare_artefact(path, old, py_funcs={token: "test_artefacts:twice"})
            assert report.verdict == "same" and report.comparison.worst == 0
            with pytest.raises(gg.GraphGradError, match="There is no function 'test_artefacts:gone' for --py-func"):
                compare_artefact(path, old, py_funcs={token: "test_artefacts:gone"})


@pytest.mark.parametrize("name, content", [
    ("gone.pb", None), ("bad.pb", b"\xff\xff\xff"), ("bad.pbtxt", b"node { what"), ("bad.meta", b"\xff\xff"),
    ("bad/saved_model.pb", b"\xff\xff")])
def test_what_cannot_be_loaded(tmp_path, name, content, capsys):
    """One sentence with the file's name, exit status 2."""
    path = tmp_path / name
    if content is not None:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
    shown = str(path.parent) if name.startswith("bad/") else str(path)
    assert main(["compare", shown, os.path.join(RECORDINGS, "artefacts.npz")]) == 2
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("graphgrad")]
    assert len(lines) == 1 and lines[0].startswith("graphgrad: {} cannot be loaded: ".format(shown)), lines


def test_the_command(capsys):
    """As a user calls it."""
    assert main(["compare", os.path.join(FOLDER, "frozen.pb"), os.path.join(RECORDINGS, "artefacts.npz")]) == 0
    assert "frozen.pb against " in capsys.readouterr().out
