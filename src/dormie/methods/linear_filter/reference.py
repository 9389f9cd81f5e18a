"""The linear filter in NumPy: one product with each output's vector."""

from __future__ import annotations

from typing import Any

import numpy as np

from dormie.machine import Floats, Machine
from dormie.machine.rows import prepared, require_finite
from dormie.methods.linear_filter.fitting import LinearMachine
from dormie.methods.thresholds import crossed


class LinearFilter:
    """The twin of the native core's `LinearFilter`."""

    def __init__(self, machine: Machine, linear: LinearMachine) -> None:
        self._machine = machine
        self._linear = linear

    def outputs(self, rows: Any) -> Floats:
        """The outputs of the linear machine."""
        require_finite(rows, self._machine)
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(prepared(self._machine, rows) @ self._linear.vectors.T + self._linear.bias)

    def decide(self, rows: Any, low: Floats, high: Floats) -> tuple[Any, Any]:
        """Answers, and which of them are settled."""
        return crossed(self._machine.rule, self.outputs(rows), low, high)
