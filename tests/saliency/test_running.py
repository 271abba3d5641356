"""Stacks, streams and what is refused: the running of a method, apart from its formula."""
import numpy as np
import pytest
import tensorflow
from conftest import tf

import graphgrad as gg
from graphgrad.saliency.path import Path
from graphgrad.saliency.progress import Progress
from graphgrad.saliency.stacks import batch_for


class Counted:
    """A Session that notes the size of each stack, and runs out of memory above a limit."""

    def __init__(self, session, x, limit=None):
        self.session = session
        self.graph = session.graph
        self.x = x
        self.limit = limit
        self.sizes = []

    def run(self, fetches, feed_dict):
        size = len(feed_dict[self.x])
        if self.limit and size > self.limit:
            raise tf.errors.ResourceExhaustedError(None, None, "OOM when allocating tensor")
        self.sizes.append(size)
        return self.session.run(fetches, feed_dict)


def squares(batch=None):
    x = tf.placeholder(tf.float32, [batch, 2], name="x")
    return tf.reduce_sum(x * x, 1), x


def test_samples_of_several_images_share_a_stack(graph):
    """7 images of 3 samples in stacks of 8: 8, 8, 5; nothing is run one by one."""
    y, x = squares()
    with tf.Session() as session:
        counted = Counted(session, x)
        gg.saliency.smoothgrad(y, x, samples=3)(counted, np.ones((7, 2)), max_batch=8)
    assert counted.sizes == [8, 8, 5]


@pytest.mark.parametrize("side, batch", [(4, 64), (1024, 31), (2048, 7), (8192, 1), (None, 32)])
def test_the_size_of_a_stack(graph, side, batch):
    """A GiB of activations: here two tensors of 4 floats a pixel; at most 64; 32 where the size is open."""
    x = tf.placeholder(tf.float32, [None, side, side, 3])
    h = tf.nn.relu(tf.nn.conv2d(x, np.zeros((1, 1, 3, 4), "f"), 1, "SAME"))
    assert batch_for(Path(tf.reduce_sum(h, [1, 2, 3]), x)) == batch


def test_memory_that_runs_out(graph):
    """The stack is halved until it fits and stays so; the maps are the same; one row that does not fit is an error."""
    y, x = squares()
    images = np.arange(40.0).reshape(20, 2)
    with tf.Session() as session:
        counted = Counted(session, x, limit=5)
        np.testing.assert_allclose(gg.saliency.gradient(y, x)(counted, images, max_batch=16), 2 * images)
        assert counted.sizes == [4, 4, 4, 4, 4]
        counted.limit = 0.5
        with pytest.raises(tf.errors.ResourceExhaustedError):
            gg.saliency.gradient(y, x)(counted, images)


def test_a_graph_with_a_fixed_batch(graph):
    """Stacks are of the graph's size, the last one filled up; what fills it is not in the result."""
    y, x = squares(batch=4)
    images = np.arange(20.0).reshape(10, 2)
    with tf.Session() as session:
        counted = Counted(session, x)
        np.testing.assert_allclose(gg.saliency.gradient(y, x)(counted, images), 2 * images)
        assert counted.sizes == [4, 4, 4]
        with pytest.raises(gg.SaliencyError, match="is one scalar for a batch of 4: give one score per example"):
            gg.saliency.gradient(tf.reduce_sum(y), x)(session, images)


def test_a_stream_is_read_as_the_maps_are_taken(graph):
    """Images from a generator: never more than a stack and the next are ahead."""
    y, x = squares()
    taken = []

    def images():
        for number in range(100):
            taken.append(number)
            yield np.full(2, number, "f")

    with tf.Session() as session:
        for number, found in enumerate(gg.saliency.gradient(y, x).stream(session, images(), max_batch=4)):
            assert found.tolist() == [2.0 * number] * 2
            assert len(taken) <= number + 5
    assert len(taken) == 100


def test_no_images(graph):
    """No images, no maps."""
    y, x = squares()
    with tf.Session() as session:
        assert gg.saliency.gradient(y, x)(session, np.zeros((0, 2))).shape == (0, 2)


