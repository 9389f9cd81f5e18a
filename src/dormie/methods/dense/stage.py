"""The dense stage: the full sum. It settles every row, so every plan ends in it.

The native core evaluates in float32 with a radius that covers every rounding on the way; a row whose answer the
radius leaves open is evaluated again in float64, and, for RBF, once more by differences, which do not cancel. What is
open even then lies within the rounding of the model's own float64 sum: that sum, repeated operation by operation,
decides it (`dormie.numerics.source_sum`). Outputs are always float64.

A plan with a stated risk may do without that second look (`Dense.rounded`): what float32 gets wrong is then part of the
risk, and is seen in calibration like any other disagreement.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dormie.machine import Machine
from dormie.machine.rows import require_finite_vectors
from dormie.machine.rules import Rule, Value
from dormie.machine.typing import Arrays
from dormie.methods.base import Decisions, Stage
from dormie.methods.dense import reference
from dormie.methods.memory import Shapes, Size, packed
from dormie.numerics import backend
from dormie.numerics.evaluate import FullSum


class Dense(Stage):
    """Every term of the sum, for every row.

    full_sum: the evaluator, where it is there already; its points need not be laid out again
    """

    name = "dense"

    def __init__(self, machine: Machine, certified: bool = True, full_sum: FullSum | None = None) -> None:
        self.machine = machine
        self.certified = certified
        self.full_sum = FullSum(machine) if full_sum is None else full_sum
        self._screens = not (machine.kernel.is_python or _wants_outputs(machine.rule))

    def rounded(self) -> Dense:
        """The same stage, answering from float32 alone, where there is a float32."""
        return self if self.full_sum.core is None else Dense(self.machine, False, self.full_sum)

    def exact(self) -> Dense:
        """The same stage, with float64 where float32 leaves a doubt."""
        return Dense(self.machine, True, self.full_sum)

    def __str__(self) -> str:
        return self.name if self.certified else f"{self.name}(float32)"

    @property
    def words(self) -> str:
        if not self.certified:
            return "the full sum, in float32"
        return "the full sum, in float32 with a bound on its rounding, then in float64 where that leaves a doubt"

    def decide(self, rows: Any) -> Decisions:
        machine, full_sum = self.machine, self.full_sum
        if not self._screens:
            return Decisions(machine.rule.answer(full_sum.outputs(rows)), None, machine.n_points)
        if full_sum.core is not None:
            answers, evaluations, left = full_sum.core.decide(*backend.arguments(rows, self.certified))
        else:
            require_finite_vectors(rows, machine)
            answers, evaluations, left = reference.decide(machine, rows)
        if left is None:
            return Decisions(answers, None, evaluations)
        source = full_sum.source
        with np.errstate(over="ignore", invalid="ignore"):  # what overflowed has an answer too, as in the model
            answers[left] = machine.rule.answer(source.outputs(rows[left]))
        evaluations = np.array(np.broadcast_to(evaluations, len(answers)))
        evaluations[left] += source.source.n_points
        return Decisions(answers, None, evaluations, left)

    def state(self) -> tuple[dict[str, Any], Arrays]:
        return {} if self.certified else {"certified": False}, {}

    @classmethod
    def memory(cls, machine: Size, shapes: Shapes) -> int:  # noqa: ARG003 - it has no arrays
        return packed(machine, 4) + 2 * packed(machine, 8)  # float32, float64, and float64 for differences

    @classmethod
    def restore(cls, machine: Machine, numbers: dict[str, Any], arrays: Arrays) -> Dense:
        if arrays or (numbers and (set(numbers) != {"certified"} or numbers["certified"] is not False)):
            raise ValueError("dense: the arrays or numbers of another stage")
        return cls(machine, **numbers)

    def __reduce__(self) -> tuple[type[Dense], tuple[Machine, bool]]:
        return Dense, (self.machine, self.certified)


def _wants_outputs(rule: Rule) -> bool:
    """Whether nothing less than the float64 outputs will do: screening in float32 would be wasted."""
    return isinstance(rule, Value) and rule.tolerance == 0
