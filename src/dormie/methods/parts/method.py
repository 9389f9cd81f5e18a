"""Parts as a method: the same kind of stage for every member of a sum of machines."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

from dormie.machine import Machine, MachineSum
from dormie.machine.rules import ValueRule
from dormie.methods.base import CalibratedStage, CertifiedStage, Method, Usable, needs_vectors
from dormie.methods.fast_stopping import FastStopping
from dormie.methods.fitting import CalibratedFitting, CannotFit, CertifiedFitting, Effort, arithmetic, attempts
from dormie.methods.geometry import Geometry
from dormie.methods.parts.stage import CalibratedParts, Parts, needs_sum
from dormie.methods.reduced_set import CalibratedReducedSet, ReducedSet
from dormie.methods.reduced_set.fitting import Reduced, fit
from dormie.methods.reduced_set.levels import Levels
from dormie.methods.reduced_set.method import fits_of_sizes, rms_errors, sizes_to_try
from dormie.methods.reduced_set.vectors import SharedVectors
from dormie.numerics.evaluate import FullSum

_LANDMARKS = (16, 64, 256)  # of each member


class _PartsMethod(Method):
    stages = (Parts, CalibratedParts)

    def is_usable_for(self, machine: Machine) -> Usable:
        return needs_sum(machine)

    def certified_candidates(self, fitting: CertifiedFitting) -> Iterator[CertifiedStage]:
        yield Parts(fitting.machine).fitted(fitting.rows)
        if _why_no_vectors(fitting.machine):
            return
        in_order = [FastStopping(member) for member in _members(fitting.machine)]
        yield Parts(fitting.machine, in_order).fitted(fitting.rows)
        yield from attempts(_certified(fitting))

    def calibrated_candidates(self, fitting: CalibratedFitting) -> Iterator[CalibratedStage]:
        if why_not := _why_no_vectors(fitting.machine):
            raise CannotFit(why_not)
        yield from attempts(_calibrated(sets, fitting) for sets in _fits(fitting))


def _members(machine: Machine) -> tuple[Machine, ...]:
    assert isinstance(machine, MachineSum)
    return machine.members


def _why_no_vectors(machine: Machine) -> str:
    """Why vectors cannot stand in for the points of some member; empty if they can."""
    for member in _members(machine):
        if member.has_sparse_points:
            return "parts: points of a member are sparse"
        if not (usable := needs_vectors("parts", member)):
            return usable.why_not
    return ""


def _certified(fitting: CertifiedFitting) -> Iterator[Iterator[CertifiedStage]]:
    """Landmarks of each member, and reduced sets over them."""
    vectors: list[SharedVectors] = []

    def over_points(n: int) -> Iterator[CertifiedStage]:
        if not vectors:
            vectors.extend(SharedVectors.of(replace(fitting, machine=m, shared={})) for m in _members(fitting.machine))
        points = [of.first_points(n) for of in vectors]
        with arithmetic():
            landmarks = [Geometry.build(of.machine, own, of.w) for of, own in zip(vectors, points, strict=True)]
            sets = [
                ReducedSet.project(of.machine, own, [len(own)], of.w) for of, own in zip(vectors, points, strict=True)
            ]
        yield Parts(fitting.machine, landmarks).fitted(fitting.rows)
        yield Parts(fitting.machine, sets).fitted(fitting.rows)

    return map(over_points, _LANDMARKS)


def _fits(fitting: CalibratedFitting) -> Iterator[Future[list[Reduced]]]:
    """Reduced sets of every member, of all sizes."""
    members, rows = _members(fitting.machine), fitting.fitting.rows
    outputs = [FullSum(member).outputs(rows) for member in members]

    def fit_size(n: int) -> list[Reduced]:
        return [fit(each, n, rows, seed=fitting.seed, outputs=own) for each, own in zip(members, outputs, strict=True)]

    return fits_of_sizes(fit_size, _sizes(fitting.machine, fitting.effort))


def _sizes(machine: Machine, effort: Effort) -> list[int]:
    """The numbers of vectors for each member, ascending."""
    if not isinstance(machine.rule, ValueRule):
        effort = replace(effort, value_set_sizes=())
    return sorted(set.intersection(*(set(sizes_to_try(member, effort)) for member in _members(machine))))


def _calibrated(sets: Future[list[Reduced]], fitting: CalibratedFitting) -> Iterator[CalibratedParts]:
    """The stage over one fit of every member, each output with its rms error as half-width."""
    with arithmetic():
        stages = [_own_stage(reduced, fitting.measuring.rows) for reduced in sets.result()]
        stage = CalibratedParts(fitting.machine, stages)
    yield stage


def _own_stage(reduced: Reduced, rows: Any) -> CalibratedReducedSet:
    machine = reduced.original
    half_widths = rms_errors(reduced, rows, FullSum(machine).outputs(rows))
    return CalibratedReducedSet(machine, Levels.of(reduced.points, reduced.weights, machine.n_outputs), half_widths)


METHOD = _PartsMethod()
