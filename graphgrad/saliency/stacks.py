"""Many rows through a Session in stacks: as many at once as fit, in order, whatever they belong to."""
import numpy as np

from .._tf import tf
from ..errors import SaliencyError

_BUDGET = 2 ** 30         # bytes of activations
_MOST = 64                # beyond, a stack gains next to nothing
_WHERE_OPEN = 32


def batch_for(path):
    """How many examples to run at once, from what one takes on a Path."""
    size = path.bytes_per_example()
    return _WHERE_OPEN if size is None else max(1, min(_MOST, _BUDGET // max(size, 1)))


class Stacks:
    """Runs fetches for a stream of rows, ``max_batch`` at a time, halved each time memory runs out.

    A row is a dict from tensors to the value of one example. Only one stack of rows is held at a time; examples of
    another size, where the graph leaves it open, begin a new one.

    Args:
        session: a Session.
        x: the tensor that every row feeds: its static batch size, if it has one, is the size of each stack
            (the last one is filled up by repeating a row).
        feed_dict: what is fed in each run, the same for all rows.
        max_batch: the most rows at once.
    """

    def __init__(self, session, x, feed_dict=None, max_batch=32):
        if not isinstance(max_batch, (int, np.integer)) or max_batch < 1:
            raise SaliencyError("max_batch must be a number of examples, at least 1, but got {!r}.".format(max_batch))
        self.session = session
        self.x = x
        self.feed_dict = dict(feed_dict or {})
        self.fixed = tf.compat.dimension_value(x.shape[0]) if x.shape.ndims else None
        self.size = self.fixed or int(max_batch)

    def run(self, fetches, rows):
        """Yield, for each row, the list of what the fetches gave for it.

        Args:
            fetches: list of tensors with the batch as their first axis, or scalars (for stacks of one).
            rows: an iterable of dicts from tensors to values without the batch axis.
        """
        held = []
        for row in rows:
            full = len(held) >= self.size
            if held and (full or np.shape(row[self.x]) != np.shape(held[0][self.x])):
                for result in self._flush(fetches, held):
                    yield result
                held = []
            held.append(row)
        for result in self._flush(fetches, held):
            yield result

    def _flush(self, fetches, rows):
        start = 0
        while start < len(rows):
            part = rows[start:start + self.size]
            try:
                values = self._run(fetches, part)
            except tf.errors.ResourceExhaustedError:
                if self.fixed or len(part) == 1:
                    raise
                self.size = max(1, min(self.size, len(part)) // 2)
                continue
            start += len(part)
            for number in range(len(part)):
                yield [value[number] if np.ndim(value) else value for value in values]

    def _run(self, fetches, rows):
        missing = (self.fixed or len(rows)) - len(rows)
        feed = dict(self.feed_dict)
        for tensor in rows[0]:
            values = np.stack([row[tensor] for row in rows] + [rows[-1][tensor]] * missing)
            feed[tensor] = self.feed(tensor, values)
        try:
            values = self.session.run(fetches, feed)
        except tf.errors.InvalidArgumentError as error:
            if "Connecting to invalid output" in str(error):
                raise SaliencyError(
                    "This Session ran a loop of the graph before its gradient was built, and TensorFlow {} cannot "
                    "add to it afterwards: build the method before the Session runs, or open a new Session.".format(
                        tf.__version__)) from None
            raise
        values = [self.unfold(value) if np.ndim(value) else value for value in values]
        for tensor, value in zip(fetches, values):
            if np.ndim(value) and len(value) != len(rows) + missing:
                raise SaliencyError(
                    "{!r} gave {} values for {} examples: it must have one per example on its first axis.".format(
                        tensor.name, len(value), len(rows) + missing))
        return values

    def feed(self, tensor, values):
        """What a tensor is fed for a stack of values."""
        return values

    def unfold(self, value):
        """The results of each row, from what a fetch gave."""
        return value
