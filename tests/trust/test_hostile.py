"""Files that mean harm, or nothing: one sentence and exit status 2; no crash, no execution, no memory without bound."""
import base64
import io
import json
import os
import shutil
import struct
import subprocess
import sys
import zipfile
import zlib

import numpy as np
import pytest
import tensorflow
from conftest import TF1, tf
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import graphgrad as gg
from graphgrad import _tf, cli
from graphgrad.golden import load
from graphgrad.golden.artefacts import compare_artefact
from graphgrad.graph_defs import reaching_outside, refuse_unbelievable, run_by_loading
from graphgrad.saliency import keras_files
from graphgrad.saliency.headers import declared_pixels
from graphgrad.saliency.images import Preprocessing, Reader
from graphgrad.untrusted import UNREADABLE, read_array

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OLD = os.path.join(ROOT, "tests", "golden", "recordings", "everything_1.15.5.npz")
FROZEN = os.path.join(ROOT, "legacy_examples", "digits", "frozen.pb")
#: Few enough to stay within seconds, on each TensorFlow; the same ones each time.
BOUNDED = settings(max_examples=150, deadline=None, derandomize=True, database=None,
                   suppress_health_check=list(HealthCheck))


def mutated(whole):
    """Strategies for what may befall bytes: some of them changed, an end that is gone, a part that is there twice."""
    place = st.integers(0, len(whole))
    changes = st.lists(st.tuples(st.integers(0, len(whole) - 1), st.integers(0, 255)), min_size=1, max_size=8)

    def changed(pairs):
        data = bytearray(whole)
        for index, value in pairs:
            data[index] = value
        return bytes(data)

    return st.one_of(changes.map(changed), place.map(lambda end: whole[:end]),
                     st.tuples(place, place).map(lambda ends: whole[:max(ends)] + whole[min(ends):]))


def compare(data, path, capsys):
    """The exit status of comparing a file with the sound one; a 2 has its one sentence."""
    with open(path, "wb") as stream:
        stream.write(data)
    status = cli.main(["compare", path, OLD])
    said = capsys.readouterr().err
    assert status in (0, 1) or (status == 2 and said.count("\n") == 1 and "Traceback" not in said), said
    return status, said


# --- Recordings --------------------------------------------------------------------------------------------

with open(OLD, "rb") as _stream:
    WHOLE = _stream.read()
with zipfile.ZipFile(OLD) as _archive:
    ENTRIES = {name: _archive.read(name) for name in _archive.namelist()}
TEXTS = ["graphgrad.npy", "runs/0000.npy"]


