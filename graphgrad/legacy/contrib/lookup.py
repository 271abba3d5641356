"""tf.contrib.lookup: tables, which moved to tf.lookup."""
from tensorflow.python.ops import lookup_ops as _tables

from .._tf1 import tf

HashTable = tf.lookup.StaticHashTable
KeyValueTensorInitializer = tf.lookup.KeyValueTensorInitializer
MutableHashTable = tf.lookup.experimental.MutableHashTable


def __getattr__(name):
    return getattr(_tables, name)
