"""The rule of regression: the outputs are the answer."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dormie.machine.rules.base import ValueRule
from dormie.machine.typing import Booleans, Floats


@dataclass(frozen=True)
class Value(ValueRule):
    """
    The rule of regression: the outputs are the answer.

    A row is settled once the interval of every output is at most twice the tolerance wide, so that its middle is within
    the tolerance of the true value.

    Parameters
    ----------
    tolerance : float, default=0.0
        The largest error allowed in a value.
    flat : bool, default=True
        Whether a single output is returned as a vector, not as a matrix with one column.

    Raises
    ------
    ValueError
        If the tolerance is negative or not finite.

    Examples
    --------
    >>> import numpy as np
    >>> from dormie.rules import Value
    >>> rule = Value(tolerance=0.1)
    >>> rule.settled(low=np.array([[1.0], [1.0]]), high=np.array([[1.1], [1.5]]))
    array([ True, False])
    """

    tolerance: float = 0.0
    flat: bool = True

    def __post_init__(self) -> None:
        if not 0 <= self.tolerance < math.inf:
            raise ValueError(f"Value: tolerance must be finite and not negative, got {self.tolerance}")

    def check_outputs(self, c: int) -> None:
        if self.flat and c != 1:
            raise ValueError(f"Value: flat answers need one output, the machine has {c}; pass flat=False")

    def values(self, outputs: Floats) -> Floats:
        return outputs

    def bounds(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        return low, high

    def settled(self, low: Floats, high: Floats) -> Booleans:
        return np.asarray((high - low <= 2 * self.tolerance).all(axis=1))

    def labels(self, answers: Floats) -> Floats:
        return answers[:, 0] if self.flat else answers

    def decision(self, outputs: Floats) -> Floats:
        return self.labels(outputs)
