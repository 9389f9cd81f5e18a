"""Geometry as a method: candidates over landmarks among the points, and over vectors optimised to lower rho."""

from __future__ import annotations

from collections.abc import Iterator

from dormie.machine import Machine
from dormie.methods.base import CertifiedStage, Method, Usable, needs_early_stop
from dormie.methods.fitting import CertifiedFitting, arithmetic, attempts
from dormie.methods.geometry.stage import Geometry
from dormie.methods.reduced_set.vectors import HOPELESS, Moved, SharedVectors
from dormie.numerics.greedy_order import w_greedy_order

_FIRST_LANDMARKS = 64
_ENOUGH_SETTLED = 0.999


class _GeometryMethod(Method):
    stages = (Geometry,)

    def is_usable_for(self, machine: Machine) -> Usable:
        return needs_early_stop(self.name, machine)

    def certified_candidates(self, fitting: CertifiedFitting) -> Iterator[CertifiedStage]:
        if fitting.can_afford(fitting.machine.n_points**2):  # |w| takes the kernel matrix of all points
            yield from attempts(_fits(SharedVectors.of(fitting), fitting.named))


def _fits(vectors: SharedVectors, named: bool) -> Iterator[Iterator[Geometry]]:
    """The stages over points, then those over optimised vectors if the former settled enough rows."""
    yield _over_points(vectors)
    if vectors.machine.kernel.has_derivative and (named or vectors.settled >= HOPELESS):
        yield from (_over_moved(vectors, moved) for moved in vectors.moved() if moved.steps)


def _over_points(vectors: SharedVectors) -> Iterator[Geometry]:
    """Stages with more and more landmarks while more may settle more rows.

    One that cannot be fitted ends them: all later ones have its landmarks too.
    """
    n = min(_FIRST_LANDMARKS, vectors.most)
    while True:
        vectors.progress.say(f"trying {n:,} landmarks")
        landmarks = vectors.first_points(n)
        if not len(landmarks):
            vectors.settled = 0.0
            return
        with arithmetic():
            full = Geometry.build(vectors.machine, landmarks, vectors.w)
        yield from (full.limited(n // part) for part in ((4, 2, 1) if n == _FIRST_LANDMARKS else (1,)))
        settled = vectors.settled = vectors.share_settled(full)
        done = len(landmarks) < n or n >= vectors.most or settled >= _ENOUGH_SETTLED
        if done or (n >= 4 * _FIRST_LANDMARKS and settled < HOPELESS):
            return
        n = min(2 * n, vectors.most)


def _over_moved(vectors: SharedVectors, moved: Moved) -> Iterator[Geometry]:
    """The stage over optimised vectors, which need not be points; those that lower rho most come first."""
    with arithmetic():
        order = w_greedy_order(moved.vectors, vectors.w)
        stage = Geometry.build(vectors.machine, moved.vectors[order], vectors.w)
    yield stage


METHOD = _GeometryMethod()
