"""Hard attention (seed 001, "Real problem"): a Bernoulli mask, sampled, times a feature map.

Shows that an override of an op cannot carry it: the mask is a comparison, a boolean, and TensorFlow cuts the path
there before it asks for any gradient, so that the override is never called. What works is the blog's py_func: its
backward is "just multiplication between intermediate layer (another feature map) and coming gradient".
"""
import numpy as np
import tensorflow as tf

FEATURES = np.arange(1., 7., dtype=np.float32).reshape(2, 3)
PROBABILITIES = np.array([[0.1, 0.5, 0.9], [0.3, 0.7, 0.99]], np.float32)
NOISE = np.random.RandomState(0).uniform(size=(2, 3)).astype(np.float32)   # u < p is a Bernoulli sample


@tf.RegisterGradient("StraightThroughLess")
def _straight_through_less(op, grad):
    print("this line is never printed: the override is not called")
    return None, tf.cast(grad, tf.float32)


def py_func(func, inp, Tout, graph, stateful=True, name=None, grad=None):
    rnd_name = 'PyFuncGrad' + str(np.random.randint(0, 1E+8))
    tf.RegisterGradient(rnd_name)(grad)
    with graph.gradient_override_map({"PyFunc": rnd_name}):
        return tf.py_func(func, inp, Tout, stateful=stateful, name=name)


def sample_and_mask(p, features, u):
    return ((u < p).astype(np.float32) * features).astype(np.float32)


def mask_backprop(op, grad):
    p, features, u = op.inputs
    mask = tf.cast(u < p, tf.float32)
    return features * grad, mask * grad, tf.zeros_like(u)


graph = tf.get_default_graph()
p = tf.constant(PROBABILITIES, name="p")
features = tf.constant(FEATURES, name="features")
u = tf.constant(NOISE, name="u")
with graph.gradient_override_map({"Less": "StraightThroughLess"}):
    mask = tf.cast(u < p, tf.float32)
cut = tf.gradients(mask * features, p)[0]
print("by an op override the gradient is", cut)
assert cut is None

attended = py_func(sample_and_mask, [p, features, u], [np.float32], graph, name="attended", grad=mask_backprop)[0]
d_p, d_features = tf.gradients(tf.reduce_sum(tf.square(attended)), [p, features])
with tf.Session() as sess:
    print("attended", sess.run(attended))
    print("d/dp", sess.run(d_p))
    print("d/dfeatures", sess.run(d_features))
