"""What a map is for: the score of each example, taken from y by class, by neuron, as it is, or as a sum."""
from .._tf import tf, v1
from ..errors import SaliencyError


class Target:
    """The score that is differentiated.

    Attributes:
        scores: float tensor [batch], one score per example, or [] where y itself is a scalar.
        index: None, or an int32 tensor [batch] to be fed the class of each example; not fed, it is the top class.
        alone: whether y is a scalar, so that examples cannot be stacked: it may be a mean over them.
    """

    def __init__(self, y, target=None):
        """Build the scores.

        Args:
            y: a float tensor: [batch, classes], any layer [batch, ...], one score per example [batch], or a scalar [].
            target: a class, an int; a neuron, a tuple of ints with one per axis behind the batch; "top", the
                class with the largest y, of the image itself also where a method samples around it;
                None, y as it is: a scalar, a score per example, or the sum over a layer.

        Raises:
            SaliencyError: the target is out of range, or y has no such axes, or y is not floating.
        """
        self.index = None
        if not y.dtype.is_floating:
            raise SaliencyError("y must be a floating tensor, but {!r} is {}; take the logits before it.".format(
                y.name, y.dtype.base_dtype.name))
        rank = y.shape.ndims
        if rank is None:
            raise SaliencyError("The rank of {!r} is not known: set its shape, or give a tensor of one score per "
                                "example.".format(y.name))
        self.alone = rank == 0
        if target is None:
            self.scores = y if rank < 2 else tf.reduce_sum(y, axis=list(range(1, rank)))
        elif isinstance(target, str):
            if target != "top":
                raise SaliencyError("target must be a class, a neuron, 'top' or None, but got {!r}.".format(target))
            self._choose(y, rank)
        else:
            self._pick(y, rank, target)

    def _choose(self, y, rank):
        if rank != 2:
            raise SaliencyError("target='top' needs y of shape [batch, classes], but {!r} has {}.".format(
                y.name, y.shape))
        top = tf.argmax(y, axis=1, output_type=tf.int32)
        self.index = v1.placeholder_with_default(top, [None], name="classes")
        self.scores = tf.gather_nd(y, tf.stack([tf.range(tf.shape(y)[0]), self.index], axis=1))

    def _pick(self, y, rank, target):
        place = target if isinstance(target, tuple) else (target,)
        try:
            place = tuple(int(i) if int(i) == i else None for i in place)
        except (TypeError, ValueError):
            place = (None,)
        if None in place:
            raise SaliencyError("target must be a class, a neuron, 'top' or None, but got {!r}.".format(target))
        if len(place) != rank - 1:
            raise SaliencyError("target {!r} has {} of the axes behind the batch, but {!r} has {} of them: {}.".format(
                target, len(place), y.name, max(rank - 1, 0), y.shape))
        for axis, i in enumerate(place, 1):
            size = tf.compat.dimension_value(y.shape[axis])
            if i < 0 or (size is not None and i >= size):
                raise SaliencyError("target {} is out of range: {!r} has {}, counted from 0.".format(
                    target, y.name, "{} {}".format(size, "classes" if rank == 2 else "entries on axis " + str(axis))))
        self.scores = y[(slice(None),) + place]
