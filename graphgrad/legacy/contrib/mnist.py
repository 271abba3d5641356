"""tensorflow.examples.tutorials.mnist: reads the four files from a folder; nothing is downloaded."""
import collections
import gzip
import os
import sys

import numpy as np

from ...errors import UsageError

Datasets = collections.namedtuple("Datasets", ["train", "validation", "test"])
base = sys.modules[__name__]
_FILES = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")


class DataSet:
    """Images [n, 784] of float32 in [0, 1] (or [n, 28, 28, 1]) with labels, handed out in batches as TF 1 did.

    With ``fake_data`` every batch is images of ones that show a 0, as TF 1 had it.
    """

    def __init__(self, images, labels, fake_data=False, one_hot=False, dtype=np.float32, reshape=True, seed=None):
        dtype = np.dtype(getattr(dtype, "as_numpy_dtype", dtype))
        if dtype not in (np.uint8, np.float32):
            raise TypeError("Invalid image dtype {}, expected uint8 or float32".format(dtype))
        np.random.seed(_seed(seed))
        self._fake = [0, [1] + [0] * 9][one_hot] if fake_data else None
        if fake_data:
            images = labels = np.zeros(10000, np.uint8)
        elif reshape:
            images = images.reshape(images.shape[0], -1)
        if dtype == np.float32:
            images = np.multiply(images.astype(np.float32), 1.0 / 255.0)
        self.images, self.labels = images, labels
        self.num_examples = images.shape[0]
        self.epochs_completed = 0
        self._next = 0

    def next_batch(self, batch_size, fake_data=False, shuffle=True):
        """The next images and labels; shuffled anew with each pass over the data."""
        if self._fake is not None:
            return [[1] * 784] * batch_size, [self._fake] * batch_size
        start = self._next
        if self.epochs_completed == 0 and start == 0 and shuffle:
            self._shuffle()
        if start + batch_size <= self.num_examples:
            self._next += batch_size
            return self.images[start:self._next], self.labels[start:self._next]
        self.epochs_completed += 1
        rest = self.images[start:], self.labels[start:]
        if shuffle:
            self._shuffle()
        self._next = batch_size - (self.num_examples - start)
        return (np.concatenate((rest[0], self.images[:self._next])),
                np.concatenate((rest[1], self.labels[:self._next])))

    def _shuffle(self):
        order = np.arange(self.num_examples)
        np.random.shuffle(order)
        self.images, self.labels = self.images[order], self.labels[order]


def _seed(seed):
    from tensorflow.python.framework import random_seed
    first, second = random_seed.get_seed(seed)
    return first if seed is None else second


def read_data_sets(train_dir, fake_data=False, one_hot=False, dtype=np.float32, reshape=True, validation_size=5000,
                   seed=None, source_url=None):
    """Datasets(train, validation, test) from the four MNIST files, .gz or not, in a folder.

    Raises:
        UsageError: a file is not there, or is no MNIST file.
        ValueError: ``validation_size`` is more than there is.
    """
    if fake_data:
        return Datasets(*[DataSet([], [], True, one_hot, dtype, seed=seed) for _ in range(3)])
    images, labels, test_images, test_labels = [_read(train_dir, name) for name in _FILES]
    if one_hot:
        labels, test_labels = np.eye(10)[labels], np.eye(10)[test_labels]
    if not 0 <= validation_size <= len(images):
        raise ValueError("Validation size should be between 0 and {}. Received: {}.".format(
            len(images), validation_size))
    how = {"dtype": dtype, "reshape": reshape, "seed": seed}
    return Datasets(DataSet(images[validation_size:], labels[validation_size:], **how),
                    DataSet(images[:validation_size], labels[:validation_size], **how),
                    DataSet(test_images, test_labels, **how))


def _read(folder, name):
    for path, opener in ((os.path.join(folder, name), open), (os.path.join(folder, name + ".gz"), gzip.open)):
        if os.path.exists(path):
            with opener(path, "rb") as stream:
                data = stream.read()
            if data[:4] not in (b"\0\0\x08\x03", b"\0\0\x08\x01"):
                raise UsageError("{} is no MNIST file: it does not begin as an idx file of bytes does.".format(path))
            shape = [int.from_bytes(data[4 + 4 * i:8 + 4 * i], "big") for i in range(data[3])]
            array = np.frombuffer(data, np.uint8, offset=4 + 4 * len(shape)).reshape(shape)
            return array[..., None] if len(shape) == 3 else array
    raise UsageError("tensorflow.examples.tutorials.mnist is gone since TF 2.0, and graphgrad downloads nothing: put "
                     "{} (or {}.gz) into {}.".format(name, name, folder))


input_data = mnist = tutorials = sys.modules[__name__]
