"""The dense stage: the full sum. It settles every row, so every plan ends with it.

The native core first evaluates in float32, with a radius that bounds all rounding errors. A row whose answer is not
certain within that radius is evaluated again in float64 and, with an RBF kernel, once more from differences x - s,
which avoid cancellation. A row that is still open lies within the rounding error of the model's own float64 sum. That
sum, repeated operation by operation, decides it (`dormie.numerics.source_sum`). Outputs are always float64.

A plan with a stated risk may use float32 alone (`Float32Dense`). Wrong answers of float32 are then part of the risk,
and calibration counts them like any other disagreement. For values that is far more than speed: the bound on the
rounding of large weights of either sign, as a Gaussian process has them, is hundreds of times what rounding does.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dormie.machine import Floats, Machine, MachineSum
from dormie.machine.rows import require_finite_vectors
from dormie.machine.rules import LogDensity, Rule, ValueRule
from dormie.machine.typing import Arrays
from dormie.methods.base import (
    NO_ROWS,
    CertifiedStage,
    Decisions,
    NativeStage,
    Rung,
    Stage,
    require_state,
    settled_but,
    unknown_interval,
)
from dormie.methods.memory import Shapes, Size, inverted_index, packed
from dormie.numerics import backend, reference
from dormie.numerics.evaluate import FullSum, full_sum_of
from dormie.numerics.log_sum import has_log_sums, log_sums

_LITTLE = 0.25  # share of a tolerance that rounding to float32 may take up


class _FullSumStage(NativeStage):
    """Every term of the sum, for every row.

    full_sum: an evaluator of the machine, if the caller has one; building another would copy the points again
    """

    name = "dense"

    def __init__(self, machine: Machine, full_sum: FullSum | None = None) -> None:
        self.machine = machine
        self.full_sum = full_sum_of(machine) if full_sum is None else full_sum
        self._is_sparse = machine.has_sparse_points
        self._screens = not (machine.kernel.is_python or _wants_outputs(machine.rule))

    def estimate(self, rows: Any) -> Floats:
        return self.full_sum.outputs(rows)

    def _exact_answers(self, rows: Any) -> Any:
        """The answers of float64 outputs; the logarithms of densities may be out of range for those."""
        rule = self.machine.rule
        if isinstance(rule, LogDensity) and has_log_sums(self.machine):
            require_finite_vectors(rows, self.machine)
            return log_sums(self.machine, rows) + rule.shift
        return rule.answer(self.full_sum.outputs(rows))

    def state(self) -> tuple[dict[str, Any], Arrays]:
        return {}, {}

    @classmethod
    def memory(cls, machine: Size, shapes: Shapes) -> int:
        if machine.members:
            return sum(cls.memory(member, shapes) for member in machine.members)
        if machine.nonzeros is not None:
            return inverted_index(machine, 4) + inverted_index(machine, 8)
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
        whole = "the full sum, by an index of the columns of its points" if self._is_sparse else "the full sum"
        if not self._screens:
            return f"{whole}, in float64"
        return f"{whole}: in float32 with a bound on its rounding error, and more exactly for rows still undecided"

    def native(self, caution: float) -> backend.extension.Stage | None:  # noqa: ARG002 - certified
        core = self.full_sum.native_core
        if core is None:
            return None
        return core.certified_stage() if self._screens else core.outputs_stage()

    def decide(self, rows: Any, caution: float = 1.0) -> Decisions:
        if not self._screens and not backend.decides(self.machine):
            return Decisions(self._exact_answers(rows), None, self.machine.n_points)
        answers, settled, evaluations, _ = super().decide(rows, caution)
        open_rows = None if settled is None else np.flatnonzero(~settled)
        if open_rows is None or not len(open_rows):
            return Decisions(answers, None, evaluations)
        last = self.finish(rows[open_rows])
        answers[open_rows] = last.answers
        evaluations = np.array(np.broadcast_to(evaluations, len(answers)))
        evaluations[open_rows] += last.evaluations
        return Decisions(answers, None, evaluations, open_rows[last.by_source])

    def right(self, rows: Any) -> npt.NDArray[Any]:
        """The answers that others are compared with: values without the error that a tolerance allows."""
        rule = self.machine.rule
        return self._exact_answers(rows) if isinstance(rule, ValueRule) else self.decide(rows).answers

    def rungs(self, caution: float) -> list[Rung]:  # noqa: ARG002 - certified
        ends = (self.full_sum.rough_ends, self.full_sum.ends)
        return [Rung(times * self.machine.n_points, each) for times, each in enumerate(ends, start=1)]

    def decide_in_numpy(self, rows: Any, caution: float) -> Decisions:  # noqa: ARG002 - certified
        if not self._screens:
            return Decisions(self._exact_answers(rows), None, self.machine.n_points)
        answers, evaluations, left = _twin(self.full_sum).decide(rows)
        return Decisions(answers, settled_but(left, rows), evaluations)

    def finish(self, rows: Any) -> Decisions:
        """By the model's own sum, repeated operation by operation; or, of a density, by logarithms."""
        if isinstance(self.machine.rule, LogDensity):
            return Decisions(self._exact_answers(rows), None, self.machine.n_points)
        source_sum = self.full_sum.source_sum
        with np.errstate(over="ignore", invalid="ignore"):  # overflow gives an answer too, as in the model
            answers = self.machine.rule.answer(source_sum.outputs(rows))
        by_source = np.arange(rows.shape[0]) if self._screens else NO_ROWS  # values are only out of range
        return Decisions(answers, None, source_sum.machine.n_points, by_source)

    @property
    def budgets(self) -> tuple[int]:
        return (self.machine.n_points,)

    def interval(self, rows: Any, budget: int) -> tuple[Floats, Floats]:
        if budget < self.machine.n_points:
            require_finite_vectors(rows, self.machine)
            return unknown_interval(self.machine, rows)
        return self.full_sum.ends(rows)


