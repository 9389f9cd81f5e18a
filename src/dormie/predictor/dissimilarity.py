"""How unlike the support vectors a row is: the more so, the more often an audit looks at it.

DeCoste & Mazzoni (2003) suggest to check rows the more often, the less they resemble the training rows. Here that is
the distance from the nearest of a few centers of the support vectors, and it is counted in levels: a row has level j if
it is further from its center than all but a share 4^-j of the support vectors are from theirs, and the highest level if
it is further than all of them. A row of level j is audited 2^j times as often, so rows like the support vectors cost
together at most 1.5 times what they cost without levels. What the levels are changes how soon an audit finds something,
and never its confidence.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dormie.machine import Floats, Machine
from dormie.machine.rows import mapped
from dormie.machine.typing import Integers
from dormie.numerics.k_means import k_means, nearest_center

_CENTERS = 32
_LEAST_POINTS = 64  # with fewer, centers are nearly the points themselves, and every row is far from them


@dataclass(frozen=True, eq=False)
class Dissimilarity:
    """Centers of a machine's points, and the squared distances from them at which levels begin."""

    machine: Machine
    centers: Floats
    begins: Floats  # of the levels from 1 to the highest, ascending

    @classmethod
    def of(cls, machine: Machine, highest: int) -> Dissimilarity:
        """Levels from 0 to `highest`; ValueError if rows have no distance from the points, or points are few."""
        if machine.kernel.is_python:
            raise ValueError("unlike_rate needs rows that are vectors; a Python kernel may take any objects")
        if machine.n_points < _LEAST_POINTS:
            raise ValueError(
                f"unlike_rate compares rows with the support vectors, and needs at least {_LEAST_POINTS}; the plan's "
                f"machine has {machine.n_points}: leave unlike_rate out"
            )
        if machine.has_sparse_points:
            raise ValueError("unlike_rate compares rows with dense support vectors, and these are sparse: leave it out")
        points = machine.points
        centers = k_means(points, np.ones(len(points)), _CENTERS, np.random.default_rng(0))
        shares = 1 - 0.25 ** np.arange(1, highest + 1)
        return cls(machine, centers, np.quantile(_distances(centers, points), shares))

    @property
    def highest(self) -> int:
        """The highest level."""
        return len(self.begins)

    def levels(self, rows: Any) -> Integers:
        """The level of every one of these checked rows."""
        return np.searchsorted(self.begins, _distances(self.centers, mapped(self.machine, rows)))


def _distances(centers: Floats, x: Floats) -> Floats:
    """The squared distance of every row from its nearest center."""
    with np.errstate(over="ignore", invalid="ignore"):  # rows so large that squares overflow are far from all centers
        apart = x - centers[nearest_center(centers, x)]
        return np.asarray(np.einsum("ij,ij->i", apart, apart))
