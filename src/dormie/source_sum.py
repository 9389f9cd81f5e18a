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

from dormie import native, reference
from dormie.machine import Floats, Machine
from dormie.rounding import source_reach
from dormie.rows import is_sparse, mapped


class SourceSum:
    """The sum that a machine, or what it was rewritten from, stands for."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self.source = machine if machine.origin is None else machine.origin.machine

    def outputs(self, rows: Any) -> Floats:
        """The outputs of checked rows."""
        if self._native is None:
            return reference.source_outputs(self.source, rows)
        return self._native.outputs(*native.arguments(rows, is_sparse(rows)))  # type: ignore[no-any-return]

    def interval(self, rows: Any) -> tuple[Floats, Floats]:
        """The outputs of checked rows, and a radius that reaches the machine's real-number value."""
        with np.errstate(over="ignore"):
            norms = np.linalg.norm(mapped(self._machine, rows), axis=1)
        return known(self.outputs(rows), source_reach(self._machine)(norms))

    @cached_property
    def _native(self) -> Any:
        # When a row first needs it: hardly any does, and BLAS takes longer to import than dormie.
        return native.source_sum(self.source, _ddot() if self.source.blas_products else None)


def known(middle: Floats, radius: Floats) -> tuple[Floats, Floats]:
    """The same intervals, those without ends endless: nothing is known there, and nothing is NaN."""
    lost = ~(np.isfinite(middle) & np.isfinite(radius))
    return (np.where(lost, 0.0, middle), np.where(lost, np.inf, radius)) if lost.any() else (middle, radius)


@cache
def _ddot() -> Any:
    from scipy.linalg import cython_blas  # here: see above

    return cython_blas.__pyx_capi__["ddot"]
