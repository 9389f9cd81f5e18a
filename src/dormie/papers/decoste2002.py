"""DeCoste 2002, *Anytime Interval-Valued Outputs for Kernel Machines*: Table 4 again.

k is how many landmarks a row needs until its interval lies on one side of zero, counted landmark by landmark. Every
answer so found is held against the full sum. The paper's order of landmarks (SGMA) stands beside the w-greedy one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dormie import reference
from dormie.landmarks import LEAST_RESIDUAL, sgma, w_greedy
from dormie.machine import Floats, Machine
from dormie.papers.decoste2002_problems import Problem, haberman, misr_stand_in, sonar
from dormie.papers.machines import differences, microseconds, predictor
from dormie.papers.table import Numbers, Table
from dormie.readers import read
from dormie.simplify import simplify
from dormie.stages import Geometry

Order = Callable[[Machine, int], npt.NDArray[np.intp]]


def tables(seconds: float) -> Iterator[Table]:
    """One table a problem; `seconds` of measuring for each order of landmarks."""
    for problem in (sonar(), haberman(), haberman(early=True), misr_stand_in()):
        yield table(problem, seconds)


def table(problem: Problem, seconds: float) -> Table:
    """Table 4's lines for one problem."""
    columns = {
        "paper": problem.printed,
        "SGMA": measure(problem, [_seeded_sgma(seed) for seed in range(problem.orders)], seconds),
        "w-greedy": measure(problem, [w_greedy], seconds),
    }
    return Table(f"DeCoste 2002, Table 4: {problem.title}", columns, problem.notes)


def _seeded_sgma(seed: int) -> Order:
    return lambda machine, n: sgma(machine, n, seed=seed, candidates=59)


@dataclass(frozen=True, eq=False)
class Walks:
    """How far each row had to walk: landmarks used, and the answer found (-1: not settled by any)."""

    steps: npt.NDArray[np.intp]
    answers: npt.NDArray[np.intp]

    def numbers(self, prefix: str) -> Numbers:
        k = self.steps
        return {
            f"{prefix}: k min, max": (int(k.min()), int(k.max())),
            f"{prefix}: k mean, median": (float(k.mean()), float(np.median(k))),
        }


def walk(stage: Geometry, rows: Floats) -> Walks:
    """Every row, one landmark at a time, until its sign is certain."""
    found = [_walk_one(stage, row) for row in np.asarray(rows, dtype=np.float64)]
    return Walks(np.array([k for k, _ in found], dtype=np.intp), np.array([a for _, a in found], dtype=np.intp))


def _walk_one(stage: Geometry, row: Floats) -> tuple[int, int]:
    k = 0
    for k, (middle, radius) in enumerate(stage.walk(row), start=1):
        if abs(middle[0]) > radius[0]:
            return k, int(middle[0] > 0)
    return k, -1


def build(machine: Machine, order: Order, problem: Problem, first: Floats | None = None) -> Geometry:
    """The stage over the machine's points in the given order, behind the landmarks that come first."""
    n = problem.landmarks or machine.n_points
    landmarks = machine.points[order(machine, n)]
    landmarks = landmarks if first is None else np.vstack([first, landmarks])
    return Geometry.build(machine, _independent(machine, landmarks)[:n])


def _independent(machine: Machine, landmarks: Floats) -> Floats:
    """The landmarks without those that add nothing to the ones before: where w+ and w- come first, some do."""
    residual = machine.kernel.matrix(landmarks, landmarks)
    least = LEAST_RESIDUAL * np.diagonal(residual)
    kept = []
    for j in range(len(landmarks)):
        if residual[j, j] > least[j]:
            kept.append(j)
            residual = residual - np.outer(residual[:, j], residual[j] / residual[j, j])
    return landmarks[kept]


