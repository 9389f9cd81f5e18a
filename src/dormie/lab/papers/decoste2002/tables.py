"""DeCoste 2002, *Anytime Interval-Valued Outputs for Kernel Machines*: Table 4.

k is the number of landmarks that a row needs until its interval lies on one side of zero. Every answer is compared with
the full sum. The paper's order of landmarks (SGMA) is compared with two of ours (see `dormie.numerics.greedy_order`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dormie.convert import read
from dormie.lab.papers.decoste2002 import deadlines, splice
from dormie.lab.papers.decoste2002.problems import Problem, haberman, misr_stand_in, sonar
from dormie.lab.papers.decoste2002.walks import Order, build, orders, walk
from dormie.lab.papers.machines import differences, microseconds, predictor
from dormie.lab.papers.table import Numbers, Table
from dormie.machine import Floats, Machine
from dormie.methods.geometry import Geometry
from dormie.numerics import reference
from dormie.simplify import simplify

# The paper does not print its value. This one gives about the paper's mean k on Sonar and on Haberman, both in SGMA's
# order; at 1e-3 the means are 70 and 3.4, at 1e-6 101 and 6.6.
_FISHER_REGULARIZATION = 5e-5


def tables(seconds: float) -> Iterator[Table]:
    """A table for each problem, measured for `seconds` each, those of answers at a deadline, and one of strings."""
    for problem in (sonar(), haberman(), haberman(early=True), misr_stand_in()):
        yield table(problem, seconds)
    yield from deadlines.tables()
    yield splice.table()


def table(problem: Problem, seconds: float) -> Table:
    """Table 4's lines for one problem: a column for the paper, and a column for each order of landmarks."""
    machine, test = problem.svm()
    fisher, first = _fisher_machine(problem), problem.folded_weights()
    several = orders(problem.random_orders)
    paths = {name: Paths.build(machine, each, first, problem.landmarks) for name, each in several.items()}
    smaller, _ = simplify(machine)
    times = _times(machine, smaller, {name: each.folded[0] for name, each in paths.items()}, test, seconds)
    columns: dict[str, Numbers] = {
        name: {
            **_machine_numbers(problem, machine),
            **_counts(paths[name], problem.X, test),
            "vectors after exact simplification": smaller.n_points,
            **_speed(times, name),
            **_fisher_counts(Paths.build(fisher, several[name], first, problem.landmarks), problem.X),
        }
        for name in several
    }
    return Table(f"DeCoste 2002, Table 4: {problem.title}", {"paper": problem.printed, **columns}, problem.notes)


@dataclass(frozen=True, eq=False)
class Paths:
    """The geometry stages of a machine, one for every order of landmarks, with and without w+ and w- first."""

    machine: Machine
    folded: list[Geometry]
    plain: list[Geometry]

    @classmethod
    def build(cls, machine: Machine, several: list[Order], first: Floats, most: int | None) -> Paths:
        landmarks = [machine.points[order(machine, most or machine.n_points)] for order in several]
        return cls(
            machine, [build(machine, each, first) for each in landmarks], [build(machine, each) for each in landmarks]
        )


def _machine_numbers(problem: Problem, machine: Machine) -> Numbers:
    weights = machine.weights[:, 0]
    return {
        "features": machine.n_features,
        "rows, positive and negative": _signs(problem.y),
        "support vectors, and those at C": (len(weights), int(np.sum(np.abs(weights) >= problem.C * (1 - 1e-9)))),
        "support vectors, positive and negative": _signs(weights),
    }


def _signs(values: npt.NDArray[Any]) -> tuple[int, int]:
    return int(np.sum(values > 0)), int(np.sum(values < 0))


def _counts(paths: Paths, training: Floats, test: Floats) -> Numbers:
    """The lines on k, and the number of certified answers that differ from the full sum."""
    machine, several = paths.machine, len(paths.folded)
    on_training, on_test = walk(paths.folded, training), walk(paths.folded, test)
    plain_training, plain_test = walk(paths.plain, training), walk(paths.plain, test)
    answers = np.concatenate([each.answers for each in (on_training, plain_training, on_test, plain_test)])
    rows = np.vstack([training] * 2 * several + [test] * 2 * several)
    return {
        **on_training.numbers("training rows, w+ w- first"),
        **plain_training.numbers("training rows"),
        "test rows": len(test),
        **on_test.numbers("test rows, w+ w- first"),
        **plain_test.numbers("test rows"),
        "L / mean k, test rows, w+ w- first": machine.n_points / float(on_test.steps.mean()),
        "share of rows left to the full sum": float(np.mean(answers < 0)),
        "answers checked": len(answers),
        "answers that differ from the full sum": differences(machine, rows, answers),
    }


def _times(
    machine: Machine, smaller: Machine, stages: dict[str, Geometry], test: Floats, seconds: float
) -> dict[str, float]:
    """Microseconds per row of every predictor, on the test rows, repeated (as in the paper) to fill a batch."""
    predictors: dict[str, Any] = {name: predictor(machine, stage).predict for name, stage in stages.items()}
    predictors["NumPy"] = lambda rows: reference.outputs(machine, rows) > 0
    predictors["dense"] = predictor(machine).predict
    predictors["simplified"] = predictor(smaller).predict
    return microseconds(predictors, test, seconds / len(predictors))


def _speed(times: dict[str, float], name: str) -> Numbers:
    return {
        "full sum in NumPy: microseconds per row": times["NumPy"],
        "dense stage: microseconds per row": times["dense"],
        "dense stage after exact simplification: microseconds per row": times["simplified"],
        "geometry: microseconds per row": times[name],
        "geometry: times as fast as the full sum in NumPy": times["NumPy"] / times[name],
        "geometry: times as fast as the dense stage": times["dense"] / times[name],
    }


def _fisher_machine(problem: Problem) -> Machine:
    """A kernel Fisher discriminant on the same rows, with every row as a term."""
    from dormie.estimators import KernelFisherDiscriminant  # here: scikit-learn is optional

    model = KernelFisherDiscriminant(kernel=problem.kernel, regularization=_FISHER_REGULARIZATION)
    return read(model.fit(problem.X, problem.y))


def _fisher_counts(paths: Paths, rows: Floats) -> Numbers:
    machine, found = paths.machine, walk(paths.folded, rows)
    return {
        "KFD weights, positive and negative": _signs(machine.weights),
        **found.numbers("KFD, training rows, w+ w- first"),
        "KFD: rows / mean k": machine.n_points / float(found.steps.mean()),
        "KFD: share of rows left to the full sum": float(np.mean(found.answers < 0)),
        "KFD: answers that differ from the full sum": differences(
            machine, np.vstack([rows] * len(paths.folded)), found.answers
        ),
    }
