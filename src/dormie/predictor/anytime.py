"""Answers before all work is done: intervals within a budget, intervals step by step, and answers at a deadline.

Every interval here is certified: it contains the real value of the output, rounding included. The intervals come from
a stage of the plan that narrows them term by term, or, without one, from partial sums of the largest terms. For kernels
that are not inner products there is no bound before the full sum.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dormie.machine import Floats, Machine
from dormie.machine.rows import mapped
from dormie.machine.typing import Booleans, Positions
from dormie.methods import METHODS
from dormie.methods.base import CertifiedStage, Stage, certified_among, middle_of
from dormie.methods.dense import Dense


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
        up, down = np.maximum(self.high, 0), np.maximum(-self.low, 0)
        otherwise = (self.low >= 0).astype(np.float64)
        return np.asarray(np.divide(up, up + down, out=otherwise, where=up + down > 0))


@dataclass(frozen=True)
class Answers:
    """Answers given at a deadline.

    Parameters
    ----------
    labels : ndarray of shape (n_rows,) or (n_rows, n_outputs)
        The answer of every row, as `Predictor.predict` returns it.
    settled : ndarray of bool of shape (n_rows,)
        Whether each answer is final. The others are the best estimates so far.

    Examples
    --------
    >>> import dormie
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import SVC
    >>> X, y = load_iris(return_X_y=True)
    >>> answers = dormie.compile(SVC().fit(X, y), methods=[]).predict(X[:3], deadline=10.0)
    >>> answers.labels
    array([0, 0, 0])
    >>> answers.settled
    array([ True,  True,  True])
    """

    labels: npt.NDArray[Any]
    settled: Booleans


def narrowing_stage(stages: Sequence[Stage], machine: Machine) -> CertifiedStage | None:
    """The certified stage whose intervals begin with the fewest evaluations: of the plan, or one that needs no fitting.

    None if there is none besides the dense stage.
    """
    made = (method.stage_without_fitting(machine) for method in METHODS.values())
    first = {stage: next(iter(stage.budgets), machine.n_points) for stage in certified_among([*stages[:-1], *made])}
    return min(first, key=first.__getitem__, default=None)


def interval(stage: CertifiedStage, rows: Any, budget: int) -> tuple[Floats, Floats]:
    """The low and high ends of every output of every row of the machine before it was rewritten."""
    return _widened(stage.machine, rows, *stage.interval(rows, budget))


def _widened(machine: Machine, rows: Any, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Intervals for the machine before it was rewritten: wider by the largest change of the outputs by rewriting."""
    if machine.origin is None:
        return low, high
    with np.errstate(over="ignore"):
        change = machine.origin.deviation(np.linalg.norm(mapped(machine, rows), axis=1))
    return low - change, high + change


def steps(stages: Iterable[CertifiedStage], row: Any) -> Iterator[Step]:
    """Narrower and narrower intervals for one row, from stage after stage."""
    low, high = -np.inf, np.inf
    for stage in stages:
        for evaluations, *ends in stage.steps(row):
            (new_low,), (new_high,) = _widened(stage.machine, row, *(end[None] for end in ends))
            low, high = np.maximum(low, new_low), np.minimum(high, new_high)
            yield Step(evaluations, low, high)


def answer_of_bias(machine: Machine) -> npt.NDArray[Any]:
    """The answer of a row before any kernel evaluation: that of the bias alone."""
    with np.errstate(over="ignore", invalid="ignore"):  # sums of confidences may overflow
        return np.asarray(machine.rule.answer(machine.bias[None, :]))


def answers_by(
    deadline: float, stages: Sequence[Stage], dense: Dense, rows: Any, initial: npt.NDArray[Any]
) -> tuple[npt.NDArray[Any], Booleans]:
    """Answers for all rows when `time.perf_counter` reaches the deadline, and which of them are settled.

    First the first of the stages gets every row, provided that it is certified. Then the open rows go through the dense
    stage, the most uncertain first. Rows that are not reached keep the initial answer.
    """
    machine = dense.machine
    count = rows.shape[0]
    answers = np.repeat(initial, count, axis=0)
    settled = np.zeros(count, dtype=np.bool_)
    doubt = np.zeros(count)
    for first in certified_among(stages[:1]):
        for chunk in _chunks(np.arange(count), deadline):
            found = first.decide(rows[chunk])
            sure = np.ones(len(chunk), dtype=np.bool_) if found.settled is None else found.settled
            answers[chunk[sure]], settled[chunk] = found.answers[sure], sure
            if time.perf_counter() >= deadline:
                break  # estimating takes as long again
            left = chunk[~sure]
            low, high = first.interval(rows[left], machine.n_points)
            answers[left] = machine.rule.answer(middle_of(low, high))
            doubt[left] = np.minimum(high, -low).max(axis=1, initial=-np.inf)
    open_rows = np.flatnonzero(~settled)
    for chunk in _chunks(open_rows[np.argsort(-doubt[open_rows], kind="stable")], deadline):
        answers[chunk] = dense.decide(rows[chunk]).answers
        settled[chunk] = True
    return answers, settled


def _chunks(order: Positions, deadline: float) -> Iterator[Positions]:
    """Chunks of `order`, each expected to take at most half of the time left, which allows for a busy computer.

    A chunk takes a fixed time (to read all support vectors, say) plus a time per row. The first chunk, a single row,
    measures the fixed time. While chunks grow, the time per row of the previous one is an upper estimate for the next.
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
