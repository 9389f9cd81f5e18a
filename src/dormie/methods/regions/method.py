"""Regions as a method: candidates with more or fewer landmarks in each region, where geometry itself does some good.

Whether they may pay is told by what geometry and reduced_set measured before (`SharedVectors.settled`,
`settled_by_sets`). So regions come after both in `dormie.methods.METHODS`, the order in which methods fit.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dormie.machine import Floats, Machine
from dormie.machine.rows import mapped
from dormie.methods.base import CertifiedStage, Method, Usable, needs_vectors
from dormie.methods.fitting import CertifiedFitting, arithmetic, attempts
from dormie.methods.geometry import Geometry
from dormie.methods.reduced_set.vectors import HOPELESS, SharedVectors
from dormie.methods.regions.stage import Regions
from dormie.methods.thresholds import needs_classifier
from dormie.numerics.k_means import k_means, nearest_center

_REGIONS = 32  # on covtype 16 took 1.03 microseconds a row, 32 took 0.90, and 64 took 0.97
_ROWS_A_REGION = 16  # at least, in the mean
# Where reduced sets settle more, they are faster: cod-rna, electricity, phoneme and ijcnn1, by factors of 1.5 to 2. On
# covtype they settle half of the rows.
_ENOUGH_SETTLED = 0.9
_LANDMARKS = 256  # in each region; candidates have all of them, or half


class _RegionsMethod(Method):
    stages = (Regions,)

    def is_usable_for(self, machine: Machine) -> Usable:
        usable = needs_classifier(self.name, machine)
        return needs_vectors(self.name, machine) if usable else usable

    def certified_candidates(self, fitting: CertifiedFitting) -> Iterator[CertifiedStage]:
        yield from attempts([_candidates(SharedVectors.of(fitting), fitting)])


def _candidates(vectors: SharedVectors, fitting: CertifiedFitting) -> Iterator[Regions]:
    rows = mapped(fitting.machine, fitting.rows[::2])  # the race judges on all, half of which the orders do not know
    regions = min(_REGIONS, len(rows) // _ROWS_A_REGION)
    most = min(_LANDMARKS, vectors.most)
    work = regions * most * fitting.machine.n_points * (fitting.machine.n_features + most / 2)
    may_pay = vectors.settled >= HOPELESS and vectors.settled_by_sets() < _ENOUGH_SETTLED
    affordable = fitting.effort.rarely_fastest and work <= fitting.effort.moving_work
    if regions < 2 or not (fitting.named or (may_pay and affordable)):
        return
    fitting.progress.say(f"trying landmarks for {regions} regions")
    with arithmetic(), np.errstate(over="ignore", invalid="ignore"):
        stage = _fitted(vectors, rows, regions, most)
    yield from (stage, stage.limited(most // 2))


def _fitted(vectors: SharedVectors, rows: Floats, regions: int, most: int) -> Regions:
    """Regions are clusters of the rows, and the landmarks of each are those that suit its rows."""
    centers = k_means(rows, np.ones(len(rows)), regions, np.random.default_rng(0))
    nearest = nearest_center(centers, rows)
    stages = [
        Geometry.build(vectors.machine, vectors.points_for(rows[nearest == region], most), vectors.w)
        for region in range(regions)
    ]
    return Regions(vectors.machine, centers, stages)


METHOD = _RegionsMethod()
