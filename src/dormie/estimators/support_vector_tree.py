"""Support vector trees (Ukkonen 2010) as a scikit-learn estimator, over any model that dormie can read.

A trained kernel machine compares a row with all of its support vectors. The tree compares it with a few of them, each
chosen by the previous kernel value, and estimates the machine's output from these values:

    train the estimator  ->  read it as a Machine  ->  grow a tree on the rows, without labels

Only kernel values are used, so with a Python function as kernel the rows may be strings or graphs.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from copy import deepcopy
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    MetaEstimatorMixin,
    RegressorMixin,
    clone,
    is_classifier,
    is_outlier_detector,
    is_regressor,
)
from sklearn.exceptions import NotFittedError
from sklearn.svm import SVC, SVR
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from dormie.convert import read
from dormie.machine import Floats, Machine, require_one_machine
from dormie.machine.kernel_memory import remembering
from dormie.machine.rows import as_array, require_complete, require_finite
from dormie.machine.rules import ClassRule
from dormie.machine.typing import Integers
from dormie.methods.tree import Tree, fitted, greedy
from dormie.methods.tree.stage import TreeWalk
from dormie.methods.tree.structure import Walk

_METHODS: dict[str, Callable[..., Tree]] = {"fitted": fitted, "greedy": greedy}


class SupportVectorTree(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """A tree that estimates a kernel machine's outputs from a few kernel evaluations per row.

    It is a classifier, a regressor or an outlier detector, as its estimator is.

    Parameters
    ----------
    estimator : estimator or Machine, default=None
        A scikit-learn model that `dormie.read` can read, such as ``SVC()`` (the default), ``SVR``, ``OneClassSVM``,
        ``KernelRidge`` or a pipeline that ends in one; or a `dormie.Machine`.
    method : {"fitted", "greedy"}, default="fitted"
        How the tree is grown: "fitted" trees are more accurate, "greedy" ones are those of the paper.
    leaf_rows : int, default=None
        "fitted": the fewest rows on either side of a split, synthetic rows included (default 30). "greedy": a node
        with at most this many rows is not split (default 5).
    height : int, default=None
        The most kernel evaluations that any row may take (default: no limit).
    evaluations : float or None, default=10.0
        The most kernel evaluations that the rows given to `fit` may take on average; None for no limit.
    random_state : int, RandomState instance or None, default=None
        The seed of the draws while the tree is grown.

    Attributes
    ----------
    estimator_ : estimator or Machine
        The trained model.
    machine_ : Machine
        The model in normal form.
    tree_ : dormie.tree.Tree
        The tree.
    evaluations_ : float
        The mean number of kernel evaluations over the rows given to `fit`.
    classes_ : ndarray of shape (n_classes,)
        The class labels, if the estimator is a classifier.
    n_features_in_ : int
        The number of features, if rows are vectors.

    Examples
    --------
    >>> from dormie.estimators import SupportVectorTree
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import SVC
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = SupportVectorTree(SVC(), evaluations=3, random_state=0).fit(X[50:], y[50:])  # two classes
    >>> tree.evaluations_ <= 3
    True
    >>> tree.score(X[50:], y[50:]) > 0.9
    True
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        method: str = "fitted",
        leaf_rows: int | None = None,
        height: int | None = None,
        evaluations: float | None = 10.0,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.method = method
        self.leaf_rows = leaf_rows
        self.height = height
        self.evaluations = evaluations
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> SupportVectorTree:
        """Train the estimator if necessary, and grow the tree.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or sequence of objects, with n_rows rows
            The rows to grow the tree on.
        y : array-like of shape (n_rows,), default=None
            Their labels or values. With `y`, a clone of the estimator is trained on X and y; without, an estimator that
            is fitted already is used as it is. A Machine, or a model in a FrozenEstimator, is always used as it is.

        Returns
        -------
        SupportVectorTree
            The fitted estimator itself.

        Raises
        ------
        ValueError
            If the estimator is not fitted and `y` is missing, if a parameter is invalid, or if the rows cannot be used.
        """
        if self.method not in [*_METHODS]:
            raise ValueError(f"method must be 'fitted' or 'greedy', got {self.method!r}")
        self.estimator_ = self._trained(X, y)
        self.machine_ = read(self.estimator_)
        require_one_machine(self.machine_, "SupportVectorTree")
        self._describe_rows()
        rows = self._rows(X)
        kernel = self.machine_.kernel
        with remembering(kernel) if kernel.is_python else nullcontext():
            self.tree_ = self._grown(rows)
            self._stage = TreeWalk.uncalibrated(self.machine_, self.tree_)
            self.evaluations_ = float(self._stage.walk(rows).evaluations.mean())
        return self

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the label or value of every row, by the tree's estimate of the outputs.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or sequence of objects, with n_rows rows
            The rows.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_outputs)
            The labels of a classifier or outlier detector, or the values of a regressor.

        Raises
        ------
        NotFittedError
            If `fit` was not called yet.
        ValueError
            If rows are NaN, infinite, or of the wrong shape or type.
        """
        values = self._walk(X).values
        return self.machine_.rule.labels(self.machine_.rule.answer(values))

    @available_if(lambda self: not is_regressor(self))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> Floats:
        """Return the tree's estimate of the estimator's own `decision_function`.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or sequence of objects, with n_rows rows
            The rows.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_outputs)
            The estimates, in the shape that the estimator's own function has.

        Raises
        ------
        NotFittedError
            If `fit` was not called yet.
        ValueError
            If rows are NaN, infinite, or of the wrong shape or type.
        """
        values = self._walk(X).values
        return self.machine_.rule.decision(values)

    def count_evaluations(self, X: Any) -> Integers:
        """Return the number of kernel evaluations of every row.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or sequence of objects, with n_rows rows
            The rows.

        Returns
        -------
        ndarray of int of shape (n_rows,)
            The kernel evaluations on each row's path through the tree.

        Raises
        ------
        NotFittedError
            If `fit` was not called yet.
        ValueError
            If rows are NaN, infinite, or of the wrong shape or type.
        """
        return self._walk(X).evaluations

    @available_if(lambda self: not is_outlier_detector(self))  # type: ignore[untyped-decorator]
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy of a classifier, or R² of a regressor.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or sequence of objects, with n_rows rows
            The rows.
        y : array-like of shape (n_rows,)
            Their true labels or values.
        sample_weight : array-like of shape (n_rows,), default=None
            The weights of the rows.

        Returns
        -------
        float
            The score.
        """
        kind = ClassifierMixin if is_classifier(self) else RegressorMixin
        return float(kind.score(self, X, y, sample_weight))

    def _trained(self, X: Any, y: Any) -> Any:
        estimator = SVC() if self.estimator is None else self.estimator
        if isinstance(estimator, Machine):
            return estimator
        _require_model(estimator)
        if y is not None:
            return clone(estimator).fit(X, y)
        if _is_fitted(estimator):
            return estimator
        if not is_outlier_detector(estimator):
            raise ValueError(
                f"{estimator!r} is not fitted, so fit requires y to be passed, but the target y is None: "
                "pass fit(X, y), or an estimator that is fitted already"
            )
        return clone(estimator).fit(X)

    def _describe_rows(self) -> None:
        """Set scikit-learn's attributes that describe the rows and classes of a fitted estimator."""
        for name in ("n_features_in_", "feature_names_in_", "classes_"):
            if hasattr(self, name):
                delattr(self, name)
        if self.machine_.of_vectors:
            self.n_features_in_ = self.machine_.n_features
        if self.machine_.feature_names is not None:
            self.feature_names_in_ = np.array(self.machine_.feature_names, dtype=object)
        if isinstance(self.machine_.rule, ClassRule) and not is_outlier_detector(self):
            self.classes_ = self.machine_.rule.classes

    def _rows(self, X: Any) -> Any:
        """The rows in the form that stages take; objects for a Python kernel are not checked."""
        require_complete(X)
        if not self.machine_.of_vectors:
            return as_array(X)
        rows = validate_data(
            self, X, reset=False, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_all_finite=False
        )
        require_finite(rows)
        return rows

    def _grown(self, rows: Any) -> Tree:
        limits: dict[str, Any] = {"height": self.height, "evaluations": self.evaluations}
        if self.leaf_rows is not None:
            limits["leaf_rows"] = self.leaf_rows
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        return _METHODS[self.method](self.machine_, rows, seed=seed, **limits)

    def _walk(self, X: Any) -> Walk:
        check_is_fitted(self)
        walk = self._stage.walk(self._rows(X))
        if not np.isfinite(walk.values).all():
            row = int(np.argwhere(~np.isfinite(walk.values))[0, 0])
            raise ValueError(f"row {row}: the kernel has no finite value for it; leave such rows out")
        return walk

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(_stand_in(self.estimator))
        for name in ("estimator_type", "target_tags", "classifier_tags", "regressor_tags", "input_tags"):
            setattr(tags, name, deepcopy(getattr(inner, name)))
        return tags


def _stand_in(estimator: Any) -> Any:
    """The estimator, or, if it is not a scikit-learn model, a model of the same kind that has scikit-learn's tags."""
    if isinstance(estimator, Machine):
        return SVC() if isinstance(estimator.rule, ClassRule) else SVR()
    return estimator if _is_model(estimator) else SVC()


def _is_model(estimator: Any) -> bool:
    return not isinstance(estimator, type) and hasattr(estimator, "fit") and hasattr(estimator, "get_params")


def _require_model(estimator: Any) -> None:
    if not _is_model(estimator):
        raise ValueError(
            "estimator must be a scikit-learn model, such as sklearn.svm.SVC(), or a dormie.Machine, "
            f"which dormie.read makes of other models; got {estimator!r}"
        )


def _is_fitted(estimator: Any) -> bool:
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        return False
    return True
