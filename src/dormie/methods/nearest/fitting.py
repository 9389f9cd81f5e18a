"""Fitting the order of terms of the nearest stage: the sketch, the steps, and the cells of rows that share an order.

The thresholds are measured afterwards, on the partial sums of the stage itself: see `measured_thresholds`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dormie.machine import Floats, Machine
from dormie.machine.rows import mapped
from dormie.machine.typing import Integers
from dormie.methods.nearest.ordering import MOST_COMPONENTS, Ordering, require_steps
from dormie.methods.nearest.sketch import (
    approximate_kernel,
    prediction_slope,
    principal_directions,
    scores,
    tug_of_war,
)
from dormie.numerics.k_means import k_means, nearest_center

FORMS = ("query", "cells")
MODES = ("paper", "calibrated")
_COMPONENTS = 60
_BUDGET = 256
_CELLS = 64
_ROWS_A_CELL = 100  # with fewer rows, a cell's thresholds are mostly noise
_SLOPE_ROWS = 500  # enough for a regression of one number


@dataclass(frozen=True)
class Options:
    """The options of `Nearest.fit`, checked as far as that needs no machine."""

    form: str
    mode: str
    components: int | None
    budget: int | None
    steps: Sequence[int] | None
    window: int
    cells: int | None
    seed: int

    def __post_init__(self) -> None:
        for name, choices in (("form", FORMS), ("mode", MODES)):
            if (value := getattr(self, name)) not in choices:
                raise ValueError(f"nearest: {name} must be one of {', '.join(map(repr, choices))}, got {value!r}")
        for name, least in (("window", 0), ("budget", 1), ("cells", 1)):
            if (value := getattr(self, name)) is not None and value < least:
                raise ValueError(f"nearest: {name} must be at least {least}, got {value}")


def fitted_ordering(machine: Machine, rows: Any, outputs: Floats, options: Options) -> Ordering:
    """The order of terms, fitted on checked rows and the outputs to predict."""
    x, query = mapped(machine, rows), options.form == "query"
    if not len(x):
        raise ValueError("nearest: there are no rows to measure thresholds on")
    if not machine.n_points:
        raise ValueError("nearest: the machine has no points, so there is nothing to put in order")
    basis = principal_directions(machine.points, _components(machine, options.components))
    slope = _slope(machine, basis, rows, outputs) if query and options.mode == "calibrated" else 0.0
    steps = _steps(machine, options, int(slope == 0))
    last = int(steps[-1])
    cells = 0 if query else options.cells or _default_cells(machine, len(x), last)
    return Ordering(basis, steps, np.array([slope]), *_cells(machine, basis, x, last, cells, options.seed))


def _components(machine: Machine, asked: int | None) -> int:
    """The number of principal directions: the one asked for, or the default."""
    d = machine.n_features
    if asked is None:
        return min(_COMPONENTS, max(1, d // 4))
    if not 1 <= asked <= min(d, MOST_COMPONENTS):
        raise ValueError(f"nearest: components must be between 1 and {min(d, MOST_COMPONENTS)}, got {asked}")
    return asked


def _steps(machine: Machine, options: Options, least: int) -> Integers:
    """The steps asked for; by default `least`, powers of two and the numbers halfway between, up to the budget."""
    if options.steps is not None:
        return require_steps(machine, np.array(options.steps, dtype=np.int64), least)
    last = min(options.budget or _BUDGET, machine.n_points)
    usual = sorted({least, *(size << k for size in (1, 3) for k in range(last.bit_length()))})
    return np.array([*(k for k in usual if k < last), last], dtype=np.int64)


def _default_cells(machine: Machine, rows: int, last: int) -> int:
    """One cell for every hundred rows, within a memory limit: each cell stores `last` points in float32."""
    return max(1, min(_CELLS, rows // _ROWS_A_CELL, 16 * machine.n_points // last))


def _slope(machine: Machine, basis: Floats, rows: Any, outputs: Floats) -> float:
    """The ratio of actual to predicted outputs, from some of the rows."""
    few = slice(None, None, max(1, rows.shape[0] // _SLOPE_ROWS))
    return prediction_slope(machine, basis, mapped(machine, rows[few]), outputs[few])


def _cells(machine: Machine, basis: Floats, x: Floats, count: int, cells: int, seed: int) -> tuple[Floats, Integers]:
    """k-means centers of the rows' components, and for each cell the order of points by the mean score of its rows."""
    if not cells:
        return np.empty((0, len(basis))), np.empty((0, count), dtype=np.int64)
    z = x @ basis.T
    centers = k_means(z, np.ones(len(z)), min(cells, len(z)), np.random.default_rng(seed))
    nearest = nearest_center(centers, z)
    kept = np.unique(nearest)
    orders = [tug_of_war(machine, _mean_scores(machine, basis, x[nearest == cell]), count) for cell in kept]
    return centers[kept], np.array(orders, dtype=np.int64)


def _mean_scores(machine: Machine, basis: Floats, x: Floats) -> Floats:
    return np.asarray(scores(machine, approximate_kernel(machine, basis, x)).mean(axis=0))