def archive(changes, method=zipfile.ZIP_DEFLATED):
    """The recording with some entries changed."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as file:
        for name, data in dict(ENTRIES, **changes).items():
            file.writestr(name, data)
    return made.getvalue()


def as_array(text):
    made = io.BytesIO()
    np.lib.format.write_array(made, np.frombuffer(text, np.uint8))
    return made.getvalue()


def text_of(name):
    return json.loads(np.load(io.BytesIO(ENTRIES[name])).tobytes().decode())


def places(value, before=()):
    """The path of everything in a JSON value."""
    for key, item in (value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()):
        yield before + (key,)
        yield from places(item, before + (key,))


PLACES = [(name, place) for name in TEXTS for place in places(text_of(name))]
ODD = [None, True, 0, -1, 10 ** 30, 1.5, float("nan"), float("inf"), "", "x", "\0", "\x1b[2J", "\ud800", [], {}, [None], [[]],
       {"a": 1}, "../../x", [-1], [10 ** 12], "O", "strings", "none"]


def with_odd(name, place, odd):
    """A recording in whose description one value is another."""
    text = text_of(name)
    at = text
    for key in place[:-1]:
        at = at[key]
    at[place[-1]] = odd
    return archive({name: as_array(json.dumps(text).encode())})


@BOUNDED
@given(st.sampled_from(PLACES), st.sampled_from(ODD))
@example(("graphgrad.npy", ("graphs",)), [None])
@example(("graphgrad.npy", ("graphs", 0, "nodes", 0)), ["x"])
@example(("graphgrad.npy", ("variables", 0, "session")), [])
@example(("graphgrad.npy", ("error",)), "\x1b[2J")
def test_descriptions_with_something_else_in_them(tmp_path, capsys, where, odd):
    """Any value of the description exchanged for another of any kind."""
    _, said = compare(with_odd(where[0], where[1], odd), str(tmp_path / "odd.npz"), capsys)
    assert "\x1b" not in said


@BOUNDED
@given(st.one_of(mutated(WHOLE), st.binary(max_size=200), mutated(ENTRIES["graphgrad.npy"][:128]).map(
    lambda head: archive({"graphgrad.npy": head + ENTRIES["graphgrad.npy"][128:]}))))
@example(b"PK\x05\x06" + bytes(18))
@example(archive({"graphgrad.npy": b"not numpy's"}))
@example(archive({"run0002/000.npy": b"not numpy's"}))
@example(archive({"graphgrad.npy": b"\x93NUMPY\x01\x00\x10\x00{'descr': '<f4',"}))
def test_damaged_recordings(tmp_path, capsys, data):
    """Bytes changed, cut off, doubled; of the archive and of the arrays in it."""
    compare(data, str(tmp_path / "damaged.npz"), capsys)


MEASURED = """
import sys
sys.path.insert(0, {root!r})
from graphgrad import cli
status = cli.main(sys.argv[1:])
with open("/proc/self/status") as stream:
    print("peak", next(int(line.split()[1]) // 1024 for line in stream if line.startswith("VmHWM")))
sys.exit(status)
"""


def measured(*words):
    """(exit status, peak megabytes, stderr) of the command in a process of its own."""
    done = subprocess.run([sys.executable, "-c", MEASURED.format(root=ROOT)] + list(words), stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, universal_newlines=True, timeout=100)
    return done.returncode, int(done.stdout.rsplit("peak ", 1)[1]), done.stderr


def header(shape, descr="<f4"):
    made = io.BytesIO()
    np.lib.format.write_array_header_1_0(made, {"descr": descr, "fortran_order": False, "shape": shape})
    return made.getvalue()


@pytest.mark.parametrize("changes", [
    lambda: {"run0002/000.npy": header((2 ** 27,)) + bytes(2 ** 29)},
    lambda: {"runs/0000.npy": as_array(b"[" + b"[]," * 2 ** 25 + b"[]]")},
    lambda: {"runs/%04d.npy" % number: as_array(b"[" + b"[]," * 2 ** 22 + b"[]]") for number in range(8)},
    lambda: {"run0002/000.npy": header((10 ** 12, 10 ** 6))},
    lambda: {"graphgrad.npy": as_array(b"[" * 100000)},
    lambda: {"graphgrad.npy": as_array(b'{"format":2,"a":' + b"9" * 10 ** 6 + b"}")},
    lambda: {"graphgrad.npy": b"\x93NUMPY\x02\x00" + (2 ** 24).to_bytes(4, "little") + b"(" * 2 ** 24},
    lambda: {"graphgrad.npy": b"\x93NUMPY\x01\x00" + (9000).to_bytes(2, "little") + b"-" * 9000},
    lambda: {"run0002/000.npy": header((), "|O") + b"cos\nsystem\n(S'touch PWNED'\ntR."},
], ids=["array", "json", "many_jsons", "shape", "nesting", "number", "header", "header_nesting", "pickle"])
def test_bombs(changes, tmp_path):
    """What unfolds to gigabytes, or nests without end: refused in a process that stays small."""
    path = str(tmp_path / "bomb.npz")
    with open(path, "wb") as stream:
        stream.write(archive(changes()))
    status, peak, said = measured("compare", path, OLD)
    assert status == 2 and said.count("\n") == 1 and said.startswith("graphgrad: {}".format(path)), said
    assert peak < 250


def test_links_and_names_that_lead_elsewhere(tmp_path, capsys):
    """A device, a folder, a loop of links; an entry whose name leads out of the archive is a name and no more."""
    os.symlink("/dev/zero", str(tmp_path / "zero.npz"))
    os.symlink("loop.npz", str(tmp_path / "loop.npz"))
    os.mkfifo(str(tmp_path / "pipe.npz"))
    for name in ("zero", "loop", "pipe"):
        assert cli.main(["compare", str(tmp_path / (name + ".npz")), OLD]) == 2
        assert "There is no result file" in capsys.readouterr().err
    status, _ = compare(archive({"../../../evil.npy": as_array(b"x"), "/etc/evil.npy": as_array(b"x")}),
                        str(tmp_path / "names.npz"), capsys)
    assert status in (0, 1) and sorted(os.listdir(str(tmp_path))) == ["loop.npz", "names.npz", "pipe.npz", "zero.npz"]


@BOUNDED
@given(st.one_of(st.binary(max_size=300), mutated(as_array(b"abc"))))
def test_arrays(data):
    """An array of as many bytes as there are, or an error of a known kind."""
    try:
        array = read_array(io.BytesIO(data), len(data))
    except UNREADABLE:
        return
    assert array.nbytes < len(data) and not array.dtype.hasobject


@pytest.mark.parametrize("array", [np.arange(6.0).reshape(2, 3), np.asfortranarray(np.arange(6).reshape(2, 3)), np.array(3.5),
                                   np.zeros([0, 3]), np.array([True]), np.array([1 + 2j]), np.arange(3, dtype=">i2")], ids=str)
def test_arrays_as_numpy_writes_them(array):
    """Every order, rank and dtype of numbers comes back."""
    made = io.BytesIO()
    np.save(made, array)
    read = read_array(io.BytesIO(made.getvalue()), len(made.getvalue()))
    assert read.dtype == array.dtype and read.shape == array.shape and (read == array).all()


# --- Images, labels, sources -------------------------------------------------------------------------------

def png(width, height):
    def chunk(kind, data):
        return len(data).to_bytes(4, "big") + kind + data + zlib.crc32(kind + data).to_bytes(4, "big")
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", width.to_bytes(4, "big") + height.to_bytes(4, "big") + b"\x08\x00\0\0\0")
            + chunk(b"IDAT", zlib.compress(bytes((width + 1) * min(height, 64)))) + chunk(b"IEND", b""))


def gif(width, height, frames):
    frame = b"\x2c\0\0\0\0\x01\0\x01\0\0\x02\x02\x44\x01\0"
    return (b"GIF89a" + width.to_bytes(2, "little") + height.to_bytes(2, "little") + b"\x80\0\0" + bytes(6)
            + frame * frames + b"\x3b")


HUGE = {
    "a.png": png(40000, 40000), "b.gif": gif(60000, 60000, 1), "c.gif": gif(8000, 8000, 50),
    "d.bmp": b"BM" + bytes(16) + (50000).to_bytes(4, "little") + (50000).to_bytes(4, "little") + bytes(40),
    "e.jpg": b"\xff\xd8\xff\xc0\x00\x0b\x08\xff\xff\xff\xff\x01\x01\x11\x00\xff\xd9",
    "f.npy": header((10 ** 6, 10 ** 6)), "g.npy": header((8, 8, 1), "|O") + b"cos\nsystem\n(S'touch PWNED'\ntR.",
    "h.png": b"", "i.png": b"\x89PNG\r\n\x1a\n", "j.npy": b"\x93NUMPY\x01\x00\x10\x00{'descr': '<f4',"}


def test_images_that_claim_to_be_huge(tmp_path, capsys):
    """None of them is decoded; each is named, and the exit status is 2 when none is left."""
    for name, data in HUGE.items():
        (tmp_path / name).write_bytes(data)
    with open("/proc/self/clear_refs", "w") as stream:
        stream.write("5")   # forget the peak
    before = peak()
    assert cli.main(["saliency", FROZEN, "--image", str(tmp_path), "--method", "gradient", "-o", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert all("skipped {}: ".format(tmp_path / name) in said for name in HUGE) and "None of the 10 images could be read" in said
    assert said.count("it claims ") == 5 + 2 - 1 and peak() - before < 400
    assert not os.path.exists("PWNED")


def peak():
    with open("/proc/self/status") as stream:
        return next(int(line.split()[1]) // 1024 for line in stream if line.startswith("VmHWM"))


@BOUNDED
@given(st.sampled_from(sorted(HUGE)).flatmap(lambda name: mutated(HUGE[name] or b"x")))
def test_headers_of_images(data):
    """A number of pixels, or None; never an error."""
    pixels = declared_pixels(data)
    assert pixels is None or pixels >= 0


@pytest.mark.parametrize("name, text", [
    ("sum.py", "x = " + " + ".join(["a"] * 20000)), ("minus.py", "-" * 50000 + "1"), ("deep.py", "[" * 2000 + "]" * 2000),
    ("attribute.py", "import tensorflow as tf\nx = tf" + ".b" * 20000), ("elif.py", "if a: pass\n" + "elif a: pass\n" * 5000),
    ("python2.py", "print 1\nx = " + "+".join(["a"] * 20000)), ("nul.py", "\0"),
    ("deep.ipynb", "[" * 100000), ("cells.ipynb", '{"cells": [1]}'), ("source.ipynb", '{"cells": [{"cell_type": "code", "source": 5}]}'),
    ("tag.pb", "_gradient_op_type\x12"), ("empty.meta", ""),
], ids=lambda value: value if len(value) < 20 else "")
def test_sources_to_scan(name, text, tmp_path, capsys):
    """Nested without end, or no source at all: searched for words, and said."""
    (tmp_path / name).write_text(text)
    os.mkfifo(str(tmp_path / "pipe.py"))
    assert cli.main(["scan", str(tmp_path)]) in (0, 1)
    if name.endswith(("py", "ipynb")) and name not in ("elif.py", "python2.py", "deep.py", "attribute.py"):
        assert "GG00" in capsys.readouterr().out


@pytest.mark.parametrize("labels", [b"\xff\xfe", b"a\n" * 3], ids=["no_utf8", "too_few"])
def test_labels(labels, tmp_path, capsys):
    """One sentence."""
    (tmp_path / "labels.txt").write_bytes(labels)
    assert cli.main(["saliency", FROZEN, "--image", os.path.dirname(FROZEN), "--labels", str(tmp_path / "labels.txt"),
                     "--class", "none", "-o", str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err.count("\n") == 1


# --- Models ------------------------------------------------------------------------------------------------

def refused(path, text):
    with pytest.raises(gg.SaliencyError, match=text) as caught:
        gg.saliency.load(path)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 900
    assert not os.path.exists("PWNED")


@pytest.mark.parametrize("how", ["dependency", "function"])
def test_a_meta_graph_that_would_write_a_file_when_it_is_restored(how, graph, tmp_path, monkeypatch):
    """The file names the operation that restores it: what that would run is looked at first."""
    monkeypatch.chdir(tmp_path)
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    v = tf.get_variable("v", [2, 2], use_resource=False)
    tf.nn.relu(tf.matmul(x, v), name="y")
    saver = tf.train.Saver()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        saver.save(session, str(tmp_path / "model"))
        with gg.saliency.load(str(tmp_path / "model.meta")) as model:
            assert model.y.name == "y:0"
    if how == "dependency":
        evil = tf.io.write_file("PWNED", "x")
    else:
        @tensorflow.function
        def writing():
            tf.io.write_file("PWNED", "x")
            return tf.constant(1)
        evil = writing().op
    with tf.control_dependencies([evil]):
        both = tf.group(graph.get_operation_by_name(saver.saver_def.restore_op_name), name="both")
    definition = saver.saver_def
    definition.restore_op_name = both.name
    tf.train.export_meta_graph(str(tmp_path / "model.meta"), saver_def=definition)
    refused(str(tmp_path / "model.meta"), "would run the operation '.*' \\(type WriteFile\\), which reaches outside")


def test_a_saved_model_that_would_write_a_file_when_it_is_loaded(tmp_path, monkeypatch):
    """The main_op of a SavedModel of TF 1."""
    monkeypatch.chdir(tmp_path)
    for folder, make in (("honest", tf.tables_initializer), ("evil", lambda: tf.group(tf.io.write_file("PWNED", "x")))):
        with tf.Graph().as_default(), tf.Session() as session:
            x = tf.placeholder(tf.float32, [None, 2], name="x")
            y = tf.nn.relu(x * tf.get_variable("v", [2], use_resource=False), name="y")
            signature = tf.saved_model.predict_signature_def({"x": x}, {"y": y})
            session.run(tf.global_variables_initializer())
            builder = tf.saved_model.Builder(str(tmp_path / folder))
            builder.add_meta_graph_and_variables(session, ["serve"], {"serving_default": signature}, main_op=make())
            builder.save()
    gg.saliency.load(str(tmp_path / "honest")).close()
    refused(str(tmp_path / "evil"), "type WriteFile")


@pytest.mark.skipif(TF1, reason="TF 1.15 saves no initializer of a module's own")
def test_a_saved_model_of_objects_that_would_write_a_file(tmp_path, monkeypatch):
    """The initializer of a resource, which tf.saved_model.load runs."""
    monkeypatch.chdir(tmp_path)

    class Evil(tensorflow.Module):
        @tensorflow.function(input_signature=[])
        def _initialize(self):
            tf.io.write_file("PWNED", "x")
            return tf.constant(1)

        @tensorflow.function(input_signature=[tensorflow.TensorSpec([None, 2])])
        def call(self, x):
            return {"y": tensorflow.nn.relu(x)}

    evil = Evil()
    tensorflow.saved_model.save(evil, str(tmp_path / "model"), signatures=evil.call)
    refused(str(tmp_path / "model"), "type WriteFile")


def test_a_frozen_graph_that_would_write_a_file_when_it_is_computed(graph, tmp_path, monkeypatch, capsys):
    """Refused with WriteFile on the way from x to y; not with it in front of x, which is fed; tf.print is harmless, but to a file."""
    monkeypatch.chdir(tmp_path)

    def after(operation, name, x):
        with tf.control_dependencies([operation]):
            return tf.nn.relu(x, name=name)

    def written(y):
        path = str(tmp_path / (y + ".pb"))
        with open(path, "wb") as stream:
            stream.write(tf.graph_util.extract_sub_graph(graph.as_graph_def(), [y]).SerializeToString())
        return path

    x = tf.placeholder_with_default(after(tf.io.write_file("PWNED", "x"), "before", tf.ones([1, 2])), [None, 2], name="x")
    after(tf.io.write_file("PWNED", "x"), "evil", x)
    after(tf.print("x", output_stream="file://PWNED"), "prints_to_a_file", x)
    after(tf.print("x"), "prints", x)
    for y, kind in (("evil", "WriteFile"), ("prints_to_a_file", "PrintV2")):
        path = written(y)
        with pytest.raises(gg.SaliencyError, match="Computing {}:0 of .* \\(type {}\\), which reaches outside".format(y, kind)):
            gg.saliency.load(path, x="x:0", y=y + ":0")
        assert cli.main(["saliency", path, "--x", "x:0", "--y", y + ":0", "--image", os.path.dirname(FROZEN), "-o", "out"]) == 2
        assert cli.main(["scan", path]) == 0
    gg.saliency.load(written("prints"), x="x:0", y="prints:0").close()
    assert not os.path.exists("PWNED")


def calling(definition, name, *functions, operation="NoOp"):
    """Put a function into a GraphDef's library that calls some functions, and then runs an operation."""
    body = definition.library.function.add()
    body.signature.name = name
    for number, function in enumerate(functions):
        node = body.node_def.add(name="call{}".format(number), op="PartitionedCall")
        node.attr["f"].func.name = function
    body.node_def.add(name="last", op=operation)


def calls_of(function):
    """A GraphDef of one operation, that calls a function."""
    definition = tf.GraphDef()
    definition.node.add(name="y", op="PartitionedCall").attr["f"].func.name = function
    return definition


@pytest.mark.parametrize("depth", [1, 2, 3, 5, 20])
@pytest.mark.parametrize("width", [1, 3])
def test_what_reaches_outside_from_a_function_of_a_function(depth, width):
    """However deep it is, and whatever is looked at before; a function that calls itself is looked at once."""
    definition = calls_of("f0")
    for level in range(depth):
        calling(definition, "f{}".format(level), *["idle{}".format(i) for i in range(width)] + ["f0", "f{}".format(level + 1)])
    for number in range(width):
        calling(definition, "idle{}".format(number), operation="ReadFile")
    calling(definition, "f{}".format(depth), operation="WriteFile")
    assert reaching_outside(definition, ["y"]) == ("last", "WriteFile")
    assert reaching_outside(definition, [], ["idle0"]) is None and reaching_outside(definition, ["absent"], ["absent"]) is None
    assert reaching_outside(definition, [], ["f0"], allowed=["WriteFile"]) is None
    assert reaching_outside(definition, ["y"], fed=["y:0"]) == ("last", "WriteFile")   # what is asked for is run


@pytest.mark.parametrize("field", ["gradient", "registered_gradients"])
def test_what_reaches_outside_from_a_gradient_function(field):
    """TensorFlow runs it for the function's gradient, and no operation of the file names it."""
    definition = calls_of("f")
    calling(definition, "f")
    calling(definition, "f_grad", operation="WriteFile")
    if not hasattr(definition.library, field):
        pytest.skip("this TensorFlow has no gradients of that kind in files")
    assert reaching_outside(definition, ["y"]) is None
    getattr(definition.library, field).add(gradient_func="f_grad")
    assert reaching_outside(definition, ["y"]) == ("last", "WriteFile")


def test_what_a_saved_model_runs_when_it_is_loaded():
    """What restores it, and its initializer, as TensorFlow 1.0, 1.15 and 2.x write it; no other signature."""
    meta = tf.MetaGraphDef()
    meta.saver_def.restore_op_name = "restore"
    meta.collection_def["legacy_init_op"].node_list.value.append("legacy")
    meta.collection_def["saved_model_main_op"].node_list.value.append("main")
    meta.collection_def["trainable_variables"].node_list.value.append("variable")
    meta.signature_def["__saved_model_init_op"].outputs["__saved_model_init_op"].name = "init"
    meta.signature_def["serving_default"].outputs["y"].name = "y:0"
    operations, functions = run_by_loading(meta)
    assert sorted(operations) == ["init", "legacy", "main", "restore"] and functions == []


def test_objects_that_are_not_there():
    """A SavedModel that names objects past the end of its list."""
    meta = tf.MetaGraphDef()
    assert run_by_loading(meta) == ([""], [])
    if hasattr(meta, "object_graph_def"):
        node = meta.object_graph_def.nodes.add()
        node.children.add(local_name="_initialize", node_id=1)
        if hasattr(node, "saveable_objects"):
            node.saveable_objects["x"].restore_function = 1
        assert run_by_loading(meta) == ([""], [])
        meta.object_graph_def.nodes.add().function.concrete_functions.append("f")
        assert run_by_loading(meta) == ([""], ["f", "f"][:1 + hasattr(node, "saveable_objects")])


def keras_model(*layers):
    first = tensorflow.keras.layers.Input((4,))
    last = first
    for layer in layers:
        last = layer(last)
    return tensorflow.keras.Model(first, last)


FORMATS = [".h5"] + ([] if TF1 else [".keras"])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("ending", FORMATS)
def test_keras_files(ending, tmp_path, monkeypatch):
    """An honest one is read; one with a Lambda layer is refused before Keras would run its byte code."""
    monkeypatch.chdir(tmp_path)
    layers = tensorflow.keras.layers
    keras_model(layers.Dense(3, activation="relu"), layers.Dense(2)).save("honest" + ending)
    gg.saliency.load("honest" + ending).close()
    evil = layers.Lambda(lambda x: (__import__("os").system("touch PWNED"), x)[1], output_shape=(4,))
    model = keras_model(evil, layers.Dense(2))
    model.save("evil" + ending)
    if os.path.exists("PWNED"):   # some Keras runs it to build the model
        os.remove("PWNED")
    refused("evil" + ending, "holds a Lambda layer 'lambda.*', and reading a model never runs code")
    assert cli.main(["saliency", "evil" + ending, "--image", os.path.dirname(FROZEN), "-o", "out"]) == 2


@pytest.mark.parametrize("config, text", [
    ({"class_name": "function", "config": "system", "module": "os"}, "module 'os'"),
    ({"class_name": "function", "config": "get_file", "module": "keras.utils"}, "the function 'get_file' of the module"),
    ({"class_name": "TFOpLambda", "config": {"name": "a", "function": "io.gfile.rmtree"}}, "calls \"io.gfile.rmtree\""),
    ({"class_name": "TFOpLambda", "config": {"function": "compat.v1.py_func"}}, "calls \"compat.v1.py_func\""),
    ({"class_name": "StringLookup", "config": {"vocabulary": "/etc/passwd"}, "module": "keras.layers"}, "/etc/passwd"),
    ({"class_name": "Package>Lambda", "config": {}}, "a Package|Lambda layer"),
    ({"class_name": "TFSMLayer", "config": {"filepath": "x"}}, "TFSMLayer"),
    ({"class_name": "TFOpLambda", "config": {"function": "math.add"}}, None),
    ({"class_name": "function", "config": "gelu", "module": "keras.activations"}, None),
], ids=str)
def test_what_the_configuration_of_a_keras_file_may_name(config, text, tmp_path):
    """Layers and arithmetic; no function or file from elsewhere."""
    path = str(tmp_path / "model.keras")
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("config.json", json.dumps({"class_name": "Functional", "config": {"layers": [config]}}))
    if text is None:
        keras_files.check(path)
    else:
        with pytest.raises(gg.SaliencyError, match=text):
            keras_files.check(path)


@pytest.mark.parametrize("what", ["link", "external", "bomb"])
def test_weights_that_are_elsewhere_or_nowhere(what, tmp_path):
    """HDF5 that refers to other files, or claims numbers that it does not hold."""
    import h5py
    path = str(tmp_path / "model.h5")
    with h5py.File(path, "w") as file:
        if what == "link":
            file["w"] = h5py.ExternalLink("/etc/passwd", "/x")
        elif what == "external":
            file.create_dataset("w", (8,), "u1", external=[("/etc/passwd", 0, 8)])
        else:
            file.create_dataset("w", (10 ** 6, 10 ** 6), "f4", chunks=(100, 100))
    with pytest.raises(gg.SaliencyError, match="claims 4000000000000 bytes" if what == "bomb" else "refers to another file"):
        keras_files.check(path)


#: An HDF5 file of a group, an array and two attributes, one byte of it changed. Reading the attributes ends the process.
CRASHING = zlib.decompress(base64.b85decode(
    b"c-rlmy-or_5P)a*IJ^*uM<n5=@k&cdJ2i58g%P6`bjqJVB2Z|=#26{D^D!uW3`-xyH^95yS-9H>0WBz;FS$%+X8$rfyUEVIdZnXOqL6?9%Yqo#5N"
    b"3iDov5z-*C-jv5y~-Fc2oFrXt!~E$B=p(?U(1S8?>HisCm4&lok;G5zjq13uFa#l}{f$+OFGgG;gm4%}%R*e;3Nj{a?<j^0iWs`Vj3&@G!qqknyu"
    b"p&Rg&IZaS^No@Y$-w5MyZBIksMl9`Fm`0<>)ZAiVc<T<hPbWZ4;%<@Iu=3i#C-9Wpyy+6)-aat}he>9bMBO^NgJL;b%?a?CAxMO;}lCX>MjQcUpL"
    b"9g0v2KU<*!~27=*}W2y)!O3ujt|QxER-lr>;Lo|)p1!+t2ZLL>Q~jqA8*p05(GgI1VIo4K@h~cQT2KCfM>8HC6|Vn_U_kp19GBk+Sx{*16d2QFX%"
    b"VH5`NC*fEHFb4dyo#6txvSt~DNd9cx;UC00V!vGo5zN&I8PfJ4R)?gRSslR5SBIdv^IYa(*d2<e={PY?vL1jD^mzHcw^XTJ"))


def test_weights_over_which_hdf5_crashes(tmp_path, capsys):
    """It does so in a process of its own."""
    path = str(tmp_path / "model.h5")
    with open(path, "wb") as stream:
        stream.write(CRASHING)
    assert subprocess.run([sys.executable, "-c", keras_files._READ_ALL, path], stderr=subprocess.DEVNULL).returncode == -11
    assert told(saliency_of(path, tmp_path), capsys) == (
        2, "graphgrad: Keras cannot load {}: it is truncated, or another kind of file (HDF5 crashes over it).\n".format(path))


with open(FROZEN, "rb") as _stream:
    GRAPH = _stream.read()


def told(words, capsys):
    """(exit status, stderr) of a command on a damaged file: it works, or says one sentence about it."""
    status = cli.main(words)
    said = "".join(line for line in capsys.readouterr().err.splitlines(True) if line.startswith(("graphgrad", "Traceback")))
    skipped = said.count("skipped ")
    assert status in (0, 1) or status == 2 and said.count("\n") == 1 + skipped, said
    assert "Traceback" not in said and all(len(line) < 1000 for line in said.splitlines())
    return status, said


def saliency_of(model, folder):
    return ["saliency", model, "--image", os.path.join(os.path.dirname(FROZEN), "digit_0.png"), "--method", "gradient", "-o", str(folder / "out")]


def written(path, data):
    with open(str(path), "wb") as stream:
        stream.write(data)
    return str(path)


def as_text(folder, definition):
    return written(folder / "model.pbtxt", _tf.text_format.MessageToString(definition).encode())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("ending, examples", [(".h5", 5), (".keras", 8)][:1 if TF1 else 2])
def test_damaged_keras_files(ending, examples, tmp_path, capsys):
    """A Keras file with bytes changed, cut off or doubled."""
    layers = tensorflow.keras.layers
    keras_model(layers.Dense(3, activation="relu"), layers.Dense(2)).save(str(tmp_path / ("whole" + ending)))
    whole = (tmp_path / ("whole" + ending)).read_bytes()

    @settings(BOUNDED, max_examples=examples)
    @given(mutated(whole))
    def damaged(data):
        told(saliency_of(written(tmp_path / ("damaged" + ending), data), tmp_path), capsys)

    damaged()


def sound_images():
    """(ending, bytes) of 8 x 8 pixels in each format."""
    pixels = bytes(range(192))
    with tf.Graph().as_default(), tf.Session() as session:
        image = tf.reshape(tf.constant(list(pixels), tf.uint8), [8, 8, 3])
        yield ".png", session.run(tf.image.encode_png(image))
        yield ".jpg", session.run(tf.image.encode_jpeg(image))
    yield ".gif", gif(8, 8, 2)
    yield ".bmp", b"BM" + struct.pack("<IHHIIiiHHIIiiII", 246, 0, 0, 54, 40, 8, 8, 1, 24, 0, 192, 0, 0, 0, 0) + pixels
    array = io.BytesIO()
    np.save(array, np.ones([2, 8, 8, 1], np.float32))
    yield ".npy", array.getvalue()


@settings(BOUNDED, max_examples=60)
@given(st.sampled_from(sorted(sound_images())).flatmap(
    lambda image: st.tuples(st.just(image[0]), st.one_of(st.just(image[1]), mutated(image[1])))))
def test_damaged_images(reader, tmp_path, image):
    """Whole decoding: a picture of the model's size, or a sentence."""
    try:
        read = list(reader.read(written(tmp_path / ("damaged" + image[0]), image[1])))
    except gg.SaliencyError as error:
        assert "\n" not in str(error) and len(str(error)) < 600
        return
    assert read and all(example.shape == (8, 8, 1) for _, _, example in read)


@pytest.fixture(scope="module")
def reader():
    with gg.saliency.load(FROZEN) as model:
        made = Reader(model.x, Preprocessing("0,255"))
        yield made
        made.close()


@settings(BOUNDED, max_examples=8)
@given(st.one_of(mutated(b"zero\none\ntwo\nthree\nfour\n"), st.binary(max_size=60)), st.sampled_from(["top", "one", "3"]))
def test_damaged_labels(tmp_path, capsys, data, wanted):
    """A class, or one sentence."""
    labels = written(tmp_path / "labels.txt", data)
    told(saliency_of(FROZEN, tmp_path) + ["--labels", labels, "--class", wanted], capsys)


ARTEFACTS = os.path.join(ROOT, "tests", "golden", "recordings", "artefacts")
FILES = {}
for _name in ("model.ckpt.meta", "model.ckpt.index", "model.ckpt.data-00000-of-00001", "saved/saved_model.pb",
              "saved/variables/variables.index", "saved/variables/variables.data-00000-of-00001", "frozen.pb", "graph.pbtxt"):
    with open(os.path.join(ARTEFACTS, *_name.split("/")), "rb") as _stream:
        FILES[_name] = _stream.read()


def damaged_model(tmp_path, name, data):
    """The artefacts anew, with data in the place of one of their files; returns the path of the model it is of."""
    folder = tmp_path / "artefacts"
    shutil.rmtree(str(folder), ignore_errors=True)
    shutil.copytree(ARTEFACTS, str(folder))
    written(folder.joinpath(*name.split("/")), data)
    return str(folder / {"saved": "saved", "model": "model.ckpt.meta"}.get(name[:5], name))


@settings(BOUNDED, max_examples=80)
@given(st.sampled_from(sorted(FILES)).flatmap(lambda name: st.tuples(st.just(name), mutated(FILES[name]))))
def test_damaged_models_to_compare(tmp_path, capsys, damaged):
    """Checkpoint, meta graph, SavedModel, frozen graph and its text: compared with a recording, or refused."""
    told(["compare", damaged_model(tmp_path, *damaged), ARTEFACTS + ".npz"], capsys)


@pytest.mark.parametrize("name", ["model.ckpt.data-00000-of-00001", "model.ckpt.index", "saved/saved_model.pb",
                                  "saved/variables/variables.data-00000-of-00001", "frozen.pb"])
def test_models_that_are_cut_off(name, tmp_path, capsys):
    """Nothing is computed of half a model."""
    model = damaged_model(tmp_path, name, FILES[name][:len(FILES[name]) // 2])
    status, said = told(["compare", model, ARTEFACTS + ".npz"], capsys)
    assert status == 2 and said.startswith("graphgrad: {} cannot be loaded: ".format(model)), said


def test_a_model_that_asks_for_more_memory_than_there_is(graph, tmp_path, capsys):
    """Four terabytes, of 500 bytes of file, when it is computed."""
    x = tf.placeholder(tf.float32, [None, 8, 8, 1], name="x")
    big = tf.fill(tf.constant([2 ** 20, 2 ** 20]), tf.reduce_sum(x))
    tf.multiply(tf.reduce_mean(big), tf.ones([1, 5]), name="y")
    status, said = told(saliency_of(written(tmp_path / "model.pb", graph.as_graph_def().SerializeToString()), tmp_path), capsys)
    assert status == 2 and said.startswith("graphgrad: The model cannot be run: OOM when allocating tensor"), said
    assert said.endswith(".\n") and not said.endswith("..\n") and "node" not in said, said


with open(FROZEN, "rb") as _stream:
    SOUND = tf.GraphDef.FromString(_stream.read())
SIZES = [0, 1, -1, -2, 2 ** 31, 2 ** 40, 2 ** 62, 40000]


def with_another_field(choose):
    """The frozen graph with one to three fields changed to others that a GraphDef may have."""
    definition = tf.GraphDef()
    definition.CopyFrom(SOUND)
    for _ in range(1 + choose(3)):
        node = definition.node[choose(len(definition.node))]
        other = SOUND.node[choose(len(SOUND.node))]
        keys = sorted(node.attr)
        attribute = node.attr[keys[choose(len(keys))]] if keys else tf.AttrValue()
        kind = choose(7)
        if kind == 0:
            node.input[:] = list(node.input[1:]) + [other.name]
        elif kind == 1:
            node.op = ([other.op] + ["Fill", "Tile", "Reshape", "Variable", "While", "Print", "Range"])[choose(8)]
        elif kind == 2 and other.attr:
            attribute.CopyFrom(other.attr[sorted(other.attr)[choose(len(other.attr))]])
        elif kind == 3:
            attribute.tensor.dtype = 1 + choose(23)
        elif kind == 4:
            shape = attribute.tensor.tensor_shape if attribute.HasField("tensor") else attribute.shape
            for dimension in shape.dim:
                dimension.size = SIZES[choose(len(SIZES))]
            del attribute.tensor.float_val[:]
            attribute.tensor.float_val.append(1.0)
        elif kind == 5:
            attribute.type = choose(25)
        else:
            attribute.list.i[:] = [SIZES[choose(len(SIZES))] for _ in range(choose(5))]
    return definition.SerializeToString()


@settings(BOUNDED, max_examples=100)
@given(st.data())
def test_graphs_of_which_a_field_is_another(tmp_path, data):
    """Still a GraphDef, so nothing but its sense is wrong: read, or refused with a sentence; TensorFlow does not abort."""
    path = written(tmp_path / "damaged.pb", with_another_field(lambda n: data.draw(st.integers(0, n - 1))))
    try:
        with gg.saliency.load(path) as model:
            gg.saliency.gradient(model.y, model.x, target=0)(model.session, np.zeros([1, 8, 8, 1]))
    except (gg.SaliencyError, tf.errors.OpError, ValueError):
        pass


@pytest.mark.parametrize("change, text", [
    (lambda node: setattr(node.attr["value"].tensor, "dtype", tf.int32.as_datatype_enum), "holds values of another dtype than its own"),
    (lambda node: (setattr(node.attr["value"].tensor.tensor_shape.dim[0], "size", 2 ** 31),
                   setattr(node.attr["value"].tensor, "tensor_content", b""),
                   node.attr["value"].tensor.float_val.append(1.0)), "claims .* bytes, of .* in the file"),
    (lambda node: setattr(node.attr["value"].tensor.tensor_shape.dim[0], "size", -3), "has a dimension of -3"),
    (lambda node: (setattr(node.attr["value"].tensor, "dtype", 999), setattr(node.attr["dtype"], "type", 999)),
     "is of no known dtype"),
], ids=["dtype", "bomb", "negative", "unknown"])
def test_constants_that_are_not_what_they_say(change, text, tmp_path):
    """TensorFlow would abort over the first, and fill the memory with the second."""
    definition = tf.GraphDef()
    definition.CopyFrom(SOUND)
    change(next(node for node in definition.node if node.op == "Const" and node.attr["value"].tensor.tensor_shape.dim
                and node.attr["dtype"].type == tf.float32.as_datatype_enum))
    path = written(tmp_path / "model.pb", definition.SerializeToString())
    refused(path, "is damaged: its constant '.*' {}".format(text))
    for one in (path, as_text(tmp_path, definition)):
        with pytest.raises(gg.GraphGradError, match=text):
            with load(ARTEFACTS + ".npz") as old:
                compare_artefact(one, old)


@pytest.mark.parametrize("content, most", [(b"", 2 ** 26), (bytes(2 ** 22), 25 * 2 ** 22)], ids=["alone", "with_values"])
def test_how_much_a_constant_may_claim(content, most):
    """256 MiB, or a hundred times what it has in the file."""
    for size in (most, most + 1000):
        definition = tf.GraphDef()
        node = definition.node.add(name="c", op="Const")
        node.attr["dtype"].type = node.attr["value"].tensor.dtype = tf.float32.as_datatype_enum
        node.attr["value"].tensor.tensor_content = content
        node.attr["value"].tensor.tensor_shape.dim.add(size=size)
        if size <= most:
            refuse_unbelievable("x", definition, ValueError)
        else:
            with pytest.raises(ValueError, match="claims {} bytes".format(4 * size)):
                refuse_unbelievable("x", definition, ValueError)


def chain(length, times=1):
    """A GraphDef of functions each of which calls the next so many times."""
    definition = calls_of("f0")
    for number in range(length - 1):
        calling(definition, "f{}".format(number), *["f{}".format(number + 1)] * times)
    calling(definition, "f{}".format(length - 1))
    return definition


@pytest.mark.parametrize("definition, text", [
    (chain(200), None),
    (chain(201), "201 deep"),
    (chain(20000), "20000 deep"),
    (chain(13, 2), None),
    (chain(14, 2), "so often that it is more than 20000 operations"),
    (chain(150, 9), "so often that it is more than 149[12]00 operations"),
], ids=["deep", "too_deep", "far_too_deep", "wide", "too_wide", "far_too_wide"])
def test_functions_that_unfold(definition, text):
    """TensorFlow puts them in the place of their calls, until the memory or the stack has an end."""
    if text is None:
        refuse_unbelievable("x", definition, ValueError)
        return
    called_from_python = tf.GraphDef(library=definition.library)   # as a SavedModel's functions are
    for one in (definition, called_from_python):
        with pytest.raises(ValueError, match="x cannot be run: its functions call each other " + text):
            refuse_unbelievable("x", one, ValueError)


@pytest.mark.parametrize("round_about", [["f"], ["g", "f"], ["idle", "g", "idle", "h", "f"]], ids=len)
def test_functions_that_call_themselves(round_about, tmp_path, capsys):
    """Over one the process would end, in TensorFlow."""
    definition = tf.GraphDef()
    definition.CopyFrom(SOUND)
    definition.node.add(name="calls", op="PartitionedCall").attr["f"].func.name = "f"
    names = ["f"] + [name for name in round_about[:-1] if name != "idle"]
    for number, name in enumerate(names):
        calling(definition, name, "idle", *(names + ["f"])[number + 1:number + 2])
    calling(definition, "idle")
    path = written(tmp_path / "model.pb", definition.SerializeToString())
    status, said = told(saliency_of(path, tmp_path), capsys)
    assert status == 2 and said == "graphgrad: {} cannot be run: its function {!r} calls itself.\n".format(path, said.split("'")[1]), said
    for one in (path, as_text(tmp_path, definition)):
        status, said = told(["compare", one, ARTEFACTS + ".npz"], capsys)
        assert status == 2 and "calls itself" in said, said


@settings(BOUNDED, max_examples=60)
@given(mutated(GRAPH))
def test_damaged_graphs(tmp_path, data):
    """A frozen graph with bytes changed is read, or refused with a sentence."""
    path = str(tmp_path / "damaged.pb")
    with open(path, "wb") as stream:
        stream.write(data)
    try:
        gg.saliency.load(path).close()
    except gg.SaliencyError as error:
        assert "\n" not in str(error)
