"""Side by side with what people use instead: set-up, tf.gradients, run and peak memory, at three sizes each.

The peers need environments of their own, for no one TensorFlow has them all. With Python 3.11, and with Python 3.7:

    pip install tensorflow==2.15.1 saliency==0.2.1 tf-keras-vis==0.8.7 larq==0.13.3 pytest-regressions==2.11.0
    cd tests && PYTHONPATH=.. python -m benchmarks.peers    (tf-keras-vis installs a package called tests)

    pip install tensorflow==1.15.5 "protobuf<3.21" "numpy<1.19" lucid==0.3.10
    cd tests && PYTHONPATH=.. python -m benchmarks.peers lucid

print lines of a table, ours / theirs; what cannot be imported is named, and the rest runs. Arguments are the beginnings
of the names of the comparisons to run.
"""
import contextlib
import functools
import gc
import importlib
import os
import pathlib
import sys
import tempfile
import types
import warnings

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import tensorflow as _tensorflow

import graphgrad as gg
from graphgrad.golden import files

from ._stages import GIVEN, GRADIENTS, SET_UP, Comparison, row

tf = _tensorflow.compat.v1
OPERATIONS = 1000, 10000, 100000
FLOATS = 1000, 1000000, 10000000
DOUBLES = 1000, 100000, 4000000
LAYERS = 4, 32, 128
IMAGES = 1, 8, 32
STACKED = 1, 4, 16    # images of which each is many runs
CALLS = 4
NET = 32    # layers where images are counted
CLASS = 3
PICTURES = np.random.RandomState(0).rand(max(IMAGES), 32, 32, 3).astype("f")


def pass_on(op, grad):
    """The cheapest gradient there is, so that what is measured is the way to it."""
    return grad


def grad_times_input(op, grad):
    """A gradient that reads its operation."""
    return grad * op.inputs[0]


# --- Graphs of 1,000 to 100,000 operations ------------------------------------------------------------

def chain(operations, scope=contextlib.suppress):
    """(x, y) of a chain of Relus in a graph of its own, built under ``scope()``."""
    with tf.Graph().as_default(), scope():
        x = y = tf.placeholder(tf.float32, [4])
        for _ in range(operations):
            y = tf.nn.relu(y)
    return x, y


existing = functools.lru_cache(maxsize=1)(chain)


def differentiate(x, y):
    with y.graph.as_default():
        return tf.gradients(y, x)[0]


def in_session(x, y, gradient):
    """(run, numbers) of the chain and its gradient where the ordinary one is zero."""
    session = tf.Session(graph=y.graph)
    run = functools.partial(session.run, [y, gradient], {x: -np.ones(4, "f")})
    return run, run


def built_under(scope):
    """A side: a chain is built under a scope, differentiated and run."""
    def side(operations):
        yield GIVEN
        x, y = chain(operations, scope)
        yield SET_UP
        gradient = differentiate(x, y)
        yield GRADIENTS
        yield in_session(x, y, gradient)

    return side


def ours_around():
    return gg.override_gradients({"Relu": pass_on})


@functools.lru_cache(maxsize=None)
def raw_name():
    """The name under which TensorFlow has ``pass_on``: it takes a name once."""
    tf.RegisterGradient("PeersPassOn")(pass_on)
    return "PeersPassOn"


def raw_around():
    return tf.get_default_graph().gradient_override_map({"Relu": raw_name()})


def raw_map():
    """tf.Graph.gradient_override_map."""
    return Comparison("TF's map: build under it", "ops", OPERATIONS, built_under(ours_around), built_under(raw_around),
                      (SET_UP, GRADIENTS))


def raw_map_existing():
    """tf.Graph.gradient_override_map and a graph that exists: on(), or export and import it again under the map."""
    def ours(operations):
        x, y = existing(operations)
        override = gg.override_gradients({"Relu": pass_on})
        yield GIVEN
        with override.on(y.graph):
            yield SET_UP
            gradient = differentiate(x, y)
        yield GRADIENTS
        yield in_session(x, y, gradient)

    def theirs(operations):
        old = existing(operations)
        yield GIVEN
        definition = old[1].graph.as_graph_def()
        with tf.Graph().as_default(), raw_around():
            x, y = tf.import_graph_def(definition, return_elements=[tensor.name for tensor in old], name="")
        yield SET_UP
        gradient = differentiate(x, y)
        yield GRADIENTS
        yield in_session(x, y, gradient)

    return Comparison("TF's map: a graph that exists, `on()` / imported again", "ops", OPERATIONS, ours, theirs,
                      (SET_UP, GRADIENTS))


def lucid_map():
    """lucid's gradient_override_map, a thin wrapper of TensorFlow's."""
    theirs = importlib.import_module("lucid.misc.gradient_override").gradient_override_map
    return Comparison("lucid's map: build under it", "ops", OPERATIONS, built_under(ours_around),
                      built_under(lambda: theirs({"Relu": pass_on})), (SET_UP, GRADIENTS))


