"""tf.contrib.losses: tf.losses with the predictions first."""
from .._tf1 import tf

add_loss = tf.losses.add_loss
get_losses = tf.losses.get_losses
get_regularization_losses = tf.losses.get_regularization_losses
get_total_loss = tf.losses.get_total_loss
compute_weighted_loss = tf.losses.compute_weighted_loss


def _turned(function, first="predictions", second="labels"):
    def loss(*args, **kwargs):
        kwargs.update(zip((first, second, "weights"), args))
        if "weight" in kwargs:
            kwargs["weights"] = kwargs.pop("weight")
        if first == "logits" and "onehot_labels" not in kwargs and "labels" in kwargs and second == "onehot_labels":
            kwargs["onehot_labels"] = kwargs.pop("labels")
        return function(**kwargs)

    loss.__name__ = function.__name__
    return loss


absolute_difference = _turned(tf.losses.absolute_difference)
log_loss = _turned(tf.losses.log_loss)
mean_squared_error = _turned(tf.losses.mean_squared_error)
mean_pairwise_squared_error = _turned(tf.losses.mean_pairwise_squared_error)
cosine_distance = _turned(tf.losses.cosine_distance)
hinge_loss = _turned(tf.losses.hinge_loss, "logits")
softmax_cross_entropy = _turned(tf.losses.softmax_cross_entropy, "logits", "onehot_labels")
sigmoid_cross_entropy = _turned(tf.losses.sigmoid_cross_entropy, "logits", "multi_class_labels")
sparse_softmax_cross_entropy = _turned(tf.losses.sparse_softmax_cross_entropy, "logits")