@pytest.mark.parametrize("images, text", [
    (np.ones((2, 3)), r"'x:0' takes examples of shape \(2,\), but got one of \[3\]"),
    (np.ones(2), r"must have a batch axis, like 'x:0' with .*; for one example give image\[None\]"),
    ("picture.png", "The images are no array of numbers"),
    (3.0, "with|array"),
])
def test_images_that_do_not_fit(graph, images, text):
    """A sentence with the shape that x takes."""
    y, x = squares()
    with tf.Session() as session, pytest.raises(gg.SaliencyError, match=text):
        gg.saliency.gradient(y, x)(session, images)


def test_arguments_that_do_not_fit(graph):
    """Classes without target='top', too few of them or of what goes along, a stack of nothing, a foreign Session."""
    y, x = squares()
    z = tf.stack([y, -y], 1)
    lengths = tf.placeholder(tf.int32, [None], name="lengths")
    images = np.ones((3, 2))
    with tf.Session() as session:
        for text, call in [
            ("classes can be given when", lambda: gg.saliency.gradient(y, x)(session, images, classes=[1, 1, 1])),
            ("There are 1 classes for 3", lambda: gg.saliency.gradient(z, x, "top")(session, images, classes=[1])),
            ("along has only 2 values for 'lengths:0'",
             lambda: gg.saliency.gradient(y, x)(session, images, along={lengths: [1, 2]})),
            ("max_batch must be a number", lambda: gg.saliency.gradient(y, x)(session, images, max_batch=0)),
            ("samples must be a whole number", lambda: gg.saliency.smoothgrad(y, x, samples=0)),
            ("spread must be", lambda: gg.saliency.smoothgrad(y, x, spread=-1)),
            ("steps must be a whole number", lambda: gg.saliency.integrated_gradients(y, x, steps=2.5)),
            ("rule must be one of midpoint", lambda: gg.saliency.integrated_gradients(y, x, rule="simpson")),
            ("baseline must be a number or have", lambda: gg.saliency.integrated_gradients(y, x, baseline=[1.0, 2.0, 3.0])),
            ("background must be examples for 'x:0'", lambda: gg.saliency.expected_gradients(y, x, np.ones((3, 5)))),
            ("window must be a positive whole number, or one per axis of an example \\[2\\], but got \\(0,\\)",
             lambda: gg.saliency.occlusion(y, x, window=0)(session, images)),
            ("The window \\[5\\] is larger", lambda: gg.saliency.occlusion(y, x, window=5)(session, images)),
            ("There is no convolution between", lambda: gg.saliency.grad_cam(y, x)),
            ("no tensor 'lenghts'. Did you mean 'lengths:0'", lambda: gg.saliency.grad_cam(y, x, layer="lenghts")),
            ("'lengths:0' is not between 'x:0'", lambda: gg.saliency.grad_cam(y, x, layer="lengths")),
        ]:
            with pytest.raises(gg.SaliencyError, match=text):
                call()
    with tf.Graph().as_default(), tf.Session() as other:
        with pytest.raises(gg.SaliencyError, match="The Session is of another graph"):
            gg.saliency.gradient(y, x)(other, images)


def test_tensors_that_do_not_go_together(graph):
    """An eager tensor, a string, two graphs, no dependence, a finalized graph."""
    y, x = squares()
    w = tf.placeholder(tf.float32, [None, 2], name="w")
    build = gg.saliency.gradient
    with tf.Graph().as_default():
        foreign = tf.placeholder(tf.float32, [None, 2])
    for text, arguments in [
        ("y must be a tensor of a graph, but got 'y:0'.*saliency.load", ("y:0", x)),
        ("are of different graphs", (y, foreign)),
        ("does not depend on 'w:0'; it depends on 'x:0'", (y, w)),
        ("must have the batch as its first axis", (y, tf.placeholder(tf.float32, []))),
        ("The rank of .* is not known", (tf.placeholder(tf.float32), x)),
        ("y must be a floating tensor", (tf.argmax(x, 1), x)),
    ]:
        with pytest.raises(gg.SaliencyError, match=text):
            build(*arguments)
    graph.finalize()
    with pytest.raises(gg.SaliencyError, match="The graph is finalized"):
        build(y, x)


