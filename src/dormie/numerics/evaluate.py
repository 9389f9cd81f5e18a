"""The full sum of a machine, G(x) = sum_i beta_i K(map(x), s_i) + b, and how far float64 may be off.

Whatever needs outputs evaluates here: the stages, the planner, the fits. How the dense *stage* decides answers with it
(float32 first, then float64, differences and the model's own sum) is in `dormie.methods.dense`.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from dormie.machine import Floats, Machine
from dormie.machine.rows import require_finite_vectors, some
from dormie.numerics import backend, reference
from dormie.numerics.source_sum import SourceSum, endless_where_lost


class FullSum:
    """Every term of a machine's sum, in float64.

    core: the native evaluation, None where NumPy serves
    """

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.core = backend.build("Dense", machine)

    def prepare(self) -> None:
        """Lay the points out now rather than in the first call, which may have a deadline."""
        if self.core is not None:
            self.core.prepare()

    @property
    def roundings(self) -> int:
        """The longest chain of roundings in one of the sums: within panels, then panel after panel (panel.hpp)."""
        return self.machine.n_points + 2 if self.core is None else 48 + self.machine.n_points // 64

    def outputs(self, rows: Any) -> Floats:
        """G of every checked row and output."""
        if self.core is None:
            require_finite_vectors(rows, self.machine)
            return reference.outputs(self.machine, rows)
        outputs, lost = self.core.outputs(*backend.arguments(rows))
        if lost is not None:  # of numbers beyond the range of doubles
            outputs[lost] = self.source.outputs(rows[lost])
        return outputs  # type: ignore[no-any-return]

    def interval(self, rows: Any) -> tuple[Floats, Floats]:
        """G of every checked row and output, and a radius that reaches its real-number value."""
        if self.core is not None:
            middle, radius = self.core.interval64(*backend.arguments(rows))
        else:
            require_finite_vectors(rows, self.machine)
            middle, radius = reference.interval(self.machine, rows)
        lost = ~np.isfinite(radius).all(axis=1)
        if lost.any() and not self.machine.kernel.is_python:
            middle[lost], radius[lost] = self.source.interval(some(rows, np.flatnonzero(lost)))
        return endless_where_lost(middle, radius)

    @cached_property
    def source(self) -> SourceSum:
        """The model's own sum, for rows within its rounding of the border."""
        return SourceSum(self.machine)
