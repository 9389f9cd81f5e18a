"""A plan at work: rows in, answers out. Every row stops at the first stage that settles it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from operator import index
from typing import IO, Any, overload

import numpy as np
import numpy.typing as npt

from dormie.machine import Floats
from dormie.machine.rows import check_rows, require_finite_vectors, some
from dormie.machine.rules import MostProbable, Probability, SeveralLabels, Threshold
from dormie.machine.typing import Integers
from dormie.methods.base import CertifiedStage, certified_among
from dormie.methods.dense import Dense
from dormie.numerics.reference import settled_between
from dormie.numerics.threads import at_most
from dormie.plan import file
from dormie.plan.explain import explain
from dormie.plan.plan import Plan
from dormie.plan.text import printable
from dormie.predictor import anytime, cascade
from dormie.predictor.anomalies import Anomalies, least_outputs
from dormie.predictor.anytime import Step
from dormie.predictor.audit import Audit, Status
from dormie.predictor.availability import available
from dormie.predictor.deadline import Answers, answer_of_bias, answers_by
from dormie.predictor.fitted_estimator import FittedEstimator
from dormie.predictor.room import Room, Rooms

_FEW_STEPS = 8  # with fewer intervals from the plan's own stages, `anytime` adds partial sums


@dataclass(frozen=True)
class Trace:
    """What every row cost.

    Parameters
    ----------
    stage : ndarray of str of shape (n_rows,)
        The name of the stage that settled each row. It is ``"source"`` for a row so close to the decision boundary that
        the model's own float64 sum was repeated to decide it.
    evaluations : ndarray of int of shape (n_rows,)
        The kernel evaluations of each row, in all stages together.

    See Also
    --------
    Predictor.trace : Returns this.

    Examples
    --------
    >>> import dormie
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.svm import SVC
    >>> X, y = make_moons(600, noise=0.3, random_state=0)
    >>> svc = SVC(gamma=1.0).fit(X, y)
    >>> trace = dormie.compile(svc, methods=["geometry"]).trace(X)
    >>> trace.stage[:2].tolist()
    ['geometry', 'geometry']
    >>> len(svc.support_), bool(trace.evaluations.mean() < 40)
    (162, True)
    """

    stage: npt.NDArray[np.str_]
    evaluations: Integers


class Predictor(FittedEstimator):
    """A compiled model: gives the model's answers under the guarantee of its plan.

    `dormie.compile` and `dormie.load` return predictors. They can be pickled, and threads may share one. A pickle holds
    the bytes of a plan file, or, where the plan cannot be saved (a Python kernel), its objects.

    For scikit-learn's tools (`cross_val_score`, scorers, displays, `FrozenEstimator`) a predictor is an estimator that
    is fitted already.

    Parameters
    ----------
    plan : Plan
        The machine, its stages, and the guarantee.
    threads : int, default=None
        The most threads that a call uses. By default as many as `DORMIE_THREADS` says, or one for each core that the
        process may use.

    Attributes
    ----------
    plan : Plan
        The plan given.
    threads : int
        The number of threads given; 0 for the default.

    Examples
    --------
    >>> import dormie
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import SVC
    >>> X, y = load_iris(return_X_y=True)
    >>> svc = SVC().fit(X, y)
    >>> fast = dormie.compile(svc)
    >>> bool((fast.predict(X) == svc.predict(X)).all())
    True
    """

    def __init__(self, plan: Plan, threads: int | None = None) -> None:
        self.plan = plan
        self.threads = 0 if threads is None else _threads(threads)
        self._dense = Dense(plan.machine, plan.full_sum)
        self._dense.full_sum.prepare()
        self._answer_of_bias = answer_of_bias(plan.machine)  # computed here because `predict` has deadlines

    @overload
    def predict(
        self, X: Any, deadline: None = None, *, out: npt.NDArray[Any] | None = None, threads: int | None = None
    ) -> npt.NDArray[Any]: ...
    @overload
    def predict(self, X: Any, deadline: float) -> Answers: ...
    @overload
    def predict(self, X: Any, deadline: float | None) -> npt.NDArray[Any] | Answers: ...
    def predict(
        self, X: Any, deadline: float | None = None, *, out: npt.NDArray[Any] | None = None, threads: int | None = None
    ) -> npt.NDArray[Any] | Answers:
        """Return the answer of every row.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            The rows. With a Python function as kernel, any sequence of objects.
        deadline : float, default=None
            Seconds from now until answers are due, settled or not. Rows are checked for NaN first, however little time
            that leaves.
        out : ndarray of shape (n_rows,) or (n_rows, n_outputs), default=None
            The array to write the answers to, in place of a new one. It may be of any type that holds every label of
            the model, such as int8 for the labels 0 to 9.
        threads : int, default=None
            The most threads that this call uses, in place of the predictor's own number.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_outputs), or Answers
            A class label of the original model, or the values of a regressor, for every row: `out`, if it is given. Of
            a model of several labels a row, a column for each.
            With a deadline, an `Answers`, which also says which of them are settled; the others are the best estimates
            so far.

        Raises
        ------
        TypeError
            If rows or `out` are of the wrong type, or if the deadline or the threads are not numbers.
        ValueError
            If rows are NaN, infinite, or of the wrong shape, if `out` does not fit the rows or the labels, or if the
            deadline is NaN.
        """
        if deadline is None:
            most = self.threads if threads is None else _threads(threads)
            if out is None and (answers := self._in_one_call(X, most)) is not None:
                return answers
            return self._checked(X, out, most)
        machine = self.plan.machine
        if out is not None or threads is not None:
            raise ValueError("out and threads cannot be given with a deadline: leave them out")
        end = time.perf_counter() + _seconds(deadline)
        rows = check_rows(X, machine)
        require_finite_vectors(rows, machine)
        with at_most(self.threads):
            answers, settled = answers_by(end, self.plan, rows, self._answer_of_bias)
        return Answers(machine.rule.labels(answers), settled)

    def _checked(self, X: Any, out: npt.NDArray[Any] | None, threads: int) -> npt.NDArray[Any]:
        """The answers of rows of any kind."""
        rows = check_rows(X, self.plan.machine)
        room = self._rooms.new(rows.shape[0]) if out is None else self._rooms.within(out, rows.shape[0])
        self._fill(room, rows, threads)
        return self._rooms.returned(room) if out is None else out

    @cached_property
    def _in_one_call(self) -> Callable[[Any, int], npt.NDArray[Any] | None]:
        return cascade.in_one_call(self.plan.cascade)

    @cached_property
    def _rooms(self) -> Rooms:
        return Rooms(self.plan.machine)

    def _fill(self, room: Room, rows: Any, threads: int) -> None:
        """Write the answers of checked rows."""
        cascade.fill(room, self.plan.cascade, rows, threads)

    def _found(self, rows: Any, threads: int) -> cascade.CascadeResult:
        """The answers of checked rows, and which stages settled them."""
        return cascade.run(self.plan.cascade, rows, threads)

    @available(lambda self: self._why_no_probabilities)
    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of every class.

        Only the predictor of a model that gives probabilities has this method.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            The probabilities, in the order of `plan.machine.rule.classes`. They keep the guarantee of `plan.values`.

        Raises
        ------
        TypeError
            If rows are of the wrong type.
        ValueError
            If rows are NaN, infinite, or of the wrong shape.

        Notes
        -----
        `predict` gives the labels that the model itself gives. For LIBSVM's own probabilities these are not always the
        most probable classes.
        """
        return self._values.predict(X)

    @available(lambda self: self._why_no_probabilities)
    def predict_log_proba(self, X: Any) -> Floats:
        """Return the logarithm of the probability of every class.

        Only the predictor of a model that gives probabilities has this method.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            The logarithm of what `predict_proba` returns; minus infinity for a probability of 0.

        Raises
        ------
        TypeError
            If rows are of the wrong type.
        ValueError
            If rows are NaN, infinite, or of the wrong shape.
        """
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    @property
    def _why_no_probabilities(self) -> str:
        if self.plan.values is not None and isinstance(self.plan.values.machine.rule, Probability):
            return ""
        if isinstance(self.plan.machine.rule, SeveralLabels):
            return "the plan of several labels a row keeps no probabilities: compile each of the model's estimators_"
        return "this model has no probabilities: compile a CalibratedClassifierCV around it"

    @property
    def _why_no_decisions(self) -> str:
        rule = self.plan.machine.rule
        if isinstance(rule, SeveralLabels):
            return "a model of several labels a row has no decision values: compile each of its estimators_"
        if not isinstance(rule, MostProbable) and not (
            isinstance(rule, Threshold) and isinstance(rule.of, Probability)
        ):
            return ""
        return "a classifier by probabilities or by votes has no decision values: use predict_proba"

    @cached_property
    def _values(self) -> Predictor:
        assert self.plan.values is not None
        return Predictor(self.plan.values, self.threads or None)

    @available(lambda self: self._why_no_decisions)
    def decision_function(self, X: Any) -> Floats:
        """Return the decision values: those of the full sum in float64, unless a tolerance was asked for.

        Decision values of a classifier without probabilities that was compiled with a tolerance keep the guarantee of
        `plan.values`. The predictor of a calibrated classifier has no such method: use `predict_proba`.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_outputs)
            The outputs, in the shape that the original model's `decision_function` gives them.

        Raises
        ------
        TypeError
            If rows are of the wrong type.
        ValueError
            If rows are NaN, infinite, or of the wrong shape.
        """
        if self.plan.values is not None and not isinstance(self.plan.values.machine.rule, Probability):
            return self._values.predict(X)
        rows = check_rows(X, self.plan.machine)
        return self.plan.machine.rule.decision(self._dense.full_sum.outputs(rows, self.threads))

    def predict_with_decision(self, X: Any) -> tuple[npt.NDArray[Any], Floats]:
        """Return labels and decision values, from one pass over the full sum.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            The rows.

        Returns
        -------
        labels : ndarray of shape (n_rows,)
            The labels of the full machine: those of `predict`, except that a plan with a risk may give another label
            to a few rows. The values of a regressor.
        decision : ndarray of shape (n_rows,) or (n_rows, n_outputs)
            What `decision_function` returns.

        Raises
        ------
        TypeError
            If rows are of the wrong type.
        ValueError
            If rows are NaN, infinite, or of the wrong shape.
        """
        machine, rule = self.plan.machine, self.plan.machine.rule
        rows = check_rows(X, machine)
        with at_most(self.threads):
            outputs, radius = self._dense.full_sum.interval(rows)
            answers = rule.answer(outputs)
            close = np.flatnonzero(~settled_between(machine, rows, outputs - radius, outputs + radius))
            if len(close):
                answers[close] = self._dense.decide(some(rows, close)).answers
        return rule.labels(answers), rule.decision(outputs)

    @available(lambda self: self._why_no_anomalies)
    def most_anomalous(self, X: Any, k: int) -> Anomalies:
        """Find the rows with the lowest scores; only the predictor of a one-class machine has this method.

        Rows that are certainly not among them are left out early, by intervals of their scores.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            The rows. An array may be a memory map.
        k : int
            How many rows to find.

        Returns
        -------
        Anomalies
            The numbers of the rows and their scores, the most anomalous first. They are those of the model itself; of
            rows with equal scores the first ones are taken.

        Raises
        ------
        TypeError
            If rows are of the wrong type, or k is not a whole number.
        ValueError
            If rows are NaN, infinite, or of the wrong shape, or if there are fewer than k rows.

        Examples
        --------
        >>> import dormie
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.svm import OneClassSVM
        >>> X, _ = load_iris(return_X_y=True)
        >>> model = OneClassSVM(nu=0.1).fit(X)
        >>> found = dormie.compile(model).most_anomalous(X, 3)
        >>> sorted(found.rows.tolist()) == sorted(model.score_samples(X).argsort()[:3].tolist())
        True
        """
        machine = self.plan.machine
        rows = check_rows(X, machine)
        most = index(k)
        if not 0 <= most <= rows.shape[0]:
            raise ValueError(f"k must be between 0 and the number of rows, {rows.shape[0]:,}; got {most}")
        require_finite_vectors(rows, machine)
        with at_most(self.threads):
            found, outputs = least_outputs(self.plan.cascade, self._dense, rows, most)
        return Anomalies(found, outputs + self.offset_)

    def interval(self, X: Any, budget: int | None = None) -> tuple[Floats, Floats]:
        """Return certified intervals of the outputs.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            The rows.
        budget : int, default=None
            The most kernel evaluations per row. Without a budget, the full sum is computed, and the intervals are as
            wide as its rounding error.

        Returns
        -------
        low, high : ndarray of shape (n_rows,) or (n_rows, n_outputs)
            The ends of the intervals: vectors if there is one output. They contain the real-number outputs, rounding
            included, and are infinite where so few evaluations bound nothing.

        Raises
        ------
        TypeError
            If rows are of the wrong type, or if the budget is not a whole number.
        ValueError
            If rows are NaN, infinite, or of the wrong shape, or if the budget is negative.
        """
        machine = self.plan.machine
        most = machine.n_points if budget is None else _evaluations(budget)
        with at_most(self.threads):
            low, high = anytime.interval(self._stages_for(most), check_rows(X, machine), most)
        return (low[:, 0], high[:, 0]) if low.shape[1] == 1 else (low, high)

    def anytime(self, x: Any) -> Iterator[Step]:
        """Iterate over narrower and narrower certified intervals for one row.

        Parameters
        ----------
        x : array-like of shape (n_features,) or (1, n_features)
            The row.

        Returns
        -------
        iterator of Step
            The kernel evaluations so far and the interval of every output. Each step is computed when it is asked for.
            The last one is the full sum.

        Raises
        ------
        TypeError
            If the row is of the wrong type.
        ValueError
            If there is more than one row, or if it is NaN, infinite, or of the wrong shape.
        """
        machine = self.plan.machine
        one = np.reshape(x, (1, -1)) if machine.of_vectors and np.ndim(x) == 1 else x
        row = check_rows(one, machine)
        if row.shape[0] != 1:
            raise ValueError(f"anytime takes one row, got {row.shape[0]}: pass them one by one")
        require_finite_vectors(row, machine)
        own = certified_among(self.plan.stages[:-1])
        in_few_steps = sum(len(stage.budgets) for stage in own) < _FEW_STEPS
        return anytime.steps([*own, *(self._partial_sums if in_few_steps else []), self._dense], row)

    def trace(self, X: Any) -> Trace:
        """Return which stage settled each row, and how many kernel evaluations that took.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            The rows.

        Returns
        -------
        Trace
            The stage and the kernel evaluations of every row.

        Raises
        ------
        TypeError
            If rows are of the wrong type.
        ValueError
            If rows are NaN, infinite, or of the wrong shape.
        """
        found = cascade.run(self.plan.cascade, check_rows(X, self.plan.machine), self.threads)
        names = np.array([*(stage.name for stage in self.plan.stages), "source"])
        count = len(found.answers)
        by = np.array(np.broadcast_to(found.settled_by, count))
        by[found.by_source] = len(self.plan.stages)
        return Trace(names[by], np.broadcast_to(found.evaluations, count))

    def audited(
        self,
        rate: float = 0.01,
        *,
        unlike_rate: float | None = None,
        confidence: float = 0.99,
        callback: Callable[[Status], object] | None = None,
        seed: int | None = None,
    ) -> AuditedPredictor:
        """Return a predictor that checks in service whether its risk still holds.

        A random share of the rows is evaluated in full as well. The audit warns with `BrokenPromiseWarning` once
        disagreement is certainly more frequent than the plan promises. Of a classifier, its values (`predict_proba`, or
        `decision_function` with a tolerance) have a risk and an audit of their own.

        Parameters
        ----------
        rate : float, default=0.01
            The share of the rows to audit. Each of them costs one full evaluation.
        unlike_rate : float, default=None
            The share to audit of the rows most unlike the support vectors, rounded down to `rate` times a power of 2.
            The share grows from `rate` to it with the distance of a row from the support vectors. The rate of
            disagreement that is tested and stated is still that of all rows. By default all rows have the same share.
        confidence : float, default=0.99
            While the promise holds, the probability of ever raising a false alarm is at most ``1 - confidence``.
        callback : callable, default=None
            Called with the `Status` once the promise is broken, before the warning.
        seed : int, default=None
            The seed of the draw. By default every audit draws other rows, so that many short runs audit different ones.

        Returns
        -------
        AuditedPredictor
            The same predictions, a `status`, and the `values_status` of a classifier's values.

        Raises
        ------
        TypeError
            If a parameter is of the wrong type.
        ValueError
            If a parameter is out of range.

        Notes
        -----
        `status` covers all rows since the audit began, so a long good record hides a recent change for a while. Begin
        a new audit from time to time by calling `audited` again. Certified plans (exact, or with a tolerance) are not
        audited, because none of their answers can disagree. A risk for each class is audited for all classes together.

        With `unlike_rate` an audit finds sooner what goes wrong on rows unlike those the model was trained on. In
        exchange it takes more disagreements on such rows: one that is audited twice as often counts half.

        Of several processes, each begins an audit of its own; `dormie.merge_audits` makes one status of theirs.
        """

        def audit_of(plan: Plan, seed: int | Sequence[int] | None) -> Audit:
            return Audit(plan.guarantee, plan.machine, rate, unlike_rate, confidence, callback, seed)

        values = self.plan.values
        values_audit = None if values is None else audit_of(values, None if seed is None else (seed, 1))
        return AuditedPredictor(self.plan, audit_of(self.plan, seed), values_audit, self.threads or None)

    def explain(self) -> str:
        """Describe the plan for a person.

        Returns
        -------
        str
            Several lines: the model, its simplifications, the stages, the cascades that were timed, and the guarantee
            with its evidence.
        """
        return explain(self.plan)

    def save(self, path: str | os.PathLike[str] | IO[bytes]) -> None:
        """Write the plan to a file that `dormie.load` reads.

        Parameters
        ----------
        path : str, path-like or binary file object
            The file. It holds numbers and arrays, and nothing executable. An existing file is replaced in one step. To
            a file that is open for writing in binary mode, the plan is written from where it stands.

        Raises
        ------
        TypeError
            If the file object is open as text.
        ValueError
            If the plan cannot be saved: its kernel is a Python function, its labels are neither text nor numbers, or
            the file would be too large (`PlanFileError`).
        FileNotFoundError
            If the folder does not exist.
        """
        file.save(self.plan, path)

    def __getstate__(self) -> dict[str, Any]:
        try:
            plan: Plan | bytes = file.to_bytes(self.plan)
        except (ValueError, NotImplementedError):  # a plan, or a stage of one, that files cannot hold
            plan = self.plan
        return {"plan": plan, "threads": self.threads}

    def __setstate__(self, state: dict[str, Any]) -> None:
        plan = state["plan"]
        Predictor.__init__(self, file.from_bytes(plan) if isinstance(plan, bytes) else plan, state["threads"] or None)

    @cached_property
    def _partial_sums(self) -> list[CertifiedStage]:
        return anytime.partial_sums(self.plan.machine)

    def _stages_for(self, budget: int) -> list[CertifiedStage]:
        """The stages that give the narrowest intervals for so many kernel evaluations."""
        points = self.plan.machine.n_points
        own = [stage for stage in certified_among(self.plan.stages[:-1]) if stage.budgets]
        if budget >= points:
            return [self._dense]
        partial_sums = self._partial_sums if not own or 2 * budget >= points else []  # few terms bound little
        return [*own, *partial_sums, self._dense]

    def __repr__(self) -> str:
        return (
            f"Predictor of {printable(self.plan.source.description)}\n"
            + (f"  {printable(self.plan.source.in_words)}\n" if self.plan.source.before else "")
            + f"  {self.plan.machine}\n"
            f"  stages: {self.plan.cascade}\n"
            f"  guarantee: {self.plan.guarantee}"
        )


