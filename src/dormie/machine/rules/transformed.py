"""The rule of transformed targets: a regressor was fitted to a function of its targets, and values are mapped back.

Every function here is monotone, or falls and then rises around 0, so the ends of an interval of outputs give the ends
of the values, widened by the rounding on the way.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from dormie.machine.margin import UNIT
from dormie.machine.rules.base import ValueRule
from dormie.machine.typing import Floats

# By the names that NumPy has for them; it knows all of them within 4 units.
_NAMES = (
    *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "cbrt", "square"),
    *("sinh", "arcsinh", "tanh", "arctanh", "negative", "positive"),
)
FUNCTIONS: Mapping[str, Callable[[Floats], Any]] = MappingProxyType({name: getattr(np, name) for name in _NAMES})
_FALLS = {"negative"}
_LOST = 16 * UNIT  # relative, here and in `values`
_TINY = 1e-300


@dataclass(frozen=True)
class Transformed(ValueRule):
    """
    The rule of a regressor of transformed targets: the outputs are mapped back by a function.

    Parameters
    ----------
    function : str
        The name of the function in NumPy: exp, exp2, expm1, log, log2, log10, log1p, sqrt, cbrt, square, sinh, arcsinh,
        tanh, arctanh, negative or positive.
    tolerance : float, default=0.0
        The largest error allowed in a value.
    flat : bool, default=True
        Whether a single value is returned as a vector, not as a matrix with one column.

    Raises
    ------
    ValueError
        If the function is unknown, or the tolerance negative or not finite.

    Examples
    --------
    >>> import numpy as np
    >>> from dormie.rules import Transformed
    >>> rule = Transformed("exp", tolerance=0.1)
    >>> rule.values(np.array([[0.0]]))
    array([[1.]])
    >>> rule.settled(low=np.array([[0.0], [5.0]]), high=np.array([[0.01], [5.01]]))
    array([ True, False])
    """

    function: str
    tolerance: float = 0.0
    flat: bool = True

    def __post_init__(self) -> None:
        if self.function not in FUNCTIONS:
            raise ValueError(f"Transformed: no function {self.function!r}; there are {', '.join(FUNCTIONS)}")
        if not 0 <= self.tolerance < math.inf:
            raise ValueError(f"Transformed: tolerance must be finite and not negative, got {self.tolerance}")

    def check_outputs(self, c: int) -> None:
        if self.flat and c != 1:
            raise ValueError(f"Transformed: flat answers need one output, the machine has {c}; pass flat=False")

    def values(self, outputs: Floats) -> Floats:
        with np.errstate(all="ignore"):  # as NumPy: infinity beyond the range, NaN where there is no value
            return np.asarray(FUNCTIONS[self.function](outputs))

    def bounds(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        if self.function == "square":
            low, high = _ends_of_size(low, high)
        elif self.function in _FALLS:
            low, high = high, low
        least, most = self.values(low), self.values(high)
        with np.errstate(invalid="ignore"):
            return least - _LOST * np.abs(least) - _TINY, most + _LOST * np.abs(most) + _TINY

    def labels(self, answers: Floats) -> Floats:
        return answers[:, 0] if self.flat else answers

    def decision(self, outputs: Floats) -> Floats:
        return self.labels(self.values(outputs))


def _ends_of_size(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """The least and the largest size of a number between two ends."""
    least, most = np.abs(low), np.abs(high)
    return np.where((low <= 0) & (high >= 0), 0.0, np.minimum(least, most)), np.maximum(least, most)
