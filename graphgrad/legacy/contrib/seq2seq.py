"""tf.contrib.seq2seq and legacy_seq2seq: the losses and the plain decoders."""
from .._tf1 import tf
from .decoders import (  # noqa: F401 (handed on)
    BasicDecoder,
    BasicDecoderOutput,
    CustomHelper,
    Decoder,
    GreedyEmbeddingHelper,
    Helper,
    SampleEmbeddingHelper,
    TrainingHelper,
    dynamic_decode,
    hardmax,
    tile_batch,
)


def rnn_decoder(decoder_inputs, initial_state, cell, loop_function=None, scope=None):
    """(outputs, state) of a cell over a list of inputs [batch, n].

    With ``loop_function(previous output, index)`` each input but the first is made of the output before.
    """
    with tf.variable_scope(scope or "rnn_decoder"):
        state, outputs = initial_state, []
        for index, given in enumerate(decoder_inputs):
            if loop_function is not None and outputs:
                with tf.variable_scope("loop_function", reuse=True):
                    given = loop_function(outputs[-1], index)
            if index > 0:
                tf.get_variable_scope().reuse_variables()
            output, state = cell(given, state)
            outputs.append(output)
    return outputs, state


def basic_rnn_seq2seq(encoder_inputs, decoder_inputs, cell, dtype=tf.float32, scope=None):
    """(outputs, state): a decoder that starts in the encoder's last state."""
    import copy
    with tf.variable_scope(scope or "basic_rnn_seq2seq"):
        _, state = tf.nn.static_rnn(copy.deepcopy(cell), encoder_inputs, dtype=dtype)
        return rnn_decoder(decoder_inputs, state, cell)


def sequence_loss(logits, targets, weights, average_across_timesteps=True, average_across_batch=True,
                  softmax_loss_function=None, name=None):
    """Weighted cross entropy of logits [batch, time, classes] and targets [batch, time].

    Given lists, as in legacy_seq2seq, one tensor [batch, ...] for each step.
    """
    if isinstance(logits, (list, tuple)):
        return _sequence_loss_of_lists(logits, targets, weights, average_across_timesteps, average_across_batch,
                                       softmax_loss_function, name)
    with tf.name_scope(name, "sequence_loss", [logits, targets, weights]):
        classes = tf.shape(logits)[2]
        flat = tf.reshape(logits, [-1, classes])
        labels = tf.reshape(targets, [-1])
        if softmax_loss_function is None:
            crossent = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=flat)
        else:
            crossent = softmax_loss_function(labels=labels, logits=flat)
        crossent *= tf.reshape(weights, [-1])
        if average_across_timesteps and average_across_batch:
            return tf.reduce_sum(crossent) / (tf.reduce_sum(weights) + 1e-12)
        crossent = tf.reshape(crossent, tf.shape(logits)[0:2])
        axis = 1 if average_across_timesteps else 0
        if average_across_timesteps or average_across_batch:
            return tf.reduce_sum(crossent, axis) / (tf.reduce_sum(weights, axis) + 1e-12)
        return crossent


def sequence_loss_by_example(logits, targets, weights, average_across_timesteps=True, softmax_loss_function=None,
                             name=None):
    """For each example, the weighted cross entropy over the steps."""
    with tf.name_scope(name, "sequence_loss_by_example", list(logits) + list(targets) + list(weights)):
        losses = []
        for logit, target, weight in zip(logits, targets, weights):
            if softmax_loss_function is None:
                target = tf.reshape(target, [-1])
                crossent = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=target, logits=logit)
            else:
                crossent = softmax_loss_function(labels=target, logits=logit)
            losses.append(crossent * weight)
        total = tf.add_n(losses)
        return total / (tf.add_n(weights) + 1e-12) if average_across_timesteps else total


def _sequence_loss_of_lists(logits, targets, weights, average_across_timesteps, average_across_batch,
                            softmax_loss_function, name):
    with tf.name_scope(name, "sequence_loss"):
        cost = tf.reduce_sum(sequence_loss_by_example(logits, targets, weights, average_across_timesteps,
                                                      softmax_loss_function))
        return cost / tf.cast(tf.shape(targets[0])[0], cost.dtype) if average_across_batch else cost
