"""The order of terms of the nearest stage as data: a sketch, the steps, and the cells of rows that share an order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dormie.machine import Floats, Machine
from dormie.machine.typing import Integers
from dormie.methods.thresholds import require_floats, some_of

STAGE = "nearest"
MOST_COMPONENTS = 256  # limit of the native core


@dataclass(frozen=True, eq=False)
class Ordering:
    """Which terms a row adds first; in the order of BoundNearest in native/python/nearest.cpp.

    In the form "query" there are no cells: centers and orders are empty.
    """

    basis: Floats  # p x d, orthonormal
    steps: Integers  # numbers of terms, ascending
    foresight: Floats  # one factor on the sketch's kernel values, which stand in for terms not added yet; 0: none do
    centers: Floats  # cells x p
    orders: Integers  # cells x last step, positions of points

    @property
    def form(self) -> str:
        """How terms are ordered: "query" or "cells"."""
        return "cells" if len(self.centers) else "query"


def require_steps(machine: Machine, steps: npt.NDArray[Any], least: int) -> npt.NDArray[Any]:
    """The steps; raises ValueError unless they ascend from at least `least` to at most the number of points."""
    if steps.ndim != 1 or steps.dtype != np.int64 or not len(steps):
        raise ValueError(f"nearest: steps must be a list of int64, got {steps.dtype} of shape {steps.shape}")
    ascending = steps[0] >= least and (steps[1:] > steps[:-1]).all()
    if not ascending or not 1 <= steps[-1] <= machine.n_points:
        raise ValueError(
            f"nearest: steps must ascend from at least {least} to at most the {machine.n_points} points, "
            f"got {some_of(steps)}"
        )
    return steps


def require_fit(machine: Machine, ordering: Ordering) -> None:
    """Raise ValueError unless the arrays have the shapes and ranges that fitting gives them."""
    steps = require_steps(machine, ordering.steps, int(not ordering.foresight.any()))
    p = len(ordering.basis) if ordering.basis.ndim else 0
    m = len(ordering.centers) if ordering.centers.ndim else 0
    most = min(machine.n_features, MOST_COMPONENTS)
    if not 1 <= p <= most:
        raise ValueError(f"nearest: basis must have between 1 and {most} directions, got {p}")
    for name, shape in (("basis", (p, machine.n_features)), ("foresight", (1,)), ("centers", (m, p))):
        require_floats(STAGE, name, getattr(ordering, name), shape)
    if m and ordering.foresight.any():
        raise ValueError("nearest: foresight must be 0 in the form 'cells', where rows have no values of their own")
    orders = ordering.orders
    if orders.shape != (m, steps[-1]) or orders.dtype != np.int64:
        raise ValueError(
            f"nearest: orders must be int64 of shape {(m, int(steps[-1]))}, got {orders.dtype} {orders.shape}"
        )
    if ((orders < 0) | (orders >= machine.n_points)).any():
        raise ValueError(f"nearest: orders must name points from 0 to {machine.n_points - 1}")
