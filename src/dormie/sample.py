"""Rows for the planner to try stages on: some of the user's, or some made from the support vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from dormie.machine import Machine

_CROSSED = 0.2


def sample_rows(machine: Machine, rows: Any | None, size: int, seed: int) -> Any:
    """Up to `size` checked rows, drawn from those given or made up where there are none."""
    random = np.random.default_rng(seed)
    if rows is None:
        return _crossed_points(machine, size, random)
    count = rows.shape[0]
    return rows if count <= size else rows[np.sort(random.choice(count, size, replace=False))]


def _crossed_points(machine: Machine, size: int, random: np.random.Generator) -> Any:
    """Points of the machine with a fifth of their features taken from another point: near the data, not on it.

    Features keep their own values, so what is sparse or whole-numbered stays so.
    """
    one, other = random.integers(machine.n_points, size=(2, size))
    crossed = random.random((size, machine.n_features)) < _CROSSED
    rows = np.where(crossed, machine.points[other], machine.points[one])
    return rows if machine.input_map is None else machine.input_map.inverse(rows)
