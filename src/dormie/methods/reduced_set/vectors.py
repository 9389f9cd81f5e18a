"""Vectors that geometry and certified reduced sets share, so that they are computed once for both.

Points in greedy order come first, because they are found quickly; two composite points are among the candidates. If
they settle enough rows, vectors optimised to lower rho follow: as many of them settle far more rows, but they take
longer to fit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dormie.machine import Floats, Machine
from dormie.machine.kernel_memory import memory_of
from dormie.machine.rows import mapped, some
from dormie.methods.base import Stage
from dormie.methods.fitting import CannotFit, CertifiedFitting, arithmetic
from dormie.methods.reduced_set.norm import Norm, step_work
from dormie.methods.reduced_set.rescaling import rescaled
from dormie.methods.reduced_set.stage import ReducedSet
from dormie.numerics.feature_space import FeatureVector, require_inner_product
from dormie.numerics.greedy_order import RadiusGreedy

HOPELESS = 0.01  # share of settled rows below which more vectors will not help

_TRIED = 512  # points whose kernel matrix shows whether a Python kernel is what it is stated to be
_ROWS = 256  # sample rows for choosing the order of points
_MOST_VECTORS = 1024
_MOST_COORDINATES = 25_000_000  # points x vectors held while points are ordered: 200 MB
_FEWEST_VECTORS = 32
_LEAST_SHRINKING = 3  # least ratio of points to vectors: below it there is little to gain
_MOST_STEPS = 200  # of optimisation: later steps bring little
_FEWEST_STEPS = 20


@dataclass(frozen=True, eq=False)
class Moved:
    """Vectors, the optimisation steps they took (0: they are points), and the reduced set over them."""

    vectors: Floats
    steps: int
    stage: ReducedSet | None
    why_not: str = ""  # why there is no stage

    @classmethod
    def of(cls, vectors: Floats, steps: int, w: FeatureVector) -> Moved:
        try:
            with arithmetic():
                return cls(vectors, steps, ReducedSet.project(w.machine, vectors, [len(vectors)], w))
        except CannotFit as reason:
            return cls(vectors, steps, None, str(reason))

    def reduced_set(self) -> Iterator[ReducedSet]:
        """The stage; raises CannotFit if there is none."""
        if self.stage is None:
            raise CannotFit(self.why_not)
        yield self.stage


def composite_points(machine: Machine) -> Floats:
    """DeCoste's w+ and w- (2002, equation 34): the means of the points of positive and of negative weight.

    The paper has the sums over the support vectors of a linear SVM, which takes labels. Here the machine's own weights
    serve, for machines of one output, and means take the place of sums: they lie among the points, where every kernel
    is of use. A mean that is no finite vector, or has no length in feature space, is left out.
    """
    if machine.n_outputs > 1:
        return np.empty((0, machine.n_features))
    with np.errstate(all="ignore"):
        shares = np.maximum(np.hstack([machine.weights, -machine.weights]), 0)
        shares = shares / shares.max(axis=0)  # so that their sum does not overflow
        means = shares.T @ machine.points / shares.sum(axis=0)[:, None]
        lengths = machine.kernel.diagonal(means)
    return np.asarray(means[np.isfinite(means).all(axis=1) & np.isfinite(lengths) & (lengths > 0)])


class SharedVectors:
    """Vectors for one machine and sample; `SharedVectors.of` returns the same object to every method.

    settled: the share of sample rows that landmarks among the points settle; 1 until geometry has measured it

    Raises CannotFit if the machine's own numbers are out of range.
    """

    def __init__(self, fitting: CertifiedFitting) -> None:
        machine = fitting.machine
        self.machine: Machine = machine
        self.progress = fitting.progress
        self.most = min(_MOST_VECTORS, machine.n_points, _MOST_COORDINATES // max(machine.n_points, 1))
        self.settled = 1.0
        if (memory := memory_of(machine.kernel)) is not None:
            memory.fill_symmetric(machine.points)
        if machine.kernel.is_python:
            require_inner_product(machine, _TRIED)
        with arithmetic():
            self.w = FeatureVector.of(machine)
            rows = fitting.rows[:_ROWS]
            rows = mapped(machine, rows) if machine.of_vectors else rows
            self._candidates = self.w if machine.kernel.is_python else self.w.joined_by(composite_points(machine))
            self._greedy = RadiusGreedy(self._candidates, self.most, rows)
        self._rows = fitting.rows
        self._work = fitting.effort.moving_work
        self._moved: list[Moved] = []

    @classmethod
    def of(cls, fitting: CertifiedFitting) -> SharedVectors:
        """The vectors of a fitting, created at the first call."""
        if "vectors" not in fitting.shared:
            fitting.shared["vectors"] = cls(fitting)
        vectors: SharedVectors = fitting.shared["vectors"]
        return vectors

    def first_points(self, n: int) -> Any:
        """The first n points in greedy order, or fewer if the order ends early; composite points are among them."""
        return some(self._candidates.machine.points, self._greedy.extend(n))

    def points_for(self, rows: Floats, n: int) -> Floats:
        """The first n points in an order for other rows than the sample's, in mapped coordinates."""
        points: Floats = self._candidates.machine.points[RadiusGreedy(self._candidates, n, rows[:_ROWS]).extend(n)]
        return points

    def share_settled(self, stage: Stage) -> float:
        """The share of the sample rows that a stage settles."""
        return float(np.asarray(stage.decide(self._rows).settled).mean())

    def settled_by_sets(self) -> float:
        """The largest share of the sample rows that one of the reduced sets made so far settles."""
        return max((self.share_settled(moved.stage) for moved in self._moved if moved.stage is not None), default=0.0)

    def moved(self) -> Iterator[Moved]:
        """Optimised vectors, more and more of them, within the work allowed for each number."""
        yield from self._moved
        most = min(self.most, max(self.machine.n_points // _LEAST_SHRINKING, 1))
        while (n := self._next_size(most)) is not None:
            self._moved.append(Moved.of(*self._move(n), self.w))
            yield self._moved[-1]

    def _next_size(self, most: int) -> int | None:
        """The number of vectors to try next; None if there is nothing more to gain."""
        if not self._moved:
            return min(_FEWEST_VECTORS, most)
        last = self._moved[-1]
        n = min(_FEWEST_VECTORS << (len(self._moved) - 1), most)
        settled = 0.0 if last.stage is None else self.share_settled(last.stage)
        left = (1 - settled) * self.machine.n_points
        # Twice as many vectors cost n evaluations more; if the open rows cost less than that, there is nothing to gain.
        if n >= most or len(last.vectors) < n or left <= n:
            return None
        return min(2 * n, most)

    def _move(self, n: int) -> tuple[Floats, int]:
        """The first n points in greedy order, optimised to lower rho, and the steps; 0 if they stay where they are."""
        vectors, steps = self.first_points(n), self._steps(n)
        if not steps or not len(vectors):
            return vectors, 0
        say = f"moving {len(vectors):,} vectors"
        try:
            with arithmetic():
                scaled, scale = rescaled(self.machine)
                objective = Norm(scaled, [len(vectors)], self.w)
                moved = objective.minimise(
                    vectors / scale, lambda step: self.progress.say(f"{say}, step {step}"), steps
                )
        except CannotFit:
            return vectors, 0
        return scale * moved, steps

    def _steps(self, n: int) -> int:
        """The steps that the allowed work permits; 0 if they are too few to gain anything."""
        steps = min(int(self._work / step_work(self.machine, n)), _MOST_STEPS)
        return steps if steps >= _FEWEST_STEPS else 0
