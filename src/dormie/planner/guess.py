"""A cheap stage for answers at a deadline: it estimates all rows where the plan's first stage takes too long.

It is kept with the plan and never settles a row. Plans whose first stage is cheap need none: its own estimates serve.
A small reduced set guesses best; where even that takes a good part of the plan's time, a linear machine serves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dormie.machine import Floats, Machine
from dormie.methods.base import Stage, needs_vectors
from dormie.methods.fitting import CannotFit, arithmetic
from dormie.methods.linear_filter.stage import LinearFilter
from dormie.methods.reduced_set.fitting import fit
from dormie.methods.reduced_set.levels import Levels
from dormie.methods.reduced_set.stage import CalibratedReducedSet
from dormie.methods.thresholds import needs_classifier
from dormie.numerics.evaluate import FullSum
from dormie.plan.cascade import Cascade
from dormie.planner.costs import Costs
from dormie.progress import Progress

_FEWEST, _MOST = 8, 32  # vectors
_POINTS_A_VECTOR = 64  # so that a guess takes a few hundredths of the time of the full sum
_FEWEST_POINTS = 64  # a smaller machine takes about as long as a guess
_CHEAP = 1 / 3  # share of a plan's time below which its first stage serves for guesses too
_MOST_TIME = 0.15  # share of a plan's time that a reduced set may take


def guess_stage(cascade: Cascade, rows: Any, costs: Costs, seed: int, progress: Progress) -> Stage | None:
    """The stage, fitted on checked rows; None if the first stage is cheap, or the machine is small or allows none."""
    if cascade.stages[0].guess is not None:
        return cascade.stages[0].guess
    machine = cascade.stages[0].machine
    if machine.n_points < _FEWEST_POINTS or machine.has_sparse_points:
        return None
    if not needs_vectors(CalibratedReducedSet.name, machine):
        return None
    n = min(max(machine.n_points // _POINTS_A_VECTOR, _FEWEST), _MOST)
    placeholder = _set_of(machine, machine.points[:n], np.zeros((n, machine.n_outputs)))
    first = Cascade(cascade.stages[:1], cascade.cautions[:1])
    whole, own, few = costs.of_cascades([cascade, first, Cascade.of(placeholder)], rows)
    if own < _CHEAP * whole:
        return None
    progress.say("fitting a stage for answers at a deadline")
    if few <= _MOST_TIME * whole:
        return _fitted(lambda outputs: _reduced_set(machine, n, rows, outputs, seed), machine, rows)
    if needs_classifier(LinearFilter.name, machine):
        return _fitted(lambda outputs: LinearFilter.fit(machine, rows, outputs), machine, rows)
    return None


def _fitted(fitting: Callable[[Floats], Stage], machine: Machine, rows: Any) -> Stage | None:
    """The stage that a function fits to the outputs of the rows; None where the numbers are out of range."""
    try:
        with arithmetic():
            return fitting(FullSum(machine).outputs(rows))
    except CannotFit:
        return None


def _reduced_set(machine: Machine, n: int, rows: Any, outputs: Floats, seed: int) -> Stage:
    reduced = fit(machine, n, rows, seed=seed, outputs=outputs)
    return _set_of(machine, reduced.points, *reduced.weights)


def _set_of(machine: Machine, points: Floats, weights: Floats) -> Stage:
    """A reduced set for estimates alone: its half-widths are 0."""
    levels = Levels.of(points, [weights], machine.n_outputs)
    return CalibratedReducedSet(machine, levels, np.zeros((1, machine.n_outputs)))
