"""The linear filter in NumPy: one product with each output's vector."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dormie.machine import Floats, Machine
from dormie.methods.thresholds import crossed

Arrays = Mapping[str, Any]


def outputs(arrays: Arrays, rows: Any) -> Floats:
    """The outputs of the linear machine."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(rows.astype(np.float64) @ arrays["vectors"].T + arrays["bias"])


def decide(machine: Machine, arrays: Arrays, rows: Any, low: Floats, high: Floats) -> tuple[Any, Any]:
    """Answers, and which of them are settled."""
    return crossed(machine.rule, outputs(arrays, rows), low, high)
