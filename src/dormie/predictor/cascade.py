"""The cascade: rows flow through stages, and each stage sees only what no earlier one has settled, packed together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dormie.methods.base import NO_ROWS, Stage


class CascadeResult(NamedTuple):
    """What came out: answers, the position of the stage that settled each row, kernel evaluations in all."""

    answers: npt.NDArray[Any]
    settled_by: npt.NDArray[np.intp] | int  # a number where it is the same for all rows
    evaluations: npt.NDArray[np.int64] | int
    open: npt.NDArray[np.intp]  # rows that no stage has settled: none, where the last one settles all
    by_source: npt.NDArray[np.intp]  # rows within rounding of the border, which the source's own sum decided


def run(stages: Sequence[Stage], rows: Any) -> CascadeResult:
    """Checked rows through the stages."""
    first = stages[0].decide(rows)
    if first.settled is None or first.settled.all():
        return CascadeResult(first.answers, 0, first.evaluations, NO_ROWS, first.by_source)
    answers = first.answers
    settled_by = np.zeros(len(answers), dtype=np.intp)
    evaluations = np.array(np.broadcast_to(first.evaluations, len(answers)))
    waiting, by_source = np.flatnonzero(~first.settled), NO_ROWS
    for position, stage in enumerate(stages[1:], start=1):
        if not len(waiting):
            break
        found = stage.decide(rows[waiting])
        answers[waiting] = found.answers
        evaluations[waiting] += found.evaluations
        settled_by[waiting] = position
        by_source = np.append(by_source, waiting[found.by_source])
        waiting = waiting[:0] if found.settled is None else waiting[~found.settled]
    return CascadeResult(answers, settled_by, evaluations, waiting, by_source)


def answers(stages: Sequence[Stage], rows: Any) -> npt.NDArray[Any]:
    """The answers alone: with a single stage nothing flows, and for single rows the difference counts."""
    return stages[0].decide(rows).answers if len(stages) == 1 else run(stages, rows).answers
