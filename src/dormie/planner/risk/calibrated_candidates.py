"""Calibrated candidates for plans with a risk: the stages that usable methods fit, each at several cautions.

A caution is the factor by which a stage's half-widths are wider than first fitted. The race chooses among the
candidates, and calibration certifies the choice.
"""

from __future__ import annotations

from collections.abc import Iterator

from dormie.methods.base import CalibratedStage
from dormie.methods.fitting import CalibratedFitting
from dormie.planner.certified_candidates import unless_unfit, usable_methods
from dormie.planner.options import Options
from dormie.planner.race import Candidate
from dormie.planner.risk.disagreement import decay_probabilities, exchange_probabilities

_CAUTIONS = (0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0, 5.6, 8.0)


def candidates(fitting: CalibratedFitting, options: Options) -> Iterator[Candidate]:
    """The stages of the named methods, or by default of all that usually pay, each at every caution."""
    machine, measuring = fitting.machine, fitting.measuring
    right = machine.rule.answer(measuring.outputs)
    for stage in _fitted(fitting, options):
        if stage.answers_by_estimate:
            estimates = stage.estimate(measuring.rows)
            alike = exchange_probabilities(machine.rule, estimates, measuring.outputs, fitting.seed)
            probabilities = [alike] * len(_CAUTIONS)
        elif (chances := stage.chances(measuring.rows, measuring.outputs)) is not None:
            probabilities = [chances] * len(_CAUTIONS)
        else:
            probabilities = decay_probabilities(machine.rule, stage, _CAUTIONS, measuring.rows, right)
        yield Candidate(stage, _CAUTIONS, probabilities)


def _fitted(fitting: CalibratedFitting, options: Options) -> Iterator[CalibratedStage]:
    """The stages that the methods fit; a named method that cannot be fitted is an error."""
    for method in usable_methods(fitting.machine, options):
        yield from unless_unfit(method.calibrated_candidates(fitting), options)
