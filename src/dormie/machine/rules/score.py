"""The rule of a one-class machine's scores: outputs, and an offset added to them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dormie.machine.rules.base import ValueRule
from dormie.machine.typing import Floats


@dataclass(frozen=True)
class Score(ValueRule):
    """
    The rule of a one-class machine's scores: outputs, and an offset added to them.

    Parameters
    ----------
    offset : float
        What scikit-learn calls `offset_`.
    tolerance : float, default=0.0
        The largest error allowed in a score.

    Raises
    ------
    ValueError
        If the offset is not finite, or the tolerance negative or not finite.

    Examples
    --------
    >>> import numpy as np
    >>> from dormie.rules import Score
    >>> Score(2.0).values(np.array([[-0.5]]))
    array([[1.5]])
    """

    offset: float
    tolerance: float = 0.0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.offset) and 0 <= self.tolerance < math.inf):
            raise ValueError(f"Score: offset and tolerance must be finite, the tolerance not negative; got {self!r}")

    def check_outputs(self, c: int) -> None:
        if c != 1:
            raise ValueError(f"Score reads one output, the machine has {c}")

    def values(self, outputs: Floats) -> Floats:
        return outputs + self.offset

    def bounds(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        return np.nextafter(low + self.offset, -np.inf), np.nextafter(high + self.offset, np.inf)

    def labels(self, answers: Floats) -> Floats:
        return answers[:, 0]
