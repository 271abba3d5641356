"""Each rule's backward against the obvious spelling of its formula, at 4M floats: time and peak memory; gg.ops likewise.

    python -m tests.benchmarks.bench_rules [NAME ...]

Ratios are ours / the obvious spelling. 2026-11, TF 2.21.0, 2 shared x86-64 cores, quiet: 0.17 (rectgrad, which needs no full
sort) to 1.11 (spike, of as many operations). Memory is of a forked process each, in steps of a buffer of 16 MB.
"""
import os
import sys

import numpy as np

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow.compat.v1 as tf  # noqa: E402 (its log level is set before)

import graphgrad as gg  # noqa: E402
from graphgrad import rules  # noqa: E402
from tests.benchmarks._side_by_side import figure, medians  # noqa: E402

SHAPE = (64, 16, 16, 256)   # 4M floats
INFINITE = float("inf")


def mask(condition, grad):
    return tf.cast(condition, grad.dtype) * grad


def norms(grad):
    return tf.sqrt(tf.reduce_sum(tf.square(tf.reshape(grad, [tf.shape(grad)[0], -1])), axis=1))


def obvious_redirected(op, grad):   # lucid's
    x = op.inputs[0]
    ordinary = tf.where(x < 0., tf.zeros_like(grad), grad)
    other = tf.where(tf.logical_and(x < 0., grad > 0.), tf.zeros_like(grad), grad)
    return tf.where(norms(ordinary) > 0., ordinary, other)


def obvious_rectgrad(op, grad):
    a = op.outputs[0] * grad
    flat = tf.reshape(a, [SHAPE[0], -1])
    ordered = tf.sort(flat, axis=1)
    place = int(round(0.98 * (np.prod(SHAPE[1:]) - 1)))
    return tf.where(a > tf.reshape(ordered[:, place], [-1, 1, 1, 1]), grad, tf.zeros_like(grad))


def obvious_dorefa(op, grad):   # tensorpack's
    maximum = tf.reduce_max(tf.abs(grad), [1, 2, 3], keepdims=True)
    n = 3.0
    x = grad / maximum * 0.5 + 0.5 + tf.random_uniform(tf.shape(grad), -0.5 / n, 0.5 / n)
    return (tf.round(tf.clip_by_value(x, 0.0, 1.0) * n) / n - 0.5) * maximum * 2


def obvious_swish(op, grad):   # larq's
    u = 5.0 * op.inputs[0]
    return grad * 5.0 * (2 - u * tf.tanh(u * 0.5)) / (1 + tf.cosh(u))


def obvious_magnitude(op, grad):
    x = op.inputs[0]
    return tf.reduce_mean(tf.abs(x), [0, 1, 2]) * tf.where(tf.abs(x) <= 1, grad, tf.zeros_like(grad))


def pool(op, x):
    return tf.nn.avg_pool2d(x, [1, 2, 2, 1], [1, 2, 2, 1], "VALID")


def through(function):
    return lambda op, grad: tf.gradients(function(op, op.inputs[0]), op.inputs[0], grad_ys=grad)[0]


def obvious_rescale(op, grad):   # SHAP's
    x, x0 = tf.split(op.inputs[0], 2)
    y, y0 = tf.split(op.outputs[0], 2)
    delta = tf.tile(x - x0, [2, 1, 1, 1])
    slope = tf.tile((y - y0) / (x - x0), [2, 1, 1, 1])
    return tf.where(tf.abs(delta) < 1e-6, gg.original_gradient(op, grad)[0], grad * slope)


def obvious_z_plus(op, grad):   # iNNvestigate's alpha-beta, alpha 1, beta 0
    x, w = op.inputs
    above, below = x * tf.cast(x > 0, x.dtype), x * tf.cast(x < 0, x.dtype)
    up, down = w * tf.cast(w > 0, x.dtype), w * tf.cast(w < 0, x.dtype)
    first, second = tf.matmul(above, up), tf.matmul(below, down)
    share = tf.div_no_nan(grad, first + second)
    return above * tf.gradients(first, above, grad_ys=share)[0] + below * tf.gradients(second, below, grad_ys=share)[0], None


def max_pool(x):
    return tf.nn.max_pool2d(x, [1, 2, 2, 1], [1, 2, 2, 1], "VALID")


def dense(x):
    return tf.matmul(tf.reshape(x, [-1, 1024]), tf.get_variable("w", [1024, 64]))


