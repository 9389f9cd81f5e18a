"""Virtual support vectors (Schölkopf, Burges and Vapnik 1996; Burges and Schölkopf 1997).

Rows that are transformed without changing their class are additional training rows, but there are too many of them to
train on. The support vectors represent all rows, so it is enough to transform those:

    train  ->  support vectors and their transformed copies, or the copies alone  ->  train again

The gain in accuracy comes with more support vectors, and `dormie.compile` and `dormie.reduce` make up for that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone, is_classifier
from sklearn.svm import SVC
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from dormie.machine import Floats
from dormie.machine.typing import Positions

Rows = npt.NDArray[Any]
Invariance = Callable[[Rows], Rows | Sequence[Rows]]

_RETURNS = "it must return an array of the shape of the rows, or a list of such"


class VirtualSVC(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """A support vector classifier that is trained again on transformed copies of its support vectors.

    Parameters
    ----------
    invariances : callable or sequence of callables
        How rows may be transformed: `Shifts`, `Rotations` or `Thickness` of `dormie.estimators.invariances`, or any
        function from rows to transformed rows or to a list of such arrays.
    estimator : estimator, default=None
        The classifier to train, both times with the same parameters: ``SVC()`` (the default), ``NuSVC()``, or a
        compatible one, such as the faster SVC of scikit-learn-intelex.
    multi_class : {"ovo", "ovr"}, default="ovo"
        With "ovo", one estimator for all classes, whose support vectors are all transformed together. With "ovr", as in
        the paper, one estimator for each class against the rest, each with support vectors of its own.
    keep_originals : bool, default=True
        Whether the second training has the support vectors themselves, beside their transformed copies. With False, as
        in the paper, it sees no original row, so that the training rows can serve to choose a threshold afterwards,
        and the result has fewer support vectors. On digits, errors hardly differ (see Notes).

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    estimators_ : list of estimators
        The result of the second training: one, or with "ovr" and more than two classes one for each class.
    first_estimators_ : list of estimators
        The result of the first training, for comparison.
    n_features_in_ : int
        The number of features.

    Notes
    -----
    The paper squares the sum of the slacks, and SVC does not, so the values of C are not comparable. gamma="scale" and
    gamma="auto" are computed from the training rows, and kept for the second training.

    ``keep_originals`` was tried seven times on MNIST, trained on 10,000 digits and judged on 10,000 others, with
    shifts, rotations and thickness, alone and together: 1,228 errors in all with the originals and 1,236 without, and 6
    to 38 % more support vectors with them. They are kept because accuracy is what this estimator is for.

    Examples
    --------
    >>> from dormie.estimators import VirtualSVC
    >>> from dormie.estimators.invariances import Shifts
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.svm import SVC
    >>> X, y = load_digits(n_class=3, return_X_y=True)
    >>> model = VirtualSVC(Shifts(), SVC(gamma=0.001)).fit(X[:100], y[:100])
    >>> len(model.estimators_[0].support_) > len(model.first_estimators_[0].support_)
    True
    >>> model.score(X[100:], y[100:]) > 0.9
    True
    """

    def __init__(
        self,
        invariances: Invariance | Sequence[Invariance],
        estimator: Any = None,
        *,
        multi_class: str = "ovo",
        keep_originals: bool = True,
    ) -> None:
        self.invariances = invariances
        self.estimator = estimator
        self.multi_class = multi_class
        self.keep_originals = keep_originals

    def fit(self, X: Any, y: Any) -> VirtualSVC:
        """Train, transform the support vectors, and train again.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            The training rows.
        y : array-like of shape (n_rows,)
            Their labels.

        Returns
        -------
        VirtualSVC
            The fitted estimator itself.

        Raises
        ------
        ValueError
            If a parameter is invalid, or if an invariance returns arrays of another shape.
        """
        X, y = validate_data(self, X, y, dtype=[np.float64, np.float32])
        check_classification_targets(y)
        self._require_parameters()
        self.classes_ = np.unique(y)
        both = [self._fit_twice(X, target) for target in self._targets(y)]
        self.first_estimators_, self.estimators_ = map(list, zip(*both, strict=True))
        return self

    def decision_function(self, X: Any) -> Floats:
        """Return the outputs of the estimators of the second training.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_outputs)
            The outputs of the one estimator, or, with several, a column for each class.

        Raises
        ------
        NotFittedError
            If `fit` was not called yet.
        ValueError
            If rows are NaN, infinite, or of the wrong shape or type.
        """
        check_is_fitted(self)
        X = self._rows(X)
        values = [estimator.decision_function(X) for estimator in self.estimators_]
        return values[0] if len(values) == 1 else np.column_stack(values)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the class of every row.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_rows,)
            The labels.

        Raises
        ------
        NotFittedError
            If `fit` was not called yet.
        ValueError
            If rows are NaN, infinite, or of the wrong shape or type.
        """
        check_is_fitted(self)
        if len(self.estimators_) == 1:
            return np.asarray(self.estimators_[0].predict(self._rows(X)))
        return np.asarray(self.classes_[self.decision_function(X).argmax(axis=1)])

    def _rows(self, X: Any) -> Rows:
        return np.asarray(validate_data(self, X, dtype=[np.float64, np.float32], reset=False))

    def _targets(self, y: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
        """The labels that each estimator is trained with."""
        if self.multi_class == "ovo" or len(self.classes_) == 2:
            return [y]
        return [y == label for label in self.classes_]

    def _fit_twice(self, X: Rows, y: npt.NDArray[Any]) -> tuple[Any, Any]:
        first = _with_fixed_gamma(clone(SVC() if self.estimator is None else self.estimator), X).fit(X, y)
        support = _support(first)
        copies = [X[support]] if self.keep_originals else []
        copies.extend(_moved(self._invariances(), X[support]))
        if not copies:
            raise ValueError("keep_originals=False and no transformed copies leave nothing to train on")
        return first, clone(first).fit(np.concatenate(copies), np.tile(y[support], len(copies)))

    def _invariances(self) -> list[Invariance]:
        return [self.invariances] if callable(self.invariances) else list(self.invariances)

    def _require_parameters(self) -> None:
        if self.multi_class not in ("ovo", "ovr"):
            raise ValueError(f"multi_class must be 'ovo' or 'ovr', got {self.multi_class!r}")
        if getattr(self.estimator, "kernel", None) == "precomputed":
            raise ValueError("kernel='precomputed' gives no rows to move: give the estimator the kernel itself")
        if self.estimator is not None:
            _require_classifier(self.estimator)
        _require_invariances(self.invariances)


def _require_classifier(estimator: Any) -> None:
    if isinstance(estimator, type) or not hasattr(estimator, "get_params") or not is_classifier(estimator):
        raise ValueError(f"estimator must be a support vector classifier, such as sklearn.svm.SVC(), got {estimator!r}")


def _require_invariances(given: Any) -> None:
    if isinstance(given, list | tuple):
        named = {f"invariances[{position}]": invariance for position, invariance in enumerate(given)}
    else:
        named = {"invariances": given}
    for name, invariance in named.items():
        if isinstance(invariance, type):
            raise ValueError(f"{name} must be a function of rows, and is a class: give {invariance.__name__}()")
        if not callable(invariance):
            raise ValueError(f"{name} must be a function of rows, such as Shifts(), got {invariance!r}")


def _with_fixed_gamma(estimator: Any, X: Rows) -> Any:
    """The estimator with gamma as a number, computed from the training rows and not from their support vectors."""
    gamma = getattr(estimator, "gamma", None)
    if gamma == "auto":
        return estimator.set_params(gamma=1.0 / X.shape[1])
    if gamma == "scale":
        variance = float(X.var())
        return estimator.set_params(gamma=1.0 / (X.shape[1] * variance) if variance else 1.0)
    return estimator


def _support(fitted: Any) -> Positions:
    if not hasattr(fitted, "support_"):
        raise ValueError(
            f"estimator={fitted!r} has no support_ when fitted, so its support vectors cannot be found: "
            "give a support vector classifier such as sklearn.svm.SVC"
        )
    return np.asarray(fitted.support_, dtype=np.intp)


def _moved(invariances: list[Invariance], rows: Rows) -> Iterator[Rows]:
    """The transformed rows, one array for each transformation of the invariances."""
    for invariance in invariances:
        result = invariance(rows)
        copies = [result] if getattr(result, "ndim", None) == 2 else result
        if not np.iterable(copies):
            raise ValueError(f"the invariance {invariance!r} returned {result!r}; {_RETURNS}")
        for copy in map(np.asarray, copies):
            if copy.shape != rows.shape:
                raise ValueError(
                    f"the invariance {invariance!r} made an array of shape {copy.shape} of rows of shape {rows.shape}; "
                    f"{_RETURNS}"
                )
            yield copy.astype(rows.dtype, copy=False)
