"""The obvious NumPy version of every native routine: the oracle in tests, and the fallback without a compiler.

Rows here are what `dormie.rows.check_rows` returns: a two-dimensional float array, a CSR array, or, with a
`Custom` kernel, any sequence the kernel understands.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dormie.machine import Floats, Machine

_BLOCK_VALUES = 1 << 22  # kernel values held at once: 32 MiB


def _blocks(machine: Machine, rows: Any) -> Iterator[tuple[slice, Any]]:
    """Mapped float64 blocks of rows, small enough that their kernel matrix stays small."""
    size = max(1, _BLOCK_VALUES // max(machine.n_points, 1))
    n = rows.shape[0] if hasattr(rows, "shape") else len(rows)
    for start in range(0, n, size):
        block = slice(start, min(start + size, n))
        part = rows[block]
        if hasattr(part, "toarray"):
            part = part.toarray()
        if isinstance(part, np.ndarray) and part.dtype != object:
            part = part.astype(np.float64)
        yield block, part if machine.input_map is None else machine.input_map(part)


def outputs(machine: Machine, rows: Any) -> Floats:
    """G(x) of every row and output, in float64."""
    n = rows.shape[0] if hasattr(rows, "shape") else len(rows)
    result = np.empty((n, machine.n_outputs))
    for block, part in _blocks(machine, rows):
        result[block] = machine.kernel.matrix(part, machine.points) @ machine.weights + machine.bias
    return result


def absolute_sums(machine: Machine, rows: Any) -> Floats:
    """sum_i |beta_i| |K(x, s_i)| of every row and output: the scale that rounding errors are measured on."""
    result = np.empty((rows.shape[0], machine.n_outputs))
    for block, part in _blocks(machine, rows):
        result[block] = np.abs(machine.kernel.matrix(part, machine.points)) @ np.abs(machine.weights)
    return result
