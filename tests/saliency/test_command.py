"""graphgrad saliency, as a user meets it: what it prints, what it writes, its exit status."""
import base64
import os
import re
import struct
import subprocess
import sys

import numpy as np
import pytest
from _digits import DIGITS, FROZEN, PNGS, ROOT, assert_close, recorded
from conftest import tf

from graphgrad import cli

UNIT = ["--preprocess", "0,255"]


@pytest.fixture
def saliency(capsys):
    """Run the verb in this process; returns (status, stdout, stderr)."""
    verbosity = tf.logging.get_verbosity()

    def run(*arguments):
        try:
            status = cli.main(["saliency"] + [str(argument) for argument in arguments])
        except SystemExit as stop:    # argparse
            status = stop.code
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    yield run
    tf.logging.set_verbosity(verbosity)


def encode(path, pixels, how):
    """Write uint8 [height, width, channels] to a file by TensorFlow's own encoders."""
    with tf.Graph().as_default(), tf.Session() as session:
        data = session.run(getattr(tf.image, "encode_" + how)(pixels))
    with open(str(path), "wb") as stream:
        stream.write(data)
    return str(path)


def decode(data):
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(tf.image.decode_png(data))


def frozen(path, shape, build):
    """A frozen graph with a placeholder "x" of a shape."""
    with tf.Graph().as_default() as graph:
        build(tf.placeholder(tf.float32, shape, name="x"))
    with open(str(path), "wb") as stream:
        stream.write(graph.as_graph_def().SerializeToString())
    return str(path)


def sums(x):
    """Two classes: three times the sum of relu(x), and minus once."""
    total = tf.reduce_sum(tf.nn.relu(x), list(range(1, x.shape.ndims)))
    return tf.stack([3.0 * total, -total], 1, name="y")


def test_the_digits(saliency, tmp_path):
    """The shipped example: every digit, the maps of TF 1.15.5, panels, a gallery with all of them, and what was overridden."""
    out = tmp_path / "out"
    status, printed, complaints = saliency(FROZEN, "--image", DIGITS, "--method", "gradient", "guided-backprop", "-o", out, *UNIT)
    assert (status, complaints) == (0, "")
    assert printed.splitlines() == [
        "model {}: images:0 [?, 8, 8, 1] -> logits:0 [?, 10]".format(FROZEN),
        "gradient", "  overridden: nothing", "  nonlinear on the path, with their ordinary gradient: Relu (3), MaxPool (1)",
        "guided_backprop", "  overridden: Relu (3)", "  nonlinear on the path, with their ordinary gradient: MaxPool (1)",
        "wrote 41 files for 10 images to {0}: open {0}/index.html".format(out)]
    _, gradient, guided = recorded()
    for method, want in (("gradient", gradient), ("guided_backprop", guided)):
        for digit in range(10):
            assert_close(np.load(str(out / "digit_{}.{}.npy".format(digit, method))), want[digit])
    page = (out / "index.html").read_text()
    found = re.findall(r'src="data:image/png;base64,([^"]+)"', page)
    assert len(found) == 20 and "http" not in page and "<script" not in page
    panel = (out / "digit_0.gradient.png").read_bytes()
    assert base64.b64decode(found[0]) == panel
    assert decode(panel).shape == (192, 3 * 192 + 2 * 8, 3)
    for digit in range(10):
        assert re.search(r"digit_{}.png<br>class {} \(top\), score".format(digit, digit), page)


def test_as_a_process(tmp_path):
    """From a shell, in an environment with eager execution on (2.x) or off (1.15); nothing of TensorFlow's on stderr."""
    done = subprocess.run([sys.executable, "-m", "graphgrad", "saliency", FROZEN, "--image", PNGS[3], "-o", str(tmp_path / "out")] + UNIT,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True,
                          env=dict(os.environ, PYTHONPATH=ROOT))
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(os.listdir(str(tmp_path / "out"))) == [
        "digit_3.guided_backprop.npy", "digit_3.guided_backprop.png", "index.html"]


