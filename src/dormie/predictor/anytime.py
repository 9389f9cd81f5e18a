"""Certified intervals before all work is done: within a budget, and step by step.

They come from all certified stages of the plan, and from partial sums of the largest terms where the plan has no such
stage, or where the budget goes far beyond them. Every interval contains the real value of the output, rounding
included, and so does the intersection of several. For kernels that are not inner products there is no bound before the
full sum.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dormie.machine import Floats, Machine, joined_widths, members_of
from dormie.machine.rows import mapped_norms, require_finite_vectors
from dormie.methods import METHODS
from dormie.methods.base import CertifiedStage, certified_among, unknown_interval


@dataclass(frozen=True)
class Step:
    """The certified interval of every output of one row after some kernel evaluations.

    Parameters
    ----------
    evaluations : int
        The number of kernel evaluations so far.
    low, high : ndarray of shape (n_outputs,)
        The ends of the intervals. They contain the real-number outputs, rounding included.

    See Also
    --------
    Predictor.anytime : Yields these steps.

    Examples
    --------
    >>> import numpy as np
    >>> import dormie
    >>> step = dormie.Step(evaluations=4, low=np.array([-0.5]), high=np.array([1.5]))
    >>> step.p_positive
    array([0.75])
    """

    evaluations: int
    low: Floats
    high: Floats

    @property
    def p_positive(self) -> Floats:
        """DeCoste's estimate of the probability that an output is positive.

        It is high / (high - low) if low < 0 < high, 1 if low >= 0, 0 if high <= 0.
        """
        up, down = np.maximum(self.high, 0) / 2, np.maximum(-self.low, 0) / 2  # halves: their sum does not overflow
        with np.errstate(invalid="ignore"):
            share = np.where(np.isinf(up), np.where(np.isinf(down), 0.5, 1.0), up / (up + down))
        return np.where(up + down > 0, share, (self.low >= 0).astype(np.float64))


def interval(stages: Sequence[CertifiedStage], rows: Any, budget: int) -> tuple[Floats, Floats]:
    """The low and high ends of every output of every row, for at most `budget` kernel evaluations per row.

    Every stage in turn spends as much as it can use of what is left, and the intervals intersect.
    """
    machine, whole = stages[-1].machine, budget
    low, high = unknown_interval(machine, rows)
    for stage in stages:
        if fitting := bisect_right(stage.budgets, budget):
            spent = stage.budgets[fitting - 1]
            low, high = _intersection(low, high, *stage.interval(rows, spent))
            budget -= spent
    if budget == whole:  # no stage has read the rows
        require_finite_vectors(rows, machine)
    return _widened(machine, rows, low, high)


def _intersection(low: Floats, high: Floats, new_low: Floats, new_high: Floats) -> tuple[Floats, Floats]:
    """What two intervals share; the new one where they share nothing, as only stages of a forged plan file do."""
    low, high = np.maximum(low, new_low), np.minimum(high, new_high)
    apart = low > high
    return np.where(apart, new_low, low), np.where(apart, new_high, high)


def _widened(machine: Machine, rows: Any, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Intervals for the machine before it was rewritten: wider by the largest change of the outputs by rewriting."""
    change = joined_widths(machine, [_change(member, rows) for member in members_of(machine)])
    return low - change, high + change


def _change(machine: Machine, rows: Any) -> Floats:
    """The largest change of the outputs by rewriting."""
    if machine.origin is None:
        return np.zeros((rows.shape[0], machine.n_outputs))
    with np.errstate(over="ignore"):
        return machine.origin.deviation(mapped_norms(machine, rows))


def steps(stages: Sequence[CertifiedStage], row: Any) -> Iterator[Step]:
    """Narrower and narrower intervals for one row, from stage after stage."""
    machine, before = stages[-1].machine, 0
    low, high = np.full(machine.n_outputs, -np.inf), np.full(machine.n_outputs, np.inf)
    for stage in stages:
        spent = 0
        for spent, *ends in stage.steps(row):
            (new_low,), (new_high,) = _widened(machine, row, *(end[None] for end in ends))
            low, high = _intersection(low, high, new_low, new_high)
            yield Step(before + spent, low, high)
        before += spent


def partial_sums(machine: Machine) -> list[CertifiedStage]:
    """A stage for intervals that needs no fitting, if the machine allows one; it takes time to make."""
    methods = [method for method in METHODS.values() if method.serves_sparse_points or not machine.has_sparse_points]
    return certified_among(method.stage_without_fitting(machine) for method in methods)[:1]
