"""Certified candidates: the stages that usable methods fit to a machine. The race decides which of them pay."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

from dormie.machine import Machine
from dormie.methods import METHODS
from dormie.methods.base import Method, Stage
from dormie.methods.fitting import CalibratedFitting, CannotFit, CertifiedFitting, attempts
from dormie.planner.options import Options
from dormie.progress import Progress

S = TypeVar("S", bound=Stage)


def candidates(machine: Machine, options: Options, sample: Any, progress: Progress) -> Iterator[Stage]:
    """The fitted stages of all methods, or of the named ones; a named method that cannot be fitted is an error."""
    fitting = CertifiedFitting(machine, sample, options.effort, options.named, progress)
    for method in usable_methods(machine, options):
        yield from unless_unfit(method.certified_candidates(fitting), options)


def companions(fitting: CalibratedFitting, options: Options) -> Iterator[Stage]:
    """Certified stages made of what calibrated candidates were fitted to."""
    for method in usable_methods(fitting.machine, options):
        yield from unless_unfit(method.certified_companions(fitting), options)


def unless_unfit(stages: Iterator[S], options: Options) -> Iterator[S]:
    """The stages of one method, none if it cannot fit any; for a named method that is an error."""
    try:
        yield from attempts([stages])
    except CannotFit as reason:
        if options.named:
            raise ValueError(str(reason)) from reason


def usable_methods(machine: Machine, options: Options) -> list[Method]:
    """The methods that can serve the machine, of all methods or of the named ones."""
    chosen = [method for name, method in METHODS.items() if options.names is None or name in options.names]
    return [method for method in chosen if method.usable_for(machine)]