@pytest.mark.parametrize("cut, text", [
    (lambda x: tf.stop_gradient(x, name="cut"), "'cut' of type StopGradient stops gradients"),
    (lambda x: tf.round(x, name="cut"), "'cut' of type Round is not differentiable"),
    (lambda x: tf.cast(tf.cast(x, tf.int32, name="cut"), tf.float32), "'cut' of type Cast has an output of int32. An override cannot"),
    (lambda x: tf.one_hot(tf.argmax(x, 1, name="cut"), 2), "'cut' of type ArgMax has an output of int64"),
])
def test_where_the_path_is_cut(graph, cut, text):
    """The operation is named, and what would carry it."""
    _, x = squares()
    with pytest.raises(gg.SaliencyError, match=text):
        gg.saliency.gradient(tf.reduce_sum(cut(tf.identity(x)), 1), x)


def test_many_cuts_are_counted(graph):
    """Some are named."""
    _, x = squares()
    cuts = [tf.stop_gradient(float(number) * x, name="cut") for number in range(9)]
    with pytest.raises(gg.SaliencyError, match="'cut' of type StopGradient.*; and [1-9] more"):
        gg.saliency.gradient(tf.reduce_sum(tf.add_n(cuts), 1), x)


def test_what_does_not_go_by_examples(graph):
    """A fetch that has not one value per example is an error, not a wrong map."""
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    features = tf.reshape(tf.nn.conv2d(tf.reshape(x, [-1, 2, 1, 1]), np.ones((1, 1, 1, 1), "f"), 1, "SAME"), [1, -1, 1], name="mixed")
    method = gg.saliency.grad_cam(tf.reduce_sum(tf.reshape(features, [-1, 2]), 1), x, layer=features, upsample=False)
    with tf.Session() as session, pytest.raises(gg.SaliencyError, match="gave 1 values for 3 examples: it must have one per"):
        method(session, np.ones((3, 2)))


def test_what_would_carry_it_does(graph):
    """The remedy that the message for Round gives."""
    _, x = squares()
    y = tf.reduce_sum(3.0 * tf.round(x), 1)
    with pytest.raises(gg.SaliencyError, match="override_gradients\\({'Round': rules.straight_through}\\)"):
        gg.saliency.gradient(y, x)
    method = gg.saliency.gradient(y, x, override=gg.override_gradients({"Round": gg.rules.straight_through}))
    with tf.Session() as session:
        assert method(session, np.ones((1, 2))).tolist() == [[3.0, 3.0]]
    assert list(method.overridden) == ["Round"]


def test_an_integer_input(graph):
    """A uint8 placeholder: the message names the float tensor behind it, which does as x."""
    pixels = tf.placeholder(tf.uint8, [None, 2], name="pixels")
    scaled = tf.cast(pixels, tf.float32, name="scaled")
    y = tf.reduce_sum(scaled * scaled, 1)
    with pytest.raises(gg.SaliencyError, match="'pixels:0' is uint8, which has no gradient; .*'scaled:0'"):
        gg.saliency.gradient(y, pixels)
    with tf.Session() as session:
        assert gg.saliency.gradient(y, scaled)(session, [[1.0, 2.0]]).tolist() == [[2.0, 4.0]]


def test_float16(graph):
    """A half-precision net gives half-precision maps, summed up in float64."""
    x = tf.placeholder(tf.float16, [None, 2])
    y = tf.reduce_sum(tf.nn.relu(x), 1)
    with tf.Session() as session:
        maps = gg.saliency.integrated_gradients(y, x, steps=7)(session, [[1.0, 2.0]])
    assert maps.dtype == np.float16 and maps.tolist() == [[1.0, 2.0]]


def test_progress(capsys):
    """Silent when quick or not on a terminal; a bar when asked for."""
    with Progress(4) as bar:
        bar.step()
    assert capsys.readouterr().err == ""
    with Progress(4, wanted=True) as bar:
        for _ in range(4):
            bar.step()
    shown = capsys.readouterr().err.split("\r")[1:]
    assert [line.split()[-1] for line in shown] == ["1/4", "2/4", "3/4", "4/4"]
    assert shown[0].count("#") < shown[1].count("#") and shown[-1].startswith("[" + "#" * 30 + "]")
    with Progress(None, wanted=True) as bar:   # a stream: nobody knows how many there are
        bar.step()
    assert capsys.readouterr().err.split("\r")[1].split("\n")[0].strip() == "1 done"


def test_eager_tensors():
    """They have no graph: the sentence says how to get one."""
    value = tensorflow.constant([1.0])
    with pytest.raises(gg.SaliencyError, match="y must be a tensor of a graph.*model.y and model.x"):
        gg.saliency.gradient(value, value)
