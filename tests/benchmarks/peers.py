"""Side by side with what people use instead: set-up, run time and memory, at three sizes each.

The peers are installed in environments of their own, for no one TensorFlow has them all:

    pip install "tensorflow==2.15.1" "saliency==0.2.1" "tf-keras-vis==0.8.7" "larq==0.13.3" pytest-regressions pillow
    pip install "tensorflow==1.15.5" "protobuf<3.21" "numpy<1.19" "lucid==0.3.10" decorator pillow ipython    (Python 3.7)
    cd tests && PYTHONPATH=.. python -m benchmarks.peers [NAME ...]    (tf-keras-vis installs a package called tests)

What cannot be imported is named, and the rest runs. Sides run in turn; each figure is a ratio of medians, ours / theirs.
Memory is the growth of the peak resident memory of a forked process that builds and runs once.
"""
import os
import sys
import tempfile
import warnings

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import tensorflow as _tensorflow

import graphgrad as gg

from ._side_by_side import medians

tf = _tensorflow.compat.v1
OPERATIONS = (1000, 10000, 100000)
FLOATS = (1000, 1000000, 16000000)
LAYERS = (4, 32, 128)
BATCHES = (1, 8, 32)
ROUNDS = 5
IMAGES = np.random.RandomState(0).rand(32, 32, 32, 3).astype("f")


def row(what, size, ours, theirs, unit):
    """Print one line of the table."""
    print("| {} | {} | {} | {} | {:.2f} |".format(what, size, unit.format(ours), unit.format(theirs), ours / theirs), flush=True)


def seconds(what, size, ours, theirs):
    """Measure two functions in turn and print their line."""
    times = medians({"theirs": theirs, "ours": ours}, ROUNDS)
    row(what, size, times["ours"] * 1e3, times["theirs"] * 1e3, "{:.4g} ms")


def memory(what, size, ours, theirs):
    """The same for the growth of peak memory."""
    peaks = {"theirs": _peak(theirs), "ours": _peak(ours)}
    row(what + ", memory", size, peaks["ours"], peaks["theirs"], "{:.1f} MB")


def _peak(function):
    """MB by which the peak of a forked process grows while it runs a function."""
    read, write = os.pipe()
    pid = os.fork()
    if not pid:
        before = _status("VmRSS")
        with open("/proc/self/clear_refs", "w") as stream:
            stream.write("5")    # the peak begins anew
        function()
        os.write(write, repr(_status("VmHWM") - before).encode())
        os._exit(0)
    os.waitpid(pid, 0)
    os.close(write)
    with os.fdopen(read) as stream:
        return max(float(stream.read() or "nan"), 0.1)


def _status(name):
    with open("/proc/self/status") as stream:
        return next(int(line.split()[1]) / 1024.0 for line in stream if line.startswith(name))


@gg.register_gradient("PeersRelu")
def relu_gradient(op, grad):
    """A gradient that costs next to nothing, so that what is measured is the way to it."""
    return grad


def chain(operations):
    """A graph of a chain of Relus, built under whatever scope is open around its own graph."""
    x = h = tf.placeholder(tf.float32, [4], name="x")
    for _ in range(operations):
        h = tf.nn.relu(h)
    return x, h


def raw_map():
    """tf.Graph.gradient_override_map: built under it; and, for a graph that exists, imported again under it."""
    def built(operations, scope):
        with tf.Graph().as_default() as graph, scope(graph):
            return chain(operations)

    def theirs(graph):
        return graph.gradient_override_map({"Relu": "PeersRelu"})

    def ours(graph):
        return gg.override_gradients({"Relu": relu_gradient})

    for operations in OPERATIONS:
        seconds("raw map: build a chain of Relus", "{:,} ops".format(operations), lambda: built(operations, ours),
                lambda: built(operations, theirs))
        memory("raw map: build a chain of Relus", "{:,} ops".format(operations), lambda: built(operations, ours),
               lambda: built(operations, theirs))
        x, y = built(operations, lambda graph: tf.Graph().as_default())
        existing, override = y.graph, ours(None)
        definition = existing.as_graph_def()

        def imported():
            with tf.Graph().as_default() as graph, theirs(graph):
                tf.import_graph_def(definition, name="")

        def put_on():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")      # that no gradient was built
                with override.on(existing):
                    pass

        seconds("raw map: override a graph that exists, on() / import again", "{:,} ops".format(operations), put_on,
                imported)
    for operations in OPERATIONS[:2]:
        graphs = [(built(operations, ours), built(operations, theirs)) for _ in range(ROUNDS + 1)]
        left = {"ours": iter(graphs), "theirs": iter(graphs)}

        def gradients(side, place):
            x, y = next(left[side])[place]
            with y.graph.as_default():
                tf.gradients(y, x)

        seconds("raw map: tf.gradients through the chain", "{:,} ops".format(operations), lambda: gradients("ours", 0),
                lambda: gradients("theirs", 1))


