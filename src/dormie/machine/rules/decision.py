"""The rule of a classifier's decision values: what `decision_function` returns, as numbers with a tolerance."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dormie.machine.rules.base import ClassRule, ValueRule
from dormie.machine.rules.confidence import OneVsOneConfidence
from dormie.machine.rules.value import Value
from dormie.machine.rules.vote import OneVsOneVote
from dormie.machine.typing import Floats


@dataclass(frozen=True)
class DecisionValue(ValueRule):
    """
    The rule of decision values that are not the outputs themselves, such as those of a vote for each class.

    Parameters
    ----------
    scores : ClassRule
        The rule of the classes, which says what the decision values are.
    tolerance : float, default=0.0
        The largest error allowed in a decision value.

    Raises
    ------
    ValueError
        If the tolerance is negative or not finite.

    Examples
    --------
    >>> import numpy as np
    >>> from dormie.rules import DecisionValue, OneVsOneVote
    >>> rule = DecisionValue(OneVsOneVote(["a", "b", "c"]), tolerance=0.1)
    >>> rule.values(np.array([[1.0, 1.0, 1.0]])).round(2)
    array([[ 2.22,  1.  , -0.22]])
    """

    scores: ClassRule
    tolerance: float = 0.0

    def __post_init__(self) -> None:
        if not isinstance(self.scores, ClassRule):
            raise TypeError(f"DecisionValue: scores must be the rule of a classifier, got {self.scores!r}")
        if not 0 <= self.tolerance < math.inf:
            raise ValueError(f"DecisionValue: tolerance must be finite and not negative, got {self.tolerance}")

    def check_outputs(self, c: int) -> None:
        self.scores.check_outputs(c)

    def n_values(self, c: int) -> int:
        return int(self.values(np.zeros((1, c))).shape[1])

    def values(self, outputs: Floats) -> Floats:
        found = self.scores.decision(outputs)
        return found[:, None] if found.ndim == 1 else found

    def bounds(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        return self.scores.decision_bounds(low, high)

    def labels(self, answers: Floats) -> Floats:
        return answers[:, 0] if answers.shape[1] == 1 else answers

    def decision(self, outputs: Floats) -> Floats:
        return self.labels(self.values(outputs))


def decision_values(rule: ClassRule, c: int, tolerance: float) -> ValueRule:
    """
    Make the rule of the decision values of a classifier.

    Parameters
    ----------
    rule : ClassRule
        The rule of its classes.
    c : int
        The number of its outputs.
    tolerance : float
        The largest error allowed in a decision value.

    Returns
    -------
    ValueRule
        `Value` where decision values are the outputs, which the native core knows; otherwise a `DecisionValue`.

    Examples
    --------
    >>> from dormie.rules import Sign, decision_values
    >>> decision_values(Sign(["no", "yes"]), 1, 0.1)
    Value(tolerance=0.1, flat=True)
    """
    if isinstance(rule, OneVsOneConfidence) or (isinstance(rule, OneVsOneVote) and rule.shape == "ovr"):
        return DecisionValue(rule, tolerance)
    return Value(tolerance, flat=c == 1)
