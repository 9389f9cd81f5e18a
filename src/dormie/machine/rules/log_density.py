"""The rule of a density estimate: the logarithm of the output, and a constant added to it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dormie.machine.rules.base import ValueRule
from dormie.machine.typing import Floats

_ROUNDING = 4 * 2.0**-52  # of a logarithm and of a sum with a constant, relative to both


@dataclass(frozen=True)
class LogDensity(ValueRule):
    """
    The rule of a density estimate: the logarithm of the output, and a constant added to it.

    A tolerance is that of the logarithm, so it is a relative one of the density: 0.01 is about one per cent. An output
    that is not positive has the logarithm minus infinity. Full sums with an RBF kernel have no such output: where all
    their terms are below the range of float64, they are added up as logarithms.

    Parameters
    ----------
    shift : float, default=0.0
        The constant: the logarithm of what normalises the density.
    tolerance : float, default=0.0
        The largest error allowed in a logarithm.

    Raises
    ------
    ValueError
        If the shift is not finite, or the tolerance negative or not finite.

    Examples
    --------
    >>> import numpy as np
    >>> from dormie.rules import LogDensity
    >>> LogDensity(2.0).values(np.array([[1.0], [0.0]]))
    array([[  2.],
           [-inf]])
    """

    shift: float = 0.0
    tolerance: float = 0.0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.shift) and 0 <= self.tolerance < math.inf):
            raise ValueError(
                f"LogDensity: shift and tolerance must be finite, the tolerance not negative; got {self!r}"
            )

    def check_outputs(self, c: int) -> None:
        if c != 1:
            raise ValueError(f"LogDensity reads one output, the machine has {c}")

    def values(self, outputs: Floats) -> Floats:
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.maximum(outputs, 0.0)) + self.shift)

    def bounds(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        least, most = self.values(low), self.values(high)
        return least - self._rounding(least), most + self._rounding(most)

    def _rounding(self, values: Floats) -> Floats:
        """More than rounding changes in values; 0 where there is no logarithm."""
        return np.where(np.isfinite(values), _ROUNDING * (np.abs(values) + 2 * abs(self.shift)), 0.0)

    def labels(self, answers: Floats) -> Floats:
        return answers[:, 0]
