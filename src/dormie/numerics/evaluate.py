"""The full sum of a machine, G(x) = sum_i beta_i K(map(x), s_i) + b, and a bound on its rounding.

Stages, fits and the planner evaluate outputs here. How the dense *stage* decides answers (float32 first, then float64,
squared differences, and the model's own sum) is in `dormie.methods.dense`.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Union

import numpy as np

from dormie.machine import Floats, Machine, MachineSum
from dormie.machine.rows import some
from dormie.numerics import backend, reference
from dormie.numerics.source_sum import SourceSum, SourceSums, joined_interval, unbounded_where_not_finite


def full_sum_of(machine: Machine) -> FullSum:
    """The evaluator of a machine, or of a sum of machines."""
    return SumOfMachines(machine) if isinstance(machine, MachineSum) else FullSum(machine)


NativeSum = Union["backend.extension.Dense", "backend.extension.SparseSum"]  # text: the extension may be missing


def _core(machine: Machine) -> NativeSum | reference.Dense:
    """What computes the sum; functions make it, because the extension may be missing."""
    if machine.has_sparse_points:
        return backend.choose_sparse(
            machine, lambda core: backend.extension.SparseSum(core), lambda: reference.Dense(machine)
        )
    return backend.choose(machine, lambda core: backend.extension.Dense(core), lambda: reference.Dense(machine))


class FullSum:
    """The sum of all terms of a machine, in float64; `core` computes it, natively or in NumPy."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.core = _core(machine)

    @property
    def native_core(self) -> NativeSum | None:
        """`core` if it is native; None if NumPy computes."""
        return None if isinstance(self.core, reference.Dense) else self.core

    def prepare(self) -> None:
        """Pack the points now and not in the first call, which may have a deadline."""
        self.core.prepare()

    @property
    def roundings(self) -> int:
        """The most roundings of one term of the sum."""
        return self.core.roundings

    def outputs(self, rows: Any, threads: int = 0) -> Floats:
        """G(x) of every checked row, rows x outputs. threads: of the native core; 0 for the default."""
        outputs, lost = self.core.outputs(rows, threads)
        if lost is not None:  # rows whose evaluation left the range of float64
            outputs[lost] = self.source_sum.outputs(rows[lost])
        return outputs

    def interval(self, rows: Any) -> tuple[Floats, Floats]:
        """G(x) of every checked row, and a bound on its distance from the real-number value."""
        middle, radius = self.core.interval64(rows)
        lost = ~np.isfinite(radius).all(axis=1)
        if lost.any() and not self.machine.kernel.is_python:
            middle[lost], radius[lost] = self.source_sum.interval(some(rows, np.flatnonzero(lost)))
        return unbounded_where_not_finite(middle, radius)

    def ends(self, rows: Any) -> tuple[Floats, Floats]:
        """Low and high ends of the outputs, rounding included."""
        middle, radius = self.interval(rows)
        return middle - radius, middle + radius

    def rough_ends(self, rows: Any) -> tuple[Floats, Floats]:
        """The same from sums in float32, where there is a native core."""
        native = self.native_core
        middle, radius = self.interval(rows) if native is None else unbounded_where_not_finite(*native.interval(rows))
        return middle - radius, middle + radius

    @cached_property
    def source_sum(self) -> SourceSum:
        """The model's own sum, for rows that are within its rounding of the decision boundary, or out of range."""
        return SourceSum(self.machine)


class SumOfMachines(FullSum):
    """The outputs of a sum of machines: those of its members, side by side or added."""

    machine: MachineSum

    def __init__(self, machine: MachineSum) -> None:
        self.machine = machine
        self.members = tuple(FullSum(member) for member in machine.members)

    @property
    def native_core(self) -> None:
        return None

    def prepare(self) -> None:
        for member in self.members:
            member.prepare()

    @property
    def roundings(self) -> int:
        return max(member.roundings for member in self.members)

    def outputs(self, rows: Any, threads: int = 0) -> Floats:
        return self.machine.joined([member.outputs(rows, threads) for member in self.members])

    def interval(self, rows: Any) -> tuple[Floats, Floats]:
        return joined_interval(self.machine, [member.interval(rows) for member in self.members])

    def rough_ends(self, rows: Any) -> tuple[Floats, Floats]:
        return self.machine.joined_ends([member.rough_ends(rows) for member in self.members])

    @cached_property
    def source_sum(self) -> SourceSum:
        return SourceSums(self.machine, [member.source_sum for member in self.members])
