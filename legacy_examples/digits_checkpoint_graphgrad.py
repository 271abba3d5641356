"""digits_checkpoint.py beside graphgrad: an override that is the ordinary gradient changes no bit."""
import glob
import os

import numpy as np
import tensorflow.compat.v1 as tf

import graphgrad as gg

tf.disable_v2_behavior()

HERE = os.path.dirname(os.path.abspath(__file__))

saver = tf.train.import_meta_graph(os.path.join(HERE, "digits", "model.ckpt.meta"))
graph = tf.get_default_graph()
images = graph.get_tensor_by_name("images:0")
logits = graph.get_tensor_by_name("logits:0")
with gg.override_gradients({"Relu": gg.original_gradient}).on(graph):
    gradient = tf.gradients(tf.reduce_max(logits, 1), images)[0]
files = sorted(glob.glob(os.path.join(HERE, "digits", "digit_*.png")))
decoded = [tf.image.decode_png(tf.read_file(path), channels=1) for path in files]
with tf.Session() as sess:
    saver.restore(sess, os.path.join(HERE, "digits", "model.ckpt"))
    digits = np.stack(sess.run(decoded)).astype(np.float32) / 255.
    scores, maps = sess.run([logits, gradient], {images: digits})
    print("the network reads", scores.argmax(1))
