import tensorflow as tf


@tf.RegisterGradient("FromModule")
def from_module(op, grad):
    return 4. * grad
