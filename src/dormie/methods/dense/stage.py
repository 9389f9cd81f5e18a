"""The dense stage: the full sum. It settles every row, so every plan ends with it.

The native core first evaluates in float32, with a radius that bounds all rounding errors. A row whose answer is not
certain within that radius is evaluated again in float64 and, with an RBF kernel, once more from differences x - s,
which avoid cancellation. A row that is still open lies within the rounding error of the model's own float64 sum. That
sum, repeated operation by operation, decides it (`dormie.numerics.source_sum`). Outputs are always float64.

A plan with a stated risk may omit the second evaluation (`Dense.float32_only`). Wrong answers of float32 are then part
of the risk, and calibration counts them like any other disagreement.
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

    full_sum: an evaluator of the machine, if the caller has one; building another would copy the points again
    """

    name = "dense"

    def __init__(self, machine: Machine, certified: bool = True, full_sum: FullSum | None = None) -> None:
        self.machine = machine
        self.certified = certified
        self.full_sum = FullSum(machine) if full_sum is None else full_sum
        self._screens = not (machine.kernel.is_python or _wants_outputs(machine.rule))

    def float32_only(self) -> Dense:
        """The same stage with float32 alone; itself without the native core, which has no float32."""
        return self if self.full_sum.core is None else Dense(self.machine, False, self.full_sum)

    def exact(self) -> Dense:
        """The same stage with float64 for rows that float32 leaves open."""
        return Dense(self.machine, True, self.full_sum)

    def __str__(self) -> str:
        return self.name if self.certified else f"{self.name}(float32)"

    @property
    def words(self) -> str:
        if not self.certified:
            return "the full sum, in float32"
        if not self._screens:
            return "the full sum, in float64"
        return "the full sum: in float32 with a bound on its rounding error, and more exactly for rows still undecided"

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
        source_sum = full_sum.source_sum
        with np.errstate(over="ignore", invalid="ignore"):  # overflow gives an answer too, as in the model
            answers[left] = machine.rule.answer(source_sum.outputs(rows[left]))
        evaluations = np.array(np.broadcast_to(evaluations, len(answers)))
        evaluations[left] += source_sum.machine.n_points
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
    """Whether the answer is the float64 output itself, so that evaluating in float32 first would be wasted."""
    return isinstance(rule, Value) and rule.tolerance == 0
