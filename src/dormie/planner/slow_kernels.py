"""Slow Python kernels: while a plan is made no value is evaluated twice, and stages are weighed by counting values.

A race runs every candidate many times, which takes hours where one kernel value takes a millisecond. Where nearly all
of the time goes into single kernel values, their number tells as much: every value that is needed is evaluated once and
remembered, and a stage's time is the number of its evaluations times that of one.

Functions that are quick, or quick for many pairs at once (a matrix product, say), are raced like native kernels: what
stages compute besides, and how many calls they make, then counts too.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from dormie.machine import Machine
from dormie.machine.kernel_memory import memory_of, remembering
from dormie.machine.rows import as_array, unmapped
from dormie.methods.fitting import Effort
from dormie.numerics.synthetic_rows import sample_rows
from dormie.progress import Progress

# Seconds of one evaluation. What stages compute besides took 0.3 microseconds an evaluation (geometry) and 0.04 (fast
# stopping) with the strands of examples/strings.py, whose kernel takes 2 to 3.
_SLOW = 1e-6
# How many times longer a pair may take in calls of one point than in calls of all. Functions that loop over pairs took
# 1.1 to 2.4 times as long (those strands; an RBF kernel of 50 features), matrix products or loops over rows 43 and up.
_PAIRWISE = 4.0
_TRIED = 8  # rows on which a kernel is timed: with 172 support vectors 4 ms of those strands
_SAMPLE = 256  # rows to choose the stages by: the share that a stage settles is then known to 3 %
_FEWEST = 16  # the same to 12 %
_SHARE_OF_SAMPLE = 0.25  # of the seconds that a method may spend on kernel evaluations; chosen, not measured


@contextmanager
def evaluating_once(machine: Machine, progress: Progress, assumed_pace: float | None = None) -> Iterator[None]:
    """A block in which a slow Python kernel is remembered; other kernels are evaluated as always.

    assumed_pace: the seconds that a value is taken to cost; every Python kernel counts as slow then, and none is timed
    """
    if not (machine.kernel.is_python and machine.n_points):
        yield
        return
    if assumed_pace is not None:
        with remembering(machine.kernel, progress.say, assumed_pace):
            yield
        return
    with remembering(machine.kernel, progress.say) as memory:
        few = machine.points[:_TRIED]
        machine.kernel.matrix(few, machine.points[:1])
        small = memory.pace
        machine.kernel.matrix(few, machine.points)
        if memory.pace > _SLOW and small < _PAIRWISE * memory.pace:
            yield
            return
    yield


def rows_to_choose_by(machine: Machine, rows: Any | None, effort: Effort, seed: int) -> Any:
    """Some of the caller's rows; if there are none, the points, whose kernel values are needed anyway."""
    if rows is None:
        rows = unmapped(machine, machine.points) if machine.of_vectors else as_array(machine.points)
        return sample_rows(machine, rows, _SAMPLE, seed)
    memory = memory_of(machine.kernel)
    seconds = 0.0 if memory is None else memory.pace * machine.n_points
    most = _SAMPLE if seconds == 0 else int(_SHARE_OF_SAMPLE * effort.kernel_seconds / seconds)
    return sample_rows(machine, rows, int(np.clip(most, _FEWEST, _SAMPLE)), seed)
