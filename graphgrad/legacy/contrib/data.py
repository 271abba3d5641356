"""tf.contrib.data: what moved to tf.data."""
from .._tf1 import tf

AUTOTUNE = tf.data.experimental.AUTOTUNE
Dataset = tf.data.Dataset
Iterator = tf.data.Iterator
TFRecordDataset = tf.data.TFRecordDataset
TextLineDataset = tf.data.TextLineDataset
FixedLengthRecordDataset = tf.data.FixedLengthRecordDataset


def batch_and_drop_remainder(batch_size):
    """Batches of this size only."""
    return lambda dataset: dataset.batch(batch_size, drop_remainder=True)


def padded_batch_and_drop_remainder(batch_size, padded_shapes, padding_values=None):
    """Padded batches of this size only."""
    return lambda dataset: dataset.padded_batch(batch_size, padded_shapes, padding_values, drop_remainder=True)


def sloppy_interleave(map_func, cycle_length, block_length=1):
    """Datasets read side by side, in no certain order."""
    return tf.data.experimental.parallel_interleave(map_func, cycle_length, block_length, sloppy=True)


def __getattr__(name):
    return getattr(tf.data.experimental, name)
