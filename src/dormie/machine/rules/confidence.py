"""The rule of scikit-learn's OneVsOneClassifier: votes of pairs of classes, and confidences that decide between ties.

It differs from LIBSVM's vote (`OneVsOneVote`) in its outputs, which are positive for the second class of a pair, in
ties, which the summed outputs always decide, and in an output of exactly 0, which votes as the estimator of the pair
answers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dormie.machine.rules.base import ClassRule, first_largest
from dormie.machine.rules.vote import OneVsOneVote
from dormie.machine.typing import Booleans, Floats, Positions


@dataclass(frozen=True, eq=False)
class OneVsOneConfidence(ClassRule):
    """
    The class with the most votes of pairs and, of several, the one with the largest summed confidence.

    There is one output for every pair a < b of classes, pairs in lexicographic order. A positive output votes for b, a
    negative one for a.

    Parameters
    ----------
    classes : array-like of k labels
        The labels, in the order in which the pairs count them.
    zero : int, default=0
        Which class of its pair an output of exactly 0 votes for: 0 for a, 1 for b.

    Raises
    ------
    ValueError
        If there are fewer than two classes, or zero is neither 0 nor 1.

    Examples
    --------
    >>> import numpy as np
    >>> from dormie.rules import OneVsOneConfidence
    >>> rule = OneVsOneConfidence(["a", "b", "c"])
    >>> outputs = np.array([[-1.0, 2.0, -3.0]])  # a beats b, c beats a, b beats c: one vote for each
    >>> rule.labels(rule.answer(outputs))
    array(['b'], dtype='<U1')
    """

    classes: npt.NDArray[Any]
    zero: int = 0

    if TYPE_CHECKING:  # a list becomes an array

        def __init__(self, classes: npt.ArrayLike, zero: int = 0) -> None: ...

    def __post_init__(self) -> None:
        self._freeze_classes(2)
        if self.zero not in (0, 1):
            raise ValueError(f"OneVsOneConfidence: zero must be 0 or 1, got {self.zero!r}")

    @cached_property
    def _pairs(self) -> OneVsOneVote:
        return OneVsOneVote(self.classes)

    def check_outputs(self, c: int) -> None:
        self._pairs.check_outputs(c)

    def answer(self, outputs: Floats) -> Positions:
        values = self._values(outputs)
        if len(self.classes) == 2:
            return np.asarray(values[:, 1] > 0, dtype=np.intp)
        return first_largest(values)

    def _values(self, outputs: Floats) -> Floats:
        """scikit-learn's value of each class."""
        second = outputs >= 0 if self.zero else outputs > 0
        return self._pairs.values_of_classes(-outputs, ~second, second)

    def decision(self, outputs: Floats) -> Floats:
        """
        Return the decision values of rows, as scikit-learn's `decision_function` gives them.

        Parameters
        ----------
        outputs : ndarray of shape (n_rows, k (k - 1) / 2)
            The outputs of rows.

        Returns
        -------
        ndarray of shape (n_rows, k) or (n_rows,)
            For each class its votes, plus a fraction that grows with the sum of its outputs; of two classes, the value
            of the second.
        """
        values = self._values(outputs)
        return values[:, 1] if len(self.classes) == 2 else values

    def decision_bounds(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        least, most = self._pairs.bounds_of_classes(-high, -low, self.zero)
        return (least[:, 1:], most[:, 1:]) if len(self.classes) == 2 else (least, most)

    def settled(self, low: Floats, high: Floats) -> Booleans:
        if len(self.classes) == 2:
            least, most = low[:, 0], high[:, 0]
            return np.asarray((least >= 0) | (most < 0) if self.zero else (least > 0) | (most <= 0))
        least, most = self._pairs.bounds_of_classes(-high, -low, self.zero)
        winner, rows = least.argmax(axis=1), np.arange(len(low))
        most[rows, winner] = -np.inf
        return np.asarray(least[rows, winner] > most.max(axis=1))

    def lead(self, outputs: Floats) -> Floats:
        if len(self.classes) == 2:
            return np.abs(outputs[:, 0])
        runner_up, largest = np.partition(self._values(outputs), -2, axis=1)[:, -2:].T
        return np.asarray(largest - runner_up)
