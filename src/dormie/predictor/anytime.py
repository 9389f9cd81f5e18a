"""Answers before the work is done: intervals after a budget, step by step, or when the time is up.

Every interval here is certified: it contains the real value of the output, rounding included. What gives them is a
stage of the plan whose intervals narrow, else partial sums of the largest terms; for kernels that are not inner
products nothing is known short of the full sum.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dormie.machine import Floats, Machine
from dormie.machine.rows import mapped, require_finite_vectors
from dormie.methods import METHODS
from dormie.methods.base import Stage
from dormie.numerics.evaluate import FullSum
from dormie.predictor import cascade


@dataclass(frozen=True)
class Step:
    """What is known of a row after some kernel evaluations; arrays have one entry an output."""

    evaluations: int
    low: Floats
    high: Floats

    @property
    def p_positive(self) -> Floats:
        """DeCoste's guess that an output is positive: the share of the sphere of possibilities on that side."""
        up, down = np.maximum(self.high, 0), np.maximum(-self.low, 0)
        otherwise = (self.low >= 0).astype(np.float64)
        return np.asarray(np.divide(up, up + down, out=otherwise, where=up + down > 0))


@dataclass(frozen=True)
class Answers:
    """Answers given at a deadline, and which of them are settled; the others are guesses."""

    labels: npt.NDArray[Any]
    settled: npt.NDArray[np.bool_]


def narrowing_stage(stages: Sequence[Stage], machine: Machine) -> Stage | None:
    """The stage that has intervals after a few evaluations: one of the plan's, or one that needs no fitting."""
    for stage in stages:
        if stage.narrows:
            return stage
    unfitted = (method.unfitted(machine) for method in METHODS.values() if method.is_usable_for(machine))
    return next((stage for stage in unfitted if stage is not None), None)


def interval(narrowing: Stage | None, full_sum: FullSum, rows: Any, budget: int | None) -> tuple[Floats, Floats]:
    """Low and high of every output of every row for at most `budget` kernel evaluations a row."""
    machine = full_sum.machine
    if budget is None or budget >= machine.n_points:
        return _widened(machine, rows, *_ends(*full_sum.interval(rows)))
    bounds = None if narrowing is None else narrowing.bounds(rows, budget)
    if bounds is not None:
        return _widened(machine, rows, *bounds)
    require_finite_vectors(rows, machine)
    unknown = np.full((rows.shape[0], machine.n_outputs), np.inf)
    return -unknown, unknown


def _widened(machine: Machine, rows: Any, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """The same intervals for what the machine was rewritten from, wider by what that may have moved the outputs."""
    if machine.origin is None:
        return low, high
    with np.errstate(over="ignore"):
        moved = machine.origin.deviation(np.linalg.norm(mapped(machine, rows), axis=1))
    return low - moved, high + moved


def steps(narrowing: Stage | None, full_sum: FullSum, row: Any) -> Iterator[Step]:
    """Ever narrower intervals for one row, ending with the full sum."""
    machine = full_sum.machine
    low, high = np.full(machine.n_outputs, -np.inf), np.full(machine.n_outputs, np.inf)
    for evaluations, *ends in _raw_steps(narrowing, full_sum, row):
        (new_low,), (new_high,) = _widened(machine, row, *(end[None] for end in ends))
        low, high = np.maximum(low, new_low), np.minimum(high, new_high)
        yield Step(evaluations, low, high)


def _raw_steps(narrowing: Stage | None, full_sum: FullSum, row: Any) -> Iterator[tuple[int, Floats, Floats]]:
    if narrowing is not None:
        yield from narrowing.refine(row)
    low, high = _ends(*full_sum.interval(row))
    yield full_sum.machine.n_points, low[0], high[0]


def _ends(middle: Floats, radius: Floats) -> tuple[Floats, Floats]:
    return middle - radius, middle + radius


def unseen_answer(machine: Machine) -> npt.NDArray[Any]:
    """The answer of a row that nothing has looked at: that of the bias alone."""
    with np.errstate(over="ignore", invalid="ignore"):  # sums of confidences may overflow
        return np.asarray(machine.rule.answer(machine.bias[None, :]))


def answers_by(
    deadline: float, stages: Sequence[Stage], rows: Any, unseen: npt.NDArray[Any]
) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
    """Answers for all rows by a `time.perf_counter` moment, and which are settled.

    First the plan's first stage, where it has guesses, sees every row; then the rows left open go through the dense
    stage, the most uncertain first. A row that nothing has looked at yet has the `unseen_answer`.
    """
    machine = stages[-1].machine
    count = rows.shape[0]
    answers = np.repeat(unseen, count, axis=0)
    settled = np.zeros(count, dtype=np.bool_)
    doubt = np.zeros(count)
    if (first := stages[0]).guesses:
        for chunk in _chunks(np.arange(count), deadline):
            found = first.decide(rows[chunk])
            sure = np.asarray(found.settled)
            answers[chunk[sure]], settled[chunk] = found.answers[sure], sure
            if time.perf_counter() >= deadline:
                break  # guesses take as long again
            left = chunk[~sure]
            middle, radius = first.guess(rows[left])
            answers[left] = machine.rule.answer(middle)
            doubt[left] = (radius - np.abs(middle)).max(axis=1, initial=-np.inf)
    open_rows = np.flatnonzero(~settled)
    for chunk in _chunks(open_rows[np.argsort(-doubt[open_rows], kind="stable")], deadline):
        answers[chunk] = cascade.run(stages[-1:], rows[chunk]).answers
        settled[chunk] = True
    return answers, settled


def _chunks(order: npt.NDArray[np.intp], deadline: float) -> Iterator[npt.NDArray[np.intp]]:
    """Pieces of `order`, each expected to take at most half of the time left: so a noisy computer is forgiven.

    A piece takes a fixed time (reading all support vectors, say), which the first, single row shows, and a time a row,
    for which the pace of the piece before is an upper estimate as long as pieces grow.
    """
    start, size, fixed, pace = 0, 1, 0.0, 0.0
    while start < len(order):
        began = time.perf_counter()
        spare = (deadline - began) / 2 - fixed
        size = int(min(size, spare / pace)) if pace else size
        if size < 1 or spare <= 0:
            return
        yield order[start : start + size]
        seconds = time.perf_counter() - began
        fixed, pace = fixed or seconds, seconds / size
        start, size = start + size, 2 * size
