"""Rows to try stages on: some of the user's, or synthetic ones, made from the support vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from dormie.machine import Floats, Machine
from dormie.machine.rows import unmapped

_FROM_OTHER = 0.2
_NEARBY = 32  # rows of which the nearest is crossed with


def sample_rows(machine: Machine, rows: Any | None, size: int, seed: int) -> Any:
    """Up to `size` checked rows, drawn from those given, or synthetic where there are none."""
    random = np.random.default_rng(seed)
    if rows is None:
        return unmapped(machine, crossover(machine.points, size, random))
    count = rows.shape[0]
    if not count:
        raise ValueError("there are no rows to choose the stages by: pass some, or leave rows out")
    return rows if count <= size else rows[np.sort(random.choice(count, size, replace=False))]


def crossover(rows: Floats, size: int, random: np.random.Generator) -> Floats:
    """Rows with a fifth of their features taken from a row nearby: close to the data, not on it.

    Features keep their own values, so what is sparse or whole-numbered stays so; and since the other row is the nearest
    of a few, what belongs together mostly stays together.
    """
    one = random.integers(len(rows), size=size)
    others = random.integers(len(rows), size=(size, _NEARBY))
    with np.errstate(over="ignore"):  # rows so far out are near to none
        distances = np.array([np.square(rows[few] - rows[i]).sum(axis=1) for i, few in zip(one, others, strict=True)])
    other = others[np.arange(size), np.argmin(np.where(distances > 0, distances, np.inf), axis=1)]
    from_other = random.random((size, rows.shape[1])) < _FROM_OTHER
    return np.where(from_other, rows[other], rows[one])
