"""The importance of rows for fitting a reduced set: rows near the decision boundary count most.

The slack of a row is the largest change of all outputs, with any signs, that cannot change the rule's answer. A row
has importance 1 / (1 + (slack / s)^2), where s is a quarter of the median slack. Rows far from the decision boundary
keep some importance, because later rows may lie between them and the decision boundary.
"""

from __future__ import annotations

import numpy as np

from dormie.machine import Floats
from dormie.machine.rules import Rule, ValueRule

_HALVINGS = 12
_NEAR = 0.25  # relative to the median slack
_NOTHING = 1e-9  # relative to the largest slack: rows far from all points are left out of the median


def slacks(rule: Rule, outputs: Floats) -> Floats:
    """A lower bound on the slack of every row, by bisection, within 1/4096 of its largest output."""
    low, high = np.zeros(len(outputs)), np.abs(outputs).max(axis=1, initial=0.0)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        settled = rule.settled(outputs - middle[:, None], outputs + middle[:, None])
        low, high = np.where(settled, middle, low), np.where(settled, high, middle)
    return low


def importance(rule: Rule, outputs: Floats) -> Floats:
    """The importance of every row, with mean 1; equal for all rows of a regressor."""
    if isinstance(rule, ValueRule):
        return np.ones(len(outputs))
    slack = slacks(rule, outputs)
    usual = slack[slack > _NOTHING * slack.max(initial=0.0)]
    if not len(usual):
        return np.ones(len(outputs))
    near = _NEAR * float(np.median(usual))
    counts = 1 / (1 + (slack / near) ** 2)
    return np.asarray(counts / counts.mean())
