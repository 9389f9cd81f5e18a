"""The refinement stage in NumPy: the outputs of both sets, from one machine that has them side by side."""

from __future__ import annotations

from typing import Any

import numpy as np

from dormie.machine import Floats, Machine
from dormie.machine.rows import require_finite
from dormie.numerics.reference import blocks, partial_sum


class Refinement:
    """The twin of the native core's `Refinement`, without its stage: `dormie.methods.refinement.stage` decides."""

    def __init__(self, sets: Machine) -> None:
        self._sets = sets

    def outputs(self, rows: Any) -> Floats:
        """The outputs of the coarse set and of the fine one, side by side."""
        require_finite(rows, self._sets)
        found = np.empty((rows.shape[0], self._sets.n_outputs))
        with np.errstate(over="ignore", invalid="ignore"):
            for block, part in blocks(self._sets, rows):
                found[block] = partial_sum(self._sets, part, self._sets.n_points)[0]
        return found
