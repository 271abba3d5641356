"""More public pieces, driven as drive.py's are: python further.py NAMES OUTPUT.npz FOLDER.

Their numbers are those of the TensorFlow that each was written for, named in pieces.json.
"""
import importlib
import os
import sys
import types

import drive
import numpy as np
import tensorflow as tf
from drive import array, fixed, gradients, run

FOLDER = sys.argv[-1]
for package in ("PIL", "PIL.Image", "PIL.ImageOps", "skimage.morphology", "skimage.segmentation", "skimage.transform",
                "scipy", "scipy.misc", "scipy.ndimage", "tqdm", "colorlog"):
    sys.modules.setdefault(package, drive.Absent(package))


def module(path):
    """A file of a repository, with its folder on sys.path."""
    whole = os.path.join(FOLDER, path)
    sys.path.insert(0, os.path.dirname(whole))
    try:
        name = os.path.splitext(os.path.basename(path))[0]
        sys.modules.pop(name, None)
        return __import__(name)
    finally:
        sys.path.pop(0)


def of_function(path, call, *shapes):
    """A drive: the values and gradients of ``call(module, *inputs)``, with respect to inputs and variables."""
    def one():
        home = module(path)
        inputs = [fixed(*shape) for shape in shapes]
        y = call(home, *inputs)
        return gradients(y, inputs + tf.trainable_variables())
    return one


def horovod():
    """One process: what horovod says of it."""
    package, part = types.ModuleType("horovod"), types.ModuleType("horovod.tensorflow")
    part.size, part.rank, package.tensorflow = (lambda: 1), (lambda: 1), part
    sys.modules.update({"horovod": package, "horovod.tensorflow": part})


def pac_gp():
    home = module("boschresearch+PAC_GP/pac_gp/utils/utils_tf.py")
    x = fixed(3, 4)
    y = home.py_func(lambda a: (a ** 3).astype(np.float32), [x], tf.float32, grad=lambda op, g: g * 3. * op.inputs[0] ** 2)
    y.set_shape([3, 4])
    return gradients(y, [x])


def adam_updates():
    home = module("openai+pixel-cnn/pixel_cnn_pp/nn.py")
    w = tf.Variable(array(3, 4), name="w")
    update = home.adam_updates([w], tf.reduce_sum(tf.square(w) * w), lr=0.01)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(3):
            session.run(update)
        return [session.run(w)]


def gated_resnet():
    home = module("openai+pixel-cnn/pixel_cnn_pp/nn.py")
    x = fixed(2, 4, 4, 3)
    with tf.contrib.framework.arg_scope([home.conv2d, home.dense, home.nin, home.gated_resnet], counters={}, dropout_p=0.):
        y = home.gated_resnet(x)
    return gradients(y, [x] + tf.trainable_variables())


def counted(name, *args, **kwargs):
    return lambda home, x: getattr(home, name)(x, *args, counters={}, **kwargs)


def glow(call, *shape):
    def one():
        horovod()
        home = module("openai+glow/tfops.py")
        x = fixed(*shape)
        return gradients(call(home, x), [x] + tf.trainable_variables())
    return one


def guided_backprop():
    sys.path.insert(0, os.path.join(FOLDER, "PAIR-code+saliency"))
    from saliency.tf1.guided_backprop import GuidedBackprop
    GuidedBackprop.guided_relu_registered = False
    graph = tf.get_default_graph()
    x = tf.placeholder(tf.float32, [None, 4])
    y = tf.reduce_sum(tf.matmul(tf.nn.relu(tf.matmul(x, tf.Variable(array(4, 6)))), tf.Variable(array(6, 1))), 1)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        import tempfile
        folder = tempfile.mkdtemp()
        method = GuidedBackprop(graph, session, y, x, tmp_ckpt_path=os.path.join(folder, "c"))
        return [method.GetMask(array(4), {})]