def _runner(function, size, dtype=np.float32):
    """A function that runs forward and backward of ``function`` on a vector of a size, in a Session of its own graph."""
    with tf.Graph().as_default():
        x = tf.Variable(np.linspace(-2, 2, size).astype(dtype))
        y = function(tf.convert_to_tensor(x))
        fetch = tf.group(y, tf.gradients(y, x, grad_ys=tf.ones_like(x)))
        session = tf.Session()
        session.run(tf.global_variables_initializer())
    return lambda: session.run(fetch)


def _beside(what, ours, theirs):
    """Set-up of 20 calls, run time and memory at three sizes, of two functions from a tensor to a tensor."""
    def built(function):
        with tf.Graph().as_default():
            x = tf.placeholder(tf.float32, [8])
            for _ in range(20):
                tf.gradients(function(x), x)

    seconds(what + ": build 20 calls and gradients", "", lambda: built(ours), lambda: built(theirs))
    for size in FLOATS:
        name = "{:,} floats".format(size)
        seconds(what + ": forward and backward", name, _runner(ours, size), _runner(theirs, size))
        memory(what + ": forward and backward", name, lambda: _runner(ours, size)(), lambda: _runner(theirs, size)())


def custom_gradient():
    """tf.custom_gradient: the same forward and backward."""
    @tf.custom_gradient
    def theirs(x):
        return tf.exp(x), lambda grad: grad * x

    _beside("tf.custom_gradient", lambda x: gg.tf_func_with_grad(tf.exp, [x], lambda op, grad: grad * op.inputs[0]), theirs)


def larq():
    """larq's quantisers: the straight-through sign, and DoReFa to two bits."""
    import larq as lq
    _beside("larq's ste_sign", gg.ops.sign_ste, lq.quantizers.SteSign())
    _beside("larq's DoReFa(2)", lambda x: gg.ops.dorefa_activations(x, 2), lq.quantizers.DoReFa(2, mode="activations"))


def lucid():
    """lucid's use_gradient, which goes through Python, and its map."""
    from lucid.misc.gradient_override import gradient_override_map, use_gradient

    def backward(op, grad):
        return grad * op.inputs[0]

    _beside("lucid's use_gradient", lambda x: gg.tf_func_with_grad(tf.exp, [x], backward), use_gradient(backward)(tf.exp))

    def built(operations, scope):
        with tf.Graph().as_default(), scope():
            return chain(operations)

    for operations in OPERATIONS[:2]:
        seconds("lucid's map: build a chain of Relus", "{:,} ops".format(operations),
                lambda: built(operations, lambda: gg.override_gradients({"Relu": relu_gradient})),
                lambda: built(operations, lambda: gradient_override_map({"Relu": relu_gradient})))


def net(layers):
    """(session, x, y) of a net of convolutions of eight channels on 32 x 32 pixels."""
    random = np.random.RandomState(1)
    with tf.Graph().as_default():
        x = h = tf.placeholder(tf.float32, [None, 32, 32, 3])
        for layer in range(layers):
            kernel = random.randn(3, 3, 8 if layer else 3, 8).astype("f") / 6
            h = tf.nn.relu(tf.nn.conv2d(h, tf.Variable(kernel), 1, "SAME"))
        y = tf.matmul(tf.reduce_mean(h, [1, 2]), tf.Variable(random.randn(8, 10).astype("f")))
        session = tf.Session()
        session.run(tf.global_variables_initializer())
    return session, x, y


