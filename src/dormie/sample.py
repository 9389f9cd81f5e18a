"""Rows for the planner to try stages on: some of the user's, or some made from the support vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from dormie.machine import Machine
from dormie.rows import unmapped

_CROSSED = 0.2
_NEARBY = 32  # points of which the nearest is crossed with


def sample_rows(machine: Machine, rows: Any | None, size: int, seed: int) -> Any:
    """Up to `size` checked rows, drawn from those given or made up where there are none."""
    random = np.random.default_rng(seed)
    if rows is None:
        return _crossed_points(machine, size, random)
    count = rows.shape[0]
    if not count:
        raise ValueError("there are no rows to choose the stages by: pass some, or leave rows out")
    return rows if count <= size else rows[np.sort(random.choice(count, size, replace=False))]


def _crossed_points(machine: Machine, size: int, random: np.random.Generator) -> Any:
    """Points of the machine with a fifth of their features taken from a point nearby: close to the data, not on it.

    Features keep their own values, so what is sparse or whole-numbered stays so; and since the other point is the
    nearest of a few, what belongs together mostly stays together.
    """
    points = machine.points
    one = random.integers(machine.n_points, size=size)
    others = random.integers(machine.n_points, size=(size, _NEARBY))
    distances = np.array([np.square(points[few] - points[i]).sum(axis=1) for i, few in zip(one, others, strict=True)])
    other = others[np.arange(size), np.argmin(np.where(distances > 0, distances, np.inf), axis=1)]
    crossed = random.random((size, machine.n_features)) < _CROSSED
    return unmapped(machine, np.where(crossed, points[other], points[one]))
