"""Drive one public piece of TF 1 gradient code with fixed inputs: python drive.py NAMES OUTPUT.npz FOLDER.

FOLDER holds each repository of pieces.json, at its commit, as OWNER+NAME. The numbers in old/ were made by plain
`python drive.py` on the TensorFlow that pieces.json names; the code of the pieces is not kept here.
"""
import importlib
import os
import sys
import types

import numpy as np
import tensorflow as tf


class Absent(types.ModuleType):
    """Stands for a plotting package that a piece imports and this drive does not use."""

    __path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Absent(name)

    def __call__(self, *args, **kwargs):
        return self


def toposort(data):
    """The package toposort's one function: sets of items whose dependencies came before."""
    data = {item: set(needs) - {item} for item, needs in data.items()}
    for needs in list(data.values()):
        for item in needs:
            data.setdefault(item, set())
    while data:
        ready = {item for item, needs in data.items() if not needs}
        yield ready
        data = {item: needs - ready for item, needs in data.items() if item not in ready}


for package in ("matplotlib", "matplotlib.pyplot", "matplotlib.colors", "matplotlib.collections", "matplotlib.patches",
                "mpl_toolkits", "mpl_toolkits.axes_grid1", "mpl_toolkits.mplot3d",
                "skimage", "skimage.feature", "skimage.transform", "skimage.util", "toposort"):
    sys.modules[package] = Absent(package)
sys.modules["toposort"].toposort = toposort


def array(*shape):
    return np.asarray(np.random.RandomState(len(shape) + sum(shape)).randn(*shape), np.float32)


def fixed(*shape):
    return tf.constant(array(*shape))


def gradients(y, xs):
    """The values of y and of the gradients of its weighted sum, variables set to fixed values."""
    weights = tf.constant(np.linspace(0.5, 1.5, int(np.prod(y.get_shape().as_list()))).astype(np.float32))
    found = tf.gradients(tf.reshape(y, [-1]) * weights, xs)
    assert all(g is not None for g in found), found
    return run([y] + found)


def run(fetches):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for v in tf.trainable_variables():
            session.run(tf.assign(v, 0.5 * array(*v.get_shape().as_list())))
        return session.run(fetches)


def tf_dann():
    flip = importlib.import_module("flip_gradient").flip_gradient
    x = fixed(3, 4)
    return gradients(tf.square(flip(x, 0.3)) + flip(x), [x])


def _binary_net(build):
    def drive():
        layer = build(importlib.import_module("nnUtils"))
        x = fixed(2, 8, 8, 3)
        y = layer(x)
        return gradients(y, [x] + tf.trainable_variables())
    return drive


def xnor_conv():
    home = importlib.import_module("models.binary_conv_net")
    x = fixed(2, 28, 28, 1)
    net = home.BinaryConvNet.__new__(home.BinaryConvNet)
    net.G = tf.get_default_graph()
    signs, scale = net.quantize_filter(x * 3.)
    return gradients(net.quantize(x) + net.binary_tanh_unit(x) + signs * scale, [x])


def lsnn_spike():
    home = importlib.import_module("lsnn.spiking_models")
    v = fixed(4, 5)
    return gradients(home.SpikeFunction(v, 0.3), [v])


def lsnn_delay():
    home = importlib.import_module("lsnn.spiking_models")
    w = fixed(3, 4)
    delays = tf.constant(np.arange(12).reshape(3, 4) % 3)
    return gradients(home.weight_matrix_with_delay_dimension(w, delays, 3), [w])


def lsnn_filter():
    home = importlib.import_module("lsnn.spiking_models")
    x = fixed(2, 6, 3)
    return gradients(home.exp_convolve(x, 0.7), [x])


def lsnn_lif():
    home = importlib.import_module("lsnn.spiking_models")
    np.random.seed(3)
    cell = home.LIF(n_in=3, n_rec=4, tau=10., thr=0.02, n_delay=2, n_refractory=1)
    x = fixed(2, 6, 3)
    outputs, _ = tf.nn.dynamic_rnn(cell, tf.abs(x), dtype=tf.float32)
    spikes = outputs[0] if isinstance(outputs, (tuple, list)) else outputs
    return gradients(spikes, tf.trainable_variables())


