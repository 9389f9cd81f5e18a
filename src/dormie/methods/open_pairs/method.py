"""Open pairs as a method: the reduced sets that were fitted for a plan with a risk guess which pairs are open."""

from __future__ import annotations

from collections.abc import Iterator

from dormie.machine import Machine
from dormie.methods.base import CalibratedStage, Method, Usable
from dormie.methods.champion.stage import needs_vote
from dormie.methods.fitting import CalibratedFitting, arithmetic, attempts
from dormie.methods.open_pairs.stage import OpenPairs
from dormie.methods.reduced_set.fitting import Reduced
from dormie.methods.reduced_set.levels import Levels
from dormie.methods.reduced_set.method import rms_errors, sets_of

_POINTS_A_VECTOR = 16  # least ratio of points to vectors: a guess must cost little


class _OpenPairsMethod(Method):
    stages = (OpenPairs,)
    needs_risk = True

    def is_usable_for(self, machine: Machine) -> Usable:
        return needs_vote(self.name, machine)

    def calibrated_candidates(self, fitting: CalibratedFitting) -> Iterator[CalibratedStage]:
        most = fitting.machine.n_points // _POINTS_A_VECTOR
        yield from attempts(_guessing(found, fitting) for found in sets_of(fitting) if len(found.points) <= most)


def _guessing(reduced: Reduced, fitting: CalibratedFitting) -> Iterator[OpenPairs]:
    """The stage whose guess is a reduced set, with the rms error of each output."""
    machine, measuring = fitting.machine, fitting.measuring
    half_widths = rms_errors(reduced, measuring.rows, measuring.outputs)
    with arithmetic():
        levels = Levels.of(reduced.points, reduced.weights, machine.n_outputs)
        stage = OpenPairs(machine, levels, half_widths)
    yield stage


METHOD = _OpenPairsMethod()
