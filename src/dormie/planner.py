"""From a model to a plan: read, simplify exactly, and choose the stages by what they measure on sample rows.

Candidates (`candidates.py`) are run on the same rows on this machine, interleaved, best of several; the cheapest list
of stages wins (`contest.py`), and it must win clearly: a plan that is no better than the dense stage alone is the dense
stage alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from numbers import Real
from os import PathLike
from typing import Any

import numpy as np

from dormie.calibration import rows_needed
from dormie.candidates import EFFORTS, candidates
from dormie.contest import Contest, best_of
from dormie.errors import UnreadableModelError
from dormie.kernels import Custom
from dormie.machine import Machine
from dormie.plan import Exact, Guarantee, Plan, Source, Tolerance, Trial, versions
from dormie.predictor import Predictor
from dormie.progress import Progress
from dormie.readers import read
from dormie.risk import Parts, Request, plan_with_risk
from dormie.rows import check_rows
from dormie.rules import Value
from dormie.sample import sample_rows
from dormie.simplify import simplify
from dormie.stages import STAGES, Dense, Geometry, LinearFilter, Nearest, Stage
from dormie.training_rows import warn_of_training_rows

_LONGEST_DESCRIPTION = 200
_SAMPLE = 2048
_SAMPLE_SECONDS = 0.2  # what one run of the dense stage over the sample may take
_SMALLEST_MACHINE = 64  # points: with fewer there is nothing to save


def compile(
    model: Any,
    rows: Any | None = None,
    *,
    fit_rows: Any | None = None,
    risk: float | None = None,
    confidence: float = 0.95,
    per_class: bool = False,
    tolerance: float | None = None,
    methods: Sequence[str] | None = None,
    effort: str = "normal",
    seed: int = 0,
) -> Predictor:
    """A predictor that gives the same answers as `model`, sooner; with a risk, nearly always the same, much sooner.

    model      a fitted scikit-learn model, the path of a LIBSVM model file, or a `Machine`; see `dormie.read`
    rows       sample queries, unlabelled: they inform the choice of stages (default: made from support vectors); with a
               risk they also certify it, and must be held out from training
    fit_rows   with a risk, rows to fit approximations on, unlabelled; training rows serve (default: the support vectors
               and some of `rows`)
    risk       the share of rows that may get another answer than the model's, such as 0.001 (default: none may)
    confidence that the risk is kept, over the draw of `rows`
    per_class  whether the risk is to hold for the rows of each class
    tolerance  for regressors: how far a value may be off (default: not at all)
    methods    the stages to choose from, by name (default: all); the dense stage always follows
    effort     how long fitting the stages may take: "quick", "normal" (up to a minute) or "thorough" (many minutes)
    seed       of the sample
    """
    if effort not in EFFORTS:
        raise ValueError(f"effort must be one of {', '.join(map(repr, EFFORTS))}, got {effort!r}")
    if isinstance(model, Predictor):
        raise UnreadableModelError(
            "this Predictor is compiled already: use it as it is, or compile the model it came from"
        )
    machine = read(model)
    source = Source(_describe(model), machine.n_points, versions())
    checked, fitting = (None if given is None else check_rows(given, machine) for given in (rows, fit_rows))
    request = _request(machine, checked, risk, confidence, per_class, seed)
    machine, guarantee = _promise(machine, tolerance)
    names = _method_names(methods)
    if request is None:
        _require_certified(names)
    with Progress() as progress:
        progress.say(f"simplifying {machine.n_points:,} points")
        machine, rewrites = simplify(machine)
        if request is None:
            stages, trials = _choose(machine, checked, names, effort, seed, progress)
        else:
            parts = Parts.of(machine, checked, fitting, request)
            stages, guarantee, trials = plan_with_risk(machine, names, parts, request, effort, progress)
    return Predictor(Plan(machine, stages, guarantee, source, rewrites, trials))


def _request(
    machine: Machine, rows: Any | None, risk: float | None, confidence: float, per_class: bool, seed: int
) -> Request | None:
    if risk is None:
        return None
    if isinstance(machine.rule, Value):
        raise ValueError("risk is for classifiers; for a regressor say how far a value may be off: tolerance=0.001")
    needed = rows_needed(risk, confidence)
    if rows is None:
        raise ValueError(
            f"a risk is certified on held-out rows, without labels: pass rows, at least {needed:,} of them"
        )
    warn_of_training_rows(machine, rows)
    return Request(float(risk), float(confidence), per_class, seed)


def _promise(machine: Machine, tolerance: float | None) -> tuple[Machine, Guarantee]:
    if tolerance is None:
        return machine, Exact()
    if not isinstance(machine.rule, Value):
        raise ValueError("tolerance is for regressors; a classifier's answers are exact without it")
    if not isinstance(tolerance, Real):
        raise TypeError(f"tolerance must be a number, such as 0.001, got {tolerance!r}")
    if not 0 < tolerance < np.inf:
        raise ValueError(f"tolerance must be positive and finite, got {tolerance}; leave it out for exact values")
    return replace(machine, rule=replace(machine.rule, tolerance=float(tolerance))), Tolerance(float(tolerance))


def _choose(
    machine: Machine, rows: Any | None, names: list[str] | None, effort: str, seed: int, progress: Progress
) -> tuple[tuple[Stage, ...], tuple[Trial, ...]]:
    dense = Dense(machine)
    if names == [] or not machine.n_points or (names is None and not _worth_planning(machine)):
        return (dense,), ()
    sample = _affordable(dense, sample_rows(machine, rows, _SAMPLE, seed))
    stages = [*candidates(machine, names, sample, effort, progress)]
    progress.say(f"timing {len(stages)} candidates on {sample.shape[0]:,} rows")
    return Contest(dense, stages, sample).winner(dense_alone=names is None)


def _method_names(methods: Sequence[str] | None) -> list[str] | None:
    if methods is None:
        return None
    if isinstance(methods, str) or not isinstance(methods, Iterable):
        example = methods if isinstance(methods, str) else Geometry.name
        raise TypeError(f"methods must be a list of names, such as [{example!r}]")
    unknown = [name for name in methods if name not in STAGES]
    if unknown:
        raise ValueError(f"no method is called {unknown[0]!r}; there are {', '.join(STAGES)}")
    return [name for name in methods if name != Dense.name]


def _require_certified(names: list[str] | None) -> None:
    for name in names or []:
        if name in (LinearFilter.name, Nearest.name):
            raise ValueError(f"{name} is right on nearly all rows, not on all: say how many may be wrong, risk=0.001")


def _worth_planning(machine: Machine) -> bool:
    exact_values = isinstance(machine.rule, Value) and machine.rule.tolerance == 0
    bounded = machine.kernel.positive_semidefinite and not isinstance(machine.kernel, Custom)
    return bounded and not exact_values and machine.n_points >= _SMALLEST_MACHINE


def _affordable(dense: Dense, sample: Any) -> Any:
    """As much of the sample as the dense stage gets through in reasonable time."""
    few = sample[:16]
    [seconds] = best_of([partial(dense.decide, few)], 2)
    return sample[: max(16, int(16 * _SAMPLE_SECONDS / max(seconds, 1e-9)))]


def _describe(model: Any) -> str:
    text = " ".join((f"LIBSVM model {model}" if isinstance(model, str | PathLike) else repr(model)).split())
    return text if len(text) <= _LONGEST_DESCRIPTION else text[: _LONGEST_DESCRIPTION - 3] + "..."
