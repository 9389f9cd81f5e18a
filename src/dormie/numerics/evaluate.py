"""The full sum of a machine, G(x) = sum_i beta_i K(map(x), s_i) + b, and a bound on its rounding.

Stages, fits and the planner evaluate outputs here. How the dense *stage* decides answers (float32 first, then float64,
squared differences, and the model's own sum) is in `dormie.methods.dense`.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from dormie.machine import Floats, Machine
from dormie.machine.rows import require_finite_vectors, some
from dormie.numerics import backend, reference
from dormie.numerics.source_sum import SourceSum, unbounded_where_not_finite


class FullSum:
    """The sum of all terms of a machine, in float64; `core` is its native evaluation, None where NumPy is used."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.core = backend.build(machine, lambda core: backend.extension.Dense(core))

    def prepare(self) -> None:
        """Pack the points now and not in the first call, which may have a deadline."""
        if self.core is not None:
            self.core.prepare()

    @property
    def roundings(self) -> int:
        """The most roundings of one term of the sum: within its panel, then one per panel (native/tiles/panel.hpp)."""
        return self.machine.n_points + 2 if self.core is None else 48 + self.machine.n_points // 64

    def outputs(self, rows: Any) -> Floats:
        """G(x) of every checked row, rows x outputs."""
        if self.core is None:
            require_finite_vectors(rows, self.machine)
            return reference.outputs(self.machine, rows)
        outputs, lost = self.core.outputs(*backend.arguments(rows))
        if lost is not None:  # rows whose evaluation left the range of float64
            outputs[lost] = self.source_sum.outputs(rows[lost])
        return outputs

    def interval(self, rows: Any) -> tuple[Floats, Floats]:
        """G(x) of every checked row, and a bound on its distance from the real-number value."""
        if self.core is not None:
            middle, radius = self.core.interval64(*backend.arguments(rows))
        else:
            require_finite_vectors(rows, self.machine)
            middle, radius = reference.interval(self.machine, rows)
        lost = ~np.isfinite(radius).all(axis=1)
        if lost.any() and not self.machine.kernel.is_python:
            middle[lost], radius[lost] = self.source_sum.interval(some(rows, np.flatnonzero(lost)))
        return unbounded_where_not_finite(middle, radius)

    @cached_property
    def source_sum(self) -> SourceSum:
        """The model's own sum, for rows that are within its rounding of the decision boundary, or out of range."""
        return SourceSum(self.machine)
