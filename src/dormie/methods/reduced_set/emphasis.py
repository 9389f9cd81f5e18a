"""Which rows matter most to a reduced set: those whose answer a small error of the outputs would change.

A row's margin is how far all outputs may move, by any mix of signs, before the rule's answer may change. Rows count by
1 / (1 + (margin / s)^2) with s a quarter of the usual margin: far from the border a row still counts for something,
because rows to come may lie between it and the border.
"""

from __future__ import annotations

import numpy as np

from dormie.machine import Floats
from dormie.machine.rules import Rule, Value

_HALVINGS = 12
_NEAR = 0.25  # of the median margin
_NOTHING = 1e-9  # of the largest margin: rows far from all points have no more, and say nothing of what is usual


def margins(rule: Rule, outputs: Floats) -> Floats:
    """The margin of every row, by bisection: no more than the true one, and within 1/4096 of the largest output."""
    low, high = np.zeros(len(outputs)), np.abs(outputs).max(axis=1, initial=0.0)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        settled = rule.settled(outputs - middle[:, None], outputs + middle[:, None])
        low, high = np.where(settled, middle, low), np.where(settled, high, middle)
    return low


def importance(rule: Rule, outputs: Floats) -> Floats:
    """What every row counts for, 1 on average; all the same where values, not labels, are the answer."""
    if isinstance(rule, Value):
        return np.ones(len(outputs))
    margin = margins(rule, outputs)
    usual = margin[margin > _NOTHING * margin.max(initial=0.0)]
    if not len(usual):
        return np.ones(len(outputs))
    near = _NEAR * float(np.median(usual))
    counts = 1 / (1 + (margin / near) ** 2)
    return np.asarray(counts / counts.mean())
