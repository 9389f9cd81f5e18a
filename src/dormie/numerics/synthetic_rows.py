"""Sample rows for trying out stages: some of the user's, or synthetic ones made from the support vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from dormie.machine import Floats, Machine, MachineSum
from dormie.machine.rows import unmapped

_FROM_OTHER = 0.2  # the share of features taken from the other row
_NEARBY = 32  # random rows, of which the nearest is the other row


def sample_rows(machine: Machine, rows: Any | None, size: int, seed: int) -> Any:
    """Draw up to `size` rows from checked rows; or, without any, make synthetic ones, or take sparse points."""
    random = np.random.default_rng(seed)
    if rows is None and machine.has_sparse_points:  # a row made of two has zeros in other places than rows have
        return unmapped(machine, machine.points[np.sort(random.permutation(machine.n_points)[:size])])
    if rows is None and isinstance(machine, MachineSum):
        members = machine.members
        share = -(-size // len(members))
        return np.vstack([sample_rows(member, None, share, seed + at) for at, member in enumerate(members)])[:size]
    if rows is None:
        return unmapped(machine, crossover(machine.points, size, random))
    count = rows.shape[0]
    if not count:
        raise ValueError("there are no rows to choose the stages by: pass some, or leave rows out")
    return rows if count <= size else rows[np.sort(random.choice(count, size, replace=False))]


def crossover(rows: Floats, size: int, random: np.random.Generator) -> Floats:
    """Make rows near the data: each is a row with a fifth of its features replaced by those of a nearby row.

    Features take only values that occur, so sparse or integer features stay so. The other row is the nearest of a few
    random ones, so dependences between features are mostly kept.
    """
    one = random.integers(len(rows), size=size)
    others = random.integers(len(rows), size=(size, _NEARBY))
    with np.errstate(over="ignore"):  # infinite distances are never the nearest
        distances = np.array([np.square(rows[few] - rows[i]).sum(axis=1) for i, few in zip(one, others, strict=True)])
    other = others[np.arange(size), np.argmin(np.where(distances > 0, distances, np.inf), axis=1)]
    from_other = random.random((size, rows.shape[1])) < _FROM_OTHER
    return np.where(from_other, rows[other], rows[one])
