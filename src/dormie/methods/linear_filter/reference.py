"""The linear filter in NumPy: one product with each output's vector."""

from __future__ import annotations

from typing import Any

import numpy as np

from dormie.machine import Floats, Machine
from dormie.machine.rows import require_finite
from dormie.methods.linear_filter.fitting import LinearMachine
from dormie.methods.thresholds import crossed


class LinearFilter:
    """The twin of the native core's `LinearFilter`."""

    def __init__(self, machine: Machine, linear: LinearMachine) -> None:
        self._rule = machine.rule
        self._linear = linear

    def outputs(self, rows: Any) -> Floats:
        """The outputs of the linear machine."""
        require_finite(rows)
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(rows.astype(np.float64) @ self._linear.vectors.T + self._linear.bias)

    def decide(self, rows: Any, low: Floats, high: Floats) -> tuple[Any, Any]:
        """Answers, and which of them are settled."""
        return crossed(self._rule, self.outputs(rows), low, high)
