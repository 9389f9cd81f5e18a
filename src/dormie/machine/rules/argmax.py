"""The rule of one-vs-rest classifiers: the largest output wins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dormie.machine.rules.base import ClassRule, first_largest
from dormie.machine.typing import Booleans, Floats, Positions


@dataclass(frozen=True, eq=False)
class Argmax(ClassRule):
    """
    The class with the largest output, as one-vs-rest classifiers answer.

    Parameters
    ----------
    classes : array-like of k labels
        The label of each output.
    last_of_equal : bool, default=False
        Whether the last of equal largest outputs wins, not the first.

    Raises
    ------
    ValueError
        If there are fewer than two classes.

    Examples
    --------
    >>> import numpy as np
    >>> from dormie.rules import Argmax
    >>> rule = Argmax(["a", "b", "c"])
    >>> rule.labels(rule.answer(np.array([[0.1, 0.7, -0.2]])))
    array(['b'], dtype='<U1')
    """

    classes: npt.NDArray[Any]
    last_of_equal: bool = False

    if TYPE_CHECKING:  # a list becomes an array

        def __init__(self, classes: npt.ArrayLike, last_of_equal: bool = False) -> None: ...

    def __post_init__(self) -> None:
        self._freeze_classes(2)

    def check_outputs(self, c: int) -> None:
        if c != len(self.classes):
            raise ValueError(f"Argmax of {len(self.classes)} classes reads as many outputs, the machine has {c}")

    def answer(self, outputs: Floats) -> Positions:
        if self.last_of_equal:
            return np.asarray(outputs.shape[1] - 1 - first_largest(outputs[:, ::-1]))
        return first_largest(outputs)

    def settled(self, low: Floats, high: Floats) -> Booleans:
        winner = self.answer(low)
        rows = np.arange(len(low))
        others = high.copy()
        others[rows, winner] = -np.inf
        return np.asarray(low[rows, winner] > others.max(axis=1))

    def lead(self, outputs: Floats) -> Floats:
        runner_up, largest = np.partition(outputs, -2, axis=1)[:, -2:].T
        return np.asarray(largest - runner_up)
