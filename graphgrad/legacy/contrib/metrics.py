"""tf.contrib.metrics: tf.metrics with the predictions first, under the name ``streaming_...``."""
from .._tf1 import tf

confusion_matrix = tf.math.confusion_matrix


def accuracy(predictions, labels, weights=None, name=None):
    """The share of equal elements, of this batch alone."""
    with tf.name_scope(name, "accuracy", [predictions, labels]):
        correct = tf.cast(tf.equal(predictions, labels), tf.float32)
        if weights is None:
            return tf.reduce_mean(correct)
        return tf.reduce_sum(correct * weights) / tf.reduce_sum(weights * tf.ones_like(correct))


def __getattr__(name):
    if not name.startswith("streaming_"):
        raise AttributeError(name)
    metric = getattr(tf.metrics, name[len("streaming_"):])
    if name in ("streaming_mean", "streaming_mean_tensor"):
        return metric

    def streaming(*args, **kwargs):
        kwargs.update(zip(("predictions", "labels"), args))
        return metric(*args[2:], **kwargs) if len(args) <= 2 else metric(
            kwargs.pop("labels"), kwargs.pop("predictions"), *args[2:], **kwargs)

    streaming.__name__ = name
    return streaming
