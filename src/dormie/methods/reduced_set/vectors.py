"""Few vectors that stand for all points, in the order they were found: what geometry and reduced sets are fitted over.

Points in greedy order come first: they are quickly found. Where they settle anything at all, vectors moved to lower rho
follow, which settle far more with as many, but take longer to fit. Both methods use the same ones, so they are worked
out once for both.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dormie.machine import Floats, Machine
from dormie.machine.rows import mapped
from dormie.methods.base import CertifiedFitting, Stage
from dormie.methods.reduced_set.norm import Norm, step_work
from dormie.methods.reduced_set.stage import ReducedSet
from dormie.methods.reduced_set.units import in_units
from dormie.numerics.feature_space import FeatureVector
from dormie.numerics.greedy_order import RadiusGreedy

HOPELESS = 0.01  # share of rows settled below which more vectors will not help

_ROWS = 256  # sample rows that the order of points is chosen for
_MOST_VECTORS = 1024
_MOST_COORDINATES = 25_000_000  # points x vectors held while points are put in order: 200 MB
_FEWEST_VECTORS = 32
_LEAST_SHRINKING = 3  # times fewer vectors than points: with more there is little to gain
_MOST_STEPS = 200  # that vectors are moved: later ones bring little
_FEWEST_STEPS = 20


@dataclass(frozen=True, eq=False)
class Moved:
    """Vectors, how many steps they were moved to lower rho (0: they are points), and the reduced set over them."""

    vectors: Floats
    steps: int
    stage: ReducedSet


class SharedVectors:
    """Vectors for one machine and sample; `SharedVectors.of` gives the same to every method that asks.

    settled: the share of sample rows that landmarks among the points settle, where geometry has tried
    """

    def __init__(self, fitting: CertifiedFitting) -> None:
        machine = fitting.machine
        self.machine: Machine = machine
        self.progress = fitting.progress
        self.most = min(_MOST_VECTORS, machine.n_points, _MOST_COORDINATES // max(machine.n_points, 1))
        self.w = FeatureVector.of(machine)
        self.settled = 1.0
        self._greedy = RadiusGreedy(self.w, self.most, mapped(machine, fitting.rows[:_ROWS]))
        self._rows = fitting.rows
        self._work = fitting.effort.moving_work
        self._moved: list[Moved] = []

    @classmethod
    def of(cls, fitting: CertifiedFitting) -> SharedVectors:
        """Those of a fitting, made when first asked for."""
        if "vectors" not in fitting.shared:
            fitting.shared["vectors"] = cls(fitting)
        vectors: SharedVectors = fitting.shared["vectors"]
        return vectors

    def first_points(self, n: int) -> Floats:
        """The first n points in greedy order, or as many as are worth taking."""
        points: Floats = self.machine.points[self._greedy.extend(n)]
        return points

    def share_settled(self, stage: Stage) -> float:
        """The share of the sample rows that a stage settles."""
        return float(np.asarray(stage.decide(self._rows).settled).mean())

    def moved(self) -> Iterator[Moved]:
        """Vectors moved to lower rho, of ever more, within the work allowed for each number."""
        yield from self._moved
        most = min(self.most, max(self.machine.n_points // _LEAST_SHRINKING, 1))
        while (n := self._next_size(most)) is not None:
            steps = self._steps(n)
            vectors = self._move(n, steps)
            stage = ReducedSet.project(self.machine, vectors, [len(vectors)], self.w)
            self._moved.append(Moved(vectors, steps, stage))
            yield self._moved[-1]

    def _next_size(self, most: int) -> int | None:
        """How many vectors are to be tried next; None where there is nothing more to gain."""
        if not self._moved:
            return min(_FEWEST_VECTORS, most)
        last = self._moved[-1]
        n = min(_FEWEST_VECTORS << (len(self._moved) - 1), most)
        left = (1 - self.share_settled(last.stage)) * self.machine.n_points
        # Twice as many vectors cost n more; where the rows left open cost less than that there is nothing to gain.
        if n >= most or len(last.vectors) < n or left <= n:
            return None
        return min(2 * n, most)

    def _move(self, n: int, steps: int) -> Floats:
        """The first n points of the greedy order (or as many as it has), moved so many steps to lower rho."""
        vectors = self.first_points(n)
        if not steps or not len(vectors):
            return vectors
        say = f"moving {len(vectors):,} vectors"
        scaled, unit = in_units(self.machine)
        goal = Norm(scaled, [len(vectors)], self.w)
        return unit * goal.minimise(vectors / unit, lambda step: self.progress.say(f"{say}, step {step}"), steps)

    def _steps(self, n: int) -> int:
        """How many steps the work allows; with only a few nothing is won."""
        steps = min(int(self._work / step_work(self.machine, n)), _MOST_STEPS)
        return steps if steps >= _FEWEST_STEPS else 0