def measure(problem: Problem, orders: list[Order], seconds: float) -> Numbers:
    """All lines of the table for one way of ordering landmarks (of several random orders, the rows are pooled)."""
    machine, test = problem.svm()
    first = problem.folded_weights()
    folded = [build(machine, order, problem, first) for order in orders]
    plain = [build(machine, order, problem) for order in orders]
    walks = {
        "training rows, w+ w- first": _pooled(folded, problem.X),
        "training rows": _pooled(plain, problem.X),
        "test rows, w+ w- first": _pooled(folded, test),
        "test rows": _pooled(plain, test),
    }
    numbers = {"test rows": len(test)}
    for name, found in walks.items():
        numbers |= found.numbers(name)
    return {
        **_machine_numbers(problem, machine),
        **numbers,
        "L / mean k, test rows, w+ w- first": machine.n_points / float(walks["test rows, w+ w- first"].steps.mean()),
        **_speed(machine, folded[0], test, seconds),
        **_fisher(problem, orders, first),
        **_certainty(machine, problem, test, walks, len(orders)),
    }


def _pooled(stages: list[Geometry], rows: Floats) -> Walks:
    found = [walk(stage, rows) for stage in stages]
    return Walks(np.concatenate([each.steps for each in found]), np.concatenate([each.answers for each in found]))


def _machine_numbers(problem: Problem, machine: Machine) -> Numbers:
    weights = machine.weights[:, 0]
    return {
        "features": machine.n_features,
        "rows, positive and negative": _signs(problem.y),
        "support vectors, and those at C": (len(weights), int(np.sum(np.abs(weights) >= problem.C * (1 - 1e-9)))),
        "support vectors, positive and negative": _signs(weights),
    }


def _signs(values: npt.NDArray[np.generic]) -> tuple[int, int]:
    return int(np.sum(values > 0)), int(np.sum(values < 0))


def _speed(machine: Machine, stage: Geometry, test: Floats, seconds: float) -> Numbers:
    """Wall-clock of the full sum and of the stage, on the test rows repeated (as the paper did) to fill a batch."""
    smaller, _ = simplify(machine)
    ways = {
        "full sum in NumPy": lambda rows: reference.outputs(machine, rows) >= 0,
        "dense stage": predictor(machine).predict,
        "geometry": predictor(machine, stage).predict,
        "dense after simplify": predictor(smaller).predict,
    }
    times = microseconds(ways, test, seconds / len(ways))
    return {
        **{f"{name}: microseconds a row": time for name, time in times.items()},
        "geometry: times as fast as the full sum in NumPy": times["full sum in NumPy"] / times["geometry"],
        "geometry: times as fast as the dense stage": times["dense stage"] / times["geometry"],
        "vectors after dormie's exact simplification": smaller.n_points,
    }


def _fisher(problem: Problem, orders: list[Order], first: Floats) -> Numbers:
    """A kernel Fisher discriminant on the same rows: every row is a term."""
    from dormie.estimators import KernelFisherDiscriminant

    machine = read(KernelFisherDiscriminant(kernel=problem.kernel).fit(problem.X, problem.y))
    found = _pooled([build(machine, order, problem, first) for order in orders], problem.X)
    return {
        "KFD weights, positive and negative": _signs(machine.weights),
        **found.numbers("KFD, training rows, w+ w- first"),
        "KFD: rows / mean k": machine.n_points / float(found.steps.mean()),
        "KFD: share of rows left to the full sum": float(np.mean(found.answers < 0)),
        "KFD: answers that differ from the full sum": differences(
            machine, np.tile(problem.X, (len(orders), 1)), found.answers
        ),
    }


def _certainty(machine: Machine, problem: Problem, test: Floats, walks: dict[str, Walks], orders: int) -> Numbers:
    """Whether any certified answer is not the full sum's, and how many rows had none."""
    rows = {name: np.tile(problem.X if "training" in name else test, (orders, 1)) for name in walks}
    answers = np.concatenate([found.answers for found in walks.values()])
    return {
        "share of rows left to the full sum": float(np.mean(answers < 0)),
        "answers checked": len(answers),
        "answers that differ from the full sum": differences(machine, np.vstack(list(rows.values())), answers),
    }
