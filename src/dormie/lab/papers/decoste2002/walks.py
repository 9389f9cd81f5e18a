"""Counts how many landmarks a row needs, one at a time: the k of DeCoste 2002."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dormie.lab.papers.table import Numbers
from dormie.machine import Floats, Machine
from dormie.methods.geometry import Geometry
from dormie.numerics.greedy_order import LEAST_RESIDUAL, radius_greedy, sgma, w_greedy

Order = Callable[[Machine, int], npt.NDArray[np.intp]]


def orders(random_orders: int) -> dict[str, list[Order]]:
    """The paper's order of landmarks, which is random and so is drawn several times, and two of ours."""
    return {
        "SGMA": [_seeded(seed) for seed in range(random_orders)],
        "w-greedy": [w_greedy],
        "radius-greedy": [lambda machine, n: radius_greedy(machine, n, machine.points)],
    }


def _seeded(seed: int) -> Order:
    return lambda machine, n: sgma(machine, n, seed=seed, candidates=59)


def build(machine: Machine, landmarks: Floats, first: Floats | None = None) -> Geometry:
    """The stage with these landmarks, preceded by `first` (w+ and w-) if given."""
    landmarks = landmarks if first is None else np.vstack([first, landmarks])
    return Geometry.build(machine, _independent(machine, landmarks))


def _independent(machine: Machine, landmarks: Floats) -> Floats:
    """The landmarks without those that are linear combinations in feature space of earlier ones, such as w+ and w-."""
    residual = machine.kernel.matrix(landmarks, landmarks)
    least = LEAST_RESIDUAL * np.diagonal(residual)
    kept = []
    for j in range(len(landmarks)):
        if residual[j, j] > least[j]:
            kept.append(j)
            residual = residual - np.outer(residual[:, j], residual[j] / residual[j, j])
    return landmarks[kept]


@dataclass(frozen=True, eq=False)
class Walks:
    """The number of landmarks that each row used, and its answer (-1 if all landmarks do not settle it)."""

    steps: npt.NDArray[np.intp]
    answers: npt.NDArray[np.intp]

    def numbers(self, prefix: str) -> Numbers:
        return k_numbers(prefix, self.steps.min(), self.steps.max(), self.steps.mean(), float(np.median(self.steps)))


def k_numbers(prefix: str, least: int, most: int, mean: float, median: float) -> Numbers:
    """The two lines of Table 4 for a set of rows."""
    return {f"{prefix}: k min, max": (int(least), int(most)), f"{prefix}: k mean, median": (float(mean), median)}


def walk(stages: Sequence[Geometry], rows: Floats) -> Walks:
    """Pass every row through each stage, one landmark at a time, until its sign is certain."""
    found = [_walk_one(stage, row) for stage in stages for row in np.asarray(rows, dtype=np.float64)]
    return Walks(np.array([k for k, _ in found], dtype=np.intp), np.array([a for _, a in found], dtype=np.intp))


def _walk_one(stage: Geometry, row: Floats) -> tuple[int, int]:
    k = 0
    for k, low, high in stage.steps(row[None]):
        if low[0] > 0 or high[0] < 0:
            return k, int(low[0] > 0)
    return k, -1
