"""The dense stage: the full sum. It settles every row, so every plan ends in it.

The native core evaluates in float32 with a radius that covers every rounding on the way; a row whose answer the
radius leaves open is evaluated again in float64, and, for RBF, once more by differences, which do not cancel. What is
open even then lies within the rounding of the model's own float64 sum: that sum, repeated operation by operation,
decides it (`dormie.source_sum`). Outputs are always float64.

A plan with a stated risk may do without that second look (`Dense.rounded`): what float32 gets wrong is then part of the
risk, and is seen in calibration like any other disagreement.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from dormie import native, reference
from dormie.kernels import Custom
from dormie.machine import Floats, Machine
from dormie.rows import require_finite_vectors, some
from dormie.rules import Rule, Value
from dormie.source_sum import SourceSum, known
from dormie.stages.base import Decisions, Stage
from dormie.stages.room import Shapes, Size, packed


class Dense(Stage):
    """Every term of the sum, for every row."""

    name = "dense"

    def __init__(self, machine: Machine, certified: bool = True) -> None:
        self.machine = machine
        self.certified = certified
        self._native = native.dense(machine)
        self._screens = not (isinstance(machine.kernel, Custom) or _wants_outputs(machine.rule))

    def rounded(self) -> Dense:
        """The same stage, answering from float32 alone, where there is a float32."""
        return self if self._native is None else self._with(certified=False)

    def exact(self) -> Dense:
        """The same stage, with float64 where float32 leaves a doubt."""
        return self._with(certified=True)

    def _with(self, certified: bool) -> Dense:
        other = object.__new__(type(self))  # a copy would lay the points out again
        other.__dict__.update(self.__dict__, certified=certified)
        return other

    def __str__(self) -> str:
        return self.name if self.certified else f"{self.name}(float32)"

    def prepare(self) -> None:
        """Lay the points out now rather than in the first call, which may have a deadline."""
        if self._native is not None:
            self._native.prepare()

    @property
    def sum_roundings(self) -> int:
        """The longest chain of roundings in one of the float64 sums: panels, and then panel after panel (panel.hpp)."""
        return self.machine.n_points + 2 if self._native is None else 48 + self.machine.n_points // 64

    def outputs(self, rows: Any) -> Floats:
        """G of every checked row and output, in float64."""
        if self._native is None:
            require_finite_vectors(rows, self.machine)
            return reference.outputs(self.machine, rows)
        outputs, lost = self._native.outputs(*native.arguments(rows))
        if lost is not None:  # of numbers beyond the range of doubles
            outputs[lost] = self._source.outputs(rows[lost])
        return outputs  # type: ignore[no-any-return]

    def interval(self, rows: Any) -> tuple[Floats, Floats]:
        """G in float64 and a radius that reaches the real value, of every row and output."""
        if self._native is not None:
            middle, radius = self._native.interval64(*native.arguments(rows))
        else:
            require_finite_vectors(rows, self.machine)
            middle, radius = reference.interval(self.machine, rows)
        lost = ~np.isfinite(radius).all(axis=1)
        if lost.any() and not isinstance(self.machine.kernel, Custom):
            middle[lost], radius[lost] = self._source.interval(some(rows, np.flatnonzero(lost)))
        return known(middle, radius)

    def decide(self, rows: Any) -> Decisions:
        if not self._screens:
            return Decisions(self.machine.rule.answer(self.outputs(rows)), None, self.machine.n_points)
        if self._native is not None:
            answers, evaluations, left = self._native.decide(*native.arguments(rows, self.certified))
        else:
            require_finite_vectors(rows, self.machine)
            answers, evaluations, left = reference.dense_decide(self.machine, rows)
        if left is None:
            return Decisions(answers, None, evaluations)
        with np.errstate(over="ignore", invalid="ignore"):  # what overflowed has an answer too, as in the model
            answers[left] = self.machine.rule.answer(self._source.outputs(rows[left]))
        evaluations = np.array(np.broadcast_to(evaluations, len(answers)))
        evaluations[left] += self._source.source.n_points
        return Decisions(answers, None, evaluations, left)

    @cached_property
    def _source(self) -> SourceSum:
        return SourceSum(self.machine)

    def state(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        return {} if self.certified else {"certified": False}, {}

    @classmethod
    def room(cls, machine: Size, shapes: Shapes) -> int:  # noqa: ARG003 - it has no arrays
        return packed(machine, 4) + 2 * packed(machine, 8)  # float32, float64, and float64 for differences

    @classmethod
    def restore(cls, machine: Machine, numbers: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> Dense:
        if arrays or (numbers and (set(numbers) != {"certified"} or numbers["certified"] is not False)):
            raise ValueError("dense: the arrays or numbers of another stage")
        return cls(machine, **numbers)

    def __reduce__(self) -> tuple[type[Dense], tuple[Machine, bool]]:
        return Dense, (self.machine, self.certified)


def _wants_outputs(rule: Rule) -> bool:
    """Whether nothing less than the float64 outputs will do: screening in float32 would be wasted."""
    return isinstance(rule, Value) and rule.tolerance == 0