#: name: (rule, obvious spelling, forward)
RULES = {
    "guided": (rules.guided, lambda op, g: tf.where(g > 0, gg.original_gradient(op, g)[0], tf.zeros_like(g)), tf.nn.relu),
    "guided_after": (rules.guided_after, lambda op, g: tf.maximum(gg.original_gradient(op, g)[0], 0.0), tf.nn.relu),
    "guided_select": (rules.guided_select, lambda op, g: tf.where(g > 0, gg.original_gradient(op, g)[0], tf.zeros_like(g)), tf.nn.relu),
    "guided_input_mask": (rules.guided_input_mask, lambda op, g: tf.where(op.inputs[0] > 0, tf.nn.relu(g), tf.zeros_like(g)), tf.nn.relu),
    "guided_output_mask": (rules.guided_output_mask, lambda op, g: mask(op.outputs[0] > 0, mask(g > 0, g)), tf.nn.relu),
    "deconvnet": (rules.deconvnet, lambda op, g: mask(g > 0, g), tf.nn.relu),
    "redirected": (rules.redirected(), obvious_redirected, tf.nn.relu),
    "rectgrad": (rules.rectgrad(), obvious_rectgrad, tf.nn.relu),
    "rectgrad_constant": (rules.rectgrad_constant(), lambda op, g: tf.where(op.outputs[0] * g > 0.0, g, tf.zeros_like(g)), tf.nn.relu),
    "beta_smooth": (rules.beta_smooth(), lambda op, g: tf.sigmoid(10.0 * op.inputs[0]) * g, tf.nn.relu),
    "spike": (rules.spike(), lambda op, g: g * tf.maximum(1 - tf.abs(op.inputs[0]), 0) * 0.3, tf.sign),
    "straight_through": (rules.straight_through, lambda op, g: tf.identity(g), tf.sign),
    "straight_through_clipped_input": (rules.straight_through_clipped_input(),
                                       lambda op, g: tf.where(tf.abs(op.inputs[0]) <= 1.0, g, tf.zeros_like(g)), tf.sign),
    "straight_through_clipped_gradient": (rules.straight_through_clipped_gradient(), lambda op, g: tf.clip_by_value(g, -1, 1), tf.sign),
    "approx_sign": (rules.approx_sign, lambda op, g: tf.where(tf.abs(op.inputs[0]) <= 1.0, (1 - tf.abs(op.inputs[0])) * 2 * g,
                                                              tf.zeros_like(g)), tf.sign),
    "swish_sign": (rules.swish_sign(), obvious_swish, tf.sign),
    "tanh_surrogate": (rules.tanh_surrogate, lambda op, g: g * (1.001 - tf.tanh(op.inputs[0]) ** 2), tf.sign),
    "magnitude_aware": (rules.magnitude_aware(), obvious_magnitude, tf.sign),
    "xnor": (rules.xnor, lambda op, g: g * (1 / float(np.prod(SHAPE[:3])) + tf.reduce_mean(tf.abs(op.inputs[0]), [0, 1, 2]) * tf.cast(
        tf.abs(op.inputs[0]) <= 1, tf.float32)), tf.sign),
    "straight_through_interval": (rules.straight_through_interval(), lambda op, g: tf.where(tf.logical_and(
        op.inputs[0] >= 0, op.inputs[0] <= 1), g, tf.zeros_like(g)), tf.round),
    "dorefa_gradients": (rules.dorefa_gradients(2), obvious_dorefa, tf.identity),
    "reverse": (rules.reverse(0.3), lambda op, g: tf.negative(g) * 0.3, tf.identity),
    "scale": (rules.scale(0.3), lambda op, g: 0.3 * g, tf.identity),
    "clip_by_value": (rules.clip_by_value(-1, 1), lambda op, g: tf.clip_by_value(g, -1, 1), tf.identity),
    "clip_by_norm": (rules.clip_by_norm(1), lambda op, g: tf.clip_by_norm(g, 1.0), tf.identity),
    "lower_bound": (rules.lower_bound(), lambda op, g: [mask(tf.logical_or(op.inputs[0] >= op.inputs[1], g < 0), g), None],
                    lambda x: tf.maximum(x, 0.1)),
    "smoothed_max_pool": (rules.smoothed_max_pool, through(pool), max_pool),
    "smoothed_max_pool_l2": (rules.smoothed_max_pool_l2(), through(lambda op, x: pool(op, x ** 2) / (1e-2 + pool(op, tf.abs(x)))), max_pool),
    "prr": (rules.prr(), lambda op, g: op.inputs[0] * tf.gradients(pool(op, op.inputs[0]), op.inputs[0], grad_ys=g / (
        pool(op, op.inputs[0]) + 1e-10))[0], max_pool),
    "lrp_epsilon": (rules.lrp_epsilon(0.01), lambda op, r: [op.inputs[0] * gg.original_gradient(op, r / (op.outputs[0] + 0.01 * (
        2 * tf.cast(op.outputs[0] >= 0, tf.float32) - 1)))[0], None], dense),
    "lrp_z_plus": (rules.lrp_z_plus, obvious_z_plus, dense),
    "lrp_epsilon_gradient": (rules.lrp_epsilon_gradient(0.01), lambda op, g: g * op.outputs[0] / (op.inputs[0] + 0.01 * tf.where(
        op.inputs[0] >= 0, tf.ones_like(g), -tf.ones_like(g))), tf.nn.relu),
    "deeplift_rescale": (rules.deeplift_rescale(), obvious_rescale, tf.nn.relu),
}


@tf.custom_gradient
def larq_sign(x):
    return tf.sign(tf.sign(x) + 0.1), lambda g: tf.where(tf.abs(x) <= 1.0, g, tf.zeros_like(g))


