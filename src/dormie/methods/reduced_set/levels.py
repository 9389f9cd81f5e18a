"""The vectors of a reduced set, and the weights of its levels: what certified and calibrated stages share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dormie.machine import Floats, Machine
from dormie.machine.rows import mapped
from dormie.machine.typing import Integers
from dormie.methods.thresholds import require_floats, some_of

STAGE = "reduced_set"


@dataclass(frozen=True, eq=False)
class Levels:
    """Vectors in an order in which prefixes can be used too: level j uses the first n_j, with weights of its own.

    In the order of Vectors in native/methods/reduced_set.hpp.
    """

    points: Floats  # n x d, in mapped coordinates
    sizes: Integers  # n_j, ascending to n
    weights: Floats  # of all levels, stacked: sum of n_j x c

    @classmethod
    def of(cls, points: Floats, weights: Sequence[Floats], outputs: int) -> Levels:
        """From the vectors and the weights of each level, n_j x outputs."""
        sizes = np.array([len(level) for level in weights], dtype=np.int64)
        points = np.array(points, dtype=np.float64, order="C")
        return cls(points, sizes, np.concatenate([np.empty((0, outputs)), *weights]))


def row_lengths(machine: Machine, rows: Any) -> Floats:
    """sqrt(K(x,x)) of checked rows as a column, at least the root of the smallest positive float."""
    own = machine.kernel.diagonal(mapped(machine, rows))
    return np.asarray(np.sqrt(np.maximum(own, np.finfo(np.float64).tiny))[:, None])


def require_fit(machine: Machine, levels: Levels, half_widths: Floats) -> None:
    """Raise ValueError unless the levels fit the machine, and the half-widths the levels."""
    n, sizes = _require_sizes(levels)
    require_floats(STAGE, "points", levels.points, (n, machine.n_features))
    require_floats(STAGE, "weights", levels.weights, (sum(sizes), machine.n_outputs))
    require_floats(STAGE, "half_widths", half_widths, (len(sizes), machine.n_outputs))
    if (half_widths < 0).any():
        raise ValueError(f"{STAGE}: half_widths must not be negative")


def _require_sizes(levels: Levels) -> tuple[int, list[int]]:
    """The number of vectors and the sizes of the levels; raises ValueError if they do not fit."""
    n = len(levels.points) if levels.points.ndim else 0
    sizes = levels.sizes
    if sizes.ndim != 1 or sizes.dtype != np.int64 or not len(sizes):
        raise ValueError(f"{STAGE}: sizes must be a list of int64, got {sizes.dtype} of shape {sizes.shape}")
    if sizes[0] < 1 or (sizes[1:] <= sizes[:-1]).any() or sizes[-1] != n:
        raise ValueError(f"{STAGE}: sizes must ascend from at least 1 to the {n} vectors, got {some_of(sizes)}")
    return n, sizes.tolist()
