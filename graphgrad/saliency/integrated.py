"""Maps that integrate the gradient along straight lines to the example: integrated and expected gradients."""
from typing import Any, Optional

import numpy as np

from .._types import Tensor, TensorLike
from ..errors import SaliencyError
from ..overrides import Override
from .completeness import SumsUp
from .method import Method
from .sampled import check_count


def _midpoint(steps):
    return (np.arange(steps) + 0.5) / steps, np.full(steps, 1.0 / steps)


def _trapezoid(steps):
    weights = np.full(steps, 1.0 / max(steps - 1, 1))
    if steps > 1:
        weights[[0, -1]] /= 2
    return np.linspace(0, 1, steps), weights


def _gauss(steps):
    places, weights = np.polynomial.legendre.leggauss(steps)
    return (places + 1) / 2, weights / 2


def _ends(steps):
    return np.linspace(0, 1, steps), np.full(steps, 1.0 / steps)


def _left(steps):
    return np.arange(steps) / steps, np.full(steps, 1.0 / steps)


def _right(steps):
    return np.arange(1, steps + 1) / steps, np.full(steps, 1.0 / steps)


#: Places between 0 and 1, and their weights. "ends" is PAIR's, in which both ends count in full; "left" iNNvestigate's,
#: "right" DeepExplain's.
RULES = {"midpoint": _midpoint, "trapezoid": _trapezoid, "gauss": _gauss, "ends": _ends, "left": _left, "right": _right}


class IntegratedGradients(SumsUp, Method):
    """Integrated gradients: x less the baseline, times the mean gradient on the straight line between them.

    The map sums to score(x) - score(baseline) but for the error of the steps: ``gap`` has what is missing.

    Source: Sundararajan, Taly, Yan 2017, arXiv:1703.01365.

    Args:
        y, x, target, override: as of Method.
        baseline: a number, or an array of the shape of one example.
        steps: gradients per example.
        rule: where they are taken: "midpoint", "trapezoid", "gauss" (Gauss-Legendre), "ends" (both ends and
            evenly between, all with the same weight, as in PAIR's saliency), "left" (as in iNNvestigate) or "right"
            (as in DeepExplain).
    """

    def __init__(self, y: Tensor, x: Tensor, target: Any = None, baseline: TensorLike = 0.0, steps: int = 50,
                 rule: str = "midpoint", override: Optional[Override] = None) -> None:
        check_count("steps", steps)
        if rule not in RULES:
            raise SaliencyError("rule must be one of {}, but got {!r}.".format(", ".join(RULES), rule))
        self.places, self.weights = RULES[rule](steps)
        self.baseline = as_baseline(baseline, x)
        super().__init__(y, x, target, override)

    def build(self):
        return self.differentiate(self.x) + [self.scores]

    def job(self, image, number):
        baseline = np.broadcast_to(self.baseline, image.shape)
        return _PathJob(image, baseline, self.places, self.weights, self.note)


class _PathJob:
    """The points on one example's line; its two ends are run too, for the scores there."""

    def __init__(self, image, baseline, places, weights, note):
        self.image = image
        self._baseline = baseline
        inner = (places > 0) & (places < 1)
        self._places = np.concatenate([[0.0, 1.0], places[inner]])
        self._weights = np.concatenate([[weights[places == end].sum() for end in (0, 1)], weights[inner]])
        self._note = note
        self._number = 0
        self._scores = []
        self._sum = np.zeros(image.shape)

    def points(self):
        for place in self._places:
            yield (self._baseline + place * (self.image - self._baseline)).astype(self.image.dtype)

    def add(self, gradient, score):
        if self._number < 2:
            self._scores.append(float(score))
        if self._weights[self._number]:    # an infinite gradient at an end that does not count is none
            self._sum += self._weights[self._number] * gradient
        self._number += 1
        return self._number == len(self._places)

    def map(self):
        values = self._sum * (self.image - self._baseline)
        return self._note(values, self._scores[1] - self._scores[0])


class ExpectedGradients(Method):
    """Expected gradients: integrated gradients averaged over baselines drawn from data, one random place on each line.

    Source: Erion, Janizek, Sturmfels, Lundberg, Lee 2019, arXiv:1906.10670; what SHAP's GradientExplainer computes.

    Args:
        y, x, target, override: as of Method.
        background: array [number, ...] of examples to draw baselines from.
        samples: gradients per example. If it is a multiple of the number of background examples, each is drawn
            equally often.
        seed: of the draws. An example's draws depend on the seed and on its number in the call, on nothing else.
    """

    def __init__(self, y: Tensor, x: Tensor, background: TensorLike, target: Any = None, samples: int = 200,
                 seed: int = 0, override: Optional[Override] = None) -> None:
        check_count("samples", samples)
        self.background = np.asarray(background, x.dtype.as_numpy_dtype)
        if self.background.ndim < 1 or not len(self.background) or not x.shape[1:].is_compatible_with(
                self.background.shape[1:]):
            raise SaliencyError("background must be examples for {!r}, [number, ...] of {}, but got {}.".format(
                x.name, x.shape, list(self.background.shape)))
        self.samples = samples
        self.seed = seed
        super().__init__(y, x, target, override)

    def build(self):
        return self.differentiate(self.x)

    def job(self, image, number):
        return _DrawnJob(image, self.background, np.random.RandomState([self.seed, number]), self.samples)


class _DrawnJob:
    """Random places on lines from background examples to one example."""

    def __init__(self, image, background, random, samples):
        self.image = image
        self._background = background
        rounds = -(-samples // len(background))
        drawn = np.concatenate([random.permutation(len(background)) for _ in range(rounds)])[:samples]
        self._draws = list(zip(drawn, random.uniform(size=samples)))
        self._number = 0
        self._sum = np.zeros(image.shape)

    def points(self):
        for which, place in self._draws:
            start = self._background[which]
            yield (start + place * (self.image - start)).astype(self.image.dtype)

    def add(self, gradient):
        self._sum += gradient * (self.image - self._background[self._draws[self._number][0]])
        self._number += 1
        return self._number == len(self._draws)

    def map(self):
        return self._sum / len(self._draws)


def as_baseline(baseline, x):
    """A baseline as an array that broadcasts to an example; SaliencyError if it does not."""
    baseline = np.asarray(baseline, x.dtype.as_numpy_dtype)
    if baseline.ndim and not x.shape[1:].is_compatible_with(baseline.shape):
        raise SaliencyError("baseline must be a number or have the shape of one example, {}, but has {}.".format(
            x.shape[1:], list(baseline.shape)))
    return baseline
