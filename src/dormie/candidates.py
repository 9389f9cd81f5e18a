"""Stages worth trying for a machine: each is fitted here, and the contest (`contest.py`) says which of them pay.

Landmarks among the points come first: they are quickly found. Where a few hundred of them settle anything at all, free
landmarks and reduced sets follow: vectors moved to lower rho, which settle far more with as many, but take longer to
fit. How much longer is for the user to say: the effort.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dormie.kernels import Custom
from dormie.landmarks import Expansion, RadiusGreedy
from dormie.machine import Floats, Machine
from dormie.progress import Progress
from dormie.reduction.norm import Norm, step_work
from dormie.reduction.order import w_greedy_order
from dormie.reduction.units import in_units
from dormie.rows import mapped
from dormie.stages import FastStopping, Geometry, ReducedSet, Stage
from dormie.stages.base import require_inner_product

# Multiply-adds that moving the vectors of one size may take.
EFFORTS = {"quick": 0.0, "normal": 2e11, "thorough": 4e12}

_FIRST_LANDMARKS = 64
_LANDMARK_ROWS = 256  # sample rows that landmarks are chosen for
_MOST_VECTORS = 1024
_MOST_COORDINATES = 25_000_000  # points x landmarks held while landmarks are chosen: 200 MB
_ENOUGH_SETTLED = 0.999
_HOPELESS = 0.01
_FEWEST_VECTORS = 32
_LEAST_SHRINKING = 3  # times fewer vectors than points: with more there is little to gain
_MOST_STEPS = 200  # that vectors are moved: later ones bring little
_FEWEST_STEPS = 20


def candidates(
    machine: Machine, names: Sequence[str] | None, sample: Any, effort: str, progress: Progress
) -> Iterator[Stage]:
    """Fitted stages: all, or those of the named methods. A named method that cannot be had is an error."""
    if names is None and (isinstance(machine.kernel, Custom) or not machine.kernel.positive_semidefinite):
        return  # no bound is known to hold
    wanted = {FastStopping.name, Geometry.name, ReducedSet.name} if names is None else set(names)
    if FastStopping.name in wanted:
        yield FastStopping(machine)
    spanning = [stage for stage in (Geometry, ReducedSet) if stage.name in wanted]
    if not spanning:
        return
    try:
        require_inner_product(machine, spanning[0])
        fitting = _Fitting.of(machine, sample, progress)
        settled = 1.0
        if Geometry.name in wanted:
            settled = yield from fitting.geometries()
        if names is not None or settled >= _HOPELESS:
            free = fitting.free(EFFORTS[effort], landmarks=Geometry.name in wanted)
            yield from (stage for stage in free if stage.name in wanted)
    except ValueError:  # no vectors can be had: the numbers are too large, too small, or too nearly dependent
        if names is not None:
            raise


@dataclass(frozen=True)
class _Fitting:
    """Stages that rest on a few vectors: a machine, its w, the order of its points, and rows to settle."""

    machine: Machine
    expansion: Expansion
    greedy: RadiusGreedy
    sample: Any
    progress: Progress

    @classmethod
    def of(cls, machine: Machine, sample: Any, progress: Progress) -> _Fitting:
        most = min(_MOST_VECTORS, machine.n_points, _MOST_COORDINATES // max(machine.n_points, 1))
        expansion = Expansion.of(machine)
        greedy = RadiusGreedy(expansion, most, mapped(machine, sample[:_LANDMARK_ROWS]))
        return cls(machine, expansion, greedy, sample, progress)

    def geometries(self) -> Generator[Geometry, None, float]:
        """Geometry stages of ever more landmarks, as long as more may settle more; returns the share settled."""
        n, settled = min(_FIRST_LANDMARKS, self.greedy.most), 0.0
        while True:
            self.progress.say(f"trying {n:,} landmarks")
            landmarks = self.machine.points[self.greedy.extend(n)]
            if not len(landmarks):
                return settled
            full = Geometry.build(self.machine, landmarks, self.expansion)
            yield from (full.limited(n // part) for part in ((4, 2, 1) if n == _FIRST_LANDMARKS else (1,)))
            settled = self._settled(full)
            done = len(landmarks) < n or n >= self.greedy.most or settled >= _ENOUGH_SETTLED
            if done or (n >= 4 * _FIRST_LANDMARKS and settled < _HOPELESS):
                return settled
            n = min(2 * n, self.greedy.most)

    def free(self, work: float, landmarks: bool) -> Iterator[Geometry | ReducedSet]:
        """Stages over vectors moved to lower rho, of ever more, within the work allowed for each.

        landmarks: whether they are to serve as such too, and not in reduced sets alone
        """
        most = min(self.greedy.most, max(self.machine.n_points // _LEAST_SHRINKING, 1))
        n = min(_FEWEST_VECTORS, most)
        while True:
            steps = self._steps(n, work)
            vectors = self._moved(n, steps)
            reduced = ReducedSet.project(self.machine, vectors, [len(vectors)], self.expansion)
            yield reduced
            if steps and landmarks:
                ordered = vectors[w_greedy_order(self.machine, vectors, self.expansion)]
                yield Geometry.build(self.machine, ordered, self.expansion)
            left = (1 - self._settled(reduced)) * self.machine.n_points
            # Twice as many vectors cost n more; where the rows left open cost less than that there is nothing to gain.
            if n >= most or len(vectors) < n or left <= n:
                return
            n = min(2 * n, most)

    def _moved(self, n: int, steps: int) -> Floats:
        """The first n points of the greedy order (or as many as it has), moved so many steps to lower rho."""
        vectors: Floats = self.machine.points[self.greedy.extend(n)]
        if not steps or not len(vectors):
            return vectors
        say = f"moving {len(vectors):,} vectors"
        scaled, unit = in_units(self.machine)
        goal = Norm(scaled, [len(vectors)], self.expansion)
        return unit * goal.minimise(vectors / unit, lambda step: self.progress.say(f"{say}, step {step}"), steps)

    def _steps(self, n: int, work: float) -> int:
        """How many steps the work allows; with only a few nothing is won."""
        steps = min(int(work / step_work(self.machine, n)), _MOST_STEPS)
        return steps if steps >= _FEWEST_STEPS else 0

    def _settled(self, stage: Geometry | ReducedSet) -> float:
        return float(np.asarray(stage.decide(self.sample).settled).mean())
