"""`dormie.reduce`: a machine of few vectors that approximates one of many, outside of any plan.

It is for users who want a smaller model, for LIBSVM, scikit-learn or a chip, and want to know its error. Exact rewrites
are applied first; only a machine that still has too many vectors is approximated.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral
from os import PathLike
from typing import Any

import numpy as np

from dormie.convert import read
from dormie.convert.libsvm.writer import is_one_class, write_libsvm
from dormie.machine import Floats, Machine, require_one_machine
from dormie.machine.rows import check_rows, require_finite
from dormie.machine.rules import ClassRule, MostProbable
from dormie.methods.fitting import CannotFit
from dormie.methods.reduced_set.derivatives import require_derivative
from dormie.methods.reduced_set.errors import Distance, Errors
from dormie.methods.reduced_set.fitting import chosen_objective, fit
from dormie.methods.reduced_set.report import report
from dormie.methods.reduced_set.threshold import positions, refitted_bias
from dormie.numerics.evaluate import FullSum
from dormie.numerics.synthetic_rows import sample_rows
from dormie.simplify import REWRITES, simplify

_HELD_OUT = 5  # one row in this many is held out
_ENOUGH_ROWS = 100  # with fewer, none is held out
_MOST_MEASURED = 10_000
_SYNTHETIC = 2048


@dataclass(frozen=True, eq=False)
class Reduction:
    """
    A reduced machine and its error; the result of `dormie.reduce`.

    Parameters
    ----------
    machine : Machine
        The reduced machine.
    original : Machine
        The machine that was reduced.
    exact : bool
        Whether nothing was lost: exact rewrites were enough, or nothing had to be done.
    distance : Distance or None
        ``|w|`` and ``|w - w'|`` in feature space, one entry for each output, as `distance.norm` and
        `distance.distance`; `distance.relative` is their ratio. None if the kernel is no inner product or numbers are
        out of range.
    errors : Errors
        Errors of the outputs on rows: `errors.rms`, `errors.largest` and `errors.spread`, one entry for each output;
        `errors.differing` is the number of rows with another label and `errors.agreement` the share with the same.
    threshold : str or None, default=None
        What `refit_threshold` did, in words.

    Examples
    --------
    >>> import dormie
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.svm import SVC
    >>> X, y = make_moons(400, noise=0.3, random_state=0)
    >>> reduction = dormie.reduce(SVC(gamma=1.0).fit(X, y), 12, X)
    >>> reduction.machine.n_points
    12
    >>> reduction.errors.agreement > 0.95
    True
    >>> reduction.to_sklearn()
    SVC(gamma=1.0)
    """

    machine: Machine
    original: Machine
    exact: bool
    distance: Distance | None
    errors: Errors
    threshold: str | None = None

    def refit_threshold(self, X: Any, y: Any) -> Reduction:
        """
        Move the bias of every output to where it makes the fewest errors on labelled rows.

        Rows that the model was not trained on are best. It makes few errors on its training rows, and a threshold
        moved because of one or two of them is no better on other rows.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            The rows.
        y : array-like of shape (n_rows,)
            Their labels.

        Returns
        -------
        Reduction
            The same vectors and weights with the new bias; it is unchanged where no other makes fewer errors.

        Raises
        ------
        ValueError
            If the machine is a regressor, there are no rows, or a label is none of the classes.

        Notes
        -----
        This is the paper's Bayes threshold. In a one-vs-one machine each output is judged on the rows of its two
        classes, in a one-vs-rest machine on all rows.
        """
        rule = self.machine.rule
        if not isinstance(rule, ClassRule):
            raise ValueError("a regressor has no threshold: refit_threshold is for classifiers")
        if isinstance(rule, MostProbable):
            raise ValueError("the thresholds of a calibrated classifier are in its map: calibrate the reduced model")
        rows = check_rows(X, self.machine)
        if not rows.shape[0]:
            raise ValueError("there are no rows in X to refit the threshold on: pass some, with their labels")
        answers = positions(rule, y, rows.shape[0])
        outputs = FullSum(self.machine).outputs(rows)
        bias = refitted_bias(rule, self.machine.bias, outputs, answers)
        shift = bias - self.machine.bias
        wrong = [int((rule.answer(these) != answers).sum()) for these in (outputs, outputs + shift)]
        judges = _counted(len(answers), "labelled row")
        return replace(
            self,
            machine=replace(self.machine, bias=bias),
            errors=replace(self.errors, after=self.errors.after + shift),
            threshold=f"{judges}; {_change(*wrong)}",
        )

    def write_libsvm(self, path: str | PathLike[str]) -> None:
        """
        Write the reduced machine as a LIBSVM text model.

        With k classes the file lists every vector k - 1 times.

        Parameters
        ----------
        path : path-like
            The file to write.

        Raises
        ------
        ValueError
            If LIBSVM has no model of this kind, as for a machine with an input map.
        """
        write_libsvm(self.machine, path)

    def to_sklearn(self) -> Any:
        """
        Convert the reduced machine to a fitted scikit-learn model.

        Returns
        -------
        estimator
            An `SVC`, `OneClassSVM`, `SVR`, `KernelRidge` or `OneVsRestClassifier`, in a pipeline with a scaler if the
            machine has an input map.

        Raises
        ------
        ValueError
            If scikit-learn has no model of this kind.
        """
        from dormie.convert.sklearn.writer import to_sklearn  # here: start-up time

        return to_sklearn(self.machine, one_class=is_one_class(self.original))

    def report(self) -> str:
        """
        Describe the reduction and its error in words.

        Returns
        -------
        str
            Several lines, the same as `str(reduction)`.
        """
        return report(self.machine, self.original, self.exact, self.distance, self.errors, self.threshold)

    def __str__(self) -> str:
        return self.report()


def reduce(
    model: Any,
    n: int,
    rows: Any | None = None,
    *,
    objective: str | None = None,
    method: str = "together",
    start: str = "middles",
    seed: int = 0,
) -> Reduction:
    """
    Approximate a model by a machine of n vectors.

    Parameters
    ----------
    model : estimator, path-like or Machine
        A fitted scikit-learn model, the path of a LIBSVM model file, or a `Machine`; see `dormie.read`.
    n : int
        Number of vectors, shared by all outputs. A model that exact rewrites bring to n vectors is not approximated.
    rows : array-like of shape (n_rows, n_features) or None, default=None
        Unlabelled rows like those to be predicted, for instance the training rows. They make the result much better on
        such rows. A fifth of them, if there are 100 or more, is held out from fitting to measure the error.
    objective : {"outputs", "norm"} or None, default=None
        What is minimised: "outputs", the error of the outputs on the rows (the default with rows and
        method="together"), or "norm", the distance in feature space (the default otherwise).
    method : {"together", "one_by_one"}, default="together"
        Whether all vectors are optimised jointly, or extracted one by one and left there, which needs "norm".
    start : {"middles", "w_greedy", "one_by_one"}, default="middles"
        The initial vectors of "together": k-means centers of the support vectors of each class, support vectors chosen
        greedily to approximate w, or vectors extracted one by one, as in the paper.
    seed : int, default=0
        Seed for everything random: the rows held out, the batches, and k-means.

    Returns
    -------
    Reduction
        The reduced machine and its error; printed, it says both in words.

    Raises
    ------
    TypeError
        If n is not a whole number.
    UnreadableModelError
        If the model is not a kernel machine that dormie can read.
    FileNotFoundError
        If the model is a path and there is no such file.
    ValueError
        If n is less than 1, the options do not fit each other or the kernel, there are no rows in `rows`, or numbers
        are too large or too small to fit anything.

    Notes
    -----
    Let w = sum_i beta_i phi(s_i) be the vector of the model in feature space. A reduced set (Burges & Schölkopf 1997)
    is w' = sum_k gamma_k phi(z_k) with few vectors z_k, which need not be among the s_i. Both the vectors and the
    weights are optimised. ``|w - w'| sqrt(K(x, x))`` bounds the error of any row x.

    Examples
    --------
    >>> import dormie
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.svm import SVC
    >>> X, y = make_moons(400, noise=0.3, random_state=0)
    >>> svc = SVC(gamma=1.0).fit(X, y)
    >>> reduction = dormie.reduce(svc, 12, X)
    >>> print(reduction)
    Reduced from ... vectors to 12, approximately: ... times less work. Machine(...)
    Distance in feature space: |w - w'| is ... % of |w|. ...
    Measured on 80 of the rows given, held out from fitting.
    Outputs: root mean square error ... (... % of their standard deviation), largest ...
    Labels: ... of 80 the same (... %).
    >>> small = reduction.to_sklearn()
    >>> small.support_vectors_.shape
    (12, 2)
    """
    _check_size(n)
    original = read(model)
    require_one_machine(original, "dormie.reduce")
    require_derivative(original.kernel)
    objective = chosen_objective(original, objective, method, start, rows)
    exact = _without_loss(original, n)
    fitted, measured, what = _split(original, rows, exact is None and objective == "outputs", seed)
    if exact is None:
        _require_dense_points(original)
        whole = _tidied(original)
        reduced = _fitted(whole, n, fitted, objective=objective, method=method, start=start, seed=seed)
    else:
        whole = reduced = exact
    machine = _in_coordinates_of(original, reduced)
    before, after = (FullSum(each).outputs(measured) for each in (original, machine))
    errors = Errors(original.rule, before, after, what)
    return Reduction(machine, original, exact is not None, Distance.between(whole, reduced), errors)


def _fitted(machine: Machine, n: int, rows: Any | None, **choices: Any) -> Machine:
    """The reduced machine; raises ValueError if the machine or the rows leave nothing to fit."""
    try:
        return fit(machine, n, rows, **choices).machine()
    except CannotFit as error:
        raise ValueError(str(error)) from error


def _require_dense_points(machine: Machine) -> None:
    """Raise ValueError for sparse points: moved vectors are dense, and so are the sums that they are moved by."""
    if machine.has_sparse_points:
        raise ValueError(
            f"reduce moves dense vectors, and this model has {machine.n_points:,} sparse points of "
            f"{machine.n_features:,} columns. Train it on fewer columns, or pass a dormie.Machine with points.toarray()"
        )


def _check_size(n: int) -> None:
    if isinstance(n, bool) or not isinstance(n, Integral):
        raise TypeError(f"n must be a whole number of vectors, such as 40, got {n!r}")
    if n < 1:
        raise ValueError(f"n must be at least 1 vector, got {n}")


def _change(before: int, after: int) -> str:
    """How the number of errors changed; for several outputs it may rise, as each threshold is fitted on its own."""
    if before == after:
        return f"errors stayed at {after:,}"
    return f"errors {'fell' if after < before else 'rose'} from {before:,} to {after:,}"


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _split(machine: Machine, rows: Any | None, fits_rows: bool, seed: int) -> tuple[Any | None, Any, str]:
    """Rows to fit on, rows to measure on, and a description of the latter; `fits_rows`: whether any are fitted on."""
    if not machine.n_points:
        return rows, np.zeros((1, machine.n_columns)), "a row of zeros, which is as good as any: it has no vectors"
    if rows is None:
        rows = sample_rows(machine, None, _SYNTHETIC, seed)
        kind = (
            "of its support vectors" if machine.has_sparse_points else "synthetic rows, drawn from the support vectors"
        )
        return None, rows, f"{rows.shape[0]:,} {kind}: pass rows like those to be predicted for better figures"
    rows = check_rows(rows, machine)
    count = rows.shape[0]
    if not count:
        raise ValueError("there are no rows in what was passed as rows: pass some, or leave rows out")
    require_finite(rows, machine)
    if not fits_rows:
        measured = sample_rows(machine, rows, _MOST_MEASURED, seed)
        return rows, measured, f"{measured.shape[0]:,} of the rows given, none of which was fitted on"
    if count < _ENOUGH_ROWS:
        advice = f"which flatters it: pass {_ENOUGH_ROWS} rows or more and some are held out"
        return rows, rows, f"the {_counted(count, 'row')} it was fitted on, {advice}"
    order = np.random.default_rng(seed).permutation(count)
    held_out = min(count // _HELD_OUT, _MOST_MEASURED)
    fitted, measured = (rows[np.sort(part)] for part in (order[held_out:], order[:held_out]))
    return fitted, measured, f"{held_out:,} of the rows given, held out from fitting"


def _without_loss(original: Machine, n: int) -> Machine | None:
    """The machine itself or its exact rewrite, if that has at most n vectors; None otherwise."""
    if n >= original.n_points:
        return original
    exact, _ = simplify(original)
    return exact if n >= exact.n_points else None


def _tidied(original: Machine) -> Machine:
    """The machine to fit to, with duplicates merged, zero weights dropped, and centered.

    Other rewrites are skipped: their points need not resemble rows, so they make poor initial vectors.
    """
    for name in ("merge_duplicates", "drop_zero_weights", "center"):
        if REWRITES[name].accepts(original):
            original = REWRITES[name].apply(original)
    return original


def _in_coordinates_of(original: Machine, reduced: Machine) -> Machine:
    """The reduced machine with the original's input map: a center from rewriting is added back to the vectors."""
    if reduced.input_map is None or reduced.input_map is original.input_map:
        return reduced
    center: Floats = reduced.input_map.center
    shift = center if original.input_map is None else original.input_map(center)
    return replace(reduced, points=reduced.points + shift, input_map=original.input_map)