class AuditedPredictor(Predictor):
    """A predictor that compares a random share of its answers with those of the full machine.

    `Predictor.audited` returns it. Answers given at a deadline are not audited: those marked settled are what `predict`
    returns, under the guarantee of the plan.

    Parameters
    ----------
    plan : Plan
        The machine, its stages, and the guarantee.
    audit : Audit
        The counters and the random draw.
    values_audit : Audit, default=None
        Those of the plan for values, if the plan has one.
    threads : int, default=None
        As of `Predictor`.

    Examples
    --------
    >>> import dormie
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.svm import SVC
    >>> X, y = make_classification(4000, random_state=0)
    >>> svc = SVC(C=0.1).fit(X[:2000], y[:2000])
    >>> fast = dormie.compile(svc, X[2000:], risk=0.05, methods=["linear_filter"])
    >>> audited = fast.audited(rate=0.5, seed=0)
    >>> labels = audited.predict(X[2000:])
    >>> print(audited.status)
    978 of 2,000 rows audited, ... disagreements; rate between ... % and ... %, promised at most 5 %: not broken
    """

    def __init__(self, plan: Plan, audit: Audit, values_audit: Audit | None = None, threads: int | None = None) -> None:
        super().__init__(plan, threads)
        self._audit, self._values_audit = audit, values_audit

    @property
    def status(self) -> Status:
        """What the audit has found so far."""
        return self._audit.status

    @property
    def values_status(self) -> Status | None:
        """What the audit of a classifier's values has found so far; None if they have no plan of their own."""
        return None if self._values_audit is None else self._values_audit.status

    @cached_property
    def _values(self) -> Predictor:
        if self._values_audit is None:
            return super()._values
        assert self.plan.values is not None
        return AuditedPredictor(self.plan.values, self._values_audit, threads=self.threads or None)

    @cached_property
    def _in_one_call(self) -> Callable[[Any, int], npt.NDArray[Any] | None]:
        return cascade.never  # the audit must see every row

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"_audit": self._audit, "_values_audit": self._values_audit}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._audit, self._values_audit = state["_audit"], state["_values_audit"]

    def _fill(self, room: Room, rows: Any, threads: int) -> None:
        room.write(self._found(rows, threads).answers)

    def _found(self, rows: Any, threads: int) -> cascade.CascadeResult:
        found = super()._found(rows, threads)
        self._audit.watch(self.plan.stages, self._dense, rows, found)
        return found

    def __repr__(self) -> str:
        text = f"{super().__repr__()}\n  audit of {self._audit.shares} of the rows: {self.status}"
        return text if self.values_status is None else f"{text}\n  audit of values: {self.values_status}"


def _seconds(deadline: Any) -> float:
    if not isinstance(deadline, Real) or isinstance(deadline, np.timedelta64):  # a Real in a unit of its own
        raise TypeError(f"deadline must be a number of seconds, such as 0.02, got {deadline!r}")
    try:
        seconds = float(deadline)
    except OverflowError:
        raise ValueError("deadline is out of range; it must be a number of seconds, such as 0.02") from None
    if np.isnan(seconds):
        raise ValueError("deadline is NaN; it must be a number of seconds, such as 0.02")
    return seconds


def _threads(threads: Any) -> int:
    try:
        whole = index(threads)
    except TypeError:
        raise TypeError(f"threads must be a whole number, such as 2, got {threads!r}") from None
    if whole < 1:
        raise ValueError(f"threads must be at least 1, got {whole}")
    return whole


def _evaluations(budget: Any) -> int:
    try:
        whole = index(budget)
    except TypeError:
        raise TypeError(f"budget must be a whole number of kernel evaluations, such as 64, got {budget!r}") from None
    if whole < 0:
        raise ValueError(f"budget must not be negative, got {whole}")
    return whole