def straight(forward):
    return tf.custom_gradient(lambda x: (forward(x), lambda g: g))


def tensorpack_bwn(x):
    scale = tf.stop_gradient(tf.reduce_mean(tf.abs(x)))
    return straight(tf.sign)(x / scale) * scale


def tensorpack_weights(x):
    x = tf.tanh(x)
    x = x / tf.reduce_max(tf.abs(x)) * 0.5 + 0.5
    return 2 * straight(lambda v: tf.round(v * 3.0) / 3.0)(x) - 1


@tf.custom_gradient
def xnor(w):
    scale = tf.reduce_mean(tf.abs(w), [0, 1, 2])
    return scale * tf.sign(tf.sign(w) + 0.1), lambda g: g * (
        1 / float(np.prod(SHAPE[:3])) + scale * tf.cast(tf.abs(w) <= 1, tf.float32))


@tf.custom_gradient
def tensorpack_gradients(x):
    return tf.identity(x), lambda g: obvious_dorefa(None, g)


#: name: (ours, theirs with tf.custom_gradient); forward and backward
OPS = {
    "ops.sign_ste / larq": (gg.ops.sign_ste, larq_sign),
    "ops.binarize bwn / tensorpack": (gg.ops.binarize, tensorpack_bwn),
    "ops.binarize xnor / custom_gradient": (lambda x: gg.ops.binarize(x, "xnor"), xnor),
    "ops.dorefa_weights / tensorpack": (lambda x: gg.ops.dorefa_weights(x, 2), tensorpack_weights),
    "ops.dorefa_activations / larq": (lambda x: gg.ops.dorefa_activations(x, 2),
                                      lambda x: straight(lambda v: tf.round(v * 3.0) / 3.0)(tf.clip_by_value(x, 0.0, 1.0))),
    "ops.dorefa_gradients / tensorpack": (lambda x: gg.ops.dorefa_gradients(x, 2), tensorpack_gradients),
}


def variables():
    random = np.random.RandomState(0)
    return [tf.Variable(random.randn(*SHAPE).astype(np.float32)) for _ in range(2)]


def backward(rule, forward, x, g):
    """The rule's gradient, to fetch."""
    with tf.variable_scope("net", reuse=tf.AUTO_REUSE):
        plain = forward(x)
        op_type = "MatMul" if forward is dense else plain.op.type
        with gg.override_gradients({op_type: rule}):
            y = forward(x)
    incoming = tf.reshape(g, [-1])[:int(np.prod(y.shape.as_list()))]
    return tf.gradients(y, x, grad_ys=tf.reshape(incoming, y.shape))[0].op


def both_ways(function, x, g):
    y = function(x)
    # Both as fetches: what only a tf.group needs, TensorFlow's optimizer leaves out.
    return [y.op, tf.gradients(y, x, grad_ys=g)[0].op]


def peak(build):
    """Megabytes that running an operation adds to the largest size of a process of its own."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        with tf.Graph().as_default(), tf.Session(config=tf.ConfigProto(inter_op_parallelism_threads=1)) as session:
            x, g = variables()
            run = session.make_callable(build(x, g))
            session.run(tf.global_variables_initializer())
            session.run([x.initializer, g.initializer])
            before = status("VmRSS")
            with open("/proc/self/clear_refs", "w") as stream:
                stream.write("5")   # the high-water mark begins anew
            for _ in range(3):
                run()
            os.write(write, str(max(status("VmHWM") - before, 0) / 1024.0).encode())
        os._exit(0)
    os.waitpid(child, 0)
    return float(os.read(read, 100))


def status(key):
    with open("/proc/self/status") as stream:
        return int(next(line for line in stream if line.startswith(key)).split()[1])


def main(names):
    tf.disable_eager_execution()
    cases = {name: (lambda x, g, row=row: backward(row[0], row[2], x, g), lambda x, g, row=row: backward(row[1], row[2], x, g))
             for name, row in RULES.items()}
    cases.update({name: (lambda x, g, row=row: both_ways(row[0], x, g), lambda x, g, row=row: both_ways(row[1], x, g))
                  for name, row in OPS.items()})
    cases = {name: case for name, case in cases.items() if not names or name in names or name.split(" ")[0] in names}
    # Memory first: a process with TensorFlow's threads cannot fork.
    memory = {name: [peak(build) for build in case] for name, case in cases.items()}
    for name, case in cases.items():
        with tf.Graph().as_default(), tf.Session() as session:
            x, g = variables()
            runs = [session.make_callable(build(x, g)) for build in case]
            session.run(tf.global_variables_initializer())
            times = medians({"ours": runs[0], "obvious": runs[1]}, rounds=15)
        wanted = "<= 1.10" if name == "straight_through" else "<= 1.00"
        figure("{}: peak {:.0f} MB, the obvious {:.0f} MB; {:.1f} ms; time".format(
            name, memory[name][0], memory[name][1], 1e3 * times["ours"]), times["ours"] / times["obvious"], wanted)


if __name__ == "__main__":
    main(sys.argv[1:])
