"""The cascade: rows flow through the stages, and each stage sees only the rows that no earlier stage has settled."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dormie.machine.kernel_memory import remembering
from dormie.machine.rules import ClassRule
from dormie.machine.typing import Integers, Positions
from dormie.methods.base import NO_ROWS
from dormie.numerics import backend
from dormie.numerics.reference import blocks
from dormie.numerics.threads import at_most
from dormie.plan.cascade import Cascade
from dormie.predictor.room import Room


class CascadeResult(NamedTuple):
    """Per row: the answer, the position of the stage that settled it, and its kernel evaluations in all stages."""

    answers: npt.NDArray[Any]
    settled_by: Positions | int  # a single number if it is the same for all rows
    evaluations: Integers | int
    open: Positions  # rows that no stage has settled; none if the cascade ends in the dense stage
    by_source: Positions  # rows within rounding of the decision boundary, decided by the model's own sum


def run(cascade: Cascade, rows: Any, threads: int = 0) -> CascadeResult:
    """Pass checked rows through the stages. threads: of the native core; 0 for the default."""
    with at_most(threads):
        if cascade.native is not None:
            return _run_native(cascade, cascade.native, rows)
        if cascade.stages[-1].machine.kernel.is_python and _evaluates_again(cascade):
            return _run_remembering(cascade, rows)
        return run_in_python(cascade, rows)


def _run_native(cascade: Cascade, native: backend.extension.Cascade, rows: Any) -> CascadeResult:
    """All stages in one call, and what they leave open by the last one, if it can finish that."""
    answers, settled_by, evaluations, left = native.trace(rows)
    if left is None:
        return CascadeResult(answers, settled_by, evaluations, NO_ROWS, NO_ROWS)
    last = cascade.stages[-1].finish(rows[left])
    if last is None:
        return CascadeResult(answers, settled_by, evaluations, left, NO_ROWS)
    answers[left] = last.answers
    evaluations[left] += last.evaluations
    return CascadeResult(answers, settled_by, evaluations, NO_ROWS, left[last.by_source])


def _evaluates_again(cascade: Cascade) -> bool:
    """Whether a later stage may ask for kernel values again that are worth remembering.

    A tree makes many small calls, and to remember what they return takes longer than a quick kernel.
    """
    return len(cascade.stages) > 1 and cascade.certified


def _run_remembering(cascade: Cascade, rows: Any) -> CascadeResult:
    """The same for a Python kernel: no stage evaluates what an earlier one has evaluated for the same row."""
    machine, results = cascade.stages[-1].machine, []
    for block, part in blocks(machine, rows):
        with remembering(machine.kernel) as memory:
            found = run_in_python(cascade, rows[block])
            by = np.broadcast_to(found.settled_by, len(found.answers))
            places = [block.start + found.open, block.start + found.by_source]
            results.append(CascadeResult(found.answers, by, memory.counts(part), *places))
    return CascadeResult(*map(np.concatenate, zip(*results, strict=True))) if results else run_in_python(cascade, rows)


def run_in_python(cascade: Cascade, rows: Any) -> CascadeResult:
    """Stage by stage: for stages that are computed in Python, and the twin of the native cascade."""
    stages, cautions = cascade.stages, cascade.cautions
    first = stages[0].decide(rows, cautions[0])
    if first.settled is None or first.settled.all():
        return CascadeResult(first.answers, 0, first.evaluations, NO_ROWS, first.by_source)
    answers = first.answers
    settled_by = np.zeros(len(answers), dtype=np.intp)
    evaluations = np.array(np.broadcast_to(first.evaluations, len(answers)))
    waiting, by_source = np.flatnonzero(~first.settled), NO_ROWS
    for position in range(1, len(stages)):
        if not len(waiting):
            break
        found = stages[position].decide(rows[waiting], cautions[position])
        answers[waiting] = found.answers
        evaluations[waiting] += found.evaluations
        settled_by[waiting] = position
        by_source = np.append(by_source, waiting[found.by_source])
        waiting = waiting[:0] if found.settled is None else waiting[~found.settled]
    return CascadeResult(answers, settled_by, evaluations, waiting, by_source)


def fill(room: Room, cascade: Cascade, rows: Any, threads: int = 0) -> None:
    """Write the answers of checked rows, and nothing else: the native core writes labels itself."""
    native = cascade.native
    if native is None or room.array.dtype.hasobject:  # references are not written as bytes
        room.write(run(cascade, rows, threads).answers)
        return
    with at_most(threads):
        left = native.predict(rows, room.table, room.array)
        if left is not None:
            last = cascade.stages[-1].finish(rows[left])
            assert last is not None  # every plan ends in a stage that settles all rows
            room.write(last.answers, left)


def in_one_call(cascade: Cascade) -> Callable[[Any, int], npt.NDArray[Any] | None]:
    """What answers rows as they are given, in one call of the native core, with so many threads.

    It returns None, and has done nothing, where more is to be checked first: where rows are of another kind than usual,
    or not of the right width, and wherever the native core does not serve.
    """
    rule, native = cascade.stages[-1].machine.rule, cascade.native
    labels = np.ascontiguousarray(rule.classes) if isinstance(rule, ClassRule) else None
    if native is None or (labels is not None and labels.dtype.hasobject):
        return never
    flat = rule.labels(np.empty((1, cascade.stages[-1].machine.n_outputs))).ndim == 1 if labels is None else True
    answers: Callable[[Any, int], Any] = backend.extension.Answers(native, labels, flat, partial(_finish, cascade)).of
    return answers


def never(rows: Any, threads: int) -> None:
    """What to call where no rows can be answered in one call."""


def _finish(cascade: Cascade, rows: Any, answers: npt.NDArray[Any], left: Positions) -> None:
    """Write the answers of the rows that the native stages leave open."""
    last = cascade.stages[-1].finish(rows[left])
    assert last is not None  # every plan ends in a stage that settles all rows
    answers[left] = cascade.stages[-1].machine.rule.labels(last.answers)
