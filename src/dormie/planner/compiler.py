"""From a model to a plan: read, simplify exactly, and choose the stages by what they measure on sample rows.

Candidates (`certified.py`) are run on the same rows on this computer, interleaved, best of several; the cheapest
cascade wins (`race.py`), and it must win clearly: a plan that is no better than the dense stage alone is the dense
stage alone.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from os import PathLike
from typing import Any

from dormie.convert import read
from dormie.errors import MissingClassWarning, UnreadableModelError
from dormie.machine import Machine
from dormie.machine.rules import ClassRule, Value
from dormie.methods.base import EFFORTS, Effort, Stage
from dormie.methods.dense import Dense
from dormie.numerics.blas_threads import one_thread
from dormie.numerics.synthetic_rows import sample_rows
from dormie.plan.guarantee import Guarantee, Risk, Tolerance
from dormie.plan.plan import Plan, Source, Trial, versions
from dormie.plan.text import few
from dormie.planner.certified import candidates
from dormie.planner.options import (
    CONFIDENCE,
    checked_rows,
    method_names,
    promise,
    require_no_need_of_risk,
    require_usable,
    require_within_reach,
    risk_request,
    whole_seed,
)
from dormie.planner.race import Candidate, Race, best_of
from dormie.planner.risk.planning import Parts, Request, plan_with_risk
from dormie.predictor.predictor import Predictor
from dormie.progress import Progress
from dormie.simplify import simplify

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
    confidence: float = CONFIDENCE,
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
    tolerance  for regressors: how far a value may be off (default: not at all; of a `Machine` whose `Value` rule has a
               tolerance, as far as that)
    methods    the stages to choose from, by name (default: all); the dense stage always follows
    effort     how long fitting the stages may take: "quick", "normal" (up to a minute) or "thorough" (many minutes)
    seed       of the sample
    """
    began = time.perf_counter()
    if effort not in EFFORTS:
        raise ValueError(f"effort must be one of {', '.join(map(repr, EFFORTS))}, got {effort!r}")
    if isinstance(model, Predictor):
        raise UnreadableModelError(
            "this Predictor is compiled already: use it as it is, or compile the model it came from"
        )
    seed, names = whole_seed(seed), method_names(methods)
    machine = read(model)
    require_usable(names, machine)
    source = Source(_describe(model), machine.n_points, versions())
    checked, fitting = checked_rows(rows, "rows", machine), checked_rows(fit_rows, "fit_rows", machine)
    request: Request | None = None
    if risk is None:
        require_no_need_of_risk(names, fitting, confidence, per_class)
    else:
        request = risk_request(machine, checked, risk, confidence, per_class, seed)
    machine, guarantee = promise(machine, tolerance)
    with Progress() as progress, one_thread():
        progress.say(f"simplifying {machine.n_points:,} points")
        machine, rewrites = simplify(machine)
        if isinstance(guarantee, Tolerance):
            require_within_reach(machine, guarantee.epsilon, checked)
        bold = None
        if request is not None and machine.n_points:
            parts = Parts.of(machine, checked, fitting, request)
            bold = plan_with_risk(machine, names, parts, request, EFFORTS[effort], progress)
        if bold is not None:
            stages, guarantee, trials = bold
        else:
            stages, trials = _choose(machine, checked, names, EFFORTS[effort], seed, progress)
    source = replace(source, seconds=time.perf_counter() - began)
    plan = Plan(machine, stages, guarantee, source, rewrites, trials, _note(request, guarantee))
    _warn_of_missing_classes(plan)
    return Predictor(plan)


def _note(request: Request | None, guarantee: Guarantee) -> str:
    if request is None or isinstance(guarantee, Risk):
        return ""
    return (
        f"a risk of {request.alpha:g} was allowed but not used: no plan with that risk was both certified and faster "
        "than this one"
    )


def _warn_of_missing_classes(plan: Plan) -> None:
    if not (isinstance(plan.guarantee, Risk) and plan.guarantee.per_class):
        return
    assert isinstance(plan.machine.rule, ClassRule)
    certified = {count.label for count in plan.guarantee.evidence.classes}
    missing = [label for label in map(str, plan.machine.rule.classes) if label not in certified]
    if missing:
        warnings.warn(
            f"no row to certify on is of class {few(missing)}: the risk promised for each class does not hold there. "
            "Pass rows of every class",
            MissingClassWarning,
            stacklevel=3,  # where dormie.compile was called
        )


def _choose(
    machine: Machine, rows: Any | None, names: list[str] | None, effort: Effort, seed: int, progress: Progress
) -> tuple[tuple[Stage, ...], tuple[Trial, ...]]:
    dense = Dense(machine)
    hopeless = names is None and not _worth_planning(machine)
    if machine.kernel.is_python or names == [] or not machine.n_points or hopeless:
        return (dense,), ()
    sample = _affordable(dense, sample_rows(machine, rows, _SAMPLE, seed))
    stages = [*candidates(machine, names, sample, effort, progress)]
    progress.say(f"timing {len(stages)} candidates on {sample.shape[0]:,} rows")
    return Race(dense, [Candidate([stage]) for stage in stages], sample).winner(dense_alone=names is None)


def _worth_planning(machine: Machine) -> bool:
    exact_values = isinstance(machine.rule, Value) and machine.rule.tolerance == 0
    return machine.kernel.certifiable and not exact_values and machine.n_points >= _SMALLEST_MACHINE


def _affordable(dense: Dense, sample: Any) -> Any:
    """As much of the sample as the dense stage gets through in reasonable time."""
    few = sample[:16]
    [seconds] = best_of([partial(dense.decide, few)], 2)
    return sample[: max(16, int(16 * _SAMPLE_SECONDS / max(seconds, 1e-9)))]


def _describe(model: Any) -> str:
    text = " ".join((f"LIBSVM model {model}" if isinstance(model, str | PathLike) else repr(model)).split())
    return text if len(text) <= _LONGEST_DESCRIPTION else text[: _LONGEST_DESCRIPTION - 3] + "..."