# --- Functions of tensors of 1,000 to 10,000,000 floats -----------------------------------------------

def applied(function):
    """A side: a function from a tensor to a tensor is called a few times on end, and forward and backward are run."""
    def side(floats):
        with tf.Graph().as_default() as graph:
            x = tf.Variable(tf.linspace(-2.0, 2.0, floats))
            y = tf.identity(x)
            session = tf.Session()
            session.run(x.initializer)
        yield GIVEN
        with graph.as_default():
            for _ in range(CALLS):
                y = function(y)
        yield SET_UP
        with graph.as_default():
            gradient = tf.gradients(y, x)[0]
        yield GRADIENTS
        yield functools.partial(session.run, [y.op, gradient.op]), functools.partial(session.run, [y, gradient])

    return side


def functions(title, ours, theirs):
    return Comparison(title, "floats", FLOATS, applied(ours), applied(theirs))


def tanh_with_gradient(x):
    return gg.tf_func_with_grad(tf.tanh, [x], grad_times_input)


def custom_gradient():
    """tf.custom_gradient."""
    @tf.custom_gradient
    def theirs(x):
        return tf.tanh(x), lambda grad: grad * x

    return functions("`tf.custom_gradient`", tanh_with_gradient, theirs)


def lucid_use_gradient():
    """lucid's use_gradient, which goes through Python."""
    theirs = importlib.import_module("lucid.misc.gradient_override").use_gradient
    return functions("lucid's `use_gradient`", tanh_with_gradient, theirs(grad_times_input)(tf.tanh))


def larq_sign():
    """larq's straight-through sign."""
    return functions("larq's `SteSign`", gg.ops.sign_ste, importlib.import_module("larq").quantizers.SteSign())


def larq_dorefa():
    """larq's DoReFa of activations, two bits."""
    theirs = importlib.import_module("larq").quantizers.DoReFa(2, mode="activations")
    return functions("larq's `DoReFa`, 2 bits", lambda x: gg.ops.dorefa_activations(x, 2), theirs)


# --- Saliency maps of nets of 4 to 128 layers, of 1 to 32 images ----------------------------------------

def net(layers):
    """(session, x, y) of a net of convolutions of eight channels on 32 x 32 pixels."""
    random = np.random.RandomState(1)
    with tf.Graph().as_default():
        x = y = tf.placeholder(tf.float32, [None, 32, 32, 3])
        for layer in range(layers):
            kernel = random.randn(3, 3, 8 if layer else 3, 8).astype("f") / 6
            y = tf.nn.relu(tf.nn.conv2d(y, tf.Variable(kernel), 1, "SAME"))
        y = tf.matmul(tf.reduce_mean(y, [1, 2]), tf.Variable(random.randn(8, 10).astype("f")))
        session = tf.Session()
        session.run(tf.global_variables_initializer())
    return session, x, y


def model(layers):
    """A Keras model like it."""
    keras = _tensorflow.keras
    keras.utils.set_random_seed(0)
    inputs = h = keras.layers.Input((32, 32, 3))
    for _ in range(layers):
        h = keras.layers.Conv2D(8, 3, padding="same", activation="relu")(h)
    return keras.Model(inputs, keras.layers.Dense(10)(keras.layers.GlobalAveragePooling2D()(h)))


def of_layers(make, method):
    """A side: a method is set up for a net of so many layers, and run on one image."""
    def side(layers):
        made = make(layers)
        yield GIVEN
        run = functools.partial(method(made), PICTURES[:1])
        yield SET_UP
        yield run, run

    return side


def of_images(make, method):
    """A side: a method that is set up for a net is run on so many images."""
    def side(images):
        run = functools.partial(method(make(NET)), PICTURES[:images])
        yield GIVEN
        yield run, run

    return side


def ours_in_session(function, **options):
    """A method of ours: from a net to a function from images to maps."""
    def method(made):
        session, x, y = made
        return functools.partial(function(y, x, CLASS, **options), session)

    return method


def pairs(name, image_map, *more):
    """A method of PAIR's, which takes one image at a time."""
    kind = getattr(importlib.import_module("saliency.tf1"), name)

    def method(made):
        session, x, y = made
        folder = tempfile.TemporaryDirectory()
        with session.graph.as_default():
            theirs = kind(session.graph, session, y[:, CLASS], x, *(os.path.join(folder.name, name) for name in more))
        return lambda images: [image_map(theirs, number, image) for number, image in enumerate(images)]

    return method


def pair_guided_map(theirs, number, image):
    return theirs.GetMask(image, {})


def pair_guided_layers():
    """PAIR's guided backprop, which writes a checkpoint and imports the graph again: set-up."""
    return Comparison("PAIR's guided backprop", "layers", LAYERS, of_layers(net, ours_in_session(gg.saliency.guided_backprop)),
                      of_layers(net, pairs("GuidedBackprop", pair_guided_map, "net")), (SET_UP,))