def lsnn_alif():
    home = importlib.import_module("lsnn.spiking_models")
    np.random.seed(3)
    cell = home.ALIF(n_in=3, n_rec=4, tau=10., thr=0.02, tau_adaptation=50., beta=1.7)
    outputs, _ = tf.nn.dynamic_rnn(cell, tf.abs(fixed(2, 6, 3)), dtype=tf.float32)
    return gradients(outputs[0], tf.trainable_variables())


def lucid_redirected(name):
    def drive():
        home = importlib.import_module("redirected_relu_grad")
        tf.RegisterGradient("Lucid" + name)(getattr(home, name))
        tf.train.create_global_step()
        x = fixed(3, 5)
        with tf.get_default_graph().gradient_override_map({"Relu": "Lucid" + name, "Relu6": "Lucid" + name}):
            y = tf.nn.relu6(x * 4.) if name.endswith("6_grad") else tf.nn.relu(x)
        return gradients(y, [x])
    return drive


def lucid_use_gradient():
    home = importlib.import_module("gradient_override")
    x = fixed(3, 5)

    @home.use_gradient(lambda op, grad: 3. * grad)
    def foo(x):
        return tf.square(x)

    return gradients(foo(x) + x, [x])


def lucid_override_map():
    home = importlib.import_module("gradient_override")
    x = fixed(3, 5)
    with home.gradient_override_map({"Relu": lambda op, grad: 5. * grad}):
        y = tf.nn.relu(x)
    return gradients(y, [x])


def checkpointing(how):
    def drive():
        home = importlib.import_module("memory_saving_gradients")
        x = fixed(4, 6)
        h = x
        for i in range(6):
            h = tf.tanh(tf.matmul(h, tf.get_variable("w%d" % i, [6, 6])))
            tf.add_to_collection("checkpoints", h) if i in (1, 3) else None
        loss = tf.reduce_sum(tf.square(h))
        found = home.gradients(loss, tf.trainable_variables(), checkpoints=how)
        return run([loss] + found)
    return drive


def deep_explain(method):
    def drive():
        home = importlib.import_module("deepexplain.tensorflow")
        with tf.Session() as session:
            with home.DeepExplain(session=session) as de:
                x = tf.placeholder(tf.float32, [None, 4])
                w = [tf.Variable(0.5 * array(4, 6)), tf.Variable(0.5 * array(6, 3))]
                y = tf.matmul(tf.nn.relu(tf.matmul(x, w[0]) - 0.2), w[1])
                session.run(tf.global_variables_initializer())
                values = array(5, 4)
                return [de.explain(method, y * tf.constant([[1., 0., 0.]]), x, values)]
    return drive


def maml_loss(name):
    def drive():
        if not hasattr(tf.app.flags.FLAGS, "meta_batch_size"):
            tf.app.flags.DEFINE_integer("meta_batch_size", 5, "")
            tf.app.flags.DEFINE_integer("update_batch_size", 5, "")
            tf.app.flags.DEFINE_boolean("max_pool", False, "")
            tf.app.flags.DEFINE_string("norm", "batch_norm", "")
        import importlib.util   # not there in Python 2, in which further.py runs on TF 0.12
        spec = importlib.util.spec_from_file_location("maml_utils", os.path.join(sys.argv[-1], "cbfinn+maml", "utils.py"))
        home = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(home)
        x = fixed(4, 3)
        if name == "mse":
            return gradients(tf.reshape(home.mse(x, fixed(4, 3) * 2.), [1]), [x])
        if name == "xent":
            labels = tf.nn.softmax(fixed(4, 3) * 2.)
            return gradients(home.xent(x, labels), [x])
        picture = fixed(2, 6, 6, 3)
        weights, bias = fixed(3, 3, 3, 4), fixed(4)
        y = home.conv_block(picture, weights, bias, False, "scope0")
        return gradients(y, [picture, weights])   # the bias is before a batch normalization: its gradient is noise
    return drive


