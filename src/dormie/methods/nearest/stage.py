"""Nearest support vectors (DeCoste & Mazzoni 2003): the nearest stage.

The exact terms of the sum, the largest first, until the partial sum G_k leans so far to one side that no sample row
which leant as far ended on the other: `H_k` is the largest G_k among sample rows whose full output is negative, `L_k`
the smallest among the positive ones; a row stops at the first k with G_k > H_k or G_k < L_k. Which terms are large is
told by a sketch of the row (`dormie.methods.nearest.sketch`).

Two forms: "query", an order for each row, which takes the fewest terms; and "cells", where rows that are alike share
an order and thresholds, which takes more terms, but rows meet vectors in tiles. One order serves all outputs: a kernel
value counts for every pair of a one-vs-one machine.

Thresholds are of the rows they were fitted on (`dormie.methods.nearest.leaning`). mode="paper" has them as in the paper
(with `window`, each is the extreme over so many steps to either side), and promises nothing. mode="calibrated" is the
base that `cautious` scales: usual errors in place of extremes. There the form "query" has foresight: the sketch, which
gives an order, gives a value for every term as well, and that counts until the exact one comes. So G_k is an estimate
of the output from the first step on, and most rows need no second.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dormie.machine import Floats, Machine
from dormie.machine.rows import mapped, require_finite
from dormie.machine.typing import Arrays
from dormie.methods.base import CautiousStage, Decisions, require
from dormie.methods.memory import Shapes, Size, extent, packed, padded
from dormie.methods.nearest import reference
from dormie.methods.nearest.leaning import extremes, usual_errors
from dormie.methods.nearest.sketch import foreseen, foresight, principal_directions, scores, tug_of_war
from dormie.methods.thresholds import (
    Thresholds,
    needs_classifier,
    require_caution,
    require_floats,
    require_thresholds,
    some_of,
)
from dormie.numerics import backend
from dormie.numerics.evaluate import FullSum
from dormie.numerics.k_means import k_means

# The arrays that the native core keeps, in the order of BoundNearest (native/python/nearest.cpp).
NEIGHBOURS = ("basis", "steps", "foresight", "centers", "orders")

FORMS = ("query", "cells")
MODES = ("paper", "calibrated")
_COMPONENTS = 60
_MOST_COMPONENTS = 256  # as many as the native core has room for
_BUDGET = 256
_CELLS = 64
_ROWS_A_CELL = 100  # with fewer, its thresholds are mostly chance
_FORESEEN_ROWS = 500  # that foresight, one number, is fitted on


class Nearest(CautiousStage):
    """The largest terms first, at most as many as the last step.

    arrays: `basis` (p x d, orthonormal), `steps` (ascending), `foresight` (how many times the sketch's value counts for
    a term still to come), `centers` (cells x p) and `orders` (cells x last step, points of the machine), both empty in
    the form "query"; `middle` and `half` (steps x cells x c, or steps x 1 x c).
    """

    name = "nearest"
    words = "the nearest support vectors first, until their sum leans far enough (DeCoste & Mazzoni 2003)"

    def __init__(self, machine: Machine, arrays: Arrays, caution: float = 1.0) -> None:
        _require_fit(machine, arrays)
        self._set(machine, arrays, caution, backend.build("Nearest", machine, *backend.contiguous(arrays, NEIGHBOURS)))

    def _set(self, machine: Machine, arrays: Arrays, caution: float, core: Any) -> None:
        self.machine = machine
        self.arrays = arrays
        self.caution = require_caution(self.name, caution)
        self._thresholds = Thresholds(arrays["middle"], arrays["half"]).widened(self.caution)
        self._native = core

    @classmethod
    def fit(
        cls,
        machine: Machine,
        rows: Any,
        *,
        form: str = "query",
        mode: str = "calibrated",
        components: int | None = None,
        budget: int | None = None,
        steps: Sequence[int] | None = None,
        window: int = 0,
        cells: int | None = None,
        seed: int = 0,
    ) -> Nearest:
        """The stage with thresholds from checked rows, unlabelled; training rows serve.

        components  of the PCA (default: 60, or a quarter of the features)
        budget      terms after which a row goes on to the next stage (default: 256, or all)
        steps       after how many terms to ask (default: 0 with foresight, 1, 2, 3, 4, 6, 8, 12, ... up to the budget)
        window      steps to either side that the paper's thresholds are smoothed over
        cells       that share an order (default: one for every hundred rows, at most 64, and at most as many as take
                    eight times the memory of the machine's points)
        """
        _require_choice("form", form, FORMS)
        _require_choice("mode", mode, MODES)
        _require_least(window=(window, 0), budget=(budget, 1), cells=(cells, 1))
        require(needs_classifier(cls.name, machine))
        x = mapped(machine, rows)
        if not len(x):
            raise ValueError("nearest: there are no rows to measure thresholds on")
        if not machine.n_points:
            raise ValueError("nearest: the machine has no points, so there is nothing to put in order")
        basis = principal_directions(machine.points, _components(machine, components))
        ahead = _foresight(machine, basis, rows) if form == "query" and mode == "calibrated" else 0.0
        at = _steps(machine, budget, steps, int(ahead == 0))
        wanted = 0 if form == "query" else cells or _usual_cells(machine, len(x), int(at[-1]))
        arrays = {"basis": basis, "steps": at, "foresight": np.array([ahead])}
        arrays |= _cells(machine, basis, x, int(at[-1]), wanted, seed)
        shape = (len(at), max(len(arrays["centers"]), 1), machine.n_outputs)
        bare = cls(machine, arrays | {"middle": np.zeros(shape), "half": np.zeros(shape)})
        if mode == "paper":
            found = extremes(machine, bare.sums, rows, shape, window)
        else:
            found = usual_errors(machine, bare.sums, rows, shape)
        return bare._with(arrays | {"middle": found.middle, "half": found.half}, 1.0)

    def cautious(self, caution: float) -> Nearest:
        return self._with(self.arrays, caution)

    def _with(self, arrays: Arrays, caution: float) -> Nearest:
        """Other thresholds over the same points, which need not be laid out again."""
        stage = object.__new__(Nearest)
        stage._set(self.machine, arrays, caution, self._native)
        return stage

    @property
    def form(self) -> str:
        return "cells" if len(self.arrays["centers"]) else "query"

    @property
    def overhead(self) -> float:
        """What the sketch costs a row, in kernel evaluations: its components, and its values at points or centres."""
        p, d = self.arrays["basis"].shape
        return float(p + (p + 2) * (len(self.arrays["centers"]) or self.machine.n_points) / d)

    def __str__(self) -> str:
        return f"{self.name}({self.form}, {self.arrays['steps'][-1]})"

    def decide(self, rows: Any) -> Decisions:
        if self._native is not None:
            return Decisions(*self._native.decide(*backend.arguments(rows, *self._thresholds)))
        require_finite(rows)
        return Decisions(*reference.decide(self.machine, self.arrays, rows, *self._thresholds))

    def sums(self, rows: Any) -> tuple[Floats, npt.NDArray[np.int64]]:
        """G_k after each step, rows x steps x outputs (NaN where numbers are too large), and the cell of each row."""
        if self._native is not None:
            return self._native.sums(*backend.arguments(rows))  # type: ignore[no-any-return]
        require_finite(rows)
        return reference.sums_of(self.machine, self.arrays, rows)

    def order(self, rows: Any) -> npt.NDArray[np.int64]:
        """The points in the order that each row takes them, rows x the last step; -1 where numbers are too large."""
        if self._native is not None and self.form == "query":
            return self._native.order(*backend.arguments(rows))  # type: ignore[no-any-return]
        require_finite(rows)
        return np.asarray(reference.order_of(self.machine, self.arrays, rows))

    def estimate(self, rows: Any) -> None:  # noqa: ARG002 - how far a row's sum goes depends on the row
        return None

    def state(self) -> tuple[dict[str, Any], Arrays]:
        return {"caution": self.caution}, dict(self.arrays)

    @classmethod
    def memory(cls, machine: Size, shapes: Shapes) -> int:
        thresholds = 16 * machine.outputs * extent(shapes, "middle", 0) * extent(shapes, "middle", 1)
        sketch = packed(Size(extent(shapes, "basis"), machine.features, 0), 4)
        laid_out = _cells_room if extent(shapes, "centers") else _query_room
        return thresholds + sketch + laid_out(machine, shapes)

    @classmethod
    def restore(cls, machine: Machine, numbers: dict[str, Any], arrays: Arrays) -> Nearest:
        if set(numbers) != {"caution"} or set(arrays) != {*NEIGHBOURS, "middle", "half"}:
            raise ValueError("nearest: the arrays or numbers of another stage")
        return cls(machine, arrays, numbers["caution"])

    def __reduce__(self) -> tuple[type[Nearest], tuple[Any, ...]]:
        return Nearest, (self.machine, self.arrays, self.caution)


def _cells_room(machine: Size, shapes: Shapes) -> int:
    """A copy of its points for each cell."""
    last = extent(shapes, "orders", 1)
    cell = packed(Size(last, machine.features, 0), 4) + 4 * last + padded(extent(shapes, "centers", 1), 4)
    return extent(shapes, "centers") * cell + 8 * last * machine.features


def _query_room(machine: Size, shapes: Shapes) -> int:
    """Every point in few coordinates, and once more while those are worked out; all points one after the other."""
    points, components = machine.points + 64, extent(shapes, "basis") + 2
    few = Size(points, components, machine.outputs)
    return packed(few, 4) + points * (16 * components + 8 * machine.outputs + padded(machine.features, 4) + 32)


def _require_fit(machine: Machine, arrays: Arrays) -> None:
    """ValueError unless the arrays are of the shapes and ranges that `fit` gives them."""
    require(needs_classifier(Nearest.name, machine))
    steps = _require_steps(machine, arrays["steps"], int(not arrays["foresight"].any()))
    p = len(arrays["basis"]) if arrays["basis"].ndim else 0
    m = len(arrays["centers"]) if arrays["centers"].ndim else 0
    most = min(machine.n_features, _MOST_COMPONENTS)
    if not 1 <= p <= most:
        raise ValueError(f"nearest: basis must have between 1 and {most} directions, got {p}")
    require_thresholds(Nearest.name, arrays, (len(steps), max(m, 1), machine.n_outputs))
    for name, shape in (("basis", (p, machine.n_features)), ("foresight", (1,)), ("centers", (m, p))):
        require_floats(Nearest.name, name, arrays[name], shape)
    if m and arrays["foresight"].any():
        raise ValueError("nearest: foresight must be 0 in the form 'cells', where rows have no values of their own")
    orders = arrays["orders"]
    if orders.shape != (m, steps[-1]) or orders.dtype != np.int64:
        raise ValueError(
            f"nearest: orders must be int64 of shape {(m, int(steps[-1]))}, got {orders.dtype} {orders.shape}"
        )
    if ((orders < 0) | (orders >= machine.n_points)).any():
        raise ValueError(f"nearest: orders must name points from 0 to {machine.n_points - 1}")


def _require_steps(machine: Machine, steps: npt.NDArray[Any], least: int) -> npt.NDArray[Any]:
    if steps.ndim != 1 or steps.dtype != np.int64 or not len(steps):
        raise ValueError(f"nearest: steps must be a list of int64, got {steps.dtype} of shape {steps.shape}")
    ascending = steps[0] >= least and (steps[1:] > steps[:-1]).all()
    if not ascending or not 1 <= steps[-1] <= machine.n_points:
        raise ValueError(
            f"nearest: steps must ascend from at least {least} to at most the {machine.n_points} points, "
            f"got {some_of(steps)}"
        )
    return steps


def _require_choice(what: str, value: str, choices: Sequence[str]) -> None:
    if value not in choices:
        raise ValueError(f"nearest: {what} must be one of {', '.join(map(repr, choices))}, got {value!r}")


def _require_least(**wishes: tuple[int | None, int]) -> None:
    for name, (value, least) in wishes.items():
        if value is not None and value < least:
            raise ValueError(f"nearest: {name} must be at least {least}, got {value}")


def _components(machine: Machine, wish: int | None) -> int:
    d = machine.n_features
    if wish is None:
        return min(_COMPONENTS, max(1, d // 4))
    if not 1 <= wish <= min(d, _MOST_COMPONENTS):
        raise ValueError(f"nearest: components must be between 1 and {min(d, _MOST_COMPONENTS)}, got {wish}")
    return wish


def _steps(machine: Machine, budget: int | None, steps: Sequence[int] | None, least: int) -> npt.NDArray[np.int64]:
    """The steps asked for; else the least, powers of two and the numbers halfway between, up to the budget."""
    if steps is not None:
        return _require_steps(machine, np.array(steps, dtype=np.int64), least)
    last = min(budget or _BUDGET, machine.n_points)
    usual = sorted({least, *(size << k for size in (1, 3) for k in range(last.bit_length()))})
    return np.array([*(k for k in usual if k < last), last], dtype=np.int64)


def _usual_cells(machine: Machine, rows: int, last: int) -> int:
    """Each has `last` of the points in float32."""
    return max(1, min(_CELLS, rows // _ROWS_A_CELL, 16 * machine.n_points // last))


def _foresight(machine: Machine, basis: Floats, rows: Any) -> float:
    some = rows[:: max(1, rows.shape[0] // _FORESEEN_ROWS)]
    return foresight(machine, basis, mapped(machine, some), FullSum(machine).outputs(some))


def _cells(machine: Machine, basis: Floats, x: Floats, count: int, cells: int, seed: int) -> Arrays:
    """Centres of the rows in few coordinates, and the order of points that each cell's rows have on average."""
    if not cells:
        return {"centers": np.empty((0, len(basis))), "orders": np.empty((0, count), dtype=np.int64)}
    z = x @ basis.T
    centers = k_means(z, np.ones(len(z)), min(cells, len(z)), np.random.default_rng(seed))
    nearest = reference.cells_of(centers, z)
    kept = np.unique(nearest)
    orders = [tug_of_war(machine, _mean_scores(machine, basis, x[nearest == cell]), count) for cell in kept]
    return {"centers": centers[kept], "orders": np.array(orders, dtype=np.int64)}


def _mean_scores(machine: Machine, basis: Floats, x: Floats) -> Floats:
    return np.asarray(scores(machine, foreseen(machine, basis, x)).mean(axis=0))
