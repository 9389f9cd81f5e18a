"""The model's own float64 sum, repeated operation by operation: it decides the rows that lie within its rounding.

For scikit-learn's LIBSVM this means: inner products by SciPy's BLAS if the model was trained on dense rows, one product
after the other if on sparse rows; differences for RBF; exp and tanh of the C library; powers by repeated squaring;
support vectors in order, the bias last, no fused multiply-adds; and the scalers' own arithmetic. On the same computer
the result has the same bits as scikit-learn's. Other models are summed one term after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, cached_property
from typing import Any, Union

import numpy as np

from dormie.machine import Floats, Machine, MachineSum
from dormie.machine.csr import is_sparse
from dormie.machine.input_map import MAP_STEPS
from dormie.machine.rows import mapped_norms
from dormie.machine.typing import Integers
from dormie.numerics import backend, source_reference
from dormie.numerics.rounding import UNIT, source_margin

NativeSourceSum = Union["backend.extension.SourceSum", "backend.extension.SparseSourceSum"]  # text: it may be missing


class SourceSum:
    """The own sum of the model that a machine was read from; `source` is the machine before exact rewrites."""

    def __init__(self, machine: Machine) -> None:
        self._rewritten = machine
        self.machine = machine if machine.origin is None else machine.origin.machine  # as it was read

    def outputs(self, rows: Any) -> Floats:
        """The outputs of checked rows."""
        return self._core.outputs(rows, is_sparse(rows) and not _shifts(self.machine))

    def interval(self, rows: Any) -> tuple[Floats, Floats]:
        """The outputs of checked rows, and a bound on their distance from the machine's real-number value."""
        norms = mapped_norms(self._rewritten, rows)
        return unbounded_where_not_finite(self.outputs(rows), source_margin(self._rewritten)(norms))

    @cached_property
    def _core(self) -> NativeSourceSum | source_reference.SourceSum:
        # Built when a row first needs it: few rows do, and BLAS takes longer to import than dormie.
        def twin() -> source_reference.SourceSum:
            return source_reference.SourceSum(self.machine)

        steps = _map_steps(self.machine)
        if self.machine.has_sparse_points:
            return backend.choose_sparse(
                self.machine, lambda core: backend.extension.SparseSourceSum(core, *steps), twin
            )
        return backend.choose(
            self.machine, lambda core: backend.extension.SourceSum(core, *steps, _ddot_of(self.machine)), twin
        )


class SourceSums(SourceSum):
    """The own sums of all members of a sum of machines, side by side or added."""

    def __init__(self, machine: MachineSum, members: Sequence[SourceSum]) -> None:
        self.machine = self._sum = machine
        self._members = members

    def outputs(self, rows: Any) -> Floats:
        return self._sum.joined([member.outputs(rows) for member in self._members])

    def interval(self, rows: Any) -> tuple[Floats, Floats]:
        return joined_interval(self._sum, [member.interval(rows) for member in self._members])


def joined_interval(machine: MachineSum, intervals: Sequence[tuple[Floats, Floats]]) -> tuple[Floats, Floats]:
    """The outputs of a sum of machines, and their radius, from those of the members."""
    middle = machine.joined([middle for middle, _ in intervals])
    if machine.factors is None:
        return middle, np.hstack([radius for _, radius in intervals])
    with np.errstate(over="ignore", invalid="ignore"):
        low, high = machine.joined_ends([(middle - radius, middle + radius) for middle, radius in intervals])
        return unbounded_where_not_finite(middle, np.maximum(high - middle, middle - low) * (1 + 4 * UNIT))


def unbounded_where_not_finite(middle: Floats, radius: Floats) -> tuple[Floats, Floats]:
    """The same intervals, but from minus infinity to infinity where an end is not finite: no end is NaN."""
    lost = ~(np.isfinite(middle) & np.isfinite(radius))
    return (np.where(lost, 0.0, middle), np.where(lost, np.inf, radius)) if lost.any() else (middle, radius)


def _shifts(machine: Machine) -> bool:
    """Whether the input map moves zeros. Models refuse sparse rows then, so such rows count as dense."""
    steps = () if machine.input_map is None else machine.input_map.all_steps
    return any(name in ("subtract", "add") and values.any() for name, values in steps)


def _map_steps(machine: Machine) -> tuple[Integers, Floats]:
    """The steps of the input map, as positions in `MAP_STEPS`, and their values (steps x features)."""
    steps = () if machine.input_map is None else machine.input_map.all_steps
    names = np.array([MAP_STEPS.index(name) for name, _ in steps], dtype=np.int64)
    return names, np.array([values for _, values in steps], dtype=np.float64).reshape(-1, machine.n_features)


def _ddot_of(machine: Machine) -> object | None:
    """BLAS's inner product, if the model uses it; None otherwise."""
    return _ddot() if machine.blas_products else None


@cache
def _ddot() -> object:
    from scipy.linalg import cython_blas  # here: see `SourceSum._core`

    capsule: object = cython_blas.__pyx_capi__["ddot"]
    return capsule
