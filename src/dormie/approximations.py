"""Stages that are right on nearly all rows, for plans with a stated risk: fitted here, chosen in the contest, certified
by calibration.

Each comes in several cautions: how far its thresholds lie from where the rows that it was measured on would have them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dormie.flips import flip_chances
from dormie.kernels import Custom
from dormie.machine import Floats, Machine
from dormie.progress import Progress
from dormie.reduction import fit
from dormie.rows import mapped
from dormie.rules import OneVsOneVote, Sign
from dormie.stages import Dense, LinearFilter, Nearest, ReducedSet, Stage
from dormie.stages.base import CautiousStage

_SIZES = {"quick": (32, 128), "normal": (32, 128, 512), "thorough": (8, 16, 32, 64, 128, 256, 512, 1024)}
_USUAL = frozenset({"linear_filter", "reduced_set"})  # nearest takes longer to fit, and rarely wins in seconds
_LEAST_SHRINKING = 3  # times fewer vectors than points
_CAUTIONS = (1.0, 1.5, 2.0, 3.0, 4.0, 6.0)


@dataclass(frozen=True)
class Approximations:
    """Stages, each at every caution, and for every row that they were measured on the chance that it flips."""

    stages: list[CautiousStage]
    flips: dict[Stage, Floats]


def approximations(
    machine: Machine, names: list[str] | None, fitting: Any, measuring: Any, effort: str, seed: int, progress: Progress
) -> Approximations:
    """Stages of the named methods (None: of all), fitted on some rows and measured on others."""
    found = Approximations([], {})
    outputs = Dense(machine).outputs(measuring)
    for stage in _fitted(machine, names, fitting, measuring, effort, seed, progress):
        estimate = stage.estimate(measuring)
        chances = None if estimate is None else flip_chances(machine.rule, estimate, outputs, seed)
        for caution in _CAUTIONS:
            found.stages.append(stage.cautious(caution))
            if chances is not None:
                found.flips[found.stages[-1]] = chances
    return found


def _fitted(
    machine: Machine, names: list[str] | None, fitting: Any, measuring: Any, effort: str, seed: int, progress: Progress
) -> Iterator[CautiousStage]:
    usual = _USUAL | {Nearest.name} if effort == "thorough" else _USUAL
    wanted = usual if names is None else set(names)
    if names is None and isinstance(machine.kernel, Custom):
        return
    if LinearFilter.name in wanted:
        progress.say("fitting a linear filter")
        yield LinearFilter.fit(machine, fitting)
    if Nearest.name in wanted and isinstance(machine.rule, Sign | OneVsOneVote):
        for form in ("query", "cells"):
            progress.say(f"fitting thresholds of the nearest support vectors ({form})")
            yield Nearest.fit(machine, fitting, form=form)
    if ReducedSet.name in wanted and machine.kernel.positive_semidefinite:
        for n in _SIZES[effort]:
            if n * _LEAST_SHRINKING <= machine.n_points:
                yield from _reduced_sets(machine, n, fitting, measuring, seed)


def _reduced_sets(machine: Machine, n: int, fitting: Any, measuring: Any, seed: int) -> Iterator[ReducedSet]:
    """One fit with two kinds of half-widths: each output's own usual error, and the same for all."""
    reduced = fit(machine, n, fitting, seed=seed)
    off = Dense(reduced.machine()).outputs(measuring) - Dense(machine).outputs(measuring)
    own: Floats = np.sqrt(np.mean((off / _lengths(machine, measuring)) ** 2, axis=0, keepdims=True))
    same = np.full_like(own, np.sqrt(np.mean(own**2)))
    for half_widths in (own, same) if machine.n_outputs > 1 else (own,):
        yield ReducedSet.calibrated(machine, reduced.points, reduced.weights, half_widths)


def _lengths(machine: Machine, rows: Any) -> Floats:
    """sqrt(K(x,x)), a column, nowhere 0."""
    own = machine.kernel.diagonal(mapped(machine, rows))
    return np.asarray(np.sqrt(np.maximum(own, np.finfo(np.float64).tiny))[:, None])
