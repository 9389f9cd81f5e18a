"""The dense stage: the full sum. It settles every row, so every plan ends with it.

The native core first evaluates in float32, with a radius that bounds all rounding errors. A row whose answer is not
certain within that radius is evaluated again in float64 and, with an RBF kernel, once more from differences x - s,
which avoid cancellation. A row that is still open lies within the rounding error of the model's own float64 sum. That
sum, repeated operation by operation, decides it (`dormie.numerics.source_sum`). Outputs are always float64.

A plan with a stated risk may use float32 alone (`Float32Dense`). Wrong answers of float32 are then part of the risk,
and calibration counts them like any other disagreement.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dormie.machine import Floats, Machine
from dormie.machine.rows import require_finite_vectors
from dormie.machine.rules import Rule, Value
from dormie.machine.typing import Arrays
from dormie.methods.base import CertifiedStage, Decisions, Stage, require_state, unknown_interval
from dormie.methods.memory import Shapes, Size, packed
from dormie.numerics.evaluate import FullSum


class _FullSumStage(Stage):
    """Every term of the sum, for every row.

    full_sum: an evaluator of the machine, if the caller has one; building another would copy the points again
    """

    name = "dense"

    def __init__(self, machine: Machine, full_sum: FullSum | None = None) -> None:
        self.machine = machine
        self.full_sum = FullSum(machine) if full_sum is None else full_sum
        self._screens = not (machine.kernel.is_python or _wants_outputs(machine.rule))

    def estimate(self, rows: Any) -> Floats:
        return self.full_sum.outputs(rows)

    def state(self) -> tuple[dict[str, Any], Arrays]:
        return {}, {}

    @classmethod
    def memory(cls, machine: Size, shapes: Shapes) -> int:  # noqa: ARG003 - it has no arrays
        return packed(machine, 4) + 2 * packed(machine, 8)  # float32, float64, and float64 for differences

    @classmethod
    def restore(cls, machine: Machine, numbers: dict[str, Any], arrays: Arrays) -> Stage:
        require_state(cls.name, numbers, arrays)
        return cls(machine)

    def __reduce__(self) -> tuple[type[Stage], tuple[Machine]]:
        return type(self), (self.machine,)


class Dense(_FullSumStage, CertifiedStage):
    """The full sum: in float32, and more exactly for rows that float32 leaves open."""

    @property
    def words(self) -> str:
        if not self._screens:
            return "the full sum, in float64"
        return "the full sum: in float32 with a bound on its rounding error, and more exactly for rows still undecided"

    def decide(self, rows: Any, caution: float = 1.0) -> Decisions:  # noqa: ARG002 - certified
        machine, full_sum = self.machine, self.full_sum
        if not self._screens:
            return Decisions(machine.rule.answer(full_sum.outputs(rows)), None, machine.n_points)
        answers, evaluations, left = full_sum.core.decide(rows, True)
        if left is None:
            return Decisions(answers, None, evaluations)
        source_sum = full_sum.source_sum
        with np.errstate(over="ignore", invalid="ignore"):  # overflow gives an answer too, as in the model
            answers[left] = machine.rule.answer(source_sum.outputs(rows[left]))
        evaluations = np.array(np.broadcast_to(evaluations, len(answers)))
        evaluations[left] += source_sum.machine.n_points
        return Decisions(answers, None, evaluations, left)

    @property
    def budgets(self) -> tuple[int]:
        return (self.machine.n_points,)

    def interval(self, rows: Any, budget: int) -> tuple[Floats, Floats]:
        if budget < self.machine.n_points:
            require_finite_vectors(rows, self.machine)
            return unknown_interval(self.machine, rows)
        middle, radius = self.full_sum.interval(rows)
        return middle - radius, middle + radius


class Float32Dense(_FullSumStage):
    """The full sum in float32 alone, for classifiers in plans with a risk."""

    certified = False
    details = "float32"
    words = "the full sum, in float32"

    def decide(self, rows: Any, caution: float = 1.0) -> Decisions:  # noqa: ARG002 - nothing is measured
        answers, evaluations, _ = self.full_sum.core.decide(rows, False)
        return Decisions(answers, None, evaluations)


def cheapest(dense: Dense) -> Dense | Float32Dense:
    """The cheapest full sum for a plan with a risk: in float32, where the sum can be evaluated so.

    NumPy has no float32 here. What held-out rows certify must be what later answers, natively too.
    """
    return Float32Dense(dense.machine, dense.full_sum) if dense.full_sum.core.has_float32 else dense


def _wants_outputs(rule: Rule) -> bool:
    """Whether the answer is the float64 output itself, so that evaluating in float32 first would be wasted."""
    return isinstance(rule, Value) and rule.tolerance == 0
