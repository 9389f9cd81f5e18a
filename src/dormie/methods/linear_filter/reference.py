"""The linear filter in NumPy: one product with each output's vector."""

from __future__ import annotations

from typing import Any

import numpy as np

from dormie.machine import Floats, Machine
from dormie.machine.typing import Arrays
from dormie.methods.thresholds import crossed


def outputs(arrays: Arrays, rows: Any) -> Floats:
    """The outputs of the linear machine."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(rows.astype(np.float64) @ arrays["vectors"].T + arrays["bias"])


def decide(machine: Machine, arrays: Arrays, rows: Any, low: Floats, high: Floats) -> tuple[Any, Any]:
    """Answers, and which of them are settled."""
    return crossed(machine.rule, outputs(arrays, rows), low, high)
