"""A plan at work: rows in, answers out, each row stopping at the first stage that settles it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dormie import plan_file
from dormie.machine import Floats
from dormie.plan import Plan
from dormie.rows import check_rows
from dormie.stages import Dense


@dataclass(frozen=True)
class Trace:
    """What each row cost: the stage that settled it, and the kernel evaluations it took in all."""

    stage: npt.NDArray[np.str_]
    evaluations: npt.NDArray[np.int64]


class Predictor:
    """Answers as the compiled model gives them, under the plan's promise."""

    def __init__(self, plan: Plan) -> None:
        if not plan.stages or not isinstance(plan.stages[-1], Dense):
            raise ValueError("a plan must end in the dense stage, which settles every row")
        self.plan = plan
        self._dense = plan.stages[-1]

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The answer of every row: a class label of the original model, or a regressor's value."""
        rows = check_rows(X, self.plan.machine)
        return self.plan.machine.rule.labels(self._run(rows)[0])

    def decision_function(self, X: Any) -> Floats:
        """The full outputs of every row in float64, in the original model's shape."""
        rows = check_rows(X, self.plan.machine)
        return self.plan.machine.rule.decision(self._dense.outputs(rows))

    def trace(self, X: Any) -> Trace:
        """Where each row was settled, and what that cost."""
        _, stage, evaluations = self._run(check_rows(X, self.plan.machine))
        names = np.array([stage.name for stage in self.plan.stages])
        return Trace(names[stage], evaluations)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the plan to a file that `dormie.load` reads; it holds numbers and arrays, nothing that runs."""
        plan_file.save(self.plan, path)

    def _run(self, rows: Any) -> tuple[Any, Any, Any]:
        """Answers, the position of the stage that settled each row, and evaluations."""
        first = self.plan.stages[0].decide(rows)
        if first.settled is None:
            return first.answers, np.zeros(len(first.answers), dtype=np.intp), first.evaluations
        answers, evaluations = first.answers.copy(), first.evaluations.copy()
        settled_by = np.zeros(len(answers), dtype=np.intp)
        open_rows = np.flatnonzero(~first.settled)
        for position, stage in enumerate(self.plan.stages[1:], start=1):
            if not len(open_rows):
                break
            found = stage.decide(rows[open_rows])
            answers[open_rows] = found.answers
            evaluations[open_rows] += found.evaluations
            settled_by[open_rows] = position
            open_rows = open_rows[:0] if found.settled is None else open_rows[~found.settled]
        return answers, settled_by, evaluations

    def __repr__(self) -> str:
        stages = " -> ".join(stage.name for stage in self.plan.stages)
        return (
            f"Predictor of {self.plan.source.description}\n"
            f"  {self.plan.machine}\n"
            f"  stages: {stages}\n"
            f"  promise: {self.plan.guarantee}"
        )