def integrated_gradients():
    sys.path.insert(0, os.path.join(FOLDER, "PAIR-code+saliency"))
    from saliency.tf1.integrated_gradients import IntegratedGradients
    x = tf.placeholder(tf.float32, [None, 4])
    y = tf.reduce_sum(tf.tanh(tf.matmul(x, tf.Variable(array(4, 6)))), 1)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        method = IntegratedGradients(tf.get_default_graph(), session, y, x)
        return [method.GetMask(array(4), x_baseline=np.zeros(4, np.float32), x_steps=20, batch_size=5)]


def cleverhans(call):
    def one():
        sys.path.insert(0, os.path.join(FOLDER, "cleverhans-lab+cleverhans"))
        return call(importlib.import_module("cleverhans." + call.__name__.split("__")[0]))
    return one


def baselines_flatgrad():
    home = module("openai+baselines/baselines/common/tf_util.py")
    x = fixed(2, 8, 8, 3)
    y = home.conv2d(x, 4, "c", (3, 3), (2, 2))
    loss = tf.reduce_sum(home.huber_loss(y) * 2. + home.lrelu(y))
    return run([loss, home.flatgrad(loss, tf.trainable_variables()), home.flatgrad(loss, tf.trainable_variables(), 0.1)])


def char_rnn(model):
    def one():
        home = module("sherjilozair+char-rnn-tensorflow/model.py")
        args = types.SimpleNamespace(model=model, num_layers=2, rnn_size=5, output_keep_prob=1.0, input_keep_prob=1.0,
                                     batch_size=2, seq_length=4, vocab_size=7, grad_clip=5.)
        net = home.Model(args)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for v in tf.trainable_variables():
                session.run(tf.assign(v, 0.5 * array(*v.get_shape().as_list())))
            session.run(tf.assign(net.lr, 0.01))
            feed = {net.input_data: np.arange(8).reshape(2, 4) % 7, net.targets: np.arange(1, 9).reshape(2, 4) % 7}
            return [session.run([net.cost, net.train_op], feed)[0] for _ in range(4)]
    return one


def write_rnn():
    home = module("hardmaru+write-rnn-tensorflow/model.py")
    args = types.SimpleNamespace(model="lstm", num_layers=2, rnn_size=5, keep_prob=1.0, batch_size=2, seq_length=4,
                                 num_mixture=3, grad_clip=5.)
    net = home.Model(args)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for v in tf.trainable_variables():
            session.run(tf.assign(v, 0.5 * array(*v.get_shape().as_list())))
        session.run(tf.assign(net.lr, 0.01))
        feed = {net.input_data: np.abs(array(2, 4, 3)) % 1., net.target_data: np.abs(array(2, 4, 3)) % 1.}
        return [session.run([net.cost, net.train_op], feed)[0] for _ in range(4)]


def without_constructor(kind):
    """An instance for its methods' sake; in Python 2 too, where the class is an old one."""
    class Bare(kind):
        def __init__(self):
            pass
    return Bare()


def lrp(kind):
    def one():
        home = module("1202kbs+Understanding-NN/models/models_2_3.py")
        rule = without_constructor(home.LRP)
        rule.alpha = 2.
        x = tf.abs(fixed(2, 6, 6, 3))
        if kind == "conv":
            y = rule.backprop_conv(x, fixed(3, 3, 3, 4), fixed(4), tf.abs(fixed(2, 6, 6, 4)), [1, 1, 1, 1])
        elif kind == "pool":
            y = rule.backprop_pool(x, tf.abs(fixed(2, 3, 3, 3)), [1, 2, 2, 1], [1, 2, 2, 1], "max")
        else:
            y = rule.backprop_dense(tf.abs(fixed(4, 5)), fixed(5, 3), fixed(3), tf.abs(fixed(4, 3)))
        return run([y])
    return one


