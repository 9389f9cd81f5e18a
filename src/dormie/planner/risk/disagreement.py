"""Estimates how likely a calibrated stage is to disagree with the full machine, even if it agrees on the whole sample.

Most stages estimate the outputs, and on the sample their errors can be computed. Give a row the error of another row:
would its answer change? The share of other rows for which it would is the row's probability of disagreement. A few
thousand rows thus reveal rates of one in a million, provided that errors hardly depend on the row. That is good enough
to choose a stage, but not to certify it.

Other stages give only an answer, without an estimate. The more cautious they are, the fewer answers are wrong. How fast
that number falls tells how many wrong answers to expect where the sample shows none. The model is that every wrong
answer disappears at a caution of its own, and that these cautions are exponentially distributed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dormie.machine import Floats
from dormie.machine.rules import Rule
from dormie.methods.base import CalibratedStage

_EXCHANGES = 64  # how many errors of other rows are tried for each row


def exchange_probabilities(rule: Rule, estimates: Floats, outputs: Floats, seed: int) -> Floats:
    """For every row, the probability that the answer of its estimate differs from the answer of its outputs."""
    errors, answers = estimates - outputs, rule.answer(estimates)
    random = np.random.default_rng(seed)
    disagreements = np.zeros(len(errors))
    for _ in range(_EXCHANGES):
        disagreements += rule.differ(rule.answer(estimates - errors[random.permutation(len(errors))]), answers)
    return disagreements / _EXCHANGES


def decay_probabilities(
    rule: Rule, stage: CalibratedStage, cautions: Sequence[float], rows: Any, right: npt.NDArray[Any]
) -> list[Floats]:
    """For every caution (ascending), each row's probability of being settled wrongly: equal for all settled rows."""
    found = [stage.decide(rows, caution) for caution in cautions]
    settled = np.array([each.settled for each in found], dtype=bool)
    wrong = np.array(
        [np.sum(mine & rule.differ(each.answers, right)) for mine, each in zip(settled, found, strict=True)]
    )
    expected = exponential_decay(np.asarray(cautions), wrong.astype(np.float64))
    shares = expected / np.maximum(settled.sum(axis=1), 1)
    return [np.asarray(share * mine) for share, mine in zip(shares, settled, strict=True)]


def exponential_decay(cautions: Floats, wrong: Floats) -> Floats:
    """The expected number of wrong answers at each caution: exponential decay, fitted by its mean."""
    first = wrong[0] + 0.5  # if the sample shows none, there may still be some
    mean = float((wrong[:-1] + wrong[1:]) @ np.diff(cautions) / 2 + 0.5 * cautions[0]) / first
    return np.asarray(first * np.exp(-(cautions - cautions[0]) / max(mean, np.finfo(np.float64).tiny)))
