"""Virtual support vectors (Schoelkopf, Burges and Vapnik 1996; Burges and Schoelkopf 1997).

Rows moved in a way that does not change their class are new training rows for free, but too many of them to train on.
The support vectors stand for all rows, so it is enough to move those:

    train  ->  support vectors  ->  and their moved copies  ->  train again

What it wins in accuracy it pays for in support vectors, and so it is a case for `dormie.compile` and `dormie.reduce`.
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

Rows = npt.NDArray[Any]
Invariance = Callable[[Rows], Rows | Sequence[Rows]]

_RETURNS = "it must return an array of the shape of the rows, or a list of such"


class VirtualSVC(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """A support vector classifier that is trained again on its support vectors and on moved copies of them.

    invariances: how rows may be moved: `Shifts`, `Rotations` or `Thickness` of `dormie.estimators.invariances`, any
        function from rows to moved rows (or to a list of arrays of them), or a list of such
    estimator: what is trained, both times with the same parameters: an SVC (the default), a NuSVC, or another of their
        kind, such as the faster SVC of scikit-learn-intelex
    multi_class: 'ovo', one estimator, which sets class against class and whose support vectors are moved all together;
        or 'ovr', one estimator for each class against the rest, which moves its own support vectors, as in the paper

    The paper squares the slacks; SVC adds them up as they are, so a C of the paper's is not a C of ours.
    gamma='scale' and 'auto' are worked out on the training rows, and kept for the second training.

    Fitted: `classes_`; `estimators_`, those of the second training: one, or with 'ovr' and more than two classes one a
    class; and `first_estimators_`, those of the first, to compare with. `decision_function` gives what the one
    estimator gives, or a column for each class.
    """

    def __init__(
        self, invariances: Invariance | Sequence[Invariance], estimator: Any = None, *, multi_class: str = "ovo"
    ) -> None:
        self.invariances = invariances
        self.estimator = estimator
        self.multi_class = multi_class

    def fit(self, X: Any, y: Any) -> VirtualSVC:
        X, y = validate_data(self, X, y, dtype=[np.float64, np.float32])
        check_classification_targets(y)
        self._require_parameters()
        self.classes_ = np.unique(y)
        both = [self._fit_twice(X, target) for target in self._targets(y)]
        self.first_estimators_, self.estimators_ = map(list, zip(*both, strict=True))
        return self

    def decision_function(self, X: Any) -> Floats:
        check_is_fitted(self)
        X = self._rows(X)
        values = [estimator.decision_function(X) for estimator in self.estimators_]
        return values[0] if len(values) == 1 else np.column_stack(values)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        check_is_fitted(self)
        if len(self.estimators_) == 1:
            return np.asarray(self.estimators_[0].predict(self._rows(X)))
        return np.asarray(self.classes_[self.decision_function(X).argmax(axis=1)])

    def _rows(self, X: Any) -> Rows:
        return np.asarray(validate_data(self, X, dtype=[np.float64, np.float32], reset=False))

    def _targets(self, y: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
        """What each estimator has to tell apart."""
        if self.multi_class == "ovo" or len(self.classes_) == 2:
            return [y]
        return [y == label for label in self.classes_]

    def _fit_twice(self, X: Rows, y: npt.NDArray[Any]) -> tuple[Any, Any]:
        first = _with_fixed_gamma(clone(SVC() if self.estimator is None else self.estimator), X).fit(X, y)
        support = _support(first)
        moved = list(_moved(self._invariances(), X[support]))
        rows, targets = np.concatenate([X[support], *moved]), np.tile(y[support], 1 + len(moved))
        return first, clone(first).fit(rows, targets)

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
    """gamma as a number, so that support vectors alone are not scaled otherwise than the rows they come from."""
    gamma = getattr(estimator, "gamma", None)
    if gamma == "auto":
        return estimator.set_params(gamma=1.0 / X.shape[1])
    if gamma == "scale":
        variance = float(X.var())
        return estimator.set_params(gamma=1.0 / (X.shape[1] * variance) if variance else 1.0)
    return estimator


def _support(fitted: Any) -> npt.NDArray[np.intp]:
    if not hasattr(fitted, "support_"):
        raise ValueError(
            f"estimator={fitted!r} has no support_ when fitted, so its support vectors are not known: "
            "give a support vector classifier such as sklearn.svm.SVC"
        )
    return np.asarray(fitted.support_, dtype=np.intp)


def _moved(invariances: list[Invariance], rows: Rows) -> Iterator[Rows]:
    """The rows once for each way in which the invariances move them."""
    for invariance in invariances:
        result = invariance(rows)
        ways = [result] if getattr(result, "ndim", None) == 2 else result
        if not np.iterable(ways):
            raise ValueError(f"the invariance {invariance!r} returned {result!r}; {_RETURNS}")
        for way in map(np.asarray, ways):
            if way.shape != rows.shape:
                raise ValueError(
                    f"the invariance {invariance!r} made an array of shape {way.shape} of rows of shape {rows.shape}; "
                    f"{_RETURNS}"
                )
            yield way.astype(rows.dtype, copy=False)
