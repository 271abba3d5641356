"""Train a small classifier for 30 Adam steps: python train.py plain|layers 0.0|0.5 (the dropout rate).

    python ../../../graphgrad/golden/recorder.py train.py KIND RATE -o train_KIND_RATE.npz     (TensorFlow 1.15.5)
"""
import sys

import numpy as np
import tensorflow as tf
from tensorflow.python.layers import layers

kind, rate = sys.argv[1], float(sys.argv[2])
tf.set_random_seed(7)
rows = np.linspace(0.0, 1.0, 64)
images = np.stack([np.sin((k + 1) * rows) for k in range(12)], 1).astype(np.float32)
labels = (np.arange(64) // 16).astype(np.int64)

x = tf.placeholder(tf.float32, [None, 12], name="x")
y = tf.placeholder(tf.int64, [None], name="y")
if kind == "plain":
    w1 = tf.get_variable("w1", [12, 16], initializer=tf.truncated_normal_initializer(stddev=0.3))
    b1 = tf.get_variable("b1", [16], initializer=tf.zeros_initializer())
    hidden = tf.nn.relu(tf.matmul(x, w1) + b1)
    if rate:
        hidden = tf.nn.dropout(hidden, keep_prob=1.0 - rate)
    w2 = tf.get_variable("w2", [16, 4], initializer=tf.random_normal_initializer(stddev=0.3))
    logits = tf.matmul(hidden, w2)
else:
    hidden = layers.dense(x, 16, activation=tf.nn.relu)
    if rate:
        hidden = layers.dropout(hidden, rate, training=True)
    logits = layers.dense(hidden, 4)
loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits), name="loss")
train = tf.train.AdamOptimizer(0.01).minimize(loss)

with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for _ in range(30):
        session.run([loss, train], {x: images, y: labels})
    session.run(logits, {x: images})
