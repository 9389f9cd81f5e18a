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
means and standard deviations instead, which calibration scales by a caution. In this mode the form "query" also uses
the sketch's kernel values, times the factor `foresight`, in place of the terms not added yet. So G_k estimates the
output from the first step on, and most rows stop there.

Where the largest of several outputs is the answer, thresholds are those of the differences of two outputs: a row stops
once one output is ahead of every other (`dormie.methods.thresholds.in_pairs`).

The terms may also be those of a reduced set (`dormie.reduce`), which the paper suggests: the stage is then fitted to
the reduced machine, with the outputs of the machine that it stands in for, whose signs the thresholds are about.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from dormie.machine import Floats, Machine
from dormie.machine.typing import Arrays, Integers
from dormie.methods.base import (
    CalibratedStage,
    Decisions,
    NativeStage,
    arrays_of,
    names_of,
    parameters_from,
    require,
    require_state,
)
from dormie.methods.memory import Shapes, Size, extent, packed, padded
from dormie.methods.nearest import reference
from dormie.methods.nearest.fitting import Options, fitted_ordering
from dormie.methods.nearest.measured_thresholds import extremes, typical_errors
from dormie.methods.nearest.ordering import STAGE, Ordering, require_fit
from dormie.methods.thresholds import Thresholds, comparisons, needs_products, require_thresholds
from dormie.numerics import backend
from dormie.numerics.evaluate import FullSum

Core: TypeAlias = "backend.extension.Nearest | reference.Nearest"


class Nearest(NativeStage, CalibratedStage):
    """Partial sums of the largest terms, with thresholds (steps x cells x c, or steps x 1 x c) at every step.

    Where the largest output is the answer, there are as many thresholds as pairs of outputs in place of c.

    core: what computes the partial sums of this ordering, if the caller has it; another would copy the points again
    """

    name = STAGE
    words = "partial sums, nearest support vectors first, until they pass a measured threshold (DeCoste & Mazzoni 2003)"

    def __init__(self, machine: Machine, ordering: Ordering, thresholds: Thresholds, core: Core | None = None) -> None:
        require(needs_products(self.name, machine))
        require_fit(machine, ordering)
        require_thresholds(self.name, thresholds, _shape(machine, ordering))
        self.machine = machine
        self.ordering = ordering
        self.thresholds = thresholds
        self.details = f"{ordering.form}, {ordering.steps[-1]}"
        self._core = core or _core(machine, ordering)

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
        outputs: Floats | None = None,
    ) -> Nearest:
        """Fit the stage on checked, unlabelled rows; training rows can be used.

        components  number of principal directions (default: 60, or a quarter of the features)
        budget      terms after which a row goes on to the next stage (default: 256, or all points)
        steps       numbers of terms after which thresholds are checked (default: 1, 2, 3, 4, 6, 8, 12, ... up to the
                    budget, and 0 where the sketch predicts the output)
        window      steps on either side over which the paper's thresholds are smoothed
        cells       number of cells that share an order (default: one for every hundred rows, at most 64, and at most
                    as many as take eight times the memory of the machine's points)
        outputs     the outputs for these rows that thresholds are measured by (default: those of the machine itself)
        """
        options = Options(form, mode, components, budget, steps, window, cells, seed)
        require(needs_products(cls.name, machine))
        outputs = FullSum(machine).outputs(rows) if outputs is None else outputs
        ordering = fitted_ordering(machine, rows, outputs, options)
        require_fit(machine, ordering)
        core, shape = _core(machine, ordering), _shape(machine, ordering)
        if mode == "paper":
            thresholds = extremes(machine.rule, outputs, core.sums, rows, shape, window)
        else:
            thresholds = typical_errors(machine.rule, outputs, core.sums, rows, shape)
        return cls(machine, ordering, thresholds, core)

    @property
    def overhead(self) -> float:
        """Cost of the sketch in kernel evaluations per row: its components, and its values at the points or centers."""
        p, d = self.ordering.basis.shape
        return float(p + (p + 2) * (len(self.ordering.centers) or self.machine.n_points) / d)

    def native(self, caution: float) -> backend.extension.Stage | None:
        return backend.stage_of(self._core, *self.thresholds.widened(caution))

    def decide_in_numpy(self, rows: Any, caution: float) -> Decisions:
        twin: Any = self._core
        return Decisions(*twin.decide(rows, *self.thresholds.widened(caution)))

    def estimate(self, rows: Any) -> Floats:
        """The partial sums after the last step; the bias for rows too large to evaluate."""
        last = self.sums(rows)[0][:, -1]
        return np.where(np.isfinite(last), last, self.machine.bias)

    def sums(self, rows: Any) -> tuple[Floats, Integers]:
        """G_k after each step, rows x steps x outputs (NaN for rows too large to evaluate), and the cell of a row."""
        return self._core.sums(rows)

    def order(self, rows: Any) -> Integers:
        """The order in which each row adds the points, rows x last step; -1 for rows too large to evaluate."""
        if self.ordering.form == "query":
            return np.asarray(self._core.order(rows))
        sums, cells = self.sums(rows)
        lost = np.isnan(sums[:, -1, :1])  # rows too large to evaluate
        return np.where(lost, -1, self.ordering.orders[cells])

    def state(self) -> tuple[dict[str, Any], Arrays]:
        return {}, arrays_of(self.ordering, self.thresholds)

    @classmethod
    def memory(cls, machine: Size, shapes: Shapes) -> int:
        thresholds = 16 * math.prod(extent(shapes, "middle", axis) for axis in range(3))
        sketch = packed(Size(extent(shapes, "basis"), machine.features, 0), 4)
        of_form = _cells_memory if extent(shapes, "centers") else _query_memory
        return thresholds + sketch + of_form(machine, shapes)

    @classmethod
    def restore(cls, machine: Machine, numbers: dict[str, Any], arrays: Arrays) -> Nearest:
        require_state(cls.name, numbers, arrays, names_of(Ordering) + names_of(Thresholds))
        return cls(machine, parameters_from(Ordering, arrays), parameters_from(Thresholds, arrays))

    def __reduce__(self) -> tuple[type[Nearest], tuple[Any, ...]]:
        return Nearest, (self.machine, self.ordering, self.thresholds)


def _core(machine: Machine, ordering: Ordering) -> Core:
    return backend.choose(
        machine,
        lambda core: backend.extension.Nearest(core, *backend.contiguous(ordering)),
        lambda: reference.Nearest(machine, ordering),
    )


def _shape(machine: Machine, ordering: Ordering) -> tuple[int, int, int]:
    """The shape of the thresholds: steps x cells x outputs, or pairs of outputs."""
    return len(ordering.steps), max(len(ordering.centers), 1), comparisons(machine)


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
