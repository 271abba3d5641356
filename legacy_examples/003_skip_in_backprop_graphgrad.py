"""The same with graphgrad: skip_gradient for what keeps the number of entries, bpda where somebody has to decide."""
import importlib
import os
import sys

import tensorflow.compat.v1 as tf

import graphgrad as gg

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
question = importlib.import_module("003_skip_in_backprop")


def each_of_a_pair(x, grad):
    return tf.reshape(tf.stack([grad, grad], axis=2), [-1, 6])


SKIPPED = {"cube": gg.ops.skip_gradient(question.cube), "halves": gg.ops.skip_gradient(question.halves),
           "pairs": gg.ops.bpda(question.pairs, backward=each_of_a_pair)}

with tf.Graph().as_default():
    fetches = {name: [question.gradient(a, name + "_ordinary"), question.gradient(SKIPPED[name], name + "_skipped")]
               for name, (a, _) in sorted(question.LAMBDAS.items())}
    try:
        question.network(gg.ops.skip_gradient(question.pairs))
    except ValueError as error:
        print(error)
    x = tf.constant([[0.2, 0.4, 0.6]])
    for name, gradient in [("NoGradientOfMine", None), ("ReturnsNone", lambda op, grad: [None]),
                           ("ReturnsZeros", lambda op, grad: tf.zeros_like(grad))]:
        with gg.override_gradients({"Square": gradient}):
            y = tf.square(x)
        alone, beside = tf.gradients(y, x)[0], tf.gradients(y + x, x)[0]
        fetches[name] = [tf.identity(beside, name=name)] + ([] if alone is None else [
            tf.identity(alone, name=name + "_alone")])
    hue = tf.image.adjust_hue(x[tf.newaxis], 0.1)[0]
    print(gg.diagnose(hue, x))   # which operation has no gradient
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for name, values in sorted(fetches.items()):
            print(name, *session.run(values))
