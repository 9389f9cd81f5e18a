"""How likely a calibrated stage is to disagree with the full machine, even where it agreed on all rows at hand.

A stage estimates the outputs, and on rows at hand its errors are known. Were a row to have the error of another one,
would the answer be another? The share of other rows for which it would is its chance of disagreement. A few thousand
rows show rates of one in a million so, as long as errors do not depend much on the row: good enough to choose by, not
to promise by.

Other stages only say which side a row is on. The more cautious they are the fewer they get wrong, and how fast those
few vanish tells how many are left where none was seen: as if each took a caution of its own, exponentially distributed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dormie.machine import Floats
from dormie.machine.rules import Rule
from dormie.methods.base import CautiousStage

_EXCHANGES = 64  # with other rows, of each row


def exchange_chances(rule: Rule, estimates: Floats, outputs: Floats, seed: int) -> Floats:
    """The chance of every row that the answer of its estimate is not the answer of its outputs."""
    errors, answers = estimates - outputs, rule.answer(estimates)
    random = np.random.default_rng(seed)
    disagreements = np.zeros(len(errors))
    for _ in range(_EXCHANGES):
        disagreements += rule.answer(estimates - errors[random.permutation(len(errors))]) != answers
    return disagreements / _EXCHANGES


def vanishing_chances(
    stage: CautiousStage, cautions: Sequence[float], rows: Any, right: npt.NDArray[Any]
) -> list[Floats]:
    """For every caution, ascending, the chance of every row that it is settled wrongly, the same for all settled."""
    found = [stage.cautious(caution).decide(rows) for caution in cautions]
    settled = np.array([each.settled for each in found], dtype=bool)
    wrong = np.array([np.sum(mine & (each.answers != right)) for mine, each in zip(settled, found, strict=True)])
    expected = _exponential(np.asarray(cautions), wrong.astype(np.float64))
    shares = expected / np.maximum(settled.sum(axis=1), 1)
    return [np.asarray(share * mine) for share, mine in zip(shares, settled, strict=True)]


def _exponential(cautions: Floats, wrong: Floats) -> Floats:
    """How many are wrong at each caution, by the mean caution that those wrong at the first take to vanish."""
    first = wrong[0] + 0.5  # none seen is not none
    mean = float((wrong[:-1] + wrong[1:]) @ np.diff(cautions) / 2 + 0.5 * cautions[0]) / first
    return np.asarray(first * np.exp(-(cautions - cautions[0]) / max(mean, np.finfo(np.float64).tiny)))
