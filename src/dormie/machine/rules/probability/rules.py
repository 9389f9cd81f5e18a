"""The two rules of a model with probabilities: the probabilities themselves, and the most probable class."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dormie.machine.rules.base import ClassRule, ValueRule, first_largest
from dormie.machine.rules.probability.base import ProbabilityMap
from dormie.machine.typing import Booleans, Floats, Positions


def _require_outputs(rule: str, probabilities: ProbabilityMap, c: int) -> None:
    if c != probabilities.n_outputs:
        raise ValueError(f"{rule}: the map reads {probabilities.n_outputs} outputs, the machine has {c}")


@dataclass(frozen=True)
class Probability(ValueRule):
    """
    The rule of probabilities: the answer is the probability of every class.

    A row is settled once the intervals of its outputs leave every probability within the tolerance of the one returned.

    Parameters
    ----------
    map : ProbabilityMap
        What turns outputs into probabilities, such as those of `dormie.rules.probability`.
    tolerance : float, default=0.0
        The largest error allowed in a probability.

    Raises
    ------
    ValueError
        If the tolerance is negative or not finite.

    Examples
    --------
    >>> import numpy as np
    >>> from dormie.rules import Probability, Sign
    >>> from dormie.rules.probability import Calibrated, Platt
    >>> rule = Probability(Calibrated(Sign(["no", "yes"]), [Platt(-1.0, 0.0)]))
    >>> rule.values(np.array([[0.0]]))
    array([[0.5, 0.5]])
    """

    map: ProbabilityMap
    tolerance: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.tolerance < math.inf:
            raise ValueError(f"Probability: tolerance must be finite and not negative, got {self.tolerance}")

    @property
    def certifiable(self) -> bool:
        return self.map.certifiable

    def check_outputs(self, c: int) -> None:
        _require_outputs("Probability", self.map, c)

    def n_values(self, c: int) -> int:  # noqa: ARG002 - one for each class
        return self.map.n_classes

    def values(self, outputs: Floats) -> Floats:
        return self.map.values(outputs)

    def bounds(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        return self.map.bounds(low, high)

    def labels(self, answers: Floats) -> Floats:
        return answers


@dataclass(frozen=True, eq=False)
class MostProbable(ClassRule):
    """
    The most probable class, as calibrated classifiers answer; the first of equally probable ones.

    Parameters
    ----------
    classes : array-like of k labels
        The label of each probability.
    map : ProbabilityMap
        What turns outputs into probabilities.

    Raises
    ------
    ValueError
        If the map has another number of classes.

    Examples
    --------
    >>> import numpy as np
    >>> from dormie.rules import MostProbable, Sign
    >>> from dormie.rules.probability import Calibrated, Platt
    >>> rule = MostProbable(["no", "yes"], Calibrated(Sign(["no", "yes"]), [Platt(-1.0, 2.0)]))
    >>> rule.labels(rule.answer(np.array([[1.0], [3.0]])))
    array(['no', 'yes'], dtype='<U3')
    """

    classes: npt.NDArray[Any]
    map: ProbabilityMap

    def __post_init__(self) -> None:
        self._freeze_classes(2)
        if self.map.n_classes != len(self.classes):
            raise ValueError(f"MostProbable: {len(self.classes)} classes, and the map has {self.map.n_classes}")

    def check_outputs(self, c: int) -> None:
        _require_outputs("MostProbable", self.map, c)

    def answer(self, outputs: Floats) -> Positions:
        return first_largest(self.map.ranked(outputs))

    def settled(self, low: Floats, high: Floats) -> Booleans:
        least, most = self.map.ranks(low, high)
        winner, rows = least.argmax(axis=1), np.arange(len(low))
        others = most.copy()
        others[rows, winner] = -np.inf
        if self.map.first_of_equal:
            later = np.arange(others.shape[1]) > winner[:, None]
            own = least[rows, winner][:, None]
            return np.asarray(np.where(later, own >= others, own > others).all(axis=1))
        return np.asarray(least[rows, winner] > others.max(axis=1))

    def lead(self, outputs: Floats) -> Floats:
        runner_up, largest = np.partition(self.map.values(outputs), -2, axis=1)[:, -2:].T
        return np.asarray(largest - runner_up)
