"""Skipping a layer in backpropagation in Keras: a Lambda that is executed forward and left out backward.

The answer says that TensorFlow's operations carry their gradients, that one would write one's own in C++
(custom_op/ does), or, by its update, in Python with tf.py_func, which is the recipe used here. It takes "no gradient"
to be zeros, and it is neither: what tf.gradients gives for a gradient that is not there is run at the end.
"""
import numpy as np
import tensorflow as tf

layers = tf.keras.layers

SAMPLES = np.random.RandomState(0).randn(2, 4).astype(np.float32)


# The update: an op with a gradient, purely in Python.

def py_func(func, inp, Tout, stateful=True, name=None, grad=None):
    rnd_name = 'PyFuncGrad' + str(np.random.randint(0, 1E+8))
    tf.RegisterGradient(rnd_name)(grad)
    g = tf.get_default_graph()
    with g.gradient_override_map({"PyFunc": rnd_name}):
        return tf.py_func(func, inp, Tout, stateful=stateful, name=name)


def skipped(np_func, x, shape, grad=lambda op, grad: tf.reshape(grad, tf.shape(op.inputs[0]))):
    y = py_func(lambda x: np_func(x).astype(np.float32), [x], [tf.float32], grad=grad)[0]
    y.set_shape(shape)
    return y


# What is executed in the forward pass. The first keeps the shape, the second has another, the third other entries.

def cube(x):
    return x * x * x


def halves(x):
    return tf.reshape(tf.square(x), [-1, 2, 3])


def pairs(x):
    return tf.reduce_max(tf.reshape(x, [-1, 3, 2]), axis=2)


LAMBDAS = {
    "cube": (cube, lambda x: skipped(lambda x: x * x * x, x, [None, 6])),
    "halves": (halves, lambda x: skipped(lambda x: np.square(x).reshape([-1, 2, 3]), x, [None, 2, 3])),
    # No identity leads from 6 entries to 3: its author has to say what is passed. Here each of a pair gets it.
    "pairs": (pairs, lambda x: skipped(lambda x: x.reshape([-1, 3, 2]).max(axis=2), x, [None, 3],
                                       lambda op, grad: tf.reshape(tf.stack([grad, grad], axis=2), [-1, 6]))),
}


def network(a):
    """Dense - Lambda(a) - Dense, on the same weights each time; its inputs and its loss."""
    random = np.random.RandomState(1)

    def weights(shape, dtype=None, **more):
        return tf.constant(random.randn(*[int(size) for size in shape]).astype(np.float32))

    x = tf.constant(SAMPLES)
    y = layers.Dense(6, kernel_initializer=weights)(x)
    y = layers.Lambda(lambda x: a(x))(y)
    y = layers.Dense(1, kernel_initializer=weights)(layers.Flatten()(y))
    return x, tf.reduce_sum(y)


def gradient(a, name):
    x, loss = network(a)
    return tf.identity(tf.gradients(loss, x)[0], name=name)


# "You can't have no gradient, if anything it would be 1 or 0."

def without_gradient():
    """{what: (y, x)} where y has two paths to x: one whose gradient is not there, and x itself."""
    tf.NotDifferentiable("NoGradientOfMine")

    @tf.RegisterGradient("ReturnsNone")
    def returns_none(op, grad):
        return [None]

    @tf.RegisterGradient("ReturnsZeros")
    def returns_zeros(op, grad):
        return tf.zeros_like(grad)

    g = tf.get_default_graph()
    x = tf.constant([[0.2, 0.4, 0.6]])
    found = {}
    for name in ("NoGradientOfMine", "ReturnsNone", "ReturnsZeros"):
        with g.gradient_override_map({"Square": name}):
            found[name] = tf.square(x)
    found["never registered"] = tf.image.adjust_hue(x[tf.newaxis], 0.1)[0]
    return x, found


if __name__ == "__main__":
    with tf.Graph().as_default():
        fetches = {}
        for name, (a, without_a) in sorted(LAMBDAS.items()):
            fetches[name] = gradient(a, name + "_ordinary"), gradient(without_a, name + "_skipped")
        x, found = without_gradient()
        for what, y in sorted(found.items()):
            try:
                alone, beside = tf.gradients(y, x)[0], tf.gradients(y + x, x)[0]
                print("%s: tf.gradients(y, x) is %s" % (what, "None" if alone is None else "a tensor"))
                fetches[what] = [tf.identity(beside, name=what)] + ([] if alone is None else [
                    tf.identity(alone, name=what + "_alone")])
            except LookupError as error:
                print("%s: %s" % (what, str(error).split("\n")[0]))
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for name, values in sorted(fetches.items()):
                print(name, *session.run(list(values)))
