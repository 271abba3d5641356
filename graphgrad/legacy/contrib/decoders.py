"""tf.contrib.seq2seq's decoding loop: a cell fed by a helper (the training inputs, or its own last choice)."""
import collections

from tensorflow.python.framework import tensor_util
from tensorflow.python.util import nest

from .._tf1 import tf
from ..old_calls import transpose_batch_time

BasicDecoderOutput = collections.namedtuple("BasicDecoderOutput", ("rnn_output", "sample_id"))


class Helper:
    """What chooses a decoder's samples and inputs: batch_size, sample_ids_shape, sample_ids_dtype and three methods.

    ``initialize() -> (finished [batch], inputs)``, ``sample(time, outputs, state) -> sample_ids`` and
    ``next_inputs(time, outputs, state, sample_ids) -> (finished, inputs, state)``.
    """

    sample_ids_shape = tf.TensorShape([])
    sample_ids_dtype = tf.int32


class CustomHelper(Helper):
    """A helper made of three functions."""

    def __init__(self, initialize_fn, sample_fn, next_inputs_fn, sample_ids_shape=None, sample_ids_dtype=None):
        self._initialize_fn, self._sample_fn, self._next_inputs_fn = initialize_fn, sample_fn, next_inputs_fn
        self._batch_size = None
        self.sample_ids_shape = tf.TensorShape(sample_ids_shape or [])
        self.sample_ids_dtype = sample_ids_dtype or tf.int32

    @property
    def batch_size(self):
        """Known once ``initialize`` was called."""
        if self._batch_size is None:
            raise ValueError("batch_size accessed before initialize was called")
        return self._batch_size

    def initialize(self, name=None):
        """(finished, inputs) of the first step."""
        finished, inputs = self._initialize_fn()
        self._batch_size = tf.size(finished) if self._batch_size is None else self._batch_size
        return finished, inputs

    def sample(self, time, outputs, state, name=None):
        """sample_ids."""
        return self._sample_fn(time=time, outputs=outputs, state=state)

    def next_inputs(self, time, outputs, state, sample_ids, name=None):
        """(finished, inputs, state)."""
        return self._next_inputs_fn(time=time, outputs=outputs, state=state, sample_ids=sample_ids)


class TrainingHelper(Helper):
    """Feeds ``inputs`` [batch, time, ...] for ``sequence_length`` [batch] steps; samples are the outputs' argmax."""

    def __init__(self, inputs, sequence_length, time_major=False, name=None):
        with tf.name_scope(name, "TrainingHelper", nest.flatten(inputs) + [sequence_length]):
            self.inputs = nest.map_structure(tf.convert_to_tensor, inputs)
            steps = self.inputs if time_major else nest.map_structure(transpose_batch_time, self.inputs)
            self._steps = nest.map_structure(_unstacked, steps)
            self._zeros = nest.map_structure(lambda x: tf.zeros_like(x[0]), steps)
            self.sequence_length = tf.convert_to_tensor(sequence_length, name="sequence_length")
            if self.sequence_length.get_shape().ndims != 1:
                raise ValueError("Expected sequence_length to be a vector, but received shape: {}".format(
                    self.sequence_length.get_shape()))
            self.batch_size = tf.size(self.sequence_length)

    def _read(self, time, finished):
        return tf.cond(tf.reduce_all(finished), lambda: self._zeros,
                       lambda: nest.map_structure(lambda array: array.read(time), self._steps))

    def initialize(self, name=None):
        """(finished, inputs) of the first step."""
        finished = tf.equal(0, self.sequence_length)
        return finished, self._read(0, finished)

    def sample(self, time, outputs, name=None, **unused):
        """The most probable classes [batch]."""
        return tf.cast(tf.argmax(outputs, axis=-1), tf.int32)

    def next_inputs(self, time, outputs, state, name=None, **unused):
        """(finished, inputs, state)."""
        finished = time + 1 >= self.sequence_length
        return finished, self._read(time + 1, finished), state


