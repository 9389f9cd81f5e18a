"""The dense stage in NumPy: the full sum with a bound on its rounding error."""

from __future__ import annotations

from typing import Any

import numpy as np

from dormie.machine import Machine
from dormie.numerics.reference import interval, settled_between


def decide(machine: Machine, rows: Any) -> tuple[Any, int, Any]:
    """Answers, kernel evaluations per row, and the indices of rows that rounding leaves open (None: no such row)."""
    middle, radius = interval(machine, rows)
    with np.errstate(over="ignore", invalid="ignore"):
        settled = settled_between(machine, rows, middle - radius, middle + radius)
        answers = machine.rule.answer(middle)
    return answers, machine.n_points, None if settled.all() else np.flatnonzero(~settled)
