"""From a model to a plan: read it, simplify it exactly, and choose the stages by measurements on sample rows.

Candidates (`certified_candidates.py`) race on the same rows on this computer, in turns, each timed by its best of
several runs (`race.py`). The cheapest cascade is chosen only if it is clearly faster than the dense stage alone. With a
risk, `risk/planning.py` makes the plan.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from os import PathLike
from typing import Any

from dormie.convert import read
from dormie.errors import MissingClassWarning, UnreadableModelError, warn_user
from dormie.machine import Machine
from dormie.machine.rules import ClassRule
from dormie.methods.base import EFFORTS, Effort, Stage
from dormie.methods.dense import Dense
from dormie.numerics.blas_threads import one_thread
from dormie.numerics.synthetic_rows import sample_rows
from dormie.plan.guarantee import Guarantee, Risk, Tolerance
from dormie.plan.plan import Plan, Source, Trial, versions, why_dense_alone
from dormie.plan.text import few
from dormie.planner.certified_candidates import candidates
from dormie.planner.options import (
    CONFIDENCE,
    certified_guarantee,
    checked_rows,
    method_names,
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
    methods: Sequence[str] | None = None,
    effort: str = "normal",
    seed: int = 0,
) -> Predictor:
    """Compile a trained kernel machine into a predictor that gives the same answers faster.

    Without a risk or a tolerance the predictor is exact: every answer is the model's. With a risk, a stated share of
    the rows may get another answer, and predictions are often much faster.

    Parameters
    ----------
    model : estimator, Machine, str or path-like
        A fitted scikit-learn model, a `Machine`, or the path of a LIBSVM model file; see `dormie.read`.
    rows : array-like, sparse matrix or data frame of shape (n_rows, n_features), default=None
        Sample rows without labels, on which candidate stages are timed (default: rows generated from the support
        vectors). With a risk they also certify it: they are required, and must not have been used for training.
    fit_rows : array-like, sparse matrix or data frame of shape (n_rows, n_features), default=None
        With a risk, rows without labels that approximations are fitted on. Training rows may be used (default: the
        support vectors and a part of `rows`).
    risk : float, default=None
        For classifiers, the share of rows that may get another answer than the model's, such as 0.001. If no plan with
        that risk is both certified and faster than the exact plan, the exact plan is returned.
    confidence : float, default=0.95
        The probability, over the draw of `rows`, that the risk holds.
    per_class : bool, default=False
        Whether the risk must hold for the rows of each class separately.
    tolerance : float, default=None
        For regressors, the largest error of a value. By default values are exact, except that a `Machine` whose `Value`
        rule has a tolerance keeps that one.
    methods : sequence of str, default=None
        The names of the methods to choose stages from (default: all). An empty list gives the full sum alone. A named
        method that cannot serve the model is an error. Without a risk, the cheapest cascade of the named methods is
        taken, even if the full sum alone would be faster.
    effort : {"quick", "normal", "thorough"}, default="normal"
        How long fitting the stages may take: "quick" seconds, "normal" seconds to a few minutes, "thorough" many
        minutes.
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
    if effort not in EFFORTS:
        raise ValueError(f"effort must be one of {', '.join(map(repr, EFFORTS))}, got {effort!r}")
    if isinstance(model, Predictor):
        raise UnreadableModelError(
            "this Predictor is compiled already: use it as it is, or compile the model it came from"
        )
    seed, names = whole_seed(seed), method_names(methods)
    machine, guarantee = certified_guarantee(read(model), tolerance)
    require_usable(names, machine)
    source = Source(_describe(model), machine.n_points, versions())
    checked, fitting = checked_rows(rows, "rows", machine), checked_rows(fit_rows, "fit_rows", machine)
    request: Request | None = None
    if risk is None:
        require_no_need_of_risk(names, fitting, confidence, per_class)
    else:
        request = risk_request(machine, checked, risk, confidence, per_class, seed)
    with Progress() as progress, one_thread():
        progress.say(f"simplifying {machine.n_points:,} points")
        machine, rewrites = simplify(machine)
        require_usable(names, machine)  # once more: few points may be left
        if isinstance(guarantee, Tolerance):
            require_within_reach(machine, guarantee.epsilon, checked)
        with_risk = None
        if request is not None and machine.n_points:
            parts = Parts.of(machine, checked, fitting, request)
            with_risk = plan_with_risk(machine, names, parts, request, EFFORTS[effort], progress)
        if with_risk is not None:
            stages, guarantee, trials = with_risk
        else:
            stages, trials = _choose(machine, checked, names, EFFORTS[effort], seed, progress)
    source = replace(source, seconds=time.perf_counter() - began)
    plan = Plan(machine, stages, guarantee, source, rewrites, trials, _note(request, guarantee))
    _warn_of_missing_classes(plan)
    return Predictor(plan)


def _note(request: Request | None, guarantee: Guarantee) -> str:
    """Why a plan has no risk although one was allowed."""
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
        warn_user(
            f"{_classes(missing)} not occur among the certifying rows, so the risk is not certified for "
            f"{'it' if len(missing) == 1 else 'them'}: pass rows of every class",
            MissingClassWarning,
        )


def _classes(labels: list[str]) -> str:
    return f"class {few(labels)} does" if len(labels) == 1 else f"classes {few(labels)} do"


def _choose(
    machine: Machine, rows: Any | None, names: list[str] | None, effort: Effort, seed: int, progress: Progress
) -> tuple[tuple[Stage, ...], tuple[Trial, ...]]:
    """The stages of a plan without a risk, and what was timed."""
    dense = Dense(machine)
    hopeless = names is None and why_dense_alone(machine)
    if machine.kernel.is_python or names == [] or not machine.n_points or hopeless:
        return (dense,), ()
    sample = _affordable(dense, sample_rows(machine, rows, _SAMPLE, seed))
    stages = [*candidates(machine, names, sample, effort, progress)]
    progress.say(f"timing {len(stages)} candidates on {sample.shape[0]:,} rows")
    return Race.between(dense, [Candidate([stage]) for stage in stages], sample).winner(dense_alone=names is None)


def _affordable(dense: Dense, sample: Any) -> Any:
    """The part of the sample that the dense stage evaluates within `_SAMPLE_SECONDS`."""
    few = sample[:16]
    [seconds] = best_of([partial(dense.decide, few)], 2)
    return sample[: max(16, int(16 * _SAMPLE_SECONDS / max(seconds, 1e-9)))]


def _describe(model: Any) -> str:
    text = " ".join((f"LIBSVM model {model}" if isinstance(model, str | PathLike) else repr(model)).split())
    return text if len(text) <= _LONGEST_DESCRIPTION else text[: _LONGEST_DESCRIPTION - 3] + "..."
