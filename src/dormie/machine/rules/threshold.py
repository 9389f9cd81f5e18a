"""The rule of two classes that a value is compared for with a threshold: a probability, or a decision value."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dormie.machine.rules.base import ClassRule, ValueRule
from dormie.machine.typing import Booleans, Floats, Positions


@dataclass(frozen=True, eq=False)
class Threshold(ClassRule):
    """
    The rule of two classes that compares a value with a threshold.

    Values are worked out as the model itself does, and compared as floating-point numbers.

    Parameters
    ----------
    classes : array-like of 2 labels
        The labels.
    of : ValueRule
        What gives the values, such as a `Probability`, or `Value` for decision values.
    threshold : float
        The threshold.
    column : int, default=0
        Which of the values of a row is compared.
    above : int, default=1
        The position in `classes` that answers a value above the threshold.
    equal : int, default=1
        The position in `classes` that answers the threshold itself.

    Raises
    ------
    TypeError
        If `of` is no rule of values.
    ValueError
        If there are not two classes, if the threshold is not finite, or if intervals never settle the values.

    Examples
    --------
    >>> import numpy as np
    >>> from dormie.rules import Threshold, Value
    >>> rule = Threshold(["no", "yes"], Value(), 0.3)
    >>> rule.answer(np.array([[0.2], [0.3], [0.4]]))
    array([0, 1, 1])
    """

    classes: npt.NDArray[Any]
    of: ValueRule
    threshold: float
    column: int = 0
    above: int = 1
    equal: int = 1

    def __post_init__(self) -> None:
        self._freeze_classes(2)
        if not isinstance(self.of, ValueRule):
            raise TypeError(f"Threshold: of must be a rule of values, got {self.of!r}")
        if len(self.classes) != 2 or self.above not in (0, 1) or self.equal not in (0, 1) or self.column < 0:
            raise ValueError(f"Threshold: two classes, above and equal in (0, 1), column at least 0; got {self!r}")
        if not math.isfinite(self.threshold):
            raise ValueError(f"Threshold: threshold must be finite, got {self.threshold}")
        if not self.of.certifiable:
            raise ValueError("Threshold: intervals never settle LIBSVM's coupled probabilities or shares of votes")

    def check_outputs(self, c: int) -> None:
        self.of.check_outputs(c)
        if self.column >= self.of.n_values(c):
            raise ValueError(f"Threshold: column {self.column} of {self.of.n_values(c)} values")

    def answer(self, outputs: Floats) -> Positions:
        values = self.of.values(outputs)[:, self.column]
        above = values >= self.threshold if self.equal == self.above else values > self.threshold
        return np.where(above, self.above, 1 - self.above).astype(np.intp)

    def settled(self, low: Floats, high: Floats) -> Booleans:
        least, most = (ends[:, self.column] for ends in self.of.bounds(low, high))
        if self.equal == self.above:
            return np.asarray((least >= self.threshold) | (most < self.threshold))
        return np.asarray((least > self.threshold) | (most <= self.threshold))

    def lead(self, outputs: Floats) -> Floats:
        return np.abs(self.of.values(outputs)[:, self.column] - self.threshold)
