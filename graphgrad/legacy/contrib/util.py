"""tf.contrib.util."""
from tensorflow.python.framework.tensor_util import constant_value  # noqa: F401 (handed on)

from .._tf1 import tf

make_tensor_proto = tf.make_tensor_proto
make_ndarray = tf.make_ndarray