def pair_guided_images():
    """The same: run."""
    return Comparison("PAIR's guided backprop", "images", IMAGES, of_images(net, ours_in_session(gg.saliency.guided_backprop)),
                      of_images(net, pairs("GuidedBackprop", pair_guided_map, "net")))


def pair_smoothgrad():
    """PAIR's SmoothGrad, with the noise that ours draws."""
    def image_map(theirs, number, image):
        np.random.seed([0, number])
        return theirs.GetSmoothedMask(image, magnitude=False)

    return Comparison("PAIR's SmoothGrad, 25 samples", "images", STACKED,
                      of_images(net, ours_in_session(gg.saliency.smoothgrad, samples=25)),
                      of_images(net, pairs("GradientSaliency", image_map)))


def pair_integrated():
    """PAIR's integrated gradients, its steps in one batch."""
    def image_map(theirs, number, image):
        return theirs.GetMask(image, x_steps=50, batch_size=50)

    return Comparison("PAIR's integrated gradients, 50 steps in a batch", "images", STACKED,
                      of_images(net, ours_in_session(gg.saliency.integrated_gradients, steps=50, rule="ends")),
                      of_images(net, pairs("IntegratedGradients", image_map)))


def ours_of_keras(made):
    loaded = gg.saliency.load(made)
    return functools.partial(gg.saliency.guided_backprop(loaded.y, loaded.x, CLASS), loaded.session)


def theirs_of_keras():
    """tf-keras-vis's guided backprop."""
    saliency, modifiers, scores = (importlib.import_module("tf_keras_vis." + name) for name in (
        "saliency", "utils.model_modifiers", "utils.scores"))

    def method(made):
        theirs = saliency.Saliency(made, model_modifier=modifiers.GuidedBackpropagation(), clone=True)
        return functools.partial(theirs, scores.CategoricalScore(CLASS), keepdims=True, normalize_map=False,
                                 gradient_modifier=None)

    return method


def keras_vis_layers():
    """tf-keras-vis's guided backprop: set-up."""
    return Comparison("tf-keras-vis's guided backprop", "layers", LAYERS, of_layers(model, ours_of_keras),
                      of_layers(model, theirs_of_keras()), (SET_UP,))


def keras_vis_images():
    """The same: run."""
    return Comparison("tf-keras-vis's guided backprop", "images", IMAGES, of_images(model, ours_of_keras),
                      of_images(model, theirs_of_keras()))


# --- Files of 1,000 to 4,000,000 doubles ----------------------------------------------------------------

def pytest_regressions():
    """pytest-regressions' ndarrays_regression: the first write, and a check that passes."""
    fixture = importlib.import_module("pytest_regressions.ndarrays_regression").NDArraysRegressionFixture
    options = {"force_regen": False, "regen_all": False, "with_test_class_names": False}
    request = types.SimpleNamespace(config=types.SimpleNamespace(getoption=options.get), cls=None)

    def kept(check):
        def side(doubles):
            values = np.random.RandomState(0).rand(doubles)
            checked = functools.partial(check, tempfile.TemporaryDirectory())
            yield GIVEN
            assert refused(checked, values)   # there was no file
            yield SET_UP
            assert refused(checked, values + 1e-3) and not refused(checked, values)
            yield functools.partial(checked, values), lambda: []

        return side

    def ours(folder, values):
        files.check(os.path.join(folder.name, "numbers.npz"), {"values": values})

    def theirs(folder, values):
        path = pathlib.Path(folder.name)
        fixture(path, path, request).check({"values": values}, basename="numbers")

    return Comparison("pytest-regressions: a golden file; its check", "doubles", DOUBLES, kept(ours), kept(theirs))


def refused(check, values):
    """Whether a check fails; of a file that is not there it does, and writes it."""
    from pytest import fail
    try:
        check(values)
    except (AssertionError, fail.Exception):
        return True
    return False


ALL = (raw_map, raw_map_existing, lucid_map, custom_gradient, lucid_use_gradient, larq_sign, larq_dorefa,
       pair_guided_layers, pair_guided_images, pair_smoothgrad, pair_integrated, keras_vis_layers, keras_vis_images,
       pytest_regressions)


def main(names):
    """Print the table of the comparisons whose names begin with one of these, or of all."""
    print("TensorFlow {}, Python {}, {} cores".format(_tensorflow.__version__, sys.version.split()[0], os.cpu_count()))
    print("\n| beside | sizes | set-up | tf.gradients | run | memory | tenfold size: ours; theirs |\n|---|---|---|---|---|---|---|")
    for make in ALL:
        if make.__name__.startswith(tuple(names) or ""):
            try:
                print(row(make), flush=True)
            except ImportError as error:
                print("{}: {}".format(make.__name__, error), flush=True)


if __name__ == "__main__":
    gc.freeze()   # what is imported needs not be looked through before each stage
    main(sys.argv[1:])
