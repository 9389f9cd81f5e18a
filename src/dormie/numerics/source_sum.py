"""A model's own float64 sum, operation by operation: it decides the rows that lie within its rounding.

For scikit-learn's LIBSVM that is: inner products by SciPy's BLAS where the model was trained on dense rows, one product
after the other where on sparse ones; differences for RBF; the C library's exp and tanh; powers by repeated squaring;
support vectors in order, the bias last, nothing fused; and the scalers' own arithmetic. On the computer that
scikit-learn runs on, this gives its bits. Models of other kinds are summed one term after the other.
"""

from __future__ import annotations

from functools import cache, cached_property
from typing import Any

import numpy as np

from dormie.machine import Floats, Machine
from dormie.machine.input_map import MAP_STEPS
from dormie.machine.rows import is_sparse, mapped
from dormie.machine.typing import Integers
from dormie.numerics import backend, source_reference
from dormie.numerics.rounding import source_reach


class SourceSum:
    """The sum that a machine, or what it was rewritten from, stands for."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self.source = machine if machine.origin is None else machine.origin.machine

    def outputs(self, rows: Any) -> Floats:
        """The outputs of checked rows."""
        if self._native is None:
            return source_reference.source_outputs(self.source, rows)
        return self._native.outputs(*backend.arguments(rows, is_sparse(rows)))  # type: ignore[no-any-return]

    def interval(self, rows: Any) -> tuple[Floats, Floats]:
        """The outputs of checked rows, and a radius that reaches the machine's real-number value."""
        with np.errstate(over="ignore"):
            norms = np.linalg.norm(mapped(self._machine, rows), axis=1)
        return endless_where_lost(self.outputs(rows), source_reach(self._machine)(norms))

    @cached_property
    def _native(self) -> Any:
        # When a row first needs it: hardly any does, and BLAS takes longer to import than dormie.
        if self.source.kernel.is_python:
            return None
        return backend.build("SourceSum", self.source, *_map_steps(self.source), _ddot_of(self.source))


def endless_where_lost(middle: Floats, radius: Floats) -> tuple[Floats, Floats]:
    """The same intervals, those without ends endless: nothing is known there, and nothing is NaN."""
    lost = ~(np.isfinite(middle) & np.isfinite(radius))
    return (np.where(lost, 0.0, middle), np.where(lost, np.inf, radius)) if lost.any() else (middle, radius)


def _map_steps(machine: Machine) -> tuple[Integers, Floats]:
    """The steps of the input map, by number, and their values, steps x features."""
    steps = () if machine.input_map is None else machine.input_map.all_steps
    names = np.array([MAP_STEPS.index(name) for name, _ in steps], dtype=np.int64)
    return names, np.array([values for _, values in steps], dtype=np.float64).reshape(-1, machine.n_features)


def _ddot_of(machine: Machine) -> Any:
    """The inner product of BLAS, where the model takes it from there."""
    return _ddot() if machine.blas_products else None


@cache
def _ddot() -> Any:
    from scipy.linalg import cython_blas  # here: see `SourceSum._native`

    return cython_blas.__pyx_capi__["ddot"]