def deep_taylor():
    home = module("1202kbs+Understanding-NN/models/models_2_4.py")
    rule = without_constructor(home.Taylor)
    x = tf.abs(fixed(2, 6, 6, 3))
    return run([rule.backprop_pool(x, tf.abs(fixed(2, 3, 3, 3)), [1, 2, 2, 1], [1, 2, 2, 1], "avg"),
                rule.backprop_conv_input(x, fixed(3, 3, 3, 4), tf.abs(fixed(2, 6, 6, 4)), [1, 1, 1, 1])])


def ternary(name, *args):
    def one():
        home = module("czhu95+ternarynet/examples/Ternary-Net/ternary.py")
        home.G = tf.get_default_graph()
        x = fixed(4, 6)
        with tf.variable_scope("t"):
            y = getattr(home, name)(x, *args)
        return gradients(y, [x])
    return one


def tflearn(call):
    def one():
        sys.path.insert(0, os.path.join(FOLDER, "tflearn+tflearn"))
        import tflearn
        x = fixed(4, 6)
        return gradients(call(tflearn, x), [x] + tf.trainable_variables())
    return one


def wgan(call, *shape):
    def one():
        sys.path.insert(0, os.path.join(FOLDER, "igul222+improved_wgan_training"))
        import tflib
        import tflib.ops.batchnorm
        import tflib.ops.conv2d
        import tflib.ops.layernorm
        import tflib.ops.linear
        tflib.delete_all_params()
        np.random.seed(1)
        x = fixed(*shape)
        return gradients(call(tflib.ops, x), [x])
    return one


def reptile():
    home = module("openai+supervised-reptile/supervised_reptile/variables.py")
    a, b = tf.Variable(array(2, 3)), tf.Variable(array(3))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        state = home.VariableState(session, [a, b])
        old = state.export_variables()
        state.import_variables(home.interpolate_vars(old, home.scale_vars(old, 3.), 0.25))
        session.run(home.weight_decay(0.9))
        return state.export_variables()


def adda():
    sys.path[:0] = [os.path.join(FOLDER, name) for name in ("erictzeng+adda", "tflearn+tflearn")]
    from adda.models import lenet
    x = fixed(2, 28, 28, 1)
    net = lenet.lenet(x, scope="net", is_training=False)
    return gradients((net[0] if isinstance(net, tuple) else net), [x])


def attacks_tf__fgm(home):
    x = fixed(3, 5)
    logits = tf.matmul(tf.tanh(x), fixed(5, 4))
    return run([home.fgm(x, tf.nn.softmax(logits), eps=0.1), home.fgm(x, tf.nn.softmax(logits), eps=0.1, ord=2)])


def attacks_tf__jacobian(home):
    x = fixed(3, 5)
    return run(home.jacobian_graph(tf.nn.softmax(tf.matmul(tf.tanh(x), fixed(5, 4))), x, 4))


def utils_tf__kl(home):
    x, z = fixed(3, 5), fixed(3, 5) * 2. + 1.
    return gradients(tf.reshape(home.kl_with_logits(x, z), [1]), [x, z])


