"""Timing on a busy computer: peers take turns in rounds, and the best round counts."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

from dormie.lab.bench.peers import Predict

ROUNDS = 3  # the least number of rounds of every peer, whatever the time budget
_MOST_ROUNDS = 40  # the most: with short rounds the pauses between them would take most of the time
_MOST_SINGLE_ROWS = 300
_TOO_SMALL = 1.5  # if a batch could have had this many times the rows, it is timed again
# Before each turn: idle threads of the previous peer (ONNX Runtime's) keep spinning and would slow this one down.
_PAUSE = 0.05  # seconds


@dataclass(frozen=True)
class Timing:
    """Microseconds per row: in the best round, and the median over the rounds."""

    best: float
    median: float
    rounds: int
    rows: int  # in one round


def seconds_of(task: Callable[[], object]) -> float:
    start = time.perf_counter()
    task()
    return time.perf_counter() - start


def interleave(tasks: Mapping[str, Callable[[], object]], seconds: float) -> dict[str, list[float]]:
    """The seconds of every round of every task. Tasks take turns, `ROUNDS` times or more and for about `seconds`."""
    times: dict[str, list[float]] = {name: [] for name in tasks}
    used = dict.fromkeys(tasks, 0.0)
    while waiting := [
        name
        for name in tasks
        if len(times[name]) < ROUNDS or (used[name] < seconds and len(times[name]) < _MOST_ROUNDS)
    ]:
        for name in waiting:
            time.sleep(_PAUSE)
            times[name].append(seconds_of(tasks[name]))
            used[name] += times[name][-1]
    return times


def affordable_rows(predict: Predict, rows: Any, seconds: float) -> int:
    """How many of the rows one call can predict in `seconds`, found with growing batches."""
    total = int(rows.shape[0])
    count = min(16, total)
    time.sleep(_PAUSE)
    while True:
        task = _batch_task(predict, rows[:count])
        elapsed = max(min(seconds_of(task) for _ in range(ROUNDS)), 1e-9)  # the first round may start threads
        if count == total or elapsed > seconds / 4:
            return max(1, min(total, int(count * seconds / elapsed)))
        count = min(total, 4 * count)


def time_batches(predicts: Mapping[str, Predict], rows: Any, seconds: float) -> dict[str, Timing]:
    """Time each peer on as many of the first rows as fit the time budget of a round.

    The number of rows is too small if it was determined while the computer was busy. So if the rounds show that some
    peer can take many more rows, all rounds are repeated.
    """
    slot = seconds / (ROUNDS + 1)
    counts = {name: affordable_rows(predict, rows, slot) for name, predict in predicts.items()}
    while True:
        tasks = {name: _batch_task(predict, rows[: counts[name]]) for name, predict in predicts.items()}
        timings = _timings(interleave(tasks, seconds), counts)
        fitting = {name: min(int(rows.shape[0]), int(1e6 * slot / timing.best)) for name, timing in timings.items()}
        grown = {name: fitting[name] for name in counts if fitting[name] > _TOO_SMALL * counts[name]}
        if not grown:
            return timings
        counts |= grown


def time_single_rows(predicts: Mapping[str, Predict], rows: Any, seconds: float) -> dict[str, Timing]:
    """Time each peer on the first rows one at a time, as rows[i:i+1]; slicing is not timed."""
    single = [rows[i : i + 1] for i in range(min(rows.shape[0], _MOST_SINGLE_ROWS))]
    counts = {}
    for name, predict in predicts.items():
        predict(single[0])
        once = max(seconds_of(_row_task(predict, single[:3])) / len(single[:3]), 1e-9)
        counts[name] = max(1, min(len(single), int(seconds / (ROUNDS + 1) / once)))
    tasks = {name: _row_task(predict, single[: counts[name]]) for name, predict in predicts.items()}
    return _timings(interleave(tasks, seconds), counts)


def _batch_task(predict: Predict, batch: Any) -> Callable[[], object]:
    return lambda: predict(batch)


def _row_task(predict: Predict, single: list[Any]) -> Callable[[], object]:
    def one_at_a_time() -> None:
        for row in single:
            predict(row)

    return one_at_a_time


def _timings(times: dict[str, list[float]], counts: dict[str, int]) -> dict[str, Timing]:
    return {
        name: Timing(
            best=1e6 * min(spent) / counts[name],
            median=1e6 * median(spent) / counts[name],
            rounds=len(spent),
            rows=counts[name],
        )
        for name, spent in times.items()
    }
