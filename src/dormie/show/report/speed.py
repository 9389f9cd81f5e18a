"""How long a plan and another model take for the same rows: many at once, and one at a time.

The two take turns, and the best of a few rounds counts: a pause of the computer is no property of either.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dormie.machine.rows import some

_ROUNDS = 3
_SECONDS = 0.5  # about as long as a round of either may take
_MOST_SINGLE_ROWS = 100

Predict = Callable[[Any], Any]
_Run = Callable[[Predict, Any], object]


@dataclass(frozen=True)
class Times:
    """Seconds per row of the plan and of the other model."""

    ours: float
    theirs: float

    @property
    def ratio(self) -> float:
        """How many times sooner the plan answers."""
        return self.theirs / self.ours


@dataclass(frozen=True)
class Comparison:
    """What was timed, and whether the answers were the same."""

    batch: Times
    single: Times
    compared: int  # rows whose answers were compared
    differing: int  # rows, by their labels; 0 for values
    largest: float  # difference of values; 0 for labels


def compare(ours: Predict, theirs: Predict, rows: Any) -> Comparison:
    """Time two models on as many rows, evenly chosen, as each answers in a short time."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")  # columns were chosen by name before
        batches = [_affordable(each, rows) for each in (ours, theirs)]
        singles = [_evenly(batch, _MOST_SINGLE_ROWS) for batch in batches]
        batch = _take_turns((ours, theirs), batches, _at_once)
        single = _take_turns((ours, theirs), singles, _one_by_one)
        answers = [np.asarray(each(batches[1])) for each in (ours, theirs)]
    return Comparison(batch, single, len(answers[0]), *_difference(*answers))


def _difference(ours: npt.NDArray[Any], theirs: npt.NDArray[Any]) -> tuple[int, float]:
    if ours.dtype.kind == "f" and theirs.dtype.kind == "f":
        return 0, float(np.abs(ours - theirs.reshape(ours.shape)).max(initial=0.0))
    return int((ours != theirs).reshape(len(ours), -1).any(axis=1).sum()), 0.0


def _evenly(rows: Any, count: int) -> Any:
    """So many of the rows, from the first to the last."""
    total = rows.shape[0]
    return rows if count >= total else some(rows, np.linspace(0, total - 1, max(1, count)).astype(np.intp))


def _affordable(predict: Predict, rows: Any) -> Any:
    """As many of the rows as one call answers in about the seconds of a round, found with growing batches."""
    total, count = rows.shape[0], 16
    while True:
        batch = _evenly(rows, count)
        seconds = min(_seconds(_at_once, predict, batch) for _ in range(2))  # the first call may start threads
        if count >= total or seconds > _SECONDS / 4:
            return _evenly(rows, int(count * _SECONDS / max(seconds, 1e-9)))
        count *= 4


def _take_turns(predicts: Sequence[Predict], rows: Sequence[Any], run: _Run) -> Times:
    """The seconds per row of each, in its best round."""
    best = [np.inf, np.inf]
    for _ in range(_ROUNDS):
        for place, (predict, given) in enumerate(zip(predicts, rows, strict=True)):
            best[place] = min(best[place], _seconds(run, predict, given) / given.shape[0])
    return Times(*best)


def _seconds(run: _Run, predict: Predict, rows: Any) -> float:
    began = time.perf_counter()
    run(predict, rows)
    return time.perf_counter() - began


def _at_once(predict: Predict, rows: Any) -> None:
    predict(rows)


def _one_by_one(predict: Predict, rows: Any) -> None:
    for place in range(rows.shape[0]):
        predict(rows[place : place + 1])
