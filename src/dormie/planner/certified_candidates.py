"""Certified candidates: the stages that usable methods fit to a machine. The race decides which of them pay."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dormie.machine import Machine
from dormie.methods import METHODS
from dormie.methods.base import CertifiedFitting, Effort, Method, Stage
from dormie.progress import Progress


def candidates(
    machine: Machine, names: list[str] | None, sample: Any, effort: Effort, progress: Progress
) -> Iterator[Stage]:
    """The fitted stages of all methods, or of the named ones; a named method that cannot be fitted is an error."""
    fitting = CertifiedFitting(machine, sample, effort, names is not None, progress)
    for method in usable_methods(machine, names):
        try:
            yield from method.certified_candidates(fitting)
        except ValueError:  # its numbers are too large, too small, or nearly dependent
            if fitting.named:
                raise


def usable_methods(machine: Machine, names: list[str] | None) -> list[Method]:
    """The methods that can serve the machine, of all methods or of the named ones."""
    chosen = METHODS.values() if names is None else (METHODS[name] for name in METHODS if name in names)
    return [method for method in chosen if method.is_usable_for(machine)]
