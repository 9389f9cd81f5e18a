"""Nearest support vectors as a method: they take long to fit and are rarely the fastest."""

from __future__ import annotations

from collections.abc import Iterator

from dormie.machine import Machine
from dormie.methods.base import CalibratedStage, Method, Usable
from dormie.methods.fitting import CalibratedFitting, arithmetic, attempts
from dormie.methods.nearest.fitting import FORMS
from dormie.methods.nearest.stage import Nearest
from dormie.methods.thresholds import needs_products


class _NearestMethod(Method):
    stages = (Nearest,)
    needs_risk = True

    def is_usable_for(self, machine: Machine) -> Usable:
        return needs_products(self.name, machine)

    def calibrated_candidates(self, fitting: CalibratedFitting) -> Iterator[CalibratedStage]:
        if not (fitting.named or fitting.effort.rarely_fastest):
            return
        yield from attempts(_fitted(fitting, form) for form in FORMS)


def _fitted(fitting: CalibratedFitting, form: str) -> Iterator[Nearest]:
    fitting.progress.say(f"fitting thresholds of the nearest support vectors ({form})")
    with arithmetic():
        stage = Nearest.fit(fitting.machine, fitting.fitting.rows, form=form)
    yield stage


METHOD = _NearestMethod()