class GreedyEmbeddingHelper(Helper):
    """Feeds the embedding of the most probable class, from ``start_tokens`` [batch] until ``end_token``."""

    def __init__(self, embedding, start_tokens, end_token):
        self._embed = embedding if callable(embedding) else lambda ids: tf.nn.embedding_lookup(embedding, ids)
        self._start_tokens = tf.convert_to_tensor(start_tokens, tf.int32, name="start_tokens")
        self._end_token = tf.convert_to_tensor(end_token, tf.int32, name="end_token")
        if self._start_tokens.get_shape().ndims != 1:
            raise ValueError("start_tokens must be a vector")
        if self._end_token.get_shape().ndims != 0:
            raise ValueError("end_token must be a scalar")
        self.batch_size = tf.size(self._start_tokens)
        self._start_inputs = self._embed(self._start_tokens)

    def initialize(self, name=None):
        """(finished, inputs) of the first step."""
        return tf.tile([False], [self.batch_size]), self._start_inputs

    def sample(self, time, outputs, state, name=None):
        """The most probable classes [batch]."""
        return tf.argmax(outputs, axis=-1, output_type=tf.int32)

    def next_inputs(self, time, outputs, state, sample_ids, name=None):
        """(finished, inputs, state)."""
        finished = tf.equal(sample_ids, self._end_token)
        inputs = tf.cond(tf.reduce_all(finished), lambda: self._start_inputs, lambda: self._embed(sample_ids))
        return finished, inputs, state


class SampleEmbeddingHelper(GreedyEmbeddingHelper):
    """Feeds the embedding of a class drawn with the outputs as logits."""

    def __init__(self, embedding, start_tokens, end_token, softmax_temperature=None, seed=None):
        super().__init__(embedding, start_tokens, end_token)
        self._temperature, self._seed = softmax_temperature, seed

    def sample(self, time, outputs, state, name=None):
        """A class for each of the batch."""
        logits = outputs if self._temperature is None else outputs / self._temperature
        return tf.cast(tf.multinomial(logits, 1, seed=self._seed, output_dtype=tf.int32)[:, 0], tf.int32)


class Decoder:
    """What ``dynamic_decode`` runs: batch_size, output_size, output_dtype, initialize and step."""

    tracks_own_finished = False

    def finalize(self, outputs, final_state, sequence_lengths):
        """(outputs, state) at the end."""
        return outputs, final_state


class BasicDecoder(Decoder):
    """A cell, a helper, and a layer between them where one is given."""

    def __init__(self, cell, helper, initial_state, output_layer=None):
        if not isinstance(helper, Helper):
            raise TypeError("helper must be a Helper, received: {}".format(type(helper)))
        self._cell, self._helper, self._initial_state, self._layer = cell, helper, initial_state, output_layer

    @property
    def batch_size(self):
        """The helper's."""
        return self._helper.batch_size

    @property
    def output_size(self):
        """BasicDecoderOutput of sizes."""
        size = self._cell.output_size
        if self._layer is not None:
            size = nest.map_structure(
                lambda s: self._layer.compute_output_shape(tf.TensorShape([None]).concatenate(s))[1:], size)
        return BasicDecoderOutput(size, self._helper.sample_ids_shape)

    @property
    def output_dtype(self):
        """BasicDecoderOutput of dtypes."""
        dtype = nest.flatten(self._initial_state)[0].dtype
        return BasicDecoderOutput(nest.map_structure(lambda _: dtype, self._cell.output_size),
                                  self._helper.sample_ids_dtype)

    def initialize(self, name=None):
        """(finished, inputs, state)."""
        return tuple(self._helper.initialize()) + (self._initial_state,)

    def step(self, time, inputs, state, name=None):
        """(BasicDecoderOutput, state, inputs, finished)."""
        with tf.name_scope(name, "BasicDecoderStep"):
            outputs, state = self._cell(inputs, state)
            if self._layer is not None:
                outputs = self._layer(outputs)
            sample_ids = self._helper.sample(time=time, outputs=outputs, state=state)
            finished, inputs, state = self._helper.next_inputs(
                time=time, outputs=outputs, state=state, sample_ids=sample_ids)
        return BasicDecoderOutput(outputs, sample_ids), state, inputs, finished


