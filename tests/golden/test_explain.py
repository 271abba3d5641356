"""What differs is explained: each cause planted in real recordings, each recognised, none seen where it is not."""
import json
import os
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
import tensorflow
from test_compare import recording

from graphgrad.golden import compare, load
from graphgrad.golden.page import heat, html_text, png
from graphgrad.golden.recorder import Recorder
from graphgrad.golden.report import Report, json_text, junit_text

tf = tensorflow.compat.v1
RECORDINGS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "recordings")
VALUES = np.random.RandomState(0).randn(4, 6).astype(np.float32)


def reasons(tmp_path, new, old, feeds=None, **meta):
    pair = [recording(tmp_path, name, (feeds or {"x:0": np.zeros(1)}, [("y:0", value)])) for name, value in (
        ("new", new), ("old", old))]
    pair[0].meta.update(meta)
    return Report("s.py", compare(*pair), *pair).reasons


@pytest.mark.parametrize("change, text", [
    (lambda y: -y, "y:0 has the other sign, exactly: "),
    (lambda y: 0 * y, "y:0 is all zeros now: "),
    (lambda y: 3 * y, "y:0 is 3 times what it was, exactly"),
    (lambda y: 32 * y, "y:0 is 32 times what it was, exactly: 32 is the size of axis 0 of the feed x:0, so this may be a "
                       "sum where a mean was"),
    (lambda y: y / 32, "y:0 is 0.03125 times what it was, exactly: 32 is the size of axis 0 of the feed x:0, so this may "
                       "be a mean where a sum was"),
    (lambda y: y.ravel()[::-1].reshape(y.shape), "y:0 has the same values in another order: "),
    (lambda y: y.astype(np.float64), "the values have another type: "),
], ids=["sign", "zeros", "factor", "sum", "mean", "order", "dtype"])
def test_what_the_values_say(tmp_path, change, text):
    """An exact factor with its meaning, a sign flip, zeros, another order, another type."""
    sentence, = reasons(tmp_path, change(VALUES), VALUES, {"x:0": np.zeros([32, 2])})
    assert sentence.startswith(text)


def test_zeros_then_and_transposes(tmp_path):
    """The other way round, and a square matrix on its side."""
    assert reasons(tmp_path, VALUES, 0 * VALUES) == ["y:0 was all zeros then, and is not now"]
    square = VALUES[:, :4]
    assert reasons(tmp_path, square.T, square)[0].startswith("y:0 is the transpose of what it was")


def test_nothing_is_made_up(tmp_path):
    """Values that are simply others have no explanation; a factor is one only if every value has it."""
    other = VALUES.copy()
    other[0, 0] *= -1
    assert reasons(tmp_path, other, VALUES) == []
    assert reasons(tmp_path, VALUES + 1, VALUES) == []
    assert reasons(tmp_path, np.where(VALUES > 2, np.nan, VALUES), VALUES) == []
    assert reasons(tmp_path, np.where(VALUES > 2, np.nan, -VALUES), np.where(VALUES > 2, np.nan, VALUES)) == []


def test_rounding(tmp_path):
    """Small differences: oneDNN where it is new and used, growth otherwise with the knob, neither where it is large."""
    graphs = [{"histogram": {"Conv2D": 3}}]
    pair = [recording(tmp_path, name, ({}, [("y:0", value)])) for name, value in (
        ("new", VALUES + np.float32([[4e-5] + 5 * [0]])), ("old", VALUES))]
    pair[0].graphs = graphs
    pair[0].meta["onednn"] = True
    assert Report("s.py", compare(*pair), *pair).reasons == [
        "it is small enough to be oneDNN's rounding of Conv2D: run with TF_ENABLE_ONEDNN_OPTS=0"]
    pair[0].meta["onednn"] = False
    sentence, = Report("s.py", compare(*pair), *pair).reasons
    knob = sentence.split("--tolerance ")[1].strip("'")
    from graphgrad.golden.tolerances import parse
    assert compare(*pair, tolerances=parse([knob])).same
    for key, text in (("threads", "with another number of threads"), ("cpu_flags", "on another processor")):
        pair[0].meta[key] = "another"
        assert "grown over the operations, {}: if so".format(text) in Report("s.py", compare(*pair), *pair).reasons[0]


def built(tmp_path, name, build, *, seed=None):
    """Record one session that runs what ``build`` returns."""
    with tf.Graph().as_default(), Recorder() as recorder, tf.Session() as session:
        if seed is not None:
            tf.set_random_seed(seed)
        fetches, feed = build()
        session.run(tf.global_variables_initializer())
        session.run(fetches, feed)
    recorder.save(str(tmp_path / (name + ".npz")))
    return load(str(tmp_path / (name + ".npz")))


def explained(tmp_path, new, old, **more):
    pair = [built(tmp_path, name, build, **more) for name, build in (("new", new), ("old", old))]
    result = compare(*pair)
    return result, Report("s.py", result, *pair).reasons


