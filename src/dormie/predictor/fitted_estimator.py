"""What scikit-learn's tools ask of a fitted estimator, answered from a plan: cross-validation, scorers, displays.

A predictor cannot inherit from scikit-learn's classes, because it works without scikit-learn. The tools ask for names
alone, and those are here. scikit-learn is imported only where its own things are asked for.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt

from dormie.errors import raise_if_sklearn_is_missing
from dormie.machine import Floats
from dormie.machine.rows import check_rows
from dormie.machine.rules import ClassRule, LogDensity, OneClassSign, Score, SeveralLabels, Threshold
from dormie.plan.plan import Plan
from dormie.predictor.availability import available


class FittedEstimator:
    """The part of a predictor that scikit-learn's tools need: it is an estimator that is fitted for good."""

    plan: Plan
    threads: int
    predict: Any  # a method of the predictor, as the next
    decision_function: Any

    def fit(self, X: Any = None, y: Any = None, **params: Any) -> Self:  # noqa: ARG002 - what scikit-learn gives
        """Do nothing: the model is trained and compiled already.

        So cross-validation judges the same predictor on every fold, as it does with a model in scikit-learn's
        `FrozenEstimator`. `dormie.estimators.CompiledClassifier` trains anew.

        Parameters
        ----------
        X : object, default=None
            Ignored.
        y : object, default=None
            Ignored.
        **params : dict
            Ignored.

        Returns
        -------
        Predictor
            The predictor itself.
        """
        return self

    @property
    def classes_(self) -> Any:
        """The array of a classifier's labels, in the order of its decision values; one for each column of several."""
        rule = self.plan.machine.rule
        if self._kind == "classifier" and isinstance(rule, ClassRule | SeveralLabels):
            return rule.classes
        raise self._lacks("classes_", "only classifiers have them")

    @property
    def n_features_in_(self) -> int:
        """The number of columns of a row, where rows are vectors."""
        if self.plan.machine.of_vectors:
            return self.plan.machine.n_columns
        raise self._lacks("n_features_in_", "its rows are objects of a Python kernel")

    @property
    def feature_names_in_(self) -> npt.NDArray[Any]:
        """The names of the columns, if the model was trained on a data frame."""
        names = self.plan.machine.feature_names
        if names is not None:
            return np.array(names, dtype=object)
        raise self._lacks("feature_names_in_", "its model was trained on rows without column names")

    @property
    def offset_(self) -> float:
        """The score at the decision boundary of a one-class machine."""
        if self._kind == "outlier_detector":
            machine = self.plan.machine if self.plan.machine.origin is None else self.plan.machine.origin.machine
            return -float(machine.bias[0])
        raise self._lacks("offset_", "only one-class machines have one")

    @available(lambda self: self._why_no_samples)
    def score_samples(self, X: Any) -> Floats:
        """Return the score of every row: the sum of its kernel terms, without the bias.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_rows,)
            The decision values plus `offset_`, as scikit-learn's `OneClassSVM` gives them: the lower, the more of an
            outlier. Of a density estimate, the logarithms of the densities, as `predict` gives them.

        Raises
        ------
        TypeError
            If rows are of the wrong type.
        ValueError
            If rows are NaN, infinite, or of the wrong shape.
        """
        if isinstance(self.plan.machine.rule, LogDensity):
            return np.asarray(self.predict(X))
        rows = check_rows(X, self.plan.machine)
        return np.asarray(self.plan.full_sum.outputs(rows, self.threads)[:, 0] + self.offset_)

    @available(lambda self: self._why_no_score)
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy of a classifier, or R² of a regressor. This needs scikit-learn.

        Where rows have several labels, a row counts as right if all of them are.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
            The rows.
        y : array-like of shape (n_rows,) or (n_rows, n_outputs)
            Their true labels or values.
        sample_weight : array-like of shape (n_rows,), default=None
            The weights of the rows.

        Returns
        -------
        float
            The score.

        Raises
        ------
        TypeError
            If rows are of the wrong type.
        ValueError
            If rows are NaN, infinite, or of the wrong shape.
        ModuleNotFoundError
            If scikit-learn is not installed.
        """
        try:
            from sklearn.metrics import accuracy_score, r2_score  # optional
        except ModuleNotFoundError as error:
            raise_if_sklearn_is_missing(error, "score")
            raise
        if isinstance(self.plan.machine.rule, SeveralLabels):
            right = (np.asarray(y) == self.predict(X)).all(axis=1)
            return float(np.average(right, weights=sample_weight))
        metric = accuracy_score if self._kind == "classifier" else r2_score
        return float(metric(y, self.predict(X), sample_weight=sample_weight))

    @property
    def _kind(self) -> str:
        """What scikit-learn calls the type of the estimator."""
        rule = self.plan.machine.rule
        if isinstance(rule, OneClassSign) or (isinstance(rule, Threshold) and isinstance(rule.of, Score)):
            return "outlier_detector"
        return "classifier" if isinstance(rule, ClassRule | SeveralLabels) else "regressor"

    @property
    def _why_no_score(self) -> str:
        return "outliers have no score" if self._kind == "outlier_detector" else ""

    @property
    def _why_no_samples(self) -> str:
        has_some = self._kind == "outlier_detector" or isinstance(self.plan.machine.rule, LogDensity)
        return "" if has_some else "only one-class machines and densities have score_samples"

    @property
    def _why_no_anomalies(self) -> str:
        return "" if self._kind == "outlier_detector" else "only one-class machines have anomalies"

    def _lacks(self, name: str, reason: str) -> AttributeError:
        return AttributeError(f"{type(self).__name__} has no {name}: {reason}")

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_clone__(self) -> Self:
        return self  # a clone is an estimator that is not fitted, and a predictor is fitted for good

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, RegressorTags, Tags, TargetTags  # optional

        return Tags(
            estimator_type=self._kind,
            target_tags=TargetTags(required=False, multi_output=self.plan.machine.n_outputs > 1),
            transformer_tags=None,
            classifier_tags=ClassifierTags() if self._kind == "classifier" else None,
            regressor_tags=RegressorTags() if self._kind == "regressor" else None,
            input_tags=InputTags(sparse=self.plan.machine.of_vectors, two_d_array=self.plan.machine.of_vectors),
        )