def dorefa(bits, part):
    def drive():
        home = importlib.import_module("dorefa")
        fw, fa, fg = home.get_dorefa(*bits)
        x = fixed(4, 6)
        return gradients({"w": fw, "a": fa}[part](x), [x])
    return drive


def ternary():
    home = importlib.import_module("dorefa")
    x = fixed(4, 6)
    return gradients(home.ternarize(x), [x])


PIECES = {
    "tf-dann.flip": tf_dann,
    "BinaryNet.conv": _binary_net(lambda m: m.BinarizedSpatialConvolution(4, 3, 3, name="c")),
    "BinaryNet.conv_weights_only": _binary_net(lambda m: m.BinarizedWeightOnlySpatialConvolution(4, 3, 3, name="c")),
    "BinaryNet.affine": _binary_net(lambda m: m.BinarizedAffine(5, name="a")),
    "BinaryNet.affine_weights_only": _binary_net(lambda m: m.BinarizedWeightOnlyAffine(5, name="a")),
    "BinaryNet.sequential": _binary_net(lambda m: m.Sequential([
        m.SpatialConvolution(4, 3, 3, padding="SAME", bias=False), m.BatchNormalization(), m.HardTanh(), m.SpatialMaxPooling(2, 2, 2, 2),
        m.BinarizedSpatialConvolution(4, 3, 3, padding="SAME", name="d"), m.ReLU(), m.BinarizedAffine(3, name="e")])),
    "xnor-bnn.quantize": xnor_conv,
    "LSNN.spike": lsnn_spike, "LSNN.delay": lsnn_delay, "LSNN.filter": lsnn_filter, "LSNN.lif": lsnn_lif,
    "LSNN.alif": lsnn_alif,
    "lucid.redirected_relu": lucid_redirected("redirected_relu_grad"),
    "lucid.redirected_relu6": lucid_redirected("redirected_relu6_grad"),
    "lucid.use_gradient": lucid_use_gradient, "lucid.override_map": lucid_override_map,
    "checkpointing.speed": checkpointing("speed"),
    "checkpointing.collection": checkpointing("collection"),
    "DeepExplain.saliency": deep_explain("saliency"), "DeepExplain.grad*input": deep_explain("grad*input"),
    "DeepExplain.intgrad": deep_explain("intgrad"), "DeepExplain.elrp": deep_explain("elrp"),
    "DeepExplain.deeplift": deep_explain("deeplift"),
    "maml.mse": maml_loss("mse"), "maml.xent": maml_loss("xent"),
    "maml.conv_block": maml_loss("conv_block"),
    "tensorpack.dorefa_w1": dorefa((1, 2, 6), "w"), "tensorpack.dorefa_w2": dorefa((2, 2, 6), "w"),
    "tensorpack.dorefa_a2": dorefa((1, 2, 6), "a"), "tensorpack.ternarize": ternary,
}


def main(pieces):
    """Drive the pieces that the command line names, and write what they give."""
    names, output, folder = sys.argv[1:4]
    for home in ("pumpikano+tf-dann", "itayhubara+BinaryNet.tf", "AngusG+tensorflow-xnor-bnn", "IGITUGraz+LSNN-official",
                 "openai+gradient-checkpointing", "marcoancona+DeepExplain", "cbfinn+maml",
                 "tensorpack+tensorpack/examples/DoReFa-Net", "tensorflow+lucid/lucid/misc"):
        sys.path.append(os.path.join(folder, home))
    values = {}
    for name in (sorted(pieces) if names == "all" else names.split(",")):
        with tf.Graph().as_default():
            try:
                for index, value in enumerate(pieces[name]()):
                    values["%s/%d" % (name, index)] = np.asarray(value)
            except Exception as error:   # told in the comparison: this piece has no numbers
                sys.stderr.write("%s: %s: %s\n" % (name, type(error).__name__, str(error)[:300]))
    np.savez(output, **values)


if __name__ == "__main__":
    main(PIECES)
