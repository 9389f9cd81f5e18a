"""Calibrated candidates, for plans with a stated risk: every usable method fits its own, each at several cautions.

The caution says how many times wider a stage's half-widths are than measured. The race chooses among them, and
calibration certifies the choice.
"""

from __future__ import annotations

from collections.abc import Iterator

from dormie.methods.base import CalibratedFitting, CautiousStage
from dormie.planner.certified import usable_methods
from dormie.planner.race import Candidate
from dormie.planner.risk.disagreement import exchange_chances, vanishing_chances

_CAUTIONS = (0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0, 5.6, 8.0)


def candidates(fitting: CalibratedFitting, names: list[str] | None) -> Iterator[Candidate]:
    """Stages of the named methods (None: of all that usually pay), each at every caution."""
    machine, measuring = fitting.machine, fitting.measuring
    right = machine.rule.answer(measuring.outputs)
    for stage in _fitted(fitting, names):
        estimate = stage.estimate(measuring.rows)
        if estimate is None:
            chances = vanishing_chances(stage, _CAUTIONS, measuring.rows, right)
        else:
            chances = [exchange_chances(machine.rule, estimate, measuring.outputs, fitting.seed)] * len(_CAUTIONS)
        yield Candidate([stage.cautious(caution) for caution in _CAUTIONS], chances)


def _fitted(fitting: CalibratedFitting, names: list[str] | None) -> Iterator[CautiousStage]:
    """The stages that each method can fit; where methods are named, one that cannot is an error."""
    for method in usable_methods(fitting.machine, names):
        try:
            yield from method.calibrated_candidates(fitting)
        except ValueError:
            if fitting.asked:
                raise