@pytest.fixture(autouse=True, scope="module")
def tripled():
    """A gradient that triples."""
    tf.RegisterGradient("TestExplainTriple")(lambda op, grad: [3.0 * grad for _ in op.inputs])


def overridden(how_many, total=4, make=tf.nn.relu, op_type="Relu"):
    """A net of ``total`` operations, of which the first ``how_many`` are built under the override."""
    def build():
        x = tf.constant([1.0, 2.0])
        y = x
        for number in range(total):
            if number < how_many:
                with tf.get_default_graph().gradient_override_map({op_type: "TestExplainTriple"}):
                    y = make(y)
            else:
                y = make(y)
        return [y, tf.gradients(y, x)[0]], None
    return build


def test_an_override_that_was_missed(tmp_path):
    """How many were built outside the block; the ordinary gradient is named, and the way to mend it."""
    result, sentences = explained(tmp_path, overridden(1), overridden(4))
    assert [difference.tensor.name.split("/")[0] for difference in result.differences] == ["gradients"]
    assert sentences[0] == (
        "override missed: 3 Relus were built outside the block (1 of 4 carry the override now, 4 of 4 then), so the ordinary "
        "gradient is in its place; build them in the block, or use override_gradients(...).on(graph)")
    assert sentences[1].endswith("is 0.037037 times what it was, exactly")


def test_an_override_of_a_renamed_operation(tmp_path):
    """The key of then meets nothing now: the new name is given."""
    _, sentences = explained(tmp_path, overridden(0, make=lambda y: tf.raw_ops.AddV2(x=y, y=y)), overridden(
        4, make=lambda y: tf.raw_ops.Add(x=y, y=y), op_type="Add"))
    assert sentences[0].startswith("override missed: this TensorFlow builds AddV2 where Add was built then, so the key 'Add'")


@pytest.mark.parametrize("function", ["softmax", "sigmoid"])
def test_arguments_that_changed_places(tmp_path, function):
    """The graph of TF 0.x's positional call, and today's, which reads the same two words the other way round."""
    def loss(swap):
        def build():
            logits, labels = tf.constant([[1.0, 3.0]], name="logits"), tf.constant([[0.25, 0.75]], name="labels")
            first, second = (labels, logits) if swap else (logits, labels)
            call = getattr(tf.nn, function + "_cross_entropy_with_logits")
            return [call(logits=first, labels=second)], None
        return build

    _, sentences = explained(tmp_path, loss(True), loss(False))
    assert sentences[0].startswith("the arguments of {}_cross_entropy_with_logits have changed places: ".format(function))
    assert "labels and logits now, logits and labels then" in sentences[0]


def test_resource_variables(tmp_path):
    """An override of Identity flips the read of a reference variable, not of a resource variable."""
    def flip(resource):
        def build():
            with tf.get_default_graph().gradient_override_map({"Identity": "TestExplainTriple"}):
                v = tf.get_variable("v", initializer=[2.0, 3.0], use_resource=resource)
                y = tf.identity(v * 2.0)
            return [y, tf.gradients(y, v)[0]], None
        return build

    _, sentences = explained(tmp_path, flip(True), flip(False))
    assert any(sentence.startswith("resource variables are here where reference variables were") for sentence in sentences)


def test_another_stream(tmp_path):
    """The random operation upstream, also behind a variable's initial value, with both seeds."""
    def build():
        return [2.0 * tf.random_normal([3], name="noise") + tf.get_variable(
            "v", [3], initializer=tf.random_normal_initializer(), use_resource=False)], None

    pair = [built(tmp_path, name, build, seed=seed) for name, seed in (("new", 1), ("old", 2))]
    sentences = Report("s.py", compare(*pair), *pair).reasons
    assert sentences[0].startswith("another stream of random numbers: v/Initializer/random_normal/RandomStandardNormal has ")
    assert "has the seeds (1, " in sentences[0] and " now, (2, " in sentences[0]


def test_what_was_random_then(tmp_path):
    """A value that was drawn, and is the same each time now."""
    def build(make):
        return lambda: ([tf.multiply(make([3]), 2.0, name="y")], None)

    _, sentences = explained(tmp_path, build(tf.ones), build(tf.random_normal), seed=1)
    assert sentences[0] == "y:0 was drawn then and is not random now"


def test_a_factor_in_a_variable(tmp_path):
    """Told without a meaning: nothing was fed when it was initialised."""
    def build(value):
        def made():
            tf.get_variable("v", initializer=tf.constant([1.0, -3.0]) * value, use_resource=False)
            return [tf.constant(0.0)], None
        return made

    result, sentences = explained(tmp_path, build(32.0), build(1.0))
    assert result.differences[0].where == "initial value of v:0"
    assert sentences == ["v:0 is 32 times what it was, exactly"]


