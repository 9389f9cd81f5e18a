"""Certified candidates: the stages that usable methods fit to a machine. The race decides which of them pay."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dormie.machine import Machine
from dormie.methods import METHODS
from dormie.methods.base import CertifiedFitting, Method, Stage
from dormie.planner.options import Options
from dormie.progress import Progress


def candidates(machine: Machine, options: Options, sample: Any, progress: Progress) -> Iterator[Stage]:
    """The fitted stages of all methods, or of the named ones; a named method that cannot be fitted is an error."""
    fitting = CertifiedFitting(machine, sample, options.effort, options.named, progress)
    for method in usable_methods(machine, options):
        try:
            yield from method.certified_candidates(fitting)
        except ValueError:  # its numbers are too large, too small, or nearly dependent
            if fitting.named:
                raise


def usable_methods(machine: Machine, options: Options) -> list[Method]:
    """The methods that can serve the machine, of all methods or of the named ones."""
    chosen = [method for name, method in METHODS.items() if options.names is None or name in options.names]
    return [method for method in chosen if method.is_usable_for(machine)]