def test_every_method(saliency, tmp_path):
    """All of them in one run; integrated gradients say their gap; occlusion that it uses no gradient."""
    from graphgrad.saliency.menu import METHODS
    status, printed, complaints = saliency(
        FROZEN, "--image", PNGS[0], PNGS[1], "--method", *METHODS, "--samples", "4", "--steps", "5", "--window", "2",
        "--background", PNGS[2], "-o", tmp_path, *UNIT)
    assert (status, complaints) == (0, "")
    assert len(os.listdir(str(tmp_path))) == 2 * 2 * len(METHODS) + 1
    assert re.search("integrated_gradients: completeness gap at most [0-9.]+", printed)
    assert "occlusion\n  no gradient is used" in printed
    for method in METHODS:
        values = np.load(str(tmp_path / "digit_1.{}.npy".format(method)))
        assert values.shape[:2] == (8, 8) and np.isfinite(values).all() and values.any(), method


def test_one_truncated_image_among_a_hundred(saliency, tmp_path):
    """It is named and skipped; the others are written; exit status 1."""
    folder = tmp_path / "images"
    folder.mkdir()
    random = np.random.RandomState(0)
    for number in range(100):
        path = encode(folder / "{:03d}.png".format(number), random.randint(0, 255, (8, 8, 1)).astype(np.uint8), "png")
        if number == 57:
            with open(path, "r+b") as stream:
                stream.truncate(os.path.getsize(path) * 2 // 3)
    status, printed, complaints = saliency(FROZEN, "--image", folder, "--method", "gradient", "-o", tmp_path / "out", *UNIT)
    assert status == 1
    assert re.match(r"graphgrad saliency: skipped \S*057.png: it is no whole PNG, JPEG, GIF or BMP file: Invalid PNG data", complaints)
    assert complaints.splitlines()[1:] == ["graphgrad saliency: 1 of 100 files skipped"]
    written = sorted(name[:3] for name in os.listdir(str(tmp_path / "out")) if name.endswith(".npy"))
    assert written == ["{:03d}".format(number) for number in range(100) if number != 57]
    assert "for 99 images" in printed


def bmp(pixels):
    """An uncompressed BMP of 24 bits, by hand: TensorFlow has no encoder."""
    height, width, _ = pixels.shape
    rows = b"".join(row[:, ::-1].tobytes() + b"\0" * (-3 * width % 4) for row in pixels[::-1])

    return (b"BM" + struct.pack("<IHHI", 54 + len(rows), 0, 0, 54) +
            struct.pack("<IiiHHIIiiII", 40, width, height, 1, 24, 0, len(rows), 2835, 2835, 0, 0) + rows)


GIF = base64.b64decode("R0lGODdhBgAEAIEAAPrICgDIAPoeCgAAACwAAAAABgAEAAAIFQABCAxAUCAAggEEKBzAUKEAhgMCAgA7")    # of PIL 11, quantize(8)


@pytest.mark.parametrize("kind", ["png", "jpeg", "bmp", "gif"])
def test_files_of_every_kind(saliency, tmp_path, kind):
    """The model sees the pixels that were written: here the map is gradient times input, 3 * pixel."""
    pixels = np.zeros((4, 6, 3), np.uint8)
    pixels[:, :3], pixels[:2, :, 1] = (250, 30, 10), 200
    path = str(tmp_path / ("image." + kind))
    if kind in ("bmp", "gif"):
        with open(path, "wb") as stream:
            stream.write(GIF if kind == "gif" else bmp(pixels))
    else:
        encode(path, pixels, kind)
    if kind == "jpeg":    # lossy
        with tf.Graph().as_default(), tf.Session() as session:
            pixels = session.run(tf.image.decode_jpeg(tf.read_file(path)))
    model = frozen(tmp_path / "m.pb", [None, None, None, 3], sums)
    status, _, complaints = saliency(model, "--image", path, "--class", "0", "--method", "gradient_times_input", "-o", tmp_path / "out")
    assert (status, complaints) == (0, "")
    got = np.load(str(tmp_path / "out" / "image.gradient_times_input.npy"))
    np.testing.assert_allclose(got, 3.0 * pixels)


@pytest.mark.parametrize("how, want", [
    ("none", [10, 20, 30]), ("tf", [10 / 127.5 - 1, 20 / 127.5 - 1, 30 / 127.5 - 1]),
    ("caffe", [30 - 103.939, 20 - 116.779, 10 - 123.68]),
    ("torch", [(10 / 255 - 0.485) / 0.229, (20 / 255 - 0.456) / 0.224, (30 / 255 - 0.406) / 0.225]),
    ("5,2", [2.5, 7.5, 12.5])])
def test_preprocessing(how, want):
    """As keras.applications has them; pixels are (10, 20, 30)."""
    from graphgrad.saliency.images import Preprocessing
    got = Preprocessing(how)(np.array([[[10.0, 20.0, 30.0]]]))
    np.testing.assert_allclose(got[0, 0], want, rtol=1e-12)


def test_channels_and_size(saliency, tmp_path):
    """Colour for a grey model by luma, grey for a colour model repeated, channels first moved, size from the graph."""
    red = encode(tmp_path / "red.png", np.full((4, 4, 3), (200, 0, 0), np.uint8), "png")
    grey = encode(tmp_path / "grey.png", np.full((4, 4, 1), 100, np.uint8), "png")
    cases = [([None, 2, 2, 1], red, np.full((2, 2, 1), 200 * 0.299)), ([None, 2, 2, 3], grey, np.full((2, 2, 3), 100.0)),
             ([None, 3, 8, 8], red, np.stack([np.full((8, 8), value) for value in (200.0, 0.0, 0.0)]))]
    for number, (shape, path, want) in enumerate(cases):
        model = frozen(tmp_path / "m{}.pb".format(number), shape, sums)
        out = tmp_path / "out{}".format(number)
        assert saliency(model, "--image", path, "--class", "0", "--method", "gradient_times_input", "-o", out)[0] == 0
        name = os.path.basename(path)[:-4]
        np.testing.assert_allclose(np.load(str(out / (name + ".gradient_times_input.npy"))), 3 * want, rtol=1e-5)


def test_images_of_several_sizes(saliency, tmp_path):
    """Where the graph leaves the size open, each image has its own; --size makes them one."""
    for number, size in enumerate([(4, 4), (4, 4), (6, 3), (4, 4)]):
        encode(tmp_path / "{}.png".format(number), np.ones(size + (3,), np.uint8), "png")
    model = frozen(tmp_path / "m.pb", [None, None, None, 3], sums)
    arguments = [model, "--image", tmp_path / "*.png", "--method", "gradient"]
    assert saliency(*(arguments + ["-o", tmp_path / "a"]))[0] == 0
    assert [np.load(str(tmp_path / "a" / "{}.gradient.npy".format(n))).shape for n in range(4)] == [
        (4, 4, 3), (4, 4, 3), (6, 3, 3), (4, 4, 3)]
    assert saliency(*(arguments + ["--size", "5,7", "-o", tmp_path / "b"]))[0] == 0
    assert np.load(str(tmp_path / "b" / "2.gradient.npy")).shape == (5, 7, 3)


def test_tables_from_arrays(saliency, tmp_path):
    """No images: a .npy of one example, one of several; rows are named by number."""
    np.save(str(tmp_path / "one.npy"), np.arange(4.0))
    np.save(str(tmp_path / "many.npy"), np.arange(8.0).reshape(2, 4) - 3)
    model = frozen(tmp_path / "m.pb", [None, 4], sums)
    status, printed, _ = saliency(model, "--image", tmp_path / "one.npy", tmp_path / "many.npy", "--class", "1", "--method",
                                  "gradient_times_input", "-o", tmp_path / "out")
    assert status == 0 and "for 3 images" in printed
    got = [np.load(str(tmp_path / "out" / (name + ".gradient_times_input.npy"))).tolist() for name in ("one", "many_0", "many_1")]
    assert got == [[0, -1, -2, -3], [0, 0, 0, 0], [-1, -2, -3, -4]]


def test_images_from_arrays(saliency, tmp_path):
    """Of .npy examples too there is a picture: stretched from least to largest, grey repeated, five channels without one."""
    colour, grey = np.arange(48.0).reshape(4, 4, 3), np.full((4, 4, 1), 7.0)
    for name, values in (("colour", colour), ("grey", grey), ("five", np.zeros((4, 4, 5)))):
        np.save(str(tmp_path / (name + ".npy")), values)
        model = frozen(tmp_path / "m.pb", [None, 4, 4, values.shape[-1]], sums)
        out = tmp_path / name
        assert saliency(model, "--image", tmp_path / (name + ".npy"), "--class", "0", "--method", "gradient", "-o", out)[0] == 0
    assert np.load(str(tmp_path / "five" / "five.gradient.npy")).shape == (4, 4, 5)
    panel = decode((tmp_path / "colour" / "colour.gradient.png").read_bytes())
    assert panel[0, 0].tolist() == [0, 5, 11]   # 255 / 47 * (0, 1, 2)
    assert set(decode((tmp_path / "grey" / "grey.gradient.png").read_bytes())[0, 0].tolist()) <= {127, 128}


def test_what_is_said_of_the_model_and_the_method(saliency, tmp_path):
    """A gradient that the file has not; a method that finds nothing to override; scores that are no classes."""
    def build(x):
        with tf.get_default_graph().gradient_override_map({"Square": "NobodyRegisteredThis"}):
            tf.reduce_sum(tf.square(x), 1, name="y")

    np.save(str(tmp_path / "one.npy"), np.arange(4.0))
    model = frozen(tmp_path / "m.pb", [None, 4], build)
    status, printed, complaint = saliency(model, "--image", tmp_path / "one.npy", "--method", "guided_backprop", "-o", tmp_path / "out")
    assert status == 0 and "note: 'NobodyRegisteredThis' as the gradient of 1 operations" in printed
    assert "guided_backprop finds nothing on the path that it could override: its gradient is the ordinary one" in complaint
    assert np.load(str(tmp_path / "out" / "one.guided_backprop.npy")).tolist() == [0, 2, 4, 6]
    status, _, complaint = saliency(model, "--image", tmp_path / "one.npy", "--class", "1", "-o", tmp_path / "none")
    assert status == 2 and "--class is for outputs [batch, classes], and y:0 is" in complaint


def test_images_that_do_not_fit(saliency, tmp_path):
    """A picture for a table, three channels for four, complex numbers: skipped, each with its reason."""
    picture = encode(tmp_path / "red.png", np.full((4, 4, 3), (200, 0, 0), np.uint8), "png")
    np.save(str(tmp_path / "complex.npy"), np.ones(4, np.complex64))
    for shape, path, text in (([None, 4], picture, "the model takes examples of shape (4,), no images: give .npy files"),
                              ([None, 4, 4, 4], picture, "it has 3 channels, and the model takes 4: give .npy files"),
                              ([None, 4], tmp_path / "complex.npy", "it is no array of numbers")):
        model = frozen(tmp_path / "m.pb", shape, sums)
        status, _, complaints = saliency(model, "--image", path, "--method", "gradient", "-o", tmp_path / "out")
        assert status == 2 and text in complaints, complaints


@pytest.mark.parametrize("data, pixels", [
    (b"\xff\xd8\xff\xe0\x00\x04ab" + b"junk" + b"\xff\xff\xff\xd0" + b"\xff\xc4\x00\x02" + b"\xff\xc2\x00\x0b\x08\x00\x03\x00\x05", 15),
    (b"\xff\xd8\xff\xe0\x00\x04ab\xff\xd9", None), (b"\xff\xd8\xff\xc0\x00\x0b\x08\x00\x03\x00\x05", 15),
    (b"GIF89a\x04\x00\x02\x00\x80\x00\x00" + bytes(6) + b"\x21\xf9\x01\x00\x00" + (
        b"\x2c" + bytes(4) + b"\x06\x00\x02\x00\x00\x02\x01\x00\x00") * 3, 36),
    (b"GIF89a\x04\x00\x02\x00\x00\x00\x00\x2c\x00", 8),
    (b"BM" + bytes(16) + (7).to_bytes(4, "little") + (-3).to_bytes(4, "little", signed=True), 21), (b"BM", None),
], ids=["jpeg", "jpeg without a frame", "jpeg cut", "gif", "gif cut", "bmp upside down", "bmp cut"])
def test_what_an_image_claims(data, pixels):
    """Width times height times frames, by the formats' own rules: markers and fill bytes, blocks, rows from below."""
    from graphgrad.saliency.headers import declared_pixels
    assert declared_pixels(data) == pixels


def test_files_of_one_name(saliency, tmp_path):
    """a/digit.png and b/digit.png do not overwrite each other."""
    paths = []
    for folder in "ab":
        (tmp_path / folder).mkdir()
        paths.append(encode(tmp_path / folder / "digit.png", np.full((8, 8, 1), ord(folder), np.uint8), "png"))
    assert saliency(FROZEN, "--image", *(paths + ["-o", tmp_path / "out"] + UNIT))[0] == 0
    assert {"digit.guided_backprop.npy", "digit-2.guided_backprop.npy"} < set(os.listdir(str(tmp_path / "out")))


def test_labels(saliency, tmp_path):
    """A class by its name; names in the gallery, escaped."""
    labels = tmp_path / "labels.txt"
    labels.write_text("\n".join("zero one two three four five six seven eight <nine>".split()) + "\n")
    arguments = [FROZEN, "--image", PNGS[3], "--labels", labels, "--method", "gradient"] + UNIT
    assert saliency(*(arguments + ["--class", "Three", "-o", tmp_path / "name"]))[0] == 0
    assert saliency(*(arguments + ["--class", "3", "-o", tmp_path / "number"]))[0] == 0
    assert saliency(*(arguments + ["--class", "<nine>", "-o", tmp_path / "nine"]))[0] == 0
    name, number, nine = [np.load(str(tmp_path / folder / "digit_3.gradient.npy")) for folder in ("name", "number", "nine")]
    assert (name == number).all() and (name != nine).any()
    assert "class 9 (&lt;nine&gt;), score" in (tmp_path / "nine" / "index.html").read_text()
    status, _, complaint = saliency(*(arguments + ["--class", "tree", "-o", tmp_path / "none"]))
    assert status == 2 and "has no label 'tree'. Did you mean 'three'" in complaint


def test_another_placeholder(saliency, tmp_path):
    """A keep probability is fed; without it TensorFlow says which tensor is missing."""
    def build(x):
        keep = tf.placeholder(tf.float32, [], name="keep")
        tf.reduce_sum(x * keep, 1, name="y")

    np.save(str(tmp_path / "one.npy"), np.ones(4))
    model = frozen(tmp_path / "m.pb", [None, 4], build)
    arguments = [model, "--image", tmp_path / "one.npy", "--method", "gradient", "-o", tmp_path / "out"]
    assert saliency(*(arguments + ["--feed", "keep=0.5"]))[0] == 0
    assert np.load(str(tmp_path / "out" / "one.gradient.npy")).tolist() == [0.5] * 4
    status, _, complaint = saliency(*arguments)
    assert status == 2 and "'keep'" in complaint and "--feed" in complaint and len(complaint.splitlines()) == 1
    status, _, complaint = saliency(*(arguments + ["--feed", "keep=much"]))
    assert status == 2 and "--feed takes NAME=VALUE" in complaint


@pytest.mark.parametrize("arguments, text", [
    (["none.pb"], "There is no model none.pb"),
    ([PNGS[0]], "is not a frozen graph"),
    ([FROZEN, "--x", "image"], "no tensor 'image'. Did you mean 'images:0'"),
    ([FROZEN, "--method", "guided-backprob"], "no method 'guided_backprob'. Did you mean guided_backprop?"),
    ([FROZEN, "--class", "10"], "--class 10 is out of range: logits:0 has 10 classes, counted from 0"),
    ([FROZEN, "--class", "-1"], "--class -1 is out of range"),
    ([FROZEN, "--class", "seven"], "--class seven is a name: give the names with --labels FILE"),
    ([FROZEN, "--preprocess", "vgg"], "Preprocessing is tf, caffe, torch, none, or two numbers"),
    ([FROZEN, "--preprocess", "torch"], "Preprocessing 'torch' is for 3 channels, and the model takes 1"),
    ([FROZEN, "--image", "nowhere/*.png"], "There is no image at nowhere/*.png"),
    ([FROZEN, "--labels", "none.txt"], "The labels none.txt cannot be read: No such file or directory"),
    ([FROZEN, "-o", os.path.join(PNGS[0], "out")], "cannot be written to: Not a directory"),
    ([FROZEN, "--layer", "Relu_7", "--method", "grad_cam"], "no tensor 'Relu_7'"),
    ([FROZEN, "--method", "expected_gradients"], "give some with --background FILE..."),
    ([FROZEN, "--max-batch", "0"], "max_batch must be a number of examples, at least 1"),
    ([FROZEN, "--size", "big"], "argument --size: invalid"),
])
def test_what_cannot_be_done(saliency, tmp_path, arguments, text, monkeypatch):
    """One sentence on stderr, exit status 2, no traceback, and no map written."""
    monkeypatch.chdir(tmp_path)
    rest = [] if "--image" in arguments else ["--image", PNGS[0]]
    rest += [] if "-o" in arguments else ["-o", "out"]
    status, _, complaint = saliency(*(arguments + rest))
    assert status == 2 and text in complaint and "Traceback" not in complaint
    assert not os.path.isdir("out") or not os.listdir("out")


def test_no_way_from_output_to_input(saliency, tmp_path):
    """The place where the path is cut is named."""
    def build(x):
        tf.reduce_sum(tf.round(x, name="cut"), 1, name="y")

    np.save(str(tmp_path / "one.npy"), np.ones(4))
    status, _, complaint = saliency(frozen(tmp_path / "m.pb", [None, 4], build), "--image", tmp_path / "one.npy", "-o", tmp_path / "out")
    assert status == 2 and "operation 'cut' of type Round is not differentiable" in complaint


def test_arrays_that_do_not_fit(saliency, tmp_path):
    """Wrong channels, no numbers, no array, five channels: each skipped and named; none left is status 2."""
    np.save(str(tmp_path / "channels.npy"), np.ones((8, 8, 3)))
    np.save(str(tmp_path / "text.npy"), np.array(["a", "b"]))
    np.save(str(tmp_path / "object.npy"), np.array([{}, []], dtype=object), allow_pickle=True)
    (tmp_path / "broken.npy").write_bytes(b"\x93NUMPY")
    status, _, complaints = saliency(FROZEN, "--image", tmp_path, "-o", tmp_path / "out", *UNIT)
    assert status == 2
    for name, text in [("channels", r"its shape is \[8, 8, 3\], and the model takes examples of \(8, 8, 1\)"),
                       ("text", "it is no array of numbers"), ("object", "it is no array of numbers"),
                       ("broken", "it is no array of numbers")]:
        assert re.search(r"skipped \S*{}.npy: {}".format(name, text), complaints), complaints
    assert "None of the 4 images could be read" in complaints


def test_help_needs_no_tensorflow():
    """--help is quick."""
    code = "import sys; from graphgrad import cli\ntry: cli.main(['saliency', '--help'])\nfinally: assert 'tensorflow' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, universal_newlines=True,
                          env=dict(os.environ, PYTHONPATH=ROOT))
    assert done.returncode == 0 and "--preprocess" in done.stdout