def test_the_first_in_the_order_of_the_graph_is_named(tmp_path):
    """Not the first in the order of the fetches."""
    def build(factor):
        def made():
            a = tf.constant([1.0, 2.0], name="a") * factor
            b = tf.exp(a, name="b")
            return [tf.square(b, name="c"), b, a], None
        return made

    result, _ = explained(tmp_path, build(1.5), build(1.0))
    assert [difference.where for difference in result.differences] == ["run 1, mul:0", "run 1, b:0", "run 1, c:0"]


@pytest.fixture
def report(tmp_path):
    pair = [recording(tmp_path, name, [("y:0", value), ("n:0", nan), ("v:0", VALUES[0] * factor), ("ok:0", VALUES)])
            for name, value, nan, factor in (
                ("new", -VALUES, np.float32([1, np.nan]), 2), ("old", VALUES, np.float32([1, 2]), 1))]
    return Report("a<b>.py", compare(*pair), *pair)


def test_text_is_one_screen(report):
    """Verdict, first difference, why, the others, nothing more."""
    lines = report.text().splitlines()
    assert lines[0].startswith("a<b>.py: differs, first at run 0, y:0: 24 of 24 values differ; at [")
    assert lines[1].startswith("  why: y:0 has the other sign")
    assert lines[2].startswith("  then run 0, n:0: at [1] it is nan now, 2.0 then")
    assert len(lines) == 4


def test_more_than_a_screen_is_counted(tmp_path):
    """Five differences are shown, of the others their number."""
    pair = [recording(tmp_path, name, [("y{}:0".format(number), VALUES + add) for number in range(8)])
            for name, add in (("new", 1), ("old", 0))]
    assert Report("s.py", compare(*pair), *pair).text().splitlines()[-1] == "  and 3 more"


def test_json_and_junit(report):
    """Both can be read by what reads such things; NaN and infinity are not in the JSON."""
    def refuse(word):
        raise AssertionError(word)

    data, = json.loads(json_text([report]), parse_constant=refuse)
    assert (data["verdict"], len(data["differences"]), len(data["tensors"])) == ("differs", 3, 4)
    assert data["tensors"][3] == {
        "where": "run 0, ok:0", "dtype": "float32", "tolerance": [1e-5, 5e-6], "ratio": 0, "largest": 0}
    assert data["tensors"][1]["ratio"] is None
    failed = Report("gone.py", None, failure="the script failed:\n\x1b[31m ]]> & more")
    same = Report("fine.py", compare(report.old, report.old), report.old, report.old)
    root = ElementTree.fromstring(junit_text([report, failed, same]))
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("3", "1", "1")
    cases = {case.get("name"): case for case in root}
    assert cases["a<b>.py"].find("failure").text == report.text() and not list(cases["fine.py"])
    assert "& more" in cases["gone.py"].find("error").text


def test_the_page_stands_by_itself(report):
    """Old, new and difference of each tensor that differs, a bar for each tensor, and nothing from elsewhere."""
    page = html_text([report])
    assert page.count("data:image/png;base64,") == 9 and page.count("<rect") == 4
    assert "a&lt;b&gt;.py" in page and "a<b>.py" not in page
    assert "http" not in page and "<script" not in page


def test_a_page_of_what_cannot_be_drawn(tmp_path):
    """A script that failed has its text, complex values have bars alone, and no tensors at all have neither."""
    pair = [recording(tmp_path, name, [("z:0", np.complex64([1 + 2j, 3j]) * sign)]) for name, sign in (("new", 1), ("old", -1))]
    none = [recording(tmp_path, name, [("train", None)]) for name in ("none_new", "none_old")]
    page = html_text([Report("z.py", compare(*pair), *pair), Report("gone.py", None, failure="it & died"),
                      Report("none.py", compare(*none), *none)])
    assert "it &amp; died" in page and "z:0: 2 of 2 values differ" in page and "none.py" in page
    assert page.count("<rect") == 1 and "<img" not in page


def test_pictures():
    """Red above zero, blue below, white at zero, grey where it is not finite; a PNG that matplotlib's readers read."""
    colours = heat(np.array([[1.0, -1.0, 0.0, np.nan, np.inf]]), 1.0)
    assert colours.tolist() == [[[255, 0, 0], [0, 0, 255], [255, 255, 255], [128, 128, 128], [128, 128, 128]]]
    with tf.Graph().as_default(), tf.Session() as session:
        assert session.run(tf.image.decode_png(png(colours))).tolist() == colours.tolist()


def test_real_old_recordings_explain_themselves():
    """0.12.1 against 2.21.0: only chance differs, and its seeds are named."""
    pair = [load(os.path.join(RECORDINGS, "everything_{}.npz".format(version))) for version in ("2.21.0", "0.12.1")]
    sentences = Report("everything.py", compare(*pair), *pair).reasons
    assert sentences[0].startswith("another stream of random numbers: random_normal/RandomStandardNormal has the seeds (3, 0) "
                                   "now, (3, 8) then")
