"""Rules on NCHW against the same rules on NHWC: every operation that they build must have honoured data_format.

The CPU has these kernels only with oneDNN (TensorFlow 2.x): with ``TF_ENABLE_ONEDNN_OPTS=1`` this file runs on them, and a test of
its own sees to that. Without them the finished graph, gradients included, is rewritten: each NCHW operation becomes the NHWC one
between transpositions. An operation that should be NCHW and is not gives other numbers either way.
"""
import os
import subprocess
import sys

import numpy as np
import pytest
from conftest import TF1, tf

import graphgrad as gg
from graphgrad import rules

HAS_KERNELS = not TF1 and os.environ["TF_ENABLE_ONEDNN_OPTS"] == "1"
RANDOM = np.random.RandomState(5)
TO_NHWC, TO_NCHW = [0, 2, 3, 1], [0, 3, 1, 2]

#: What has no NCHW kernel: (inputs that are images, inputs that are the sizes of images, whether the first output is an image).
TURNED = {
    "Conv2D": ([0], [], True), "Conv2DBackpropInput": ([2], [0], True), "Conv2DBackpropFilter": ([0, 2], [], False),
    "DepthwiseConv2dNative": ([0], [], True), "DepthwiseConv2dNativeBackpropInput": ([2], [0], True),
    "AvgPool": ([0], [], True), "AvgPoolGrad": ([1], [0], True),
    "MaxPool": ([0], [], True), "MaxPoolGrad": ([0, 1, 2], [], True),
    "FusedBatchNormV3": ([0], [], True), "FusedBatchNormGradV3": ([0, 1], [], True)}


def without_nchw(definition):
    """A GraphDef with those operations as NHWC ones between transpositions; and the set of the types that it had in NCHW."""
    new, turned = tf.GraphDef(), set()
    new.versions.CopyFrom(definition.versions)

    def constant(name, value):
        node = new.node.add(name=name, op="Const")
        node.attr["dtype"].type = tf.int32.as_datatype_enum
        node.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(value, tf.int32))
        return name

    def transpose(name, tensor, order, dtype):
        node = new.node.add(name=name, op="Transpose", input=[tensor, constant(name + "/order", order)])
        node.attr["T"].CopyFrom(dtype)
        node.attr["Tperm"].type = tf.int32.as_datatype_enum
        return name

    def gather(name, sizes):
        node = new.node.add(name=name, op="Gather", input=[sizes, constant(name + "/order", TO_NHWC)])
        node.attr["Tparams"].type = node.attr["Tindices"].type = tf.int32.as_datatype_enum
        return name

    for original in definition.node:
        node = new.node.add()
        node.CopyFrom(original)
        if "data_format" not in node.attr or node.attr["data_format"].s != b"NCHW":
            continue
        turned.add(node.op)
        if node.op not in TURNED:
            continue
        images, sizes, gives_image = TURNED[node.op]
        node.attr["data_format"].s = b"NHWC"
        for name in {"strides", "ksize", "dilations"} & set(node.attr):
            node.attr[name].list.i[:] = [original.attr[name].list.i[axis] for axis in TO_NHWC]
        for index in images:
            node.input[index] = transpose("{}/{}".format(node.name, index), original.input[index], TO_NHWC, node.attr["T"])
        for index in sizes:
            node.input[index] = gather("{}/{}".format(node.name, index), original.input[index])
        if gives_image:
            node.name += "/nhwc"
            transpose(original.name, node.name, TO_NCHW, node.attr["T"])
    names = {node.name for node in new.node}
    for node in new.node:   # outputs that are no images
        for index, name in enumerate(node.input):
            producer, colon, number = name.partition(":")
            if colon and producer + "/nhwc" in names:
                node.input[index] = "{}/nhwc:{}".format(producer, number)
    return new, turned


def evaluate(tensors, feed):
    """The values of tensors of the current graph, and the set of op types in it that are NCHW."""
    definition = tf.get_default_graph().as_graph_def()
    rewritten, types = without_nchw(definition)
    with tf.Graph().as_default(), tf.Session() as session:
        names = [tensor.name for tensor in list(tensors) + list(feed)]
        new = tf.import_graph_def(definition if HAS_KERNELS else rewritten, return_elements=names)
        return session.run(new[:len(tensors)], dict(zip(new[len(tensors):], feed.values()))), types


X, G = RANDOM.randn(2, 7, 6, 4), RANDOM.randn(2, 7, 6, 4)
KERNEL, DEPTHWISE, BIAS = RANDOM.randn(3, 2, 4, 3), RANDOM.randn(3, 2, 4, 2), RANDOM.randn(3)
PAIR = np.concatenate([X, X + RANDOM.choice([-0.6, -0.3, 0.4, 0.8], X.shape)])


def turned(sizes, data_format):
    return [sizes[axis] for axis in TO_NCHW] if data_format == "NCHW" else sizes


def pool(x, data_format):
    # 3 x 2 windows, steps of 2 x 3: a swap of axes shows
    return tf.nn.max_pool(x, turned([1, 3, 2, 1], data_format), turned([1, 2, 3, 1], data_format), "SAME", data_format=data_format)


def average(x, data_format):
    return tf.nn.avg_pool(x, turned([1, 3, 2, 1], data_format), turned([1, 2, 3, 1], data_format), "VALID", data_format=data_format)


def convolution(x, data_format, bias=True):
    z = tf.nn.conv2d(x, tf.constant(KERNEL, x.dtype), strides=turned([1, 2, 1, 1], data_format), padding="SAME", data_format=data_format)
    return tf.nn.bias_add(z, tf.constant(BIAS, x.dtype), data_format=data_format) if bias else z


