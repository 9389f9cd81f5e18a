"""Reduced sets as a method: certified by their distance from w, or calibrated on rows if that is too large."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np

from dormie.machine import Floats, Machine
from dormie.machine.rows import mapped
from dormie.methods.base import CalibratedStage, CertifiedStage, Method, Usable, needs_early_stop, needs_vectors
from dormie.methods.fitting import CalibratedFitting, CertifiedFitting, Effort, arithmetic, attempts
from dormie.methods.reduced_set.fitting import Reduced, fit
from dormie.methods.reduced_set.levels import Levels
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


def _fits(fitting: CalibratedFitting) -> Iterator[Future[Reduced]]:
    """Reduced sets of all sizes, fitted in parallel, the largest first."""
    machine, rows, outputs = fitting.machine, fitting.fitting.rows, fitting.fitting.outputs
    sizes, threads = _sizes(machine, fitting.effort), default_threads()
    what = f"all {len(sizes)} reduced sets" if len(sizes) > 1 else "this reduced set"
    note = duration(seconds_of(machine, sizes, rows.shape[0]) / threads, what)
    with ThreadPoolExecutor(threads) as pool:
        fits = [pool.submit(fit, machine, n, rows, seed=fitting.seed, outputs=outputs, note=note) for n in sizes[::-1]]
        try:
            yield from reversed(fits)
        finally:
            pool.shutdown(cancel_futures=True)


def seconds_of(machine: Machine, sizes: Sequence[int], rows: int) -> float:
    """About how long fitting sets of these sizes takes on one core."""
    work = (work_of(n, machine.n_features, machine.n_outputs, rows) for n in sizes)
    return sum(work) / _PACE


def _sizes(machine: Machine, effort: Effort) -> list[int]:
    """The numbers of vectors to try."""
    d, points = machine.n_features, machine.n_points
    short = (n for n in effort.short_set_sizes if n * d <= _SHORT)
    sizes = {*effort.set_sizes, *short, *(effort.long_set_sizes if points * d >= _LONG else ())}
    return sorted(n for n in sizes if n * _LEAST_SHRINKING <= points)


def _calibrated(fit: Future[Reduced], fitting: CalibratedFitting) -> Iterator[CalibratedReducedSet]:
    """Stages of one fit with two kinds of half-widths: the rms error of each output, and that of all outputs."""
    machine, measuring = fitting.machine, fitting.measuring
    with arithmetic():
        reduced = fit.result()
    fitted_sets(fitting).append(reduced)
    error = FullSum(reduced.machine()).outputs(measuring.rows) - measuring.outputs
    own: Floats = np.sqrt(np.mean((error / _lengths(machine, measuring.rows)) ** 2, axis=0, keepdims=True))
    same = np.full_like(own, np.sqrt(np.mean(own**2)))
    levels = Levels.of(reduced.points, reduced.weights, machine.n_outputs)
    for half_widths in (own, same) if machine.n_outputs > 1 else (own,):
        with arithmetic():
            stage = CalibratedReducedSet(machine, levels, half_widths)
        yield stage


def _lengths(machine: Machine, rows: Any) -> Floats:
    """sqrt(K(x,x)) of each row as a column, at least the smallest positive float."""
    own = machine.kernel.diagonal(mapped(machine, rows))
    return np.asarray(np.sqrt(np.maximum(own, np.finfo(np.float64).tiny))[:, None])


METHOD = _ReducedSetMethod()
