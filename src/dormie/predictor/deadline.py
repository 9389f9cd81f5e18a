"""Answers at a deadline: the best that the time allows.

The rows flow through the plan's own stages, so whatever is settled in time has the answer of `predict`. Only the order
differs. While the time is probably long enough, all rows go through a stage before any goes on, the most doubtful first
(`Rule.lead` of their estimates; for a sign this is the order of DeCoste's p+). A row that is not settled in time has
the answer of the latest estimate.

Where the time is too short for the first stage, a cheap stage (`Plan.guess`) estimates rows. If it takes little of the
time left, all rows get an estimate, and the most doubtful then go through all stages before the others begin. If not,
time is kept back for estimates of the rows that the first stage does not reach.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dormie.machine import Machine
from dormie.machine.kernel_memory import remembering
from dormie.machine.typing import Booleans, Positions
from dormie.methods.base import Stage
from dormie.plan.plan import Plan

_MULTIPLY_ADD = 5e-11  # seconds: an upper estimate of what a row costs before any was timed
_FIRST_CHUNK = 2.5e-4  # seconds that the first chunk may take by that estimate
_LARGEST_FIRST = 4096  # rows
_GUESSED_FROM = 64  # kernel evaluations: more than estimates of a cheap stage take
_GROWTH = 8  # ratio of the sizes of two chunks, at most
_LITTLE = 0.35  # share of the time left that estimates of all rows may take
_WAVES = (0.125, 0.5)  # shares of the rows, by doubt: where the second and the third wave begin
_ALLOWANCE = 1.2  # factor on the expected time of all rows, when deciding whether the time is long enough
_LATER = 2.0  # times that a row costs what it did so far, in later stages, before any of those was timed


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


def answer_of_bias(machine: Machine) -> npt.NDArray[Any]:
    """The answer of a row before any kernel evaluation: that of the bias alone."""
    with np.errstate(over="ignore", invalid="ignore"):  # sums of confidences may overflow
        return np.asarray(machine.rule.answer(machine.bias[None, :]))


def answers_by(deadline: float, plan: Plan, rows: Any, initial: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], Booleans]:
    """Answers for all rows when `time.perf_counter` reaches the deadline, and which of them are settled.

    initial: the answer of rows that nothing is known of when the time is over
    """
    run = _Run(plan, rows, deadline, initial)
    kernel = plan.machine.kernel
    with remembering(kernel) if kernel.is_python else nullcontext():  # an estimate after `decide` evaluates nothing new
        run.stage_by_stage()
    return run.answers, run.settled


class _Run:
    """Rows on their way through the stages."""

    def __init__(self, plan: Plan, rows: Any, deadline: float, initial: npt.NDArray[Any]) -> None:
        count = rows.shape[0]
        self._rows, self._deadline = rows, deadline
        self._machine, self._cascade, self._guess = plan.machine, plan.cascade, plan.guess
        self.answers = np.repeat(initial, count, axis=0)
        self.settled = np.zeros(count, dtype=np.bool_)
        self._lead = np.zeros(count)  # how far the estimate of a row is from another answer
        self._paces: dict[Stage, _Pace] = {}  # of stages that rows went through before

    def stage_by_stage(self) -> None:
        """Pass all rows through the first stage, then the open ones through the next, the most doubtful first."""
        for stage, caution in self._cascade:
            if not self._settle(stage, caution, self._most_doubtful_first()):
                return

    def _in_waves(self) -> bool:
        """Pass rows that have estimates through all stages: the most doubtful to the end before the others begin.

        A first stage that takes most of the time may leave open just the rows whose estimates are wrong.
        """
        order = self._most_doubtful_first()
        ends = [int(share * len(order)) for share in _WAVES] if len(self._cascade) > 1 else []
        for wave in np.split(order, ends):
            for stage, caution in self._cascade:
                if not self._settle(stage, caution, wave[~self.settled[wave]]):
                    return False
        return True

    def _settle(self, stage: Stage, caution: float, order: Positions) -> bool:
        """Pass open rows through a stage in this order; returns whether the time was long enough."""
        first = _first_chunk(self._machine, self._machine.n_points)
        chunks = _Chunks(len(order), self._deadline, first, self._paces.get(stage))
        guess = None
        while chunks.take(lambda part: self._decide(stage, caution, order[part])):
            if self._guess is not None and chunks.too_slow(_LATER * self._open_share(order[: chunks.rows])):
                guess, self._guess = self._guess, None
                if self._guesses_all(guess, order, chunks):
                    self._paces[stage] = chunks.largest
                    return self._in_waves()
        self._paces[stage] = chunks.largest
        if guess is not None:
            self._estimate_open(guess, order[chunks.rows :])
            if time.perf_counter() < self._deadline:  # more was kept back than it took
                return self._in_waves()
        return chunks.done

    def _open_share(self, order: Positions) -> float:
        """The share of these rows that is not settled."""
        return float(np.mean(~self.settled[order]))

    def _guesses_all(self, guess: Stage, order: Positions, chunks: _Chunks) -> bool:
        """Estimate all rows by the cheap stage and return True; if that takes too long, keep time back for it."""
        some = _first_chunk(self._machine, _GUESSED_FROM)
        pace = self._estimate_open(guess, order[-some:])
        if pace * len(order) > _LITTLE * (self._deadline - time.perf_counter()):
            chunks.kept_back = 2 * pace  # twice, because chunks use half of the time that is left
            return False
        self._estimate_open(guess, order[:-some])
        return True

    def _decide(self, stage: Stage, caution: float, chunk: Positions) -> None:
        """Settle what the stage settles, and estimate the rest at once: with the last chunk time may be over."""
        found = stage.decide(self._of(chunk), caution)
        if found.settled is None or found.settled.all():
            self.answers[chunk], self.settled[chunk] = found.answers, True
            return
        sure, rest = chunk[found.settled], chunk[~found.settled]
        self.answers[sure], self.settled[sure] = found.answers[found.settled], True
        if time.perf_counter() < self._deadline:
            self._estimate(stage, rest)

    def _estimate_open(self, stage: Stage, among: Positions) -> float:
        """Answer those of the rows that are still open by the estimates of a stage; returns its seconds per row."""
        open_rows = among[~self.settled[among]]
        chunks = _Chunks(len(open_rows), self._deadline, _first_chunk(self._machine, _GUESSED_FROM))
        while chunks.take(lambda part: self._estimate(stage, open_rows[part])):
            pass
        return chunks.pace

    def _estimate(self, stage: Stage, chunk: Positions) -> None:
        rule, outputs = self._machine.rule, stage.estimate(self._of(chunk))
        with np.errstate(over="ignore", invalid="ignore"):
            self.answers[chunk], self._lead[chunk] = rule.answer(outputs), rule.lead(outputs)

    def _of(self, chunk: Positions) -> Any:
        """The rows of a chunk; a view where they lie together."""
        first, last = chunk[0], chunk[-1]
        together = last - first + 1 == len(chunk) and isinstance(self._rows, np.ndarray)
        return self._rows[first : last + 1] if together and (np.diff(chunk) == 1).all() else self._rows[chunk]

    def _most_doubtful_first(self) -> Positions:
        open_rows = np.flatnonzero(~self.settled)
        lead = np.maximum(self._lead[open_rows], 0.0)
        if not lead.any():
            return open_rows
        # By the upper 16 bits of float32, to within 1 %: this takes a tenth of the time of sorting numbers of 64 bits.
        places = (lead.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
        return open_rows[np.argsort(places, kind="stable")]


def _first_chunk(machine: Machine, evaluations: int) -> int:
    """How many rows of so many kernel evaluations may be taken before it is known how long one takes."""
    if machine.kernel.is_python:
        return 1
    row = evaluations * (machine.n_features + machine.n_outputs + 16) * _MULTIPLY_ADD
    return int(np.clip(_FIRST_CHUNK / max(row, 1e-12), 1, _LARGEST_FIRST))


class _Pace(NamedTuple):
    """How long a stage takes: seconds however few the rows are, and for each of `rows` rows."""

    fixed: float = 0.0
    each: float = 0.0
    rows: int = 0


class _Chunks:
    """Chunks of `count` rows, each expected to take at most half of the time left, which allows for a busy computer.

    While chunks grow, the time per row of the previous one is an upper estimate for the next. A first chunk of a single
    row measures what a chunk takes however few its rows are: to read all support vectors, say.

    first: rows of the first chunk, if the pace is not known
    """

    def __init__(self, count: int, deadline: float, first: int, known: _Pace | None = None) -> None:
        self.largest = known or _Pace()  # the pace of the largest chunk
        self._count, self._deadline, self._size = count, deadline, max(first, self.largest.rows)
        self._fixed, self._timed = self.largest.fixed, 0
        self._more, self._last = 0.0, (0, 0.0)  # seconds of one row more; rows and seconds of the last chunk
        self.rows = 0  # how many are done
        self.pace = self.largest.each  # seconds per row of the last chunk
        self.kept_back = 0.0  # seconds for every row that is not reached

    @property
    def done(self) -> bool:
        """Whether all rows are done."""
        return self.rows == self._count

    def too_slow(self, later: float) -> bool:
        """Whether the rest will probably not be done in time; False until the second chunk, as the first is small.

        later: time that later stages will take for all rows, relative to that of this stage
        """
        rest = _ALLOWANCE * self._more * (self._count - self.rows + later * self._count)
        return self._timed > 1 and time.perf_counter() + rest > self._deadline

    def take(self, task: Callable[[slice], None]) -> bool:
        """Run a task on the next chunk; returns False if all rows are done, or if there is no time for more."""
        began = time.perf_counter()
        rows = self._rows_in_time(began)
        if rows < 1:
            return False
        task(slice(self.rows, self.rows + rows))
        self._learn(rows, time.perf_counter() - began)
        return True

    def _rows_in_time(self, now: float) -> int:
        """The rows of the next chunk; 0 if there is no time for any."""
        later = self.kept_back * (self._count - self.rows)
        spare = (self._deadline - later - now) / 2 - self._fixed
        rows = min(self._size, self._count - self.rows)
        if spare <= 0:
            return 0
        return int(min(rows, spare / self.pace)) if self.pace else rows

    def _learn(self, rows: int, seconds: float) -> None:
        """Note that the next rows are done, and how long they took."""
        self._fixed = self._fixed or (seconds if rows == 1 else 0.0)
        before, its_seconds = self._last
        more = (seconds - its_seconds) / (rows - before) if rows > before and seconds > its_seconds else 0.0
        self._more, self._last = min(more or np.inf, seconds / rows), (rows, seconds)
        self.rows, self.pace = self.rows + rows, seconds / rows
        if rows > self.largest.rows:
            self.largest = _Pace(self._fixed, self.pace, rows)
        self._size, self._timed = rows * _GROWTH, self._timed + 1
