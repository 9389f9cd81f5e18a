"""A plan at work: rows in, answers out, each row stopping at the first stage that settles it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from operator import index
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from dormie.machine import Floats
from dormie.machine.rows import check_rows, require_finite_vectors
from dormie.methods.base import Stage
from dormie.plan import file
from dormie.plan.explain import explain
from dormie.plan.plan import Plan, describe_cascade
from dormie.plan.text import printable
from dormie.predictor import anytime, cascade
from dormie.predictor.anytime import Answers, Step
from dormie.predictor.audit import Audit, Status


@dataclass(frozen=True)
class Trace:
    """What each row cost: the stage that settled it, and the kernel evaluations it took in all.

    The stage is "source" where a row lies so near to the border that the model's own float64 sum, repeated, decided it.
    """

    stage: npt.NDArray[np.str_]
    evaluations: npt.NDArray[np.int64]


class Predictor:
    """Answers as the compiled model gives them, under the plan's promise."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._dense = plan.dense.exact()
        self._dense.full_sum.prepare()
        self._unseen = anytime.unseen_answer(plan.machine)  # now rather than in a call that has a deadline

    @overload
    def predict(self, X: Any) -> npt.NDArray[Any]: ...
    @overload
    def predict(self, X: Any, deadline: float) -> Answers: ...
    def predict(self, X: Any, deadline: float | None = None) -> npt.NDArray[Any] | Answers:
        """The answer of every row: a class label of the original model, or a regressor's value.

        With a deadline, in seconds from now: the answers there are when it has passed (all guesses if it has passed
        already), and which of them are settled. Rows are checked for NaN first, however little time that leaves.
        """
        machine = self.plan.machine
        if deadline is None:
            return machine.rule.labels(self._answers(check_rows(X, machine)))
        end = time.perf_counter() + _seconds(deadline)
        rows = check_rows(X, machine)
        require_finite_vectors(rows, machine)
        answers, settled = anytime.answers_by(end, (*self.plan.stages[:-1], self._dense), rows, self._unseen)
        return Answers(machine.rule.labels(answers), settled)

    def _answers(self, rows: Any) -> npt.NDArray[Any]:
        return cascade.answers(self.plan.stages, rows)

    def decision_function(self, X: Any) -> Floats:
        """The full outputs of every row in float64, in the original model's shape."""
        rows = check_rows(X, self.plan.machine)
        return self.plan.machine.rule.decision(self._dense.full_sum.outputs(rows))

    def interval(self, X: Any, budget: int | None = None) -> tuple[Floats, Floats]:
        """Certified low and high ends of the outputs, for at most `budget` kernel evaluations a row.

        Vectors where there is one output, else rows x outputs; without a budget, the full sum and its rounding.
        """
        budget = None if budget is None else _evaluations(budget)
        low, high = anytime.interval(self._narrowing, self._dense.full_sum, check_rows(X, self.plan.machine), budget)
        return (low[:, 0], high[:, 0]) if low.shape[1] == 1 else (low, high)

    def anytime(self, x: Any) -> Iterator[Step]:
        """Ever narrower certified intervals for one row, worked out as they are asked for."""
        machine = self.plan.machine
        one = np.reshape(x, (1, -1)) if machine.of_vectors and np.ndim(x) == 1 else x
        row = check_rows(one, machine)
        if row.shape[0] != 1:
            raise ValueError(f"anytime takes one row, got {row.shape[0]}: pass them one by one")
        require_finite_vectors(row, machine)
        return anytime.steps(self._narrowing, self._dense.full_sum, row)

    def trace(self, X: Any) -> Trace:
        """Where each row was settled, and what that cost."""
        found = cascade.run(self.plan.stages, check_rows(X, self.plan.machine))
        names = np.array([*(stage.name for stage in self.plan.stages), "source"])
        count = len(found.answers)
        by = np.array(np.broadcast_to(found.settled_by, count))
        by[found.by_source] = len(self.plan.stages)
        return Trace(names[by], np.broadcast_to(found.evaluations, count))

    def audited(
        self,
        rate: float = 0.01,
        *,
        confidence: float = 0.99,
        callback: Callable[[Status], object] | None = None,
        seed: int | None = None,
    ) -> AuditedPredictor:
        """The same predictor, with a random share of its rows evaluated in full as well, to see the promise kept.

        rate        share of the rows: what the audit costs, in full evaluations
        confidence  of the alarm: while the promise is kept, the chance that it is ever raised is at most the rest
        callback    called with the `status` once the promise is broken, before the warning
        seed        of the draw (default: another one every time, so that many short runs see different rows)

        `status` says at any time what was found since the audit began; long good service outweighs what comes after
        it, so begin a new one (`audited` again) from time to time. Exact plans, and those with a tolerance, pass
        through: nothing of theirs can disagree. A risk for each class is watched in all classes together.
        """
        return AuditedPredictor(self.plan, Audit(self.plan.guarantee, rate, confidence, callback, seed))

    def explain(self) -> str:
        """What was chosen, why, and what is promised."""
        return explain(self.plan)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the plan to a file that `dormie.load` reads; it holds numbers and arrays, nothing that runs."""
        file.save(self.plan, path)

    @cached_property
    def _narrowing(self) -> Stage | None:
        return anytime.narrowing_stage(self.plan.stages, self.plan.machine)

    def __repr__(self) -> str:
        return (
            f"Predictor of {printable(self.plan.source.description)}\n"
            f"  {self.plan.machine}\n"
            f"  stages: {describe_cascade(self.plan.stages)}\n"
            f"  promise: {self.plan.guarantee}"
        )


class AuditedPredictor(Predictor):
    """A predictor whose answers are compared with the full machine's, for a share of the rows.

    Only `predict` is audited, and not what it gives at a deadline: whatever is settled then is certified.
    """

    def __init__(self, plan: Plan, audit: Audit) -> None:
        super().__init__(plan)
        self._audit = audit

    @property
    def status(self) -> Status:
        """What the audit has found so far."""
        return self._audit.status

    def _answers(self, rows: Any) -> npt.NDArray[Any]:
        found = cascade.run(self.plan.stages, rows)
        self._audit.watch(self.plan.stages, self._dense, rows, found)
        return found.answers

    def __repr__(self) -> str:
        return f"{super().__repr__()}\n  audit of {100 * self._audit.rate:g} % of the rows: {self.status}"


def _seconds(deadline: Any) -> float:
    if not isinstance(deadline, Real) or isinstance(deadline, np.timedelta64):  # which says it is real, in its own unit
        raise TypeError(f"deadline must be a number of seconds, such as 0.02, got {deadline!r}")
    if np.isnan(seconds := float(deadline)):
        raise ValueError("deadline is NaN; it must be a number of seconds, such as 0.02")
    return seconds


def _evaluations(budget: Any) -> int:
    try:
        whole = index(budget)
    except TypeError:
        raise TypeError(f"budget must be a whole number of kernel evaluations, such as 64, got {budget!r}") from None
    if whole < 0:
        raise ValueError(f"budget must not be negative, got {whole}")
    return whole
