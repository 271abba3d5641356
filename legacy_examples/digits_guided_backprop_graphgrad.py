"""digits_guided_backprop.py with graphgrad: the graph is imported once, and overridden for one tf.gradients."""
import glob
import os

import tensorflow.compat.v1 as tf

import graphgrad as gg

tf.disable_v2_behavior()

HERE = os.path.dirname(os.path.abspath(__file__))

graph_def = tf.GraphDef()
with open(os.path.join(HERE, "digits", "frozen.pb"), "rb") as stream:
    graph_def.ParseFromString(stream.read())
digits = []
for path in sorted(glob.glob(os.path.join(HERE, "digits", "digit_*.png"))):
    with open(path, "rb") as stream:
        digits.append(tf.cast(tf.image.decode_png(stream.read(), channels=1), tf.float32) / 255.)
images = tf.reshape(tf.stack(digits), [len(digits), 8, 8, 1], name="pixels")
logits = tf.import_graph_def(graph_def, {"images": images}, ["logits:0"], name="net")[0]
chosen = tf.reduce_sum(tf.reduce_max(logits, 1))
ordinary = tf.gradients(chosen, images)[0]
guided = gg.guided_backprop()
with guided.on(logits.graph):
    guided_map = tf.gradients(chosen, images)[0]
print(guided.report)
with tf.Session() as sess:
    sess.run(logits)
    sess.run([images, ordinary, guided_map])
    sess.run(tf.no_op())
