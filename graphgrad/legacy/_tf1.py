"""TensorFlow's 1.x interface, for what stands in for old parts of it."""
import tensorflow

tf = tensorflow.compat.v1


def smart_cond(predicate, yes, no):
    """``yes()`` or ``no()`` if the predicate is known now, else tf.cond."""
    if isinstance(predicate, (bool, int)):
        return yes() if predicate else no()
    from tensorflow.python.framework import tensor_util
    value = tensor_util.constant_value(predicate)
    if value is not None:
        return yes() if value else no()
    return tf.cond(predicate, yes, no)
