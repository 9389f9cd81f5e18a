"""What calibrated candidates are fitted with, of rows alone."""

from __future__ import annotations

from typing import Any

from dormie.machine import Machine
from dormie.methods.fitting import EFFORTS, CalibratedFitting, Sample
from dormie.progress import Progress


def calibrated_fitting(machine: Machine, fitting: Any, measuring: Any, effort: str, named: bool) -> CalibratedFitting:
    fit, measure = Sample.of(machine, fitting), Sample.of(machine, measuring)
    return CalibratedFitting(machine, fit, measure, EFFORTS[effort], named, 0, Progress())
