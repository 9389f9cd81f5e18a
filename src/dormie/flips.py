"""How likely a stage without a certificate is to be wrong, row by row, even where it was right on all rows at hand.

A stage estimates the outputs, and on rows at hand its errors are known. Were a row to have the error of another one,
would the answer be another? The share of other rows for which it would is the chance that it flips. A few thousand rows
show rates of one in a million so, as long as errors do not depend much on the row: good enough to choose by, not to
promise by.
"""

from __future__ import annotations

import numpy as np

from dormie.machine import Floats
from dormie.rules import Rule

_EXCHANGES = 64  # with other rows, of each row


def flip_chances(rule: Rule, estimates: Floats, outputs: Floats, seed: int) -> Floats:
    """The chance of every row that the answer of its estimate is not the answer of its outputs."""
    errors, answers = estimates - outputs, rule.answer(estimates)
    random = np.random.default_rng(seed)
    flips = np.zeros(len(errors))
    for _ in range(_EXCHANGES):
        flips += rule.answer(estimates - errors[random.permutation(len(errors))]) != answers
    return flips / _EXCHANGES
