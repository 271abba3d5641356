"""Train the digit classifier that the examples use, on TensorFlow 1.15.5 and real handwritten digits.

    pip install "tensorflow==1.15.5" "protobuf<3.21" "numpy<1.19" scikit-learn
    python train_digits.py

scikit-learn carries the data, 1,797 digits of 8 x 8 pixels (UCI, "Optical Recognition of Handwritten Digits").
Writes ../digits: a checkpoint with its meta graph, a frozen graph, and some test digits as PNG files.
"""
import os

import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits

HERE = os.path.dirname(os.path.abspath(__file__))
OUT = os.path.join(os.path.dirname(HERE), "digits")
random = np.random.RandomState(0)


def weight(name, shape):
    fan_in = np.prod(shape[:-1])
    return tf.Variable((random.randn(*shape) * np.sqrt(2. / fan_in)).astype(np.float32), name=name)


def network(images):
    h = tf.nn.relu(tf.nn.conv2d(images, weight("conv1", [3, 3, 1, 16]), 1, "SAME") + tf.Variable(np.zeros(16, "f")))
    h = tf.nn.relu(tf.nn.conv2d(h, weight("conv2", [3, 3, 16, 32]), 1, "SAME") + tf.Variable(np.zeros(32, "f")))
    h = tf.nn.max_pool(h, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    h = tf.reshape(h, [-1, 4 * 4 * 32])
    h = tf.nn.relu(tf.matmul(h, weight("dense1", [4 * 4 * 32, 64])) + tf.Variable(np.zeros(64, "f")))
    return tf.add(tf.matmul(h, weight("dense2", [64, 10])), tf.Variable(np.zeros(10, "f")), name="logits")


def main():
    digits = load_digits()
    images = (digits.images[..., None] / 16.).astype(np.float32)
    labels = digits.target.astype(np.int32)
    order = random.permutation(len(images))
    train, test = order[:1400], order[1400:]

    x = tf.placeholder(tf.float32, [None, 8, 8, 1], name="images")
    y = tf.placeholder(tf.int32, [None], name="labels")
    logits = network(x)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
    step = tf.train.AdamOptimizer(2e-3).minimize(loss)
    accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1, output_type=tf.int32), y), tf.float32))
    saver = tf.train.Saver(tf.trainable_variables())
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for epoch in range(30):
            shuffled = random.permutation(train)
            for start in range(0, len(shuffled), 50):
                batch = shuffled[start:start + 50]
                sess.run(step, {x: images[batch], y: labels[batch]})
        print("accuracy on %d test digits: %.4f" % (len(test), sess.run(accuracy, {x: images[test], y: labels[test]})))
        saver.save(sess, os.path.join(OUT, "model.ckpt"))
        os.remove(os.path.join(OUT, "checkpoint"))   # it only says in which folder of this machine the rest is
        frozen = tf.graph_util.convert_variables_to_constants(sess, sess.graph.as_graph_def(), ["logits"])
        with open(os.path.join(OUT, "frozen.pb"), "wb") as stream:
            stream.write(frozen.SerializeToString())
        for digit in range(0, 10):
            index = next(i for i in test if labels[i] == digit)
            pixels = np.round(images[index] * 255).astype(np.uint8)
            with open(os.path.join(OUT, "digit_%d.png" % digit), "wb") as stream:
                stream.write(sess.run(tf.image.encode_png(pixels)))


if __name__ == "__main__":
    main()
