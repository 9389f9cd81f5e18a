"""From a model to a plan: read it, simplify it exactly, and choose the stages by measurements on sample rows.

Candidates (`certified_candidates.py`) race on the same rows on this computer, in turns, each timed by its best of
several runs (`race.py`), or are compared by a profile of costs (`costs.py`). The cheapest cascade is chosen only if it
is clearly faster than the dense stage alone. With a risk, `risk/planning.py` makes the plan.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from os import PathLike
from typing import Any, Literal

from dormie.convert import read
from dormie.errors import MissingClassWarning, warn_user
from dormie.machine import Machine
from dormie.machine.rules import ClassRule, ValueRule
from dormie.methods import METHODS
from dormie.methods.base import Stage
from dormie.methods.dense import Dense
from dormie.methods.fitting import EffortName
from dormie.numerics.blas_threads import one_thread
from dormie.numerics.synthetic_rows import sample_rows
from dormie.plan.cascade import Cascade
from dormie.plan.guarantee import Guarantee, Risk
from dormie.plan.plan import Plan, Source, dense_beside, versions, why_dense_alone
from dormie.plan.text import few
from dormie.planner.certified_candidates import candidates
from dormie.planner.costs import Costs, Estimated, Timed
from dormie.planner.guess import guess_stage
from dormie.planner.options import (
    CONFIDENCE,
    Options,
    RiskRequest,
    certified_guarantee,
    checked_profile,
    checked_rows,
    require_usable,
    require_within_reach,
    with_threshold,
    with_tolerance,
)
from dormie.planner.profile import Profile
from dormie.planner.race import Candidate, Chosen, Race
from dormie.planner.risk.planning import Parts, RiskPlanner
from dormie.planner.slow_kernels import evaluating_once, rows_to_choose_by
from dormie.predictor.predictor import Predictor
from dormie.progress import Progress
from dormie.simplify import simplify

_LONGEST_DESCRIPTION = 200
_SAMPLE, _FEWEST = 2048, 16
_SAMPLE_SECONDS = 0.2  # the most that one run of the dense stage over the sample may take


def compile(
    model: Any,
    rows: Any | None = None,
    *,
    fit_rows: Any | None = None,
    risk: float | None = None,
    confidence: float = CONFIDENCE,
    per_class: bool = False,
    tolerance: float | None = None,
    threshold: float | None = None,
    methods: Sequence[str] | None = None,
    effort: EffortName = "normal",
    fast_at: Literal["batch", "row"] = "batch",
    profile: Profile | str | PathLike[str] | bool | None = None,
    seed: int = 0,
) -> Predictor:
    """Compile a trained kernel machine into a predictor that gives the same answers faster.

    Without a risk or a tolerance the predictor is exact: every answer is the model's. With a risk, a stated share of
    the rows may get another answer, and predictions are often much faster.

    Parameters
    ----------
    model : estimator, Machine, str, path-like, Predictor, Plan or Reduction
        A fitted scikit-learn model, a `Machine`, the path of a LIBSVM model file, or what dormie gave: of a predictor
        or a plan the model it was compiled from, with a guarantee made anew. See `dormie.read`.
    rows : array-like, sparse matrix or data frame of shape (n_rows, n_features), default=None
        Sample rows without labels, on which candidate stages are timed (default: rows generated from the support
        vectors; with a Python function as kernel, support vectors). With a risk they also certify it: they are
        required, and must not have been used for training.
    fit_rows : array-like, sparse matrix or data frame of shape (n_rows, n_features), default=None
        With a risk, rows without labels that approximations are fitted on. Training rows may be used (default: the
        support vectors and a part of `rows`).
    risk : float, default=None
        The share of rows that may get another answer than the model's, such as 0.001. For values, which need a
        tolerance then, it is the share that may be off by more than that. If no plan with that risk is both certified
        and faster than the plan without it, that plan is returned. Labels and values asked for together have a risk
        each.
    confidence : float, default=0.95
        The probability, over the draw of `rows`, that the risk holds.
    per_class : bool, default=False
        Whether the risk of the labels must hold for the rows of each class separately.
    tolerance : float, default=None
        The largest error of a value: of a regressor's answers, of a classifier's probabilities, or, where it has none,
        of its decision values. Labels have none. Every value is within it, certified; with a risk, all but that share.
        By default values are exact, except that a `Machine` whose rule has a tolerance keeps that one.
    threshold : float, default=None
        For two classes, the least probability of `classes[1]` that answers it, or where the model has none the least
        decision value; for one-class machines, the least score (`score_samples`) that is inside. Default: the model's.
    methods : sequence of str, default=None
        The names of the methods to choose stages from (default: all). An empty list gives the full sum alone. A named
        method that cannot serve the model is an error. Without a risk, the cheapest cascade of the named methods is
        taken, even if the full sum alone would be faster.
    effort : {"quick", "normal", "thorough"}, default="normal"
        How long fitting the stages may take: "quick" seconds, "normal" seconds to a few minutes, "thorough" many
        minutes.
    fast_at : {"batch", "row"}, default="batch"
        What the plan is to be fastest at: many rows in one call, or one row a call. The answers are right for both.
    profile : Profile, str, path-like or bool, default=None
        The costs to choose stages by: a `Profile`, the path of one, or True for that of this computer, which is
        measured once and kept in the cache folder. Then no clock is asked, and compiling the same model again gives the
        same plan file, but for its date. By default (or False) candidates are timed now, which fits this computer as it
        is, but may choose another of several plans that are about as fast.
    seed : int, default=0
        The seed of all random draws.

    Returns
    -------
    Predictor
        The compiled model. `Predictor.explain` says what was chosen, and why.

    Raises
    ------
    UnreadableModelError
        If the model is not a kernel machine that dormie can read.
    FileNotFoundError
        If the model is a path and there is no such file.
    TypeError
        If a parameter is of the wrong type.
    ValueError
        If a parameter is out of range, if a named method cannot serve the model, or if there are too few rows to
        certify the risk.

    Warns
    -----
    TrainingRowsWarning
        If the held-out rows look like training rows.
    MissingClassWarning
        If `per_class` is set and some class does not occur among the certifying rows.

    See Also
    --------
    dormie.load : Load a predictor that was saved.
    dormie.reduce : Approximate a machine by one with few vectors.

    Examples
    --------
    >>> import dormie
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.kernel_ridge import KernelRidge
    >>> from sklearn.svm import SVC
    >>> X, y = load_iris(return_X_y=True)
    >>> svc = SVC().fit(X, y)
    >>> fast = dormie.compile(svc)
    >>> bool((fast.predict(X) == svc.predict(X)).all())
    True

    A regressor whose values may be off by 0.01:

    >>> ridge = KernelRidge(kernel="rbf", gamma=0.1).fit(X, y)
    >>> print(dormie.compile(ridge, tolerance=0.01).plan.guarantee)
    tolerance: every value is within 0.01 of the full sum, certified
    """
    began = time.perf_counter()
    options = Options.checked(methods, effort, seed, RiskRequest.checked(risk, confidence, per_class), fast_at)
    known = checked_profile(profile)
    costs = Timed(options.fast_at) if known is None else Estimated(known, options.fast_at)
    machine, asked = with_tolerance(with_threshold(read(model), threshold), tolerance, options.risk)
    guarantee = certified_guarantee(machine.rule)
    rows, fit_rows = checked_rows(options, machine, rows, fit_rows, asked)
    source = _source(model, machine, options)
    with Progress() as progress, one_thread():
        machine, rewrites = _simplified(machine, asked, options, guarantee, rows, progress)
        with _kernel_values(machine, options, known, progress):
            chosen = _with_risk(machine, options, rows, fit_rows, costs, progress)
            chosen = chosen or _certified(Dense(machine), options, guarantee, rows, costs, progress)
        guess = _guess(chosen.cascade, options, rows, costs, progress)
        plan = Plan(machine, chosen.cascade, chosen.guarantee, source, rewrites, chosen.trials, guess=guess)
        values = None if asked is None else _values(plan, asked, options, rows, fit_rows, costs, progress)
    took = {"estimated": True} if known else {"seconds": time.perf_counter() - began}
    source = replace(source, **took)
    plan = replace(plan, source=source, note=_note(options.risk, chosen.guarantee), values=values)
    _warn_of_missing_classes(plan)
    return Predictor(plan)


def _source(model: Any, machine: Machine, options: Options) -> Source:
    """What the plan is made of; of a plan that is compiled again, what that one was made of."""
    plan = model.plan if isinstance(model, Predictor) else model
    earlier = plan.source if isinstance(plan, Plan) else Source(_describe(model), machine.n_points)
    return Source(earlier.description, earlier.points, versions(), fast_at=options.fast_at, before=earlier.before)


def _describe(model: Any) -> str:
    text = " ".join((f"LIBSVM model {model}" if isinstance(model, str | PathLike) else repr(model)).split())
    return text if len(text) <= _LONGEST_DESCRIPTION else text[: _LONGEST_DESCRIPTION - 3] + "..."


def _simplified(
    machine: Machine,
    values: ValueRule | None,
    options: Options,
    guarantee: Guarantee,
    rows: Any | None,
    progress: Progress,
) -> tuple[Machine, tuple[str, ...]]:
    """The machine after exact rewrites, and their names; raises if it cannot be compiled as the caller asks."""
    progress.say(f"simplifying {machine.n_points:,} points")
    machine, rewrites = simplify(machine)
    require_usable(options, machine, values)  # once more: few points may be left
    require_within_reach(guarantee, machine, rows)
    return machine, rewrites


def _with_risk(
    machine: Machine, options: Options, rows: Any, fit_rows: Any | None, costs: Costs, progress: Progress
) -> Chosen | None:
    """The choice for a plan with a risk; None if none was asked for, or if an exact plan is as good."""
    if options.risk is None or not machine.n_points or machine.has_sparse_points:
        return None  # of sparse points the exact full sum is quicker than any calibrated stage there is
    parts = Parts.of(machine, rows, fit_rows, options.risk, options.seed)
    return RiskPlanner(machine, options, options.risk, parts, progress, costs.for_kernel_of(machine)).choose()


def _certified(
    dense: Dense, options: Options, guarantee: Guarantee, rows: Any | None, costs: Costs, progress: Progress
) -> Chosen:
    """The choice for a plan without a risk."""
    machine = dense.machine
    hopeless = not options.named and why_dense_alone(machine)
    if options.names == () or not machine.n_points or hopeless:
        return Chosen(Cascade.of(dense), guarantee, ())
    costs = costs.for_kernel_of(machine)
    sample = _sample(dense, options, rows, costs)
    stages = [*candidates(machine, options, sample, progress)]
    progress.say(f"comparing {len(stages)} candidates on {sample.shape[0]:,} rows")
    race = Race.between(dense, [Candidate(stage) for stage in stages], sample, costs)
    winner, trials = race.winner(dense_alone=not options.named)
    return Chosen(winner, guarantee, trials)


def _values(
    labels: Plan,
    rule: ValueRule,
    options: Options,
    rows: Any | None,
    fit_rows: Any | None,
    costs: Costs,
    progress: Progress,
) -> Plan:
    """The plan for the values of a model whose labels have this plan."""
    machine, guarantee = labels.machine.changed(rule=rule), certified_guarantee(rule)
    require_within_reach(guarantee, machine, rows)
    usable = options.names and tuple(name for name in options.names if METHODS[name].usable_for(machine))
    risk = replace(options.risk, per_class=False) if options.risk is not None and rule.tolerance else None
    options = replace(options, names=usable, risk=risk)
    progress.say("choosing the stages for values")
    chosen = _with_risk(machine, options, rows, fit_rows, costs, progress)
    if chosen is None:
        machine = machine if rule.certifiable else machine.changed(rule=rule.within(0.0))
        chosen = _certified(dense_beside(labels, machine), options, guarantee, rows, costs, progress)
    note = _note(risk, chosen.guarantee)
    return Plan(machine, chosen.cascade, chosen.guarantee, labels.source, labels.rewrites, chosen.trials, note)


def _kernel_values(
    machine: Machine, options: Options, profile: Profile | None, progress: Progress
) -> AbstractContextManager[None]:
    """A block in which values of a slow kernel are remembered, if stages are tried at all."""
    if not _tries_stages(machine, options):
        return nullcontext()
    return evaluating_once(machine, progress, None if profile is None else profile.python_value)


def _tries_stages(machine: Machine, options: Options) -> bool:
    """Whether any stage but the dense one is tried."""
    return options.names != () and (options.risk is not None or options.named or not why_dense_alone(machine))


def _sample(dense: Dense, options: Options, rows: Any | None, costs: Costs) -> Any:
    """The rows to choose the stages by."""
    machine = dense.machine
    if machine.kernel.is_python:
        return rows_to_choose_by(machine, rows, options.effort, options.seed)
    return _affordable(dense, sample_rows(machine, rows, _SAMPLE, options.seed), costs)


def _guess(cascade: Cascade, options: Options, rows: Any | None, costs: Costs, progress: Progress) -> Stage | None:
    """A stage for answers at a deadline, if the plan needs one; none for the full sum alone, if that was asked for."""
    machine = cascade.stages[0].machine
    if options.names == () or machine.kernel.is_python or machine.has_sparse_points or not len(machine.points):
        return None
    sample = _affordable(Dense(machine), sample_rows(machine, rows, _SAMPLE, options.seed), costs)
    return guess_stage(cascade, sample, costs, options.seed, progress)


def _affordable(dense: Dense, sample: Any, costs: Costs) -> Any:
    """The part of the sample that the dense stage evaluates within `_SAMPLE_SECONDS`.

    A number of rows that would depend on every flicker of the clock is rounded to a power of two.
    """
    [seconds] = costs.of_cascades([Cascade.of(dense)], sample[:_FEWEST])
    most = _SAMPLE_SECONDS / max(seconds, _SAMPLE_SECONDS / _SAMPLE)
    return sample[: max(_FEWEST, 2 ** round(math.log2(most)))]


def _note(risk: RiskRequest | None, guarantee: Guarantee) -> str:
    """Why a plan has no risk although one was allowed."""
    if risk is None or isinstance(guarantee, Risk):
        return ""
    return (
        f"a risk of {risk.alpha:g} was allowed but not used: no plan with that risk was both certified and faster "
        "than this one"
    )


def _warn_of_missing_classes(plan: Plan) -> None:
    if not (isinstance(plan.guarantee, Risk) and plan.guarantee.per_class):
        return
    assert isinstance(plan.machine.rule, ClassRule)
    certified = {count.label for count in plan.guarantee.evidence.classes}
    missing = [label for label in map(str, plan.machine.rule.classes) if label not in certified]
    if missing:
        warn_user(
            f"{_classes(missing)} not occur among the certifying rows, so the risk is not certified for "
            f"{'it' if len(missing) == 1 else 'them'}: pass rows of every class",
            MissingClassWarning,
        )


def _classes(labels: list[str]) -> str:
    return f"class {few(labels)} does" if len(labels) == 1 else f"classes {few(labels)} do"