def dynamic_decode(decoder, output_time_major=False, impute_finished=False, maximum_iterations=None,
                   parallel_iterations=32, swap_memory=False, scope=None):
    """Step a decoder until every sequence is finished.

    Args:
        decoder: a Decoder.
        output_time_major: True for outputs [time, batch, ...], False for [batch, time, ...].
        impute_finished: True to give zeros, and keep the state, from a sequence's end on.
        maximum_iterations: at most so many steps.
        parallel_iterations: for tf.while_loop.
        swap_memory: for tf.while_loop.
        scope: the variable scope; by default ``decoder``.

    Returns:
        (outputs, state, sequence_lengths [batch]).
    """
    if not isinstance(decoder, Decoder):
        raise TypeError("Expected decoder to be type Decoder, but saw: {}".format(type(decoder)))
    with tf.variable_scope(scope, "decoder") as variables:
        if variables.caching_device is None:
            variables.set_caching_device(lambda op: op.device)
        finished, inputs, state = decoder.initialize()
        if maximum_iterations is not None:
            maximum_iterations = tf.convert_to_tensor(maximum_iterations, tf.int32, name="maximum_iterations")
            if maximum_iterations.get_shape().ndims != 0:
                raise ValueError("maximum_iterations must be a scalar")
            finished = tf.logical_or(finished, 0 >= maximum_iterations)
        batch = tensor_util.constant_value(tf.convert_to_tensor(decoder.batch_size))

        def array(size, dtype):
            known = isinstance(size, tf.TensorShape) and size.ndims
            return tf.TensorArray(dtype, 0, dynamic_size=True,
                                  element_shape=tf.TensorShape([batch]).concatenate(size) if known else None)

        def body(time, arrays, state, inputs, finished, lengths):
            outputs, new_state, inputs, now = decoder.step(time, inputs, state)
            lengths = tf.where(finished, lengths, tf.fill(tf.shape(lengths), time + 1))
            if impute_finished:
                outputs = nest.map_structure(lambda out: tf.where(finished, tf.zeros_like(out), out), outputs)
                new_state = nest.map_structure(lambda new, old: _kept(finished, new, old), new_state, state)
            arrays = nest.map_structure(lambda kept, out: kept.write(time, out), arrays, outputs)
            if not decoder.tracks_own_finished:
                now = tf.logical_or(now, finished)
            return time + 1, arrays, new_state, inputs, now, lengths

        arrays = nest.map_structure(array, decoder.output_size, decoder.output_dtype)
        _, arrays, state, _, _, lengths = tf.while_loop(
            lambda time, arrays, state, inputs, finished, lengths: tf.logical_not(tf.reduce_all(finished)), body,
            (tf.constant(0), arrays, state, inputs, finished, tf.zeros_like(finished, tf.int32)),
            parallel_iterations=parallel_iterations, maximum_iterations=maximum_iterations, swap_memory=swap_memory)
        outputs, state = decoder.finalize(nest.map_structure(lambda kept: kept.stack(), arrays), state, lengths)
        if not output_time_major:
            outputs = nest.map_structure(transpose_batch_time, outputs)
    return outputs, state, lengths


def tile_batch(t, multiplier, name=None):
    """Each example of [batch, ...], in every tensor of a structure, ``multiplier`` times in a row."""
    with tf.name_scope(name, "tile_batch", nest.flatten(t)):
        return nest.map_structure(lambda x: _tiled(tf.convert_to_tensor(x), multiplier), t)


def hardmax(logits, name=None):
    """One-hot vectors of the largest logits."""
    with tf.name_scope(name, "Hardmax", [logits]):
        logits = tf.convert_to_tensor(logits)
        return tf.one_hot(tf.argmax(logits, -1), tf.shape(logits)[-1], dtype=logits.dtype)


def _unstacked(x):
    return tf.TensorArray(x.dtype, tf.shape(x)[0], element_shape=x.get_shape()[1:]).unstack(x)


def _kept(finished, new, old):
    """The old state of a finished sequence; TensorArrays and scalars are not of one sequence."""
    if isinstance(old, tf.TensorArray):
        return new
    new.set_shape(old.get_shape())
    return new if new.get_shape().ndims == 0 else tf.where(finished, old, new)


def _tiled(x, multiplier):
    shape = x.get_shape()
    tiled = tf.reshape(tf.tile(x[:, None], [1, multiplier] + [1] * (shape.ndims - 1)),
                       tf.concat([[-1], tf.shape(x)[1:]], 0))
    batch = tf.dimension_value(shape[0])
    tiled.set_shape(tf.TensorShape([None if batch is None else batch * multiplier]).concatenate(shape[1:]))
    return tiled
