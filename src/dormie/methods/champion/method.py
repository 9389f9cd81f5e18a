"""The champion as a method: small reduced sets that guess, fitted on sample rows."""

from __future__ import annotations

from collections.abc import Iterator

from dormie.machine import Machine
from dormie.methods.base import CertifiedStage, Method, Usable
from dormie.methods.champion.members import Members
from dormie.methods.champion.stage import Champion, needs_vote
from dormie.methods.fitting import CalibratedFitting, CannotFit, CertifiedFitting, arithmetic, attempts
from dormie.methods.reduced_set.fitting import Reduced, fit
from dormie.methods.reduced_set.levels import Levels
from dormie.methods.reduced_set.method import fitted_sets

_POINTS_A_VECTOR = 16  # least ratio of points to vectors: a guess must cost little
_VECTORS = 32  # of a guess, where the effort leaves champions out and the user names them
_MOST_VECTORS = 256  # of a guess that was fitted for a plan with a risk
_MOST_COPIES = 16  # of a point: each class has its own copy of those it needs


class _ChampionMethod(Method):
    stages = (Champion,)

    def is_usable_for(self, machine: Machine) -> Usable:
        return needs_vote(self.name, machine)

    def certified_candidates(self, fitting: CertifiedFitting) -> Iterator[CertifiedStage]:
        machine, sizes = fitting.machine, fitting.effort.guess_sizes
        if not sizes and not fitting.named:
            return
        _require_few_copies(machine)
        few = {max(1, min(n, machine.n_points // _POINTS_A_VECTOR)) for n in sizes or (_VECTORS,)}
        yield from attempts(_guessing(fitting, n) for n in sorted(few))

    def certified_companions(self, fitting: CalibratedFitting) -> Iterator[CertifiedStage]:
        machine = fitting.machine
        most = min(_MOST_VECTORS, machine.n_points // _POINTS_A_VECTOR)
        few = [reduced for reduced in fitted_sets(fitting) if len(reduced.points) <= most]
        if few:
            _require_few_copies(machine)
            yield _champion(few[-1])


def _require_few_copies(machine: Machine) -> None:
    """Raise CannotFit if the points that classes need, each in a copy of its own, take too much memory."""
    copies = len(Members.of(machine).members) / machine.n_points
    if copies > _MOST_COPIES:
        raise CannotFit(f"champion: {copies:.0f} copies of the points, one for each class that needs them")


def _champion(reduced: Reduced) -> Champion:
    """The stage whose guess is a reduced set."""
    machine = reduced.original
    return Champion(machine, Levels.of(reduced.points, reduced.weights, machine.n_outputs))


def _guessing(fitting: CertifiedFitting, n: int) -> Iterator[CertifiedStage]:
    """The stage whose guess has n vectors."""
    machine = fitting.machine
    fitting.progress.say(f"fitting {n} vectors that guess the class")
    with arithmetic():
        stage = _champion(fit(machine, n, fitting.rows))
    yield stage


METHOD = _ChampionMethod()