def depthwise(x, data_format):
    return tf.nn.depthwise_conv2d_native(x, tf.constant(DEPTHWISE, x.dtype), [1, 1, 1, 1], "SAME", data_format=data_format)


def normalised(x, data_format):
    scale, shift, mean, variance = [tf.constant(value, tf.float32) for value in np.random.RandomState(1).rand(4, 4)]
    y = tf.nn.fused_batch_norm(tf.cast(x, tf.float32), scale, shift, mean, variance, is_training=False, data_format=data_format)[0]
    return tf.cast(y, x.dtype)


def unbiased(x, data_format):
    return convolution(x, data_format, bias=False)


def relu(x, data_format):
    del data_format
    return tf.nn.relu(x)


LRP = {"lrp_z": rules.lrp_z, "lrp_epsilon": rules.lrp_epsilon(0.1), "lrp_flat": rules.lrp_flat, "lrp_w_square": rules.lrp_w_square,
       "lrp_alpha_beta": rules.lrp_alpha_beta(), "lrp_z_plus": rules.lrp_z_plus, "excitation_backprop": rules.excitation_backprop,
       "lrp_z_box": rules.lrp_z_box(-4, 4), "lrp_gamma": rules.lrp_gamma()}
#: name: (rule, forward, x): the rule on whatever the forward has of its types.
CASES = {
    "smoothed_max_pool": (rules.smoothed_max_pool, pool, X), "smoothed_max_pool_l2": (rules.smoothed_max_pool_l2(), pool, X),
    "prr": (rules.prr(), pool, np.abs(X) + 0.1), "deeplift_max_pool": (rules.deeplift_max_pool, pool, PAIR),
    "rectgrad_padding": (rules.rectgrad_padding, unbiased, X), "rectgrad": (rules.rectgrad(70), relu, X),
    "redirected": (rules.redirected(), relu, -np.abs(X)), "dorefa_gradients": (rules.dorefa_gradients(2, noise=False), relu, X)}
for name, rule in LRP.items():
    CASES[name + " on Conv2D and BiasAdd"] = rule, convolution, X
for name, forward in (("Conv2D", unbiased), ("AvgPool", average), ("MaxPool", pool), ("FusedBatchNorm", normalised)):
    CASES["lrp_epsilon on " + name] = rules.lrp_epsilon(0.1), forward, np.abs(X) if forward is average else X
CASES["lrp_z_plus on DepthwiseConv2dNative"] = rules.lrp_z_plus, depthwise, X


def gradient(rule, forward, x, data_format):
    """The rule's gradient as NHWC, and the op types in the graph that are NCHW."""
    values = x if data_format == "NHWC" else x.transpose(TO_NCHW)
    # oneDNN has no float64; what it is compared with is not its own (2.15 takes an NHWC pool and an NCHW one for the same).
    dtype = tf.float32 if HAS_KERNELS and data_format == "NCHW" else tf.float64
    with tf.Graph().as_default() as graph:
        fed = tf.placeholder(dtype, [None, None, values.shape[2], None])
        fed.set_shape([None] + list(values.shape[1:]))
        given = tf.identity(fed)
        forward(given, data_format)
        types = {op.type for op in graph.get_operations()} & {
            "Relu", "MaxPool", "AvgPool", "Conv2D", "DepthwiseConv2dNative", "BiasAdd", "FusedBatchNorm", "FusedBatchNormV3"}
        with gg.override_gradients({op_type: rule for op_type in types}):
            y = forward(given, data_format)
        weight = np.resize(G, [len(x)] + [y.shape.as_list()[axis] for axis in ((1, 2, 3) if data_format == "NHWC" else TO_NHWC[1:])])
        weight = weight if data_format == "NHWC" else weight.transpose(TO_NCHW)
        (got, _), types = evaluate([tf.gradients(y, fed, grad_ys=tf.constant(weight, dtype))[0], y], {fed: values})
    return got if data_format == "NHWC" else got.transpose(TO_NHWC), types


@pytest.mark.parametrize("name", sorted(CASES))
def test_nchw_is_nhwc_turned(name):
    """The same gradient, to rounding; and the layer was NCHW."""
    rule, forward, x = CASES[name]
    want, _ = gradient(rule, forward, x, "NHWC")
    got, types = gradient(rule, forward, x, "NCHW")
    assert types or forward is relu
    assert np.abs(want).max() > 0
    tolerance = 2e-4 if HAS_KERNELS else 1e-6 if forward is normalised else 1e-12
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance * np.abs(want).max())


def test_dropping_the_data_format_shows(monkeypatch):
    """A rule that builds NHWC pools on NCHW images, as public copies of this one do, does not pass."""
    want, _ = gradient(rules.smoothed_max_pool, pool, X, "NHWC")
    attributes = rules.pooling._attributes
    monkeypatch.setattr(rules.pooling, "_attributes", lambda op: dict(attributes(op), data_format="NHWC"))
    try:
        got, _ = gradient(rules.smoothed_max_pool, pool, X, "NCHW")
    except (tf.errors.OpError, ValueError):
        return   # the shapes do not fit either
    assert np.abs(got - want).max() > 0.1 * np.abs(want).max()


def test_on_the_kernels():
    """The same comparisons on oneDNN's NCHW kernels, where TensorFlow has them: in a process that has it on."""
    if HAS_KERNELS or TF1:
        return
    environment = dict(os.environ, TF_ENABLE_ONEDNN_OPTS="1")
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", os.path.abspath(__file__)],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True, env=environment)
    assert done.returncode == 0, done.stdout[-3000:]
