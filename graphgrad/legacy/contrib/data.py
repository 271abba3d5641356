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


def __getattr__(name):
    return getattr(tf.data.experimental, name)
