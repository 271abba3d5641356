"""Occlusion: how much the score falls when a window of the example is covered. No gradient is needed."""
import itertools
from typing import Any, Sequence, Union

import numpy as np

from .._types import Tensor, TensorLike
from ..errors import SaliencyError
from .integrated import as_baseline
from .method import Method


class Occlusion(Method):
    """The mean fall of the score over all windows that cover a place.

    Positive where covering lowers the score. Windows start at every ``stride``, and the last one ends at the edge,
    so that every place is covered.

    Source: Zeiler, Fergus 2013, arXiv:1311.2901. PAIR's saliency has stride 1 and sums over the windows
    where this takes the mean, so that edges, which fewer windows cover, compare with the middle.

    Args:
        y, x, target: as of Method.
        window: size of the window, an int for all axes but the last (the only one, for tables), which is covered
            whole; or a tuple with one size per axis of an example. None: an eighth of each.
        stride: step of the window, an int or tuple like it. None: half the window.
        value: what covers: a number, or an array of the shape of one example.
    """

    def __init__(self, y: Tensor, x: Tensor, target: Any = None, window: Union[int, Sequence[int], None] = None,
                 stride: Union[int, Sequence[int], None] = None, value: TensorLike = 0.0) -> None:
        self.window = window
        self.stride = stride
        self.value = as_baseline(value, x)
        super().__init__(y, x, target)

    def goes_through(self):
        return None

    def build(self):
        return [self.scores]

    def job(self, image, number):
        window = self._sizes(self.window, image.shape, "window", [max(1, size // 8) for size in image.shape])
        stride = self._sizes(self.stride, image.shape, "stride", [max(1, size // 2) for size in window])
        starts = []
        for size, step, length in zip(window, stride, image.shape):
            places = list(range(0, length - size + 1, step))
            starts.append(places if places[-1] == length - size else places + [length - size])
        return _CoveredJob(image, np.broadcast_to(self.value, image.shape), window, list(itertools.product(*starts)))

    @staticmethod
    def _sizes(sizes, shape, name, default):
        whole = len(shape) > 1    # the last axis, channels or features, is taken whole
        if sizes is None:
            sizes = tuple(default[:-1]) + (shape[-1],) if whole else tuple(default)
        elif np.ndim(sizes) == 0:
            sizes = (sizes,) * (len(shape) - 1) + (shape[-1],) if whole else (sizes,)
        if len(sizes) != len(shape) or any(int(size) != size or size < 1 for size in sizes):
            raise SaliencyError("{} must be a positive whole number, or one per axis of an example {}, but got "
                                "{!r}.".format(name, list(shape), sizes))
        if name == "window" and any(size > length for size, length in zip(sizes, shape)):
            raise SaliencyError("The window {} is larger than an example, {}.".format(list(sizes), list(shape)))
        return tuple(int(size) for size in sizes)


class _CoveredJob:
    """One example, uncovered first, then under each window."""

    def __init__(self, image, value, window, starts):
        self.image = image
        self._value = value
        self._windows = [tuple(slice(start, start + size) for start, size in zip(place, window)) for place in starts]
        self._number = -1
        self._score = None
        self._sum = np.zeros(image.shape)
        self._covers = np.zeros(image.shape)

    def points(self):
        yield self.image
        for window in self._windows:
            covered = np.array(self.image)
            covered[window] = self._value[window]
            yield covered

    def add(self, score):
        if self._number < 0:
            self._score = float(score)
        else:
            window = self._windows[self._number]
            self._sum[window] += self._score - float(score)
            self._covers[window] += 1
        self._number += 1
        return self._number == len(self._windows)

    def map(self):
        return self._sum / self._covers
