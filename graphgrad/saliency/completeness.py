"""Methods whose maps sum to something that is known: by how much they do not."""
from typing import Any, Iterator

import numpy as np

from .._types import Array


class SumsUp:
    """Mixed into a Method: ``gap`` has, for each map of the last call, its sum less what that should be.

    A large gap says that the map left something out: too few steps, a bias, a nonlinearity without a rule.
    """

    _gaps = ()

    @property
    def gap(self) -> Array:
        """The gaps of the last call, float64 [batch]."""
        return np.array(self._gaps)

    def stream(self, *arguments: Any, **more: Any) -> Iterator[Array]:
        """As ``Method.stream``; ``gap`` grows with the maps that were taken."""
        self._gaps = []
        return super().stream(*arguments, **more)

    def note(self, values, wanted):
        """Note the gap of the next map; returns the map."""
        self._gaps.append(values.sum(dtype=np.float64) - float(wanted))
        return values
