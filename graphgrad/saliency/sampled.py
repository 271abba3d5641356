"""Maps that are a mean over noisy copies of the example: SmoothGrad and its relatives."""
from typing import Any, Optional

import numpy as np

from .._types import Tensor
from ..errors import SaliencyError
from ..overrides import Override
from .method import Method


class SmoothGrad(Method):
    """The mean of the gradients at copies of the example with Gaussian noise.

    Source: Smilkov, Thorat, Kim, Viegas, Wattenberg 2017, arXiv:1706.03825.

    Args:
        y, x, target, override: as of Method. With an override it is, for example, smoothed guided backprop.
        samples: number of copies.
        spread: standard deviation of the noise, as a fraction of the range (largest less smallest value) of
            the example.
        seed: of the noise. An example's noise depends on the seed and on its number in the call, on nothing else.
    """

    def __init__(self, y: Tensor, x: Tensor, target: Any = None, samples: int = 25, spread: float = 0.15, seed: int = 0,
                 override: Optional[Override] = None) -> None:
        check_count("samples", samples)
        if not spread >= 0:
            raise SaliencyError("spread must be a number not below 0, but got {!r}.".format(spread))
        self.samples = samples
        self.spread = spread
        self.seed = seed
        super().__init__(y, x, target, override)

    def build(self):
        return self.differentiate(self.x)

    def job(self, image, number):
        deviation = self.spread * float(np.ptp(image)) if image.size else 0.0
        return _NoisyJob(image, deviation, np.random.RandomState([self.seed, number]), self.samples, self.fold)

    @staticmethod
    def fold(mean, mean_square):
        """The map, from the mean of the gradients and of their squares."""
        return mean


class SmoothGradSquared(SmoothGrad):
    """The mean of the squares of the gradients at noisy copies: what PAIR's ``magnitude=True`` gives.

    Source: Hooker, Erhan, Kindermans, Kim 2018, arXiv:1806.10758. Arguments as of SmoothGrad.
    """

    @staticmethod
    def fold(mean, mean_square):
        return mean_square


class VarGrad(SmoothGrad):
    """The variance of the gradients at noisy copies (divided by their number, not one less).

    Source: Adebayo, Gilmer, Goodfellow, Kim 2018, arXiv:1810.03307. Arguments as of SmoothGrad.
    """

    @staticmethod
    def fold(mean, mean_square):
        return np.maximum(mean_square - np.square(mean), 0)


class _NoisyJob:
    """The samples around one example, summed up as they come."""

    def __init__(self, image, deviation, random, number, fold):
        self.image = image
        self._deviation = deviation
        self._random = random
        self._number = number
        self._fold = fold
        self._left = number
        self._sum = np.zeros(image.shape)       # float64: the variance is a small difference
        self._squares = np.zeros(image.shape)

    def points(self):
        for _ in range(self._number):
            sample = self._random.normal(0.0, self._deviation, self.image.shape)
            sample += self.image
            yield sample.astype(self.image.dtype)

    def add(self, gradient):
        self._sum += gradient
        self._squares += np.square(gradient, dtype=np.float64)
        self._left -= 1
        return self._left == 0

    def map(self):
        return self._fold(self._sum / self._number, self._squares / self._number)


def check_count(name, value):
    """Raise SaliencyError unless a number of samples or steps is a positive int."""
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < 1:
        raise SaliencyError("{} must be a whole number, at least 1, but got {!r}.".format(name, value))