PIECES = {
    "GradientReversal.flip": of_function("tachitachi+GradientReversal/flip_gradient.py",
                                         lambda m, x: m.flip_gradient(tf.square(x), 0.3), (3, 4)),
    "PAC_GP.py_func": pac_gp,
    "BinaryNet-on-tensorflow.round": of_function(
        "uranusx86+BinaryNet-on-tensorflow/binary_layer.py",
        lambda m, x: m.binary_tanh_unit(x) + m.binary_sigmoid_unit(x) + m.binarization(x, 2.), (4, 6)),
    "BinaryNet-on-tensorflow.dense": of_function(
        "uranusx86+BinaryNet-on-tensorflow/binary_layer.py", lambda m, x: m.dense_binary(x, 5, name="d"), (4, 6)),
    "spectral_norm": of_function("taki0112+Spectral_Normalization-Tensorflow/spectral_norm.py",
                                 lambda m, w: m.spectral_norm(w) + 0. * tf.reduce_sum(w), (3, 3, 2, 4)),
    "pixel-cnn.concat_elu": of_function("openai+pixel-cnn/pixel_cnn_pp/nn.py", lambda m, x: m.concat_elu(x), (3, 4)),
    "pixel-cnn.loss": of_function(
        "openai+pixel-cnn/pixel_cnn_pp/nn.py",
        lambda m, x, l: tf.reshape(m.discretized_mix_logistic_loss(tf.tanh(x), l), [1]), (2, 4, 4, 3), (2, 4, 4, 20)),
    "pixel-cnn.dense": of_function("openai+pixel-cnn/pixel_cnn_pp/nn.py", counted("dense", 5), (4, 6)),
    "pixel-cnn.conv2d": of_function("openai+pixel-cnn/pixel_cnn_pp/nn.py", counted("conv2d", 4), (2, 5, 5, 3)),
    "pixel-cnn.deconv2d": of_function("openai+pixel-cnn/pixel_cnn_pp/nn.py", counted("deconv2d", 4), (2, 5, 5, 3)),
    "pixel-cnn.gated_resnet": gated_resnet, "pixel-cnn.adam": adam_updates,
    "glow.actnorm": glow(lambda m, x: m.actnorm("a", x, logdet=None), 2, 4, 4, 4),
    "glow.linear_zeros": glow(lambda m, x: m.linear_zeros("l", x, 3), 4, 6),
    "glow.conv2d": glow(lambda m, x: m.conv2d("c", x, 5), 2, 4, 4, 4),
    "glow.conv2d_zeros": glow(lambda m, x: m.conv2d_zeros("c", x, 5), 2, 4, 4, 4),
    "glow.gaussian": glow(lambda m, x: m.gaussian_diag(x[:, :2], x[:, 2:]).logp(x[:, 1:3]), 4, 4),
    "saliency.guided_backprop": guided_backprop, "saliency.integrated_gradients": integrated_gradients,
    "cleverhans.fgm": cleverhans(attacks_tf__fgm), "cleverhans.jacobian": cleverhans(attacks_tf__jacobian),
    "cleverhans.kl": cleverhans(utils_tf__kl),
    "baselines.flatgrad": baselines_flatgrad,
    "char-rnn.lstm": char_rnn("lstm"), "char-rnn.gru": char_rnn("gru"), "char-rnn.nas": char_rnn("nas"),
    "write-rnn": write_rnn,
    "Understanding-NN.lrp_conv": lrp("conv"), "Understanding-NN.lrp_pool": lrp("pool"),
    "Understanding-NN.lrp_dense": lrp("dense"), "Understanding-NN.deep_taylor": deep_taylor,
    "ternarynet.p_ternarize": ternary("p_ternarize", 0.4), "ternarynet.tw_ternarize": ternary("tw_ternarize", 0.3),
    "tflearn.fully_connected": tflearn(lambda t, x: t.fully_connected(x, 5, activation="leaky_relu", name="f")),
    "tflearn.prelu": tflearn(lambda t, x: t.prelu(x)),
    "tflearn.batch_normalization": tflearn(lambda t, x: t.batch_normalization(x)),
    "tflearn.objectives": tflearn(lambda t, x: tf.reshape(t.objectives.softmax_categorical_crossentropy(
        x, tf.nn.softmax(x * 2.)) + t.objectives.hinge_loss(x, tf.sign(x)), [1])),
    "improved_wgan.linear": wgan(lambda ops, x: ops.linear.Linear("l", 6, 5, x, weightnorm=True), 4, 6),
    "improved_wgan.layernorm": wgan(lambda ops, x: ops.layernorm.Layernorm("n", [1, 2, 3], x), 2, 3, 4, 4),
    "improved_wgan.batchnorm": wgan(lambda ops, x: ops.batchnorm.Batchnorm("b", [0, 2, 3], x, fused=False), 2, 3, 4, 4),
    "reptile.variables": reptile, "adda.lenet": adda,
}

if __name__ == "__main__":
    drive.main(PIECES)
