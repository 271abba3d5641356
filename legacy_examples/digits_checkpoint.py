"""The digit classifier from its checkpoint and meta graph: restore, classify, differentiate, as TF1 code does."""
import glob
import os

import numpy as np
import tensorflow as tf

HERE = os.path.dirname(os.path.abspath(__file__))

saver = tf.train.import_meta_graph(os.path.join(HERE, "digits", "model.ckpt.meta"))
graph = tf.get_default_graph()
images = graph.get_tensor_by_name("images:0")
logits = graph.get_tensor_by_name("logits:0")
gradient = tf.gradients(tf.reduce_max(logits, 1), images)[0]
files = sorted(glob.glob(os.path.join(HERE, "digits", "digit_*.png")))
decoded = [tf.image.decode_png(tf.read_file(path), channels=1) for path in files]
with tf.Session() as sess:
    saver.restore(sess, os.path.join(HERE, "digits", "model.ckpt"))
    digits = np.stack(sess.run(decoded)).astype(np.float32) / 255.
    scores, maps = sess.run([logits, gradient], {images: digits})
    print("the network reads", scores.argmax(1))
