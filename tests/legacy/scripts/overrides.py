"""Overrides in TF 1's spelling: what each gave on TF 1.15.5, and what graphgrad's promise adds. Prints JSON."""
import importlib.util
import json
import os
import sys

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import ops

out = {}
x = tf.constant([-1., 2.])
graph = tf.get_default_graph()


def gradient(build, key="Relu", name="Seven"):
    with graph.gradient_override_map({key: name}):
        y = build()
    return tf.Session().run(tf.gradients(y, x)[0]).tolist()


@tf.RegisterGradient("Seven")
def seven(op, grad):
    return 7. * grad


out["plain"] = gradient(lambda: tf.nn.relu(x))
out["in_cond"] = gradient(lambda: tf.cond(tf.constant(True), lambda: tf.nn.relu(x), lambda: x))
out["in_while"] = gradient(lambda: tf.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, tf.nn.relu(a) + a),
                                                 [0, x])[1])
out["in_map"] = gradient(lambda: tf.map_fn(tf.nn.relu, x))
for value in (8., 9.):   # a cell run again
    @tf.RegisterGradient("Again")
    def again(op, grad, value=value):
        return value * grad
    out["again_%d" % value] = gradient(lambda: tf.nn.relu(x), name="Again")
spec = importlib.util.spec_from_file_location("twice_a", os.path.join(os.path.dirname(__file__), "registers.py"))
for _ in range(2):   # a double import
    spec.loader.exec_module(importlib.util.module_from_spec(spec))
out["double_import"] = gradient(lambda: tf.nn.relu(x), name="FromModule")


def py_func(function, values, dtype, grad):   # the copied recipe
    name = "PyFuncGrad" + str(np.random.randint(0, 1E+8))
    tf.RegisterGradient(name)(grad)
    with graph.gradient_override_map({"PyFunc": name, "PyFuncStateless": name}):
        y = tf.py_func(function, values, dtype, stateful=True)
    y.set_shape(values[0].get_shape())
    return y


outputs = []
for factor in (2., 3.):
    np.random.seed(5)   # the same "random" name
    outputs.append(py_func(lambda v: v, [x], tf.float32, lambda op, grad, factor=factor: factor * grad))
out["random_names"] = tf.Session().run([tf.gradients(y, x)[0] for y in outputs])[0].tolist() + tf.Session().run(
    tf.gradients(outputs[1], x)[0]).tolist()
with graph.gradient_override_map({"Relu": "Later"}):
    later = tf.nn.relu(x)


@ops.RegisterGradient("Later")
def registered_after(op, grad):
    return 5. * grad


@tf.RegisterGradient("Nothing")
def nothing(op, grad):
    pass


out["returned_none"] = gradient(lambda: tf.nn.relu(x) + 2. * x, name="Nothing")
out["registered_later"] = tf.Session().run(tf.gradients(later, x)[0]).tolist()
try:
    tf.RegisterGradient("Square")(seven)
except KeyError:
    out["square"] = "KeyError"
try:
    tf.RegisterGradient("Seven")(registered_after)
except KeyError:
    out["taken"] = "KeyError"
if not tf.__version__.startswith("1."):
    tf.RegisterGradient("MaxPoolWithArgmax")(lambda op, grad, _: tf.ones_like(op.inputs[0]) * 11.)
    picture = tf.reshape(tf.constant([1., 2., 3., 4.]), [1, 2, 2, 1])
    pooled = tf.nn.max_pool_with_argmax(picture, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")[0]
    out["argmax_pool"] = tf.Session().run(tf.gradients(pooled, picture)[0]).ravel().tolist()
with graph.gradient_override_map({"Relu": "Seven"}):
    out["nested"] = gradient(lambda: tf.nn.relu(x), name="Again")
with graph.gradient_override_map({"Sign": "Identity", "Add": "Seven", "Relux": "Seven"}):
    out["sign"] = tf.Session().run(tf.gradients(tf.sign(x) + x, x)[0]).tolist()
forward = tf.nn.relu6(x)
with graph.gradient_override_map({"Relu6": "Seven"}):
    out["late"] = tf.Session().run(tf.gradients(forward, x)[0]).tolist()
cut = tf.gradients(tf.cast(tf.cast(x * 2., tf.int32), tf.float32), x)
stateless = None
with graph.gradient_override_map({"PyFunc": "Seven"}):
    stateless = tf.py_func(lambda v: v, [x], tf.float32, stateful=False)
with graph.gradient_override_map({"Elu": "NobodyRegistered"}):
    tf.nn.elu(x)
v = tf.Variable([1., 1.], name="v")
with graph.gradient_override_map({"Identity": "Seven"}):
    w = tf.Variable([1., 1.], name="w")
    tf.identity(x)
json.dump(out, open(sys.argv[1], "w"), indent=1, sort_keys=True)
