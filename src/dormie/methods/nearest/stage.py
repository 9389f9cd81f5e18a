"""Nearest support vectors (DeCoste & Mazzoni 2003): the nearest stage.

The stage adds the exact terms of the sum, largest first, until the partial sum G_k passes a threshold. `H_k` is the
largest G_k among sample rows with a negative output, `L_k` the smallest among those with a positive output; a row stops
at the first k with G_k > H_k or G_k < L_k. A sketch of the row in few coordinates predicts which terms are large
(`dormie.methods.nearest.sketch`).

There are two forms. In "query" every row has its own order of terms, which needs the fewest terms. In "cells" rows of
the same k-means cell share an order and thresholds, which needs more terms but lets tiles of rows meet tiles of
vectors. One order serves all outputs, because a kernel value is shared by all pairs of a one-vs-one machine.

The thresholds are measured on the rows given to `fit` (`dormie.methods.nearest.measured_thresholds`). mode="paper" has
the paper's thresholds (each the extreme over `window` steps on either side) and no guarantee. mode="calibrated" uses
means and standard deviations instead, which calibration scales with `cautious`. In this mode the form "query" also uses
the sketch's kernel values, times the factor `foresight`, in place of the terms not added yet. So G_k estimates the
output from the first step on, and most rows stop there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dormie.machine import Floats, Machine
from dormie.machine.rows import require_finite
from dormie.machine.typing import Arrays, Integers
from dormie.methods.base import CalibratedStage, Decisions, require
from dormie.methods.memory import Shapes, Size, extent, packed, padded
from dormie.methods.nearest import reference
from dormie.methods.nearest.fitting import MOST_COMPONENTS, Options, ordering_arrays, require_steps
from dormie.methods.nearest.measured_thresholds import extremes, typical_errors
from dormie.methods.thresholds import (
    Thresholds,
    needs_classifier,
    require_caution,
    require_floats,
    require_thresholds,
)
from dormie.numerics import backend

# The arrays that the native core stores, in the order of BoundNearest (native/python/nearest.cpp).
NEIGHBOURS = ("basis", "steps", "foresight", "centers", "orders")


class Nearest(CalibratedStage):
    """Partial sums of the largest terms, with thresholds at every step.

    arrays: `basis` (p x d, orthonormal), `steps` (numbers of terms, ascending), `foresight` (factor on the sketch's
    kernel values, which stand in for terms not added yet; 0: nothing stands in), `centers` (cells x p) and `orders`
    (cells x last step, indices of points), both empty in the form "query"; `middle` and `half` (steps x cells x c, or
    steps x 1 x c) of the thresholds.
    """

    name = "nearest"
    words = "partial sums, nearest support vectors first, until they pass a measured threshold (DeCoste & Mazzoni 2003)"

    def __init__(self, machine: Machine, arrays: Arrays, caution: float = 1.0) -> None:
        _require_fit(machine, arrays)
        core = backend.build(
            machine, lambda core: backend.extension.Nearest(core, *backend.contiguous(arrays, NEIGHBOURS))
        )
        self._set(machine, arrays, caution, core)

    def _set(self, machine: Machine, arrays: Arrays, caution: float, core: backend.extension.Nearest | None) -> None:
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
        """Fit the stage on checked, unlabelled rows; training rows can be used.

        components  number of principal directions (default: 60, or a quarter of the features)
        budget      terms after which a row goes on to the next stage (default: 256, or all points)
        steps       numbers of terms after which thresholds are checked (default: 1, 2, 3, 4, 6, 8, 12, ... up to the
                    budget, and 0 where the sketch predicts the output)
        window      steps on either side over which the paper's thresholds are smoothed
        cells       number of cells that share an order (default: one for every hundred rows, at most 64, and at most
                    as many as take eight times the memory of the machine's points)
        """
        options = Options(form, mode, components, budget, steps, window, cells, seed)
        require(needs_classifier(cls.name, machine))
        arrays = ordering_arrays(machine, rows, options)
        shape = (len(arrays["steps"]), max(len(arrays["centers"]), 1), machine.n_outputs)
        bare = cls(machine, arrays | {"middle": np.zeros(shape), "half": np.zeros(shape)})
        if mode == "paper":
            found = extremes(machine, bare.sums, rows, shape, window)
        else:
            found = typical_errors(machine, bare.sums, rows, shape)
        return bare._with(arrays | {"middle": found.middle, "half": found.half}, 1.0)

    def cautious(self, caution: float) -> Nearest:
        return self._with(self.arrays, caution)

    def _with(self, arrays: Arrays, caution: float) -> Nearest:
        """A stage with other thresholds that shares the native core, so that the points are not copied again."""
        stage = object.__new__(Nearest)
        stage._set(self.machine, arrays, caution, self._native)
        return stage

    @property
    def form(self) -> str:
        """How terms are ordered: "query" or "cells"."""
        return "cells" if len(self.arrays["centers"]) else "query"

    @property
    def overhead(self) -> float:
        """Cost of the sketch in kernel evaluations per row: its components, and its values at the points or centers."""
        p, d = self.arrays["basis"].shape
        return float(p + (p + 2) * (len(self.arrays["centers"]) or self.machine.n_points) / d)

    def __str__(self) -> str:
        return f"{self.name}({self.form}, {self.arrays['steps'][-1]})"

    def decide(self, rows: Any) -> Decisions:
        if self._native is not None:
            return Decisions(*self._native.decide(*backend.arguments(rows, *self._thresholds)))
        require_finite(rows)
        return Decisions(*reference.decide(self.machine, self.arrays, rows, *self._thresholds))

    def sums(self, rows: Any) -> tuple[Floats, Integers]:
        """G_k after each step, rows x steps x outputs (NaN for rows too large to evaluate), and the cell of a row."""
        if self._native is not None:
            return self._native.sums(*backend.arguments(rows))
        require_finite(rows)
        return reference.sums_of(self.machine, self.arrays, rows)

    def order(self, rows: Any) -> Integers:
        """The order in which each row adds the points, rows x last step; -1 for rows too large to evaluate."""
        if self._native is not None and self.form == "query":
            return self._native.order(*backend.arguments(rows))
        require_finite(rows)
        return np.asarray(reference.order_of(self.machine, self.arrays, rows))

    def estimate(self, rows: Any) -> None:  # noqa: ARG002 - rows stop after different numbers of terms
        return None

    def state(self) -> tuple[dict[str, Any], Arrays]:
        return {"caution": self.caution}, dict(self.arrays)

    @classmethod
    def memory(cls, machine: Size, shapes: Shapes) -> int:
        thresholds = 16 * machine.outputs * extent(shapes, "middle", 0) * extent(shapes, "middle", 1)
        sketch = packed(Size(extent(shapes, "basis"), machine.features, 0), 4)
        of_form = _cells_memory if extent(shapes, "centers") else _query_memory
        return thresholds + sketch + of_form(machine, shapes)

    @classmethod
    def restore(cls, machine: Machine, numbers: dict[str, Any], arrays: Arrays) -> Nearest:
        if set(numbers) != {"caution"} or set(arrays) != {*NEIGHBOURS, "middle", "half"}:
            raise ValueError("nearest: the arrays or numbers of another stage")
        return cls(machine, arrays, numbers["caution"])

    def __reduce__(self) -> tuple[type[Nearest], tuple[Any, ...]]:
        return Nearest, (self.machine, self.arrays, self.caution)


def _cells_memory(machine: Size, shapes: Shapes) -> int:
    """Bytes of the form "cells": every cell has its own copy of its points."""
    last = extent(shapes, "orders", 1)
    cell = packed(Size(last, machine.features, 0), 4) + 4 * last + padded(extent(shapes, "centers", 1), 4)
    return extent(shapes, "centers") * cell + 8 * last * machine.features


def _query_memory(machine: Size, shapes: Shapes) -> int:
    """Bytes of the form "query": the sketches of all points, twice while they are computed, and the points."""
    points, components = machine.points + 64, extent(shapes, "basis") + 2
    few = Size(points, components, machine.outputs)
    return packed(few, 4) + points * (16 * components + 8 * machine.outputs + padded(machine.features, 4) + 32)


def _require_fit(machine: Machine, arrays: Arrays) -> None:
    """Raise ValueError unless the arrays have the shapes and ranges that `fit` gives them."""
    require(needs_classifier(Nearest.name, machine))
    steps = require_steps(machine, arrays["steps"], int(not arrays["foresight"].any()))
    p = len(arrays["basis"]) if arrays["basis"].ndim else 0
    m = len(arrays["centers"]) if arrays["centers"].ndim else 0
    most = min(machine.n_features, MOST_COMPONENTS)
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