class Float32Dense(_FullSumStage):
    """The full sum in float32 alone, for plans with a risk. Values that leave its range are those of float64."""

    certified = False
    details = "float32"
    words = "the full sum, in float32"

    def __init__(self, machine: Machine, full_sum: FullSum | None = None) -> None:
        if not _has_float32_answers(machine):
            raise ValueError(f"dense(float32) cannot decide by the rule {type(machine.rule).__name__}")
        super().__init__(machine, full_sum)

    def native(self, caution: float) -> backend.extension.Stage | None:  # noqa: ARG002 - nothing is measured
        core = self.full_sum.native_core
        return None if core is None else core.float32_stage(isinstance(self.machine.rule, ValueRule))

    def decide(self, rows: Any, caution: float = 1.0) -> Decisions:
        alone = self._alone(caution)
        if alone is None:
            return self.decide_in_numpy(rows, caution)
        found: Any  # classes, or outputs
        found, _, evaluations, lost = alone.trace(rows)
        if lost is not None:
            last = self.finish(rows[lost])
            found[lost] = last.answers
            evaluations[lost] += last.evaluations
        answers = found if backend.decides(self.machine) else self.machine.rule.answer(found)
        return Decisions(answers, None, evaluations)

    def finish(self, rows: Any) -> Decisions:
        """The outputs of rows whose values leave the range of float32."""
        return Decisions(self.full_sum.outputs(rows), None, self.machine.n_points)

    def decide_in_numpy(self, rows: Any, caution: float) -> Decisions:  # noqa: ARG002 - nothing is measured
        """In float64: NumPy has no float32 here."""
        if isinstance(self.machine.rule, ValueRule):
            return Decisions(self._exact_answers(rows), None, self.machine.n_points)
        answers, evaluations, _ = _twin(self.full_sum).decide(rows)
        return Decisions(answers, None, evaluations)


def cheapest(dense: Dense, rows: Any) -> Dense | Float32Dense:
    """The cheapest full sum for a plan with a risk: in float32, where the sum can be evaluated so.

    NumPy has no float32 here. What held-out rows certify must be what later answers, natively too. Values must keep to
    a quarter of the tolerance on some checked rows, so that rounding has next to no part in the risk.
    """
    if dense.full_sum.native_core is None or not _has_float32_answers(dense.machine):
        return dense
    float32 = Float32Dense(dense.machine, dense.full_sum)
    return float32 if _rounds_little(float32, dense, rows) else dense


def _has_float32_answers(machine: Machine) -> bool:
    """Whether sums in float32 give answers: by a rule that the native core knows, or values of one machine."""
    return backend.decides(machine) or (isinstance(machine.rule, ValueRule) and not isinstance(machine, MachineSum))


def _rounds_little(float32: Float32Dense, dense: Dense, rows: Any) -> bool:
    """Whether rounding takes up little of a tolerance, if there is one."""
    rule = dense.machine.rule
    if not isinstance(rule, ValueRule):
        return True
    answers, right = float32.decide(rows).answers, dense.right(rows)
    return not rule.within(_LITTLE * rule.tolerance).differ(answers, right).any()


def _twin(full_sum: FullSum) -> reference.Dense:
    assert isinstance(full_sum.core, reference.Dense)
    return full_sum.core


def _wants_outputs(rule: Rule) -> bool:
    """Whether the answer comes from float64 outputs whatever is known of them, so that float32 would be wasted."""
    return isinstance(rule, ValueRule) and (rule.tolerance == 0 or not rule.certifiable)
