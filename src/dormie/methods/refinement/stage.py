"""The refinement stage: values of a fine reduced set, settled where a coarse one is close to them.

Let f(x) be the values of the rule at the outputs of the fine set, and s(x) the largest distance of one of them from
the values of the coarse set. The error of f is taken to be about a s(x) + b, with a and b fitted on rows; the row is
settled where caution (a s(x) + b) is at most the tolerance. How often that is wrong, calibration finds out.

Both sets are one machine with twice the outputs, over the vectors of both, so that one pass over these has all sums.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from dormie.machine import Floats, Machine
from dormie.machine.rules import Value, ValueRule
from dormie.machine.typing import Arrays
from dormie.methods.base import (
    CalibratedStage,
    Decisions,
    NativeStage,
    Stage,
    Usable,
    arrays_of,
    names_of,
    needs_vectors,
    parameters_from,
    require,
    require_state,
)
from dormie.methods.memory import Shapes, Size, extent, packed
from dormie.methods.reduced_set.levels import Levels, require_fit
from dormie.methods.refinement import reference
from dormie.methods.thresholds import require_caution
from dormie.numerics import backend

STAGE = "refinement"


def needs_tolerance(name: str, machine: Machine) -> Usable:
    """Usable if answers are values with a tolerance, and rows are vectors."""
    if not isinstance(machine.rule, ValueRule):
        return Usable(f"{name} settles values: it serves regressors, probabilities and decision values")
    if not machine.rule.tolerance:
        return Usable(f"{name} settles values within a tolerance: give tolerance=0.001, say, or leave methods out")
    return needs_vectors(name, machine)


class Refinement(NativeStage, CalibratedStage):
    """Values of a fine reduced set, each with an error estimated by the step from a coarse one.

    levels: two, the coarse set and both sets together
    slope, floor: the error is about slope * step + floor
    """

    name = STAGE
    words = "two sets of a few vectors; the step between their values estimates the error, measured on sample rows"

    def __init__(self, machine: Machine, levels: Levels, slope: float, floor: float) -> None:
        require(needs_tolerance(self.name, machine))
        if levels.sizes.shape != (2,):
            raise ValueError(f"{self.name}: there must be two levels, got sizes {levels.sizes.tolist()}")
        if not (0 <= slope < math.inf and 0 <= floor < math.inf):
            raise ValueError(f"{self.name}: slope and floor must be finite and not negative, got {slope}, {floor}")
        assert isinstance(machine.rule, ValueRule)
        self.machine, self.levels, self.slope, self.floor = machine, levels, float(slope), float(floor)
        self._rule: ValueRule = machine.rule
        require_fit(machine, levels, np.zeros((2, machine.n_outputs)))
        coarse, fine = levels.sizes.tolist()
        self.details = f"{coarse}, {fine}"
        sets = _side_by_side(machine, levels)
        self._core = backend.choose(
            machine,
            lambda core: backend.extension.Refinement(core, _native(sets), self.slope, self.floor),
            lambda: reference.Refinement(sets),
        )

    @property
    def size(self) -> int:
        return len(self.levels.points)

    def values(self, rows: Any) -> tuple[Floats, Floats]:
        """Values of the fine set for checked rows, and the largest step of each row from those of the coarse set."""
        coarse, fine = (self._rule.values(outputs) for outputs in np.hsplit(self._core.outputs(rows), 2))
        with np.errstate(invalid="ignore"):
            step = np.abs(fine - coarse).max(axis=1, initial=0.0)
        return fine, np.where(np.isfinite(step), step, np.inf)

    def expected_errors(self, steps: Floats) -> Floats:
        """The half-widths at a caution of 1."""
        with np.errstate(invalid="ignore"):
            error = self.slope * steps + self.floor
        return np.where(np.isfinite(error), error, np.inf)

    def chances(self, rows: Any, outputs: Floats) -> Floats:
        """As if each row had the error of any other row, in proportion to what is expected of them."""
        found, steps = self.values(rows)
        expected = np.maximum(self.expected_errors(steps), np.finfo(np.float64).tiny)
        ratios = np.sort(self.errors(found, outputs) / expected)
        with np.errstate(over="ignore"):
            right = np.searchsorted(ratios, self._rule.tolerance / expected, side="right")
        return np.asarray(1 - right / len(ratios))

    def errors(self, found: Floats, outputs: Floats) -> Floats:
        """For each row, the largest distance of its values from those of the machine's outputs."""
        return np.asarray(np.abs(found - self._rule.values(outputs)).max(axis=1, initial=0.0))

    def native(self, caution: float) -> backend.extension.Stage | None:
        require_caution(caution)
        return backend.stage_of(self._core, caution)

    def decide(self, rows: Any, caution: float = 1.0) -> Decisions:
        native = backend.decides(self.machine)  # otherwise the intervals of outputs would be those of values
        return super().decide(rows, caution) if native else self.decide_in_numpy(rows, caution)

    def decide_in_numpy(self, rows: Any, caution: float) -> Decisions:
        require_caution(caution)
        fine, steps = self.values(rows)
        with np.errstate(invalid="ignore", over="ignore"):
            settled = caution * self.expected_errors(steps) <= self._rule.tolerance
        return Decisions(fine, settled & np.isfinite(fine).all(axis=1), self.size)

    def estimate(self, rows: Any) -> Floats:
        return np.hsplit(self._core.outputs(rows), 2)[1]

    def state(self) -> tuple[dict[str, Any], Arrays]:
        return {"slope": self.slope, "floor": self.floor}, arrays_of(self.levels)

    @classmethod
    def memory(cls, machine: Size, shapes: Shapes) -> int:
        vectors, weights = extent(shapes, "points"), extent(shapes, "weights")
        sets = Size(vectors, machine.features, 2 * machine.outputs)
        return packed(sets, 4) + 8 * (vectors + weights) * sets.outputs

    @classmethod
    def restore(cls, machine: Machine, numbers: dict[str, Any], arrays: Arrays) -> Stage:
        require_state(cls.name, numbers, arrays, names_of(Levels), slope=float, floor=float)
        return cls(machine, parameters_from(Levels, arrays), **numbers)

    def __reduce__(self) -> tuple[type[Stage], tuple[Any, ...]]:
        return type(self), (self.machine, self.levels, self.slope, self.floor)


def _side_by_side(machine: Machine, levels: Levels) -> Machine:
    """The machine over the vectors of both sets, with the outputs of the coarse one, then those of the fine one."""
    coarse, vectors = levels.sizes
    first, second = levels.weights[:coarse], levels.weights[coarse:]
    weights = np.hstack([np.vstack([first, np.zeros((vectors - coarse, machine.n_outputs))]), second])
    return replace(
        machine, points=levels.points, weights=weights, bias=np.tile(machine.bias, 2), rule=Value(flat=False)
    )


def _native(sets: Machine) -> backend.extension.Machine:
    """The native form of a machine whose kernel has one."""
    found = backend.native_machine(sets)
    assert found is not None
    return found
