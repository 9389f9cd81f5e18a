"""Reduced sets as a method: certified by their distance from w, or calibrated on rows if that is too large."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

import numpy as np

from dormie.machine import Floats, Machine
from dormie.machine.rules import ValueRule
from dormie.methods.base import CalibratedStage, CertifiedStage, Method, Usable, needs_early_stop, needs_vectors
from dormie.methods.fitting import CalibratedFitting, CannotFit, CertifiedFitting, Effort, arithmetic, attempts
from dormie.methods.reduced_set.fitting import Reduced, fit
from dormie.methods.reduced_set.levels import Levels, row_lengths
from dormie.methods.reduced_set.outputs import work_of
from dormie.methods.reduced_set.stage import CalibratedReducedSet, ReducedSet
from dormie.methods.reduced_set.vectors import HOPELESS, SharedVectors
from dormie.numerics.evaluate import FullSum
from dormie.numerics.threads import default_threads
from dormie.progress import duration

_SHORT = 8192  # vectors x features of a set whose rows count as short
_LONG = 5_000_000  # points x features of a machine whose full sum counts as long
_LEAST_SHRINKING = 4  # least ratio of points to vectors
_FITTED = "reduced sets"
_PACE = 2e10  # multiply-adds a second: 128 vectors of MNIST's digits on one core of a busy computer

Fit = TypeVar("Fit")


class _ReducedSetMethod(Method):
    stages = (ReducedSet, CalibratedReducedSet)

    def is_usable_for(self, machine: Machine) -> Usable:
        usable = needs_vectors(self.name, machine)
        return needs_early_stop(self.name, machine) if usable else usable

    def certified_candidates(self, fitting: CertifiedFitting) -> Iterator[CertifiedStage]:
        vectors = SharedVectors.of(fitting)
        if fitting.named or vectors.settled >= HOPELESS:
            yield from attempts(moved.reduced_set() for moved in vectors.moved())

    def calibrated_candidates(self, fitting: CalibratedFitting) -> Iterator[CalibratedStage]:
        yield from attempts(_calibrated(fit, fitting) for fit in _fits(fitting))


def fitted_sets(fitting: CalibratedFitting) -> list[Reduced]:
    """The reduced sets that calibrated candidates were made of, the smallest first."""
    sets: list[Reduced] = fitting.shared.setdefault(_FITTED, [])
    return sets


def sets_of(fitting: CalibratedFitting) -> list[Reduced]:
    """The same sets, fitted now if that was not done."""
    sets = fitted_sets(fitting)
    if not sets:
        for fit in _fits(fitting):
            with suppress(CannotFit), arithmetic():
                sets.append(fit.result())
    return sets


def _fits(fitting: CalibratedFitting) -> Iterator[Future[Reduced]]:
    """Reduced sets of all sizes."""
    machine, rows, outputs = fitting.machine, fitting.fitting.rows, fitting.fitting.outputs
    sizes = sizes_to_try(machine, fitting.effort)
    what = f"all {len(sizes)} reduced sets" if len(sizes) > 1 else "this reduced set"
    note = duration(seconds_of(machine, sizes, rows.shape[0]) / default_threads(), what)

    def fit_size(n: int) -> Reduced:
        return fit(machine, n, rows, seed=fitting.seed, outputs=outputs, note=note)

    return fits_of_sizes(fit_size, sizes)


def fits_of_sizes(fit_size: Callable[[int], Fit], sizes: Sequence[int]) -> Iterator[Future[Fit]]:
    """Fits of ascending sizes, computed in parallel, the largest first."""
    with ThreadPoolExecutor(default_threads()) as pool:
        fits = [pool.submit(fit_size, n) for n in reversed(sizes)]
        try:
            yield from reversed(fits)
        finally:
            pool.shutdown(cancel_futures=True)


def seconds_of(machine: Machine, sizes: Sequence[int], rows: int) -> float:
    """About how long fitting sets of these sizes takes on one core."""
    work = (work_of(n, machine.n_features, machine.n_outputs, rows) for n in sizes)
    return sum(work) / _PACE


def sizes_to_try(machine: Machine, effort: Effort) -> list[int]:
    """The numbers of vectors to try in plans with a risk, ascending."""
    d, points = machine.n_features, machine.n_points
    short = (n for n in effort.short_set_sizes if n * d <= _SHORT)
    sizes = {*effort.set_sizes, *short, *(effort.long_set_sizes if points * d >= _LONG else ())}
    if isinstance(machine.rule, ValueRule):
        sizes |= {*effort.value_set_sizes}
    return sorted(n for n in sizes if n * _LEAST_SHRINKING <= points)


def _calibrated(fit: Future[Reduced], fitting: CalibratedFitting) -> Iterator[CalibratedReducedSet]:
    """Stages of one fit with two kinds of half-widths: the rms error of each output, and that of all outputs."""
    machine, measuring = fitting.machine, fitting.measuring
    with arithmetic():
        reduced = fit.result()
    fitted_sets(fitting).append(reduced)
    own = rms_errors(reduced, measuring.rows, measuring.outputs)
    same = np.full_like(own, np.sqrt(np.mean(own**2)))
    levels = Levels.of(reduced.points, reduced.weights, machine.n_outputs)
    for half_widths in (own, same) if machine.n_outputs > 1 else (own,):
        with arithmetic():
            stage = CalibratedReducedSet(machine, levels, half_widths)
        yield stage


def rms_errors(reduced: Reduced, rows: Any, outputs: Floats) -> Floats:
    """The rms error of each output on checked rows whose full sums have these outputs, for rows with K(x,x) = 1."""
    errors = FullSum(reduced.machine()).outputs(rows) - outputs
    return np.asarray(np.sqrt(np.mean((errors / row_lengths(reduced.original, rows)) ** 2, axis=0, keepdims=True)))


METHOD = _ReducedSetMethod()
