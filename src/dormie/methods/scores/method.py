"""Scores as a method: sets of several sizes, fitted to answers and calibrated on other rows."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future

from dormie.machine import Machine
from dormie.machine.rows import mapped
from dormie.machine.rules import OneVsOneVote
from dormie.methods.base import CalibratedStage, Method, Usable
from dormie.methods.fitting import CalibratedFitting, arithmetic, attempts
from dormie.methods.reduced_set.levels import row_lengths
from dormie.methods.reduced_set.method import fits_of_sizes, sizes_to_try
from dormie.methods.scores.fitting import fit, usual_gap, with_more
from dormie.methods.scores.stage import ScoreMachine, Scores, machine_of, needs_classes
from dormie.numerics.evaluate import FullSum

_MOST_ROWS = 100_000  # for fitting
_OUTPUTS_A_FEATURE = 0.5  # MNIST, with 45 outputs for 784 features: 95.0 % right with scores, 97.3 % without


class _ScoresMethod(Method):
    stages = (Scores,)
    needs_risk = True

    def is_usable_for(self, machine: Machine) -> Usable:
        return needs_classes(self.name, machine)

    def calibrated_candidates(self, fitting: CalibratedFitting) -> Iterator[CalibratedStage]:
        if not (fitting.named or _saves_outputs(fitting.machine)):
            return
        yield from attempts(_calibrated(found, fitting) for found in _fits(fitting))


def _saves_outputs(machine: Machine) -> bool:
    """Whether outputs for all pairs take a good part of the time of a small set, so that fewer would be felt."""
    return isinstance(machine.rule, OneVsOneVote) and machine.n_outputs >= _OUTPUTS_A_FEATURE * machine.n_features


def _fits(fitting: CalibratedFitting) -> Iterator[Future[ScoreMachine]]:
    """Scores of all sizes."""
    machine, few = fitting.machine, fitting.fitting.some(_MOST_ROWS, fitting.seed)
    fitting.progress.say("answering rows to fit scores to")
    rows, answers = with_more(machine, mapped(machine, few.rows), machine.rule.answer(few.outputs), fitting.seed)

    def fit_size(n: int) -> ScoreMachine:
        return fit(machine, n, rows, answers, fitting.seed)

    return fits_of_sizes(fit_size, sizes_to_try(machine, fitting.effort))


def _calibrated(fitted: Future[ScoreMachine], fitting: CalibratedFitting) -> Iterator[Scores]:
    """The stage of one fit, with a gap measured on other rows than it was fitted to."""
    machine, measuring = fitting.machine, fitting.measuring
    fitting.progress.say("fitting scores")
    with arithmetic():
        found = fitted.result()
        scores = FullSum(machine_of(machine, found)).outputs(measuring.rows)
        lengths = row_lengths(machine, measuring.rows)[:, 0]
        stage = Scores(machine, found, usual_gap(scores, machine.rule.answer(measuring.outputs), lengths))
    yield stage


METHOD = _ScoresMethod()
