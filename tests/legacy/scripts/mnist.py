"""MNIST's files from a folder: python mnist.py FOLDER OUTPUT.npz."""
import sys

import numpy as np
import tensorflow as tf
from tensorflow.examples.tutorials.mnist import input_data

out = {}
for name, how in (("plain", {}), ("one_hot", {"one_hot": True}), ("pictures", {"reshape": False}),
                  ("bytes", {"dtype": tf.uint8}), ("seeded", {"seed": 7})):
    data = input_data.read_data_sets(sys.argv[1], validation_size=4, **how)
    for part, size in (("train", 5), ("validation", 3), ("test", 2)):
        found = getattr(data, part)
        out["/".join((name, part, "shape"))] = np.array(found.images.shape)
        out["/".join((name, part, "mean"))] = np.array(found.images.mean(dtype=np.float64))
        out["/".join((name, part, "labels"))] = found.labels
        out["/".join((name, part, "examples"))] = np.array(found.num_examples)
        if name != "seeded":
            np.random.seed(3)
        for number in range(4):
            images, labels = found.next_batch(size)
            out["/".join((name, part, str(number)))] = images.reshape(size, -1)[:, 400:404]
            out["/".join((name, part, str(number), "labels"))] = labels
        out["/".join((name, part, "epochs"))] = np.array(found.epochs_completed)
    images, labels = data.train.next_batch(3, shuffle=False)
    out[name + "/unshuffled"] = labels
data = input_data.read_data_sets("nowhere", fake_data=True, one_hot=True)
images, labels = data.train.next_batch(2, fake_data=True)
out["fake"], out["fake/labels"] = np.array(images), np.array(labels)
for size in (-1, 13):
    try:
        input_data.read_data_sets(sys.argv[1], validation_size=size)
    except ValueError as error:
        out["error %d" % size] = np.array([str(error)], dtype="S")
np.savez(sys.argv[2], **out)