def pair():
    """PAIR's saliency (tf1): guided backprop set up and run, one image at a time there; SmoothGrad."""
    import saliency.tf1 as theirs
    folder = tempfile.mkdtemp()
    for layers in LAYERS:
        nets = [net(layers) for _ in range(2 * ROUNDS + 2)]
        left = {"ours": iter(nets[:ROUNDS + 1]), "theirs": iter(nets[ROUNDS + 1:])}

        def set_up_theirs():
            session, x, y = next(left["theirs"])
            with session.graph.as_default():
                return theirs.GuidedBackprop(session.graph, session, y[:, 3], x, os.path.join(folder, "net"))

        def set_up_ours():
            session, x, y = next(left["ours"])
            return gg.saliency.guided_backprop(y, x, 3)

        seconds("PAIR's guided backprop: set-up", "{} layers".format(layers), set_up_ours, set_up_theirs)
    session, x, y = net(32)
    with session.graph.as_default():
        guided = theirs.GuidedBackprop(session.graph, session, y[:, 3], x, os.path.join(folder, "net"))
        smooth = theirs.GradientSaliency(session.graph, session, y[:, 3], x)
    ours, ours_smooth = gg.saliency.guided_backprop(y, x, 3), gg.saliency.smoothgrad(y, x, 3, samples=25)
    for batch in BATCHES:
        np.testing.assert_allclose(ours(session, IMAGES[:batch]), [guided.GetMask(image) for image in IMAGES[:batch]],
                                   rtol=1e-3, atol=1e-6)
        seconds("PAIR's guided backprop: run", "{} images".format(batch), lambda: ours(session, IMAGES[:batch]),
                lambda: [guided.GetMask(image) for image in IMAGES[:batch]])
    for batch in BATCHES[:2]:
        seconds("PAIR's SmoothGrad, 25 samples: run", "{} images".format(batch), lambda: ours_smooth(session, IMAGES[:batch]),
                lambda: [smooth.GetSmoothedMask(image, nsamples=25, magnitude=False) for image in IMAGES[:batch]])


def tf_keras_vis():
    """tf-keras-vis: guided backprop of a Keras model, set up and run."""
    from tf_keras_vis.saliency import Saliency
    from tf_keras_vis.utils.model_modifiers import GuidedBackpropagation
    from tf_keras_vis.utils.scores import CategoricalScore
    keras = _tensorflow.keras
    inputs = h = keras.layers.Input((32, 32, 3))
    for _ in range(32):
        h = keras.layers.Conv2D(8, 3, padding="same", activation="relu")(h)
    model = keras.Model(inputs, keras.layers.Dense(10)(keras.layers.GlobalAveragePooling2D()(h)))

    def set_up_ours():
        loaded = gg.saliency.load(model)
        return gg.saliency.guided_backprop(loaded.y, loaded.x, 3), loaded.session

    def set_up_theirs():
        return Saliency(model, model_modifier=GuidedBackpropagation(), clone=True)

    seconds("tf-keras-vis's guided backprop: set-up", "32 layers", set_up_ours, set_up_theirs)
    (ours, session), theirs = set_up_ours(), set_up_theirs()
    more = dict(keepdims=True, normalize_map=False, gradient_modifier=None)
    for batch in BATCHES:
        seconds("tf-keras-vis's guided backprop: run", "{} images".format(batch), lambda: ours(session, IMAGES[:batch]),
                lambda: theirs(CategoricalScore(3), IMAGES[:batch], **more))


def pytest_regressions():
    """pytest-regressions' ndarrays_regression: the first write, and a check that passes."""
    import pathlib
    import types

    from pytest_regressions.ndarrays_regression import NDArraysRegressionFixture

    from graphgrad.golden import files
    for size in FLOATS:
        folder = pathlib.Path(tempfile.mkdtemp())
        options = {"force_regen": False, "regen_all": False, "with_test_class_names": False}
        request = types.SimpleNamespace(config=types.SimpleNamespace(getoption=options.get),
                                        node=types.SimpleNamespace(name="peers"), cls=None)
        theirs = NDArraysRegressionFixture(folder, folder, request)
        values = {"values": np.random.RandomState(0).rand(size)}
        path = str(folder / "ours.npz")
        files.write(path, values)
        np.savez_compressed(str(folder / "theirs.npz"), **values)    # as it does
        name = "{:,} doubles".format(size)
        seconds("pytest-regressions: a check that passes", name, lambda: files.check(path, values),
                lambda: theirs.check(values, basename="theirs"))
        memory("pytest-regressions: a check that passes", name, lambda: files.check(path, values),
               lambda: theirs.check(values, basename="theirs"))


ALL = (raw_map, custom_gradient, larq, lucid, pair, tf_keras_vis, pytest_regressions)


def main(names):
    """Run the comparisons of these names, or all."""
    tf.disable_eager_execution() if _tensorflow.__version__.startswith("1.") else None
    print("TensorFlow {}, Python {}, {} cores".format(_tensorflow.__version__, sys.version.split()[0], os.cpu_count()))
    print("| beside | size | ours | theirs | ours / theirs |\n|---|---|---|---|---|")
    for compare in ALL:
        if not names or compare.__name__ in names:
            try:
                compare()
            except ImportError as error:
                print("| {}: {} | | | | |".format(compare.__name__, error))


if __name__ == "__main__":
    main(sys.argv[1:])
