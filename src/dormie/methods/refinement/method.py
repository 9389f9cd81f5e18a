"""Refinement as a method: pairs of the reduced sets that were fitted for plans with a risk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from dormie.machine import Machine
from dormie.methods.base import CalibratedStage, Method, Usable
from dormie.methods.fitting import CalibratedFitting, Sample, arithmetic, attempts
from dormie.methods.reduced_set.fitting import Reduced
from dormie.methods.reduced_set.levels import Levels
from dormie.methods.reduced_set.method import sets_of
from dormie.methods.refinement.stage import Refinement, needs_tolerance

_LEAST_RATIO = 2  # of the vectors of the fine set to those of the coarse one
_MOST_RATIO = 8


class _RefinementMethod(Method):
    stages = (Refinement,)
    needs_risk = True

    def is_usable_for(self, machine: Machine) -> Usable:
        return needs_tolerance(self.name, machine)

    def calibrated_candidates(self, fitting: CalibratedFitting) -> Iterator[CalibratedStage]:
        yield from attempts(_calibrated(coarse, fine, fitting) for coarse, fine in _pairs(sets_of(fitting)))


def _pairs(sets: Sequence[Reduced]) -> Iterator[tuple[Reduced, Reduced]]:
    """Sets to compare, coarse and fine."""
    for coarse in sets:
        for fine in sets:
            if _LEAST_RATIO * len(coarse.points) <= len(fine.points) <= _MOST_RATIO * len(coarse.points):
                yield coarse, fine


def _calibrated(coarse: Reduced, fine: Reduced, fitting: CalibratedFitting) -> Iterator[Refinement]:
    """The stage over two sets, with the error that the step between them foretells."""
    machine = fitting.machine
    n, [first], [second] = len(coarse.points), coarse.weights, fine.weights
    points = np.vstack([coarse.points, fine.points])
    together = np.vstack([np.zeros((n, machine.n_outputs)), second])
    levels = Levels.of(points, [first, together], machine.n_outputs)
    with arithmetic():
        slope, floor = _line(Refinement(machine, levels, 1.0, 0.0), fitting.measuring)
        stage = Refinement(machine, levels, slope, floor)
    yield stage


def _line(stage: Refinement, measuring: Sample) -> tuple[float, float]:
    """Slope and floor of the error as a function of the step, by least squares with both at least 0.

    Large steps count less, in proportion: errors spread with their size.
    """
    from scipy.optimize import nnls  # here: it takes longer to import than all of dormie

    found, steps = stage.values(measuring.rows)
    errors = stage.errors(found, measuring.outputs)
    weights = 1 / np.maximum(steps + steps.mean(), np.finfo(np.float64).tiny)
    sides = np.stack([steps, np.ones_like(steps)], axis=1)
    (slope, floor), _ = nnls(sides * weights[:, None], errors * weights)
    return float(slope), float(floor)


METHOD = _RefinementMethod()
