"""The linear filter as a method: one filter, fitted on some thousands of rows."""

from __future__ import annotations

from collections.abc import Iterator

from dormie.machine import Machine
from dormie.methods.base import CalibratedStage, Method, Usable
from dormie.methods.fitting import CalibratedFitting, arithmetic
from dormie.methods.linear_filter.stage import LinearFilter
from dormie.methods.thresholds import needs_classifier

_MOST_ROWS = 20_000  # for fitting


class _LinearFilterMethod(Method):
    stages = (LinearFilter,)
    needs_risk = True

    def is_usable_for(self, machine: Machine) -> Usable:
        return needs_classifier(self.name, machine)

    def calibrated_candidates(self, fitting: CalibratedFitting) -> Iterator[CalibratedStage]:
        few = fitting.fitting.some(_MOST_ROWS, fitting.seed)
        fitting.progress.say("fitting a linear filter")
        with arithmetic():
            stage = LinearFilter.fit(fitting.machine, few.rows, few.outputs)
        yield stage


METHOD = _LinearFilterMethod()
