"""Support vector trees (Ukkonen 2010) as a scikit-learn estimator, over any model that dormie can read.

A trained kernel machine compares a row with all of its support vectors. The tree compares it with a few, each chosen by
what the last gave, and estimates the machine's output from those:

    train the estimator  ->  read it as a Machine  ->  grow a tree on the rows, unlabelled

Only kernel values are used, so rows may be strings or graphs, where the kernel is a Python function of them.
"""

from __future__ import annotations

from collections.abc import Callable
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
from dormie.machine import Floats, Machine
from dormie.machine.rows import as_array, require_complete, require_finite
from dormie.machine.rules import ClassRule
from dormie.methods.tree import Tree, fitted, greedy
from dormie.methods.tree.stage import TreeWalk
from dormie.methods.tree.structure import Integers, Walk

_METHODS: dict[str, Callable[..., Tree]] = {"fitted": fitted, "greedy": greedy}


class SupportVectorTree(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """A tree that estimates a kernel machine's outputs from a few kernel evaluations a row.

    estimator: a scikit-learn model that `dormie.read` can read, such as SVC() (the default), SVR, OneClassSVM,
        KernelRidge or a pipeline that ends in one, or a `dormie.Machine`
    method: 'fitted', trees that measured better, or 'greedy', those of the paper
    leaf_rows: how few rows end the splitting of a node (default: 30 fitted, 5 greedy)
    height: the most kernel evaluations that any row may take (default: no limit)
    evaluations: the most that rows may take on average, over the rows given to `fit`; None: no limit
    random_state: of the draws while the tree is grown

    `fit(X, y)` trains a clone of the estimator first; `fit(X)` takes one that is fitted already as it is, and needs no
    labels. A Machine, or a model in a FrozenEstimator, is always taken as it is.

    Fitted: `estimator_`, `machine_` (what dormie has read), `tree_` (a `dormie.tree.Tree`), `evaluations_` (the mean
    over the rows given to `fit`), `classes_` of a classifier, and `n_features_in_` where rows are vectors. Classifier,
    regressor or outlier detector: it is what the estimator is.
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
        """Train the estimator on X and y, or take it as it is, and grow the tree on X."""
        if self.method not in [*_METHODS]:
            raise ValueError(f"method must be 'fitted' or 'greedy', got {self.method!r}")
        self.estimator_ = self._trained(X, y)
        self.machine_ = read(self.estimator_)
        self._describe_rows()
        rows = self._rows(X)
        self.tree_ = self._grown(rows)
        self._stage = TreeWalk.uncalibrated(self.machine_, self.tree_)
        self.evaluations_ = float(self._stage.walk(rows).evaluations.mean())
        return self

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The label, or value, that the tree's estimate gives every row."""
        values = self._walk(X).values
        return self.machine_.rule.labels(self.machine_.rule.answer(values))

    @available_if(lambda self: not is_regressor(self))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> Floats:
        """The tree's estimate of what the estimator's own `decision_function` gives, in the same shape."""
        values = self._walk(X).values
        return self.machine_.rule.decision(values)

    def count_evaluations(self, X: Any) -> Integers:
        """How many kernel evaluations each row takes."""
        return self._walk(X).evaluations

    @available_if(lambda self: not is_outlier_detector(self))  # type: ignore[untyped-decorator]
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The accuracy of a classifier, R² of a regressor."""
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
        """What scikit-learn keeps of the rows and classes that an estimator knows."""
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
        """Rows as the stages read them; what a Python kernel may be of besides vectors is its own affair."""
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
    """A model of the same kind, where there is none of scikit-learn's to ask."""
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
