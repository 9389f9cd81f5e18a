"""Estimators that train a kernel machine and predict with the compiled one, with scikit-learn's conventions.

    fit:      rows ──┬── training ──▶ estimator_ ──┬──▶ dormie.compile ──▶ predictor_
                     └── calibration (with a risk) ┘
    predict:  rows ──▶ predictor_

Everything is asked of `predictor_`. What is here is what scikit-learn wants around it: parameters, checks of rows
against feature names, tags, metadata routing, the diagram.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn import get_config
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    MetaEstimatorMixin,
    OutlierMixin,
    RegressorMixin,
    clone,
    is_classifier,
    is_outlier_detector,
    is_regressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.svm import SVC, SVR, OneClassSVM
from sklearn.utils import _safe_indexing, check_random_state, get_tags, indexable
from sklearn.utils.metadata_routing import UNUSED, MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_method_params, _num_samples, check_is_fitted, validate_data

from dormie.estimators.before import described, parted
from dormie.estimators.calibration_rows import is_number, set_aside
from dormie.estimators.diagram import diagram
from dormie.machine import Floats
from dormie.machine.csr import is_sparse
from dormie.machine.rows import require_complete, require_finite
from dormie.methods.fitting import EffortName
from dormie.planner import compile
from dormie.planner.options import CONFIDENCE, Options, RiskRequest
from dormie.predictor import Predictor

T = TypeVar("T")


def _has(method: str) -> Callable[[_Compiled], bool]:
    """Whether the compiled model has a method, or, before `fit`, whether the model to be trained has it."""

    def check(self: _Compiled) -> bool:
        getattr(self.predictor_ if hasattr(self, "predictor_") else self._model(), method)  # its error says why not
        return True

    return check


def _numbers(rows: list[Any]) -> Any:
    """A list of rows as an array of numbers; unchanged if it is something else."""
    try:
        array = np.asarray(rows)
    except ValueError:  # rows of different lengths
        return rows
    return array if array.dtype.kind in "fiub" else rows


class _Compiled(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """What the compiled estimators share: the parameters of `dormie.compile`, and which rows to set aside."""

    _default: ClassVar[type]  # the model to train if none is given
    _is_kind: ClassVar[Callable[[Any], bool]]
    _kind: ClassVar[str]

    # Whether weights are used is for the model to request: they are passed on to it.
    __metadata_request__fit: ClassVar = {"sample_weight": UNUSED}

    def __init__(
        self,
        estimator: Any = None,
        *,
        tolerance: float | None = None,
        risk: float | None = None,
        confidence: float = CONFIDENCE,
        per_class: bool = False,
        calibration: Any = None,
        methods: Sequence[str] | None = None,
        effort: EffortName = "normal",
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.tolerance = tolerance
        self.risk = risk
        self.confidence = confidence
        self.per_class = per_class
        self.calibration = calibration
        self.methods = methods
        self.effort = effort
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **fit_params: Any) -> Self:
        """Set rows aside for calibration if there is a risk, train the model on the others, and compile it.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or sequence of objects, with n_rows rows
            The rows.
        y : array-like of shape (n_rows,) or (n_rows, n_outputs), default=None
            Their labels or values. Outlier detectors and models in a `FrozenEstimator` need none.
        sample_weight : array-like of shape (n_rows,), default=None
            Weights of the rows, passed to the model's `fit`. Calibration rows count alike.
        **fit_params : dict
            Passed to the model's `fit`; of what has an entry for each row, the part of the training rows.

        Returns
        -------
        estimator
            The fitted estimator itself.

        Raises
        ------
        UnreadableModelError
            If the trained model is not a kernel machine that dormie can read.
        TypeError
            If a parameter is of the wrong type.
        ValueError
            If a parameter is out of range, or if there are too few rows to certify the risk.
        """
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        risk = RiskRequest.checked(self.risk, self.confidence, self.per_class)
        Options.checked(self.methods, self.effort, seed, risk)
        model, params = self._model(), self._fit_params({"sample_weight": sample_weight, **fit_params})
        training, rows, fit_rows = X, X, None
        if risk is not None:
            training, y, params, rows, fit_rows = self._parts(X, y, params, risk, seed)
        elif self.calibration is not None:
            raise ValueError("calibration is used only with a risk: add risk=0.001, for example, or leave it out")
        self.estimator_ = clone(model).fit(training, y, **params)
        self.before_, behind = parted(self.estimator_)
        predictor = compile(
            behind,
            self._prepared(rows) if rows is not None else None,
            fit_rows=None if fit_rows is None else self._prepared(fit_rows),
            risk=self.risk,
            confidence=self.confidence,
            per_class=self.per_class,
            tolerance=self.tolerance,
            methods=self.methods,
            effort=self.effort,
            seed=seed,
        )
        if self.before_ is not None:
            source = replace(predictor.plan.source, before=described(self.before_))
            predictor = Predictor(replace(predictor.plan, source=source))
        self.predictor_ = predictor
        self._describe()
        return self

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the answer of every row, under the guarantee of the plan.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or sequence of objects, with n_rows rows
            The rows.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_outputs)
            The labels of a classifier, the values of a regressor, or 1 for inliers and -1 for outliers.

        Raises
        ------
        NotFittedError
            If `fit` was not called yet.
        ValueError
            If rows are NaN, infinite, or of the wrong shape or type.
        """
        return self._asked(self._predictor.predict, X)

    @property
    def _predictor(self) -> Predictor:
        try:
            predictor: Predictor = self.predictor_
        except AttributeError:
            check_is_fitted(self)
            raise
        return predictor

    def _asked(self, ask: Callable[[Any], T], X: Any) -> T:
        """What the predictor answers for the rows, once they are what scikit-learn expects of them."""
        if self.before_ is not None:  # scikit-learn checks the rows there
            return ask(self._prepared(X))
        rows = _numbers(X) if isinstance(X, list) else X
        usual = self._is_usual(rows)
        try:
            return ask(rows if usual else self._checked(X))
        except ValueError:
            if usual:
                self._checked(X)  # if scikit-learn has words for what is wrong, its tools and users expect these
            raise

    def _prepared(self, X: Any) -> Any:
        """The rows behind the steps that run in scikit-learn."""
        return X if self.before_ is None else self.before_.transform(X)

    def _is_usual(self, rows: Any) -> bool:
        """Whether the rows may go unchecked: the predictor checks them, and for single rows even the time counts."""
        if not self._predictor.plan.machine.of_vectors:
            return True
        named = hasattr(rows, "columns")
        if hasattr(self, "feature_names_in_") or named:
            return named and hasattr(self, "feature_names_in_")
        shape: tuple[int, ...] = getattr(rows, "shape", ())
        return len(shape) == 2 and shape[1] == self.n_features_in_

    def _checked(self, X: Any) -> Any:
        """The rows, once scikit-learn has checked the number of features and their names; values are not checked."""
        require_complete(X)
        is_matrix = len(getattr(X, "shape", ())) == 2  # otherwise scikit-learn says what to do about it
        return validate_data(
            self, X, reset=False, skip_check_array=is_matrix, ensure_all_finite=False, ensure_min_samples=0
        )

    def _model(self) -> Any:
        """The model to train; raises ValueError if it is not of the estimator's kind."""
        model = self._default() if self.estimator is None else self.estimator
        if isinstance(model, type) or not hasattr(model, "fit") or not type(self)._is_kind(model):
            raise ValueError(
                f"{type(self).__name__}: estimator must be {self._kind}, such as {self._default.__name__}(), got "
                f"{model!r}"
            )
        return model

    def _fit_params(self, given: dict[str, Any]) -> dict[str, Any]:
        """What goes to the model's `fit`."""
        given = {name: value for name, value in given.items() if value is not None}
        if not get_config()["enable_metadata_routing"]:
            return given
        routed: dict[str, Any] = process_routing(self, "fit", **given).estimator.fit
        return routed

    def _parts(
        self, X: Any, y: Any, params: dict[str, Any], risk: RiskRequest, seed: int
    ) -> tuple[Any, Any, dict[str, Any], Any, Any]:
        """The training rows, their targets and parameters, the calibration rows, and the rows to fit stages on."""
        frozen = isinstance(self.estimator, FrozenEstimator)
        if not is_number(self.calibration):
            return X, y, params, self.calibration, X
        if frozen and self.calibration is None:
            return X, y, params, X, None
        X, y = indexable(X, y)
        if is_sparse(X) or (isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind == "f"):
            require_finite(X)  # so that errors count all rows, not those of one part
        labels = np.ravel(y) if y is not None and is_classifier(self) else None
        training, calibration = set_aside(self.calibration, _num_samples(X), labels, risk, seed)
        of_training = _safe_indexing(X, training)
        return (
            of_training,
            None if y is None else _safe_indexing(y, training),
            _check_method_params(X, params, training),
            _safe_indexing(X, calibration),
            of_training,
        )

    def _describe(self) -> None:
        """Set scikit-learn's attributes of a fitted estimator to those of the predictor."""
        for name in ("n_features_in_", "feature_names_in_", "classes_", "offset_"):
            if hasattr(self, name):
                delattr(self, name)
            of = self.before_ if self.before_ is not None and name.endswith("_in_") else self.predictor_
            if hasattr(of, name):
                setattr(self, name, getattr(of, name))

    def get_metadata_routing(self) -> Any:
        """Return how metadata is passed on: what is given to `fit` goes to the model's `fit`, as the model requests.

        Returns
        -------
        MetadataRouter
            The router that scikit-learn asks for.
        """
        mapping = MethodMapping().add(caller="fit", callee="fit")
        return MetadataRouter(owner=self).add_self_request(self).add(estimator=self._model(), method_mapping=mapping)

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), get_tags(self._model())
        tags.input_tags, tags.target_tags = deepcopy(inner.input_tags), deepcopy(inner.target_tags)
        tags.classifier_tags, tags.regressor_tags = deepcopy(inner.classifier_tags), deepcopy(inner.regressor_tags)
        return tags

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        bundle = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] += self._plan_as_html()
        return bundle

    @property
    def _repr_html_(self) -> Callable[[], str]:
        of_estimator = super()._repr_html_  # AttributeError where notebooks are to show text
        return lambda: of_estimator() + self._plan_as_html()

    def _plan_as_html(self) -> str:
        return diagram(self.predictor_.plan) if hasattr(self, "predictor_") else ""


class CompiledClassifier(ClassifierMixin, _Compiled):  # type: ignore[misc]
    """A support vector classifier, or another kernel machine, that is trained and then compiled.

    Parameters
    ----------
    estimator : estimator, default=None
        The classifier to train, which `dormie.compile` can compile: ``SVC()`` (the default), ``NuSVC``, ``LinearSVC``,
        a pipeline or search that ends in one, ... A model in a `FrozenEstimator` is not trained again.
    tolerance : float, default=None
        The largest error of a probability, where the model has probabilities.
    risk : float, default=None
        The share of rows that may get another answer than the model's, such as 0.001. By default none may.
    confidence : float, default=0.95
        The probability, over the draw of the calibration rows, that the risk holds.
    per_class : bool, default=False
        Whether the risk must hold for the rows of each class separately.
    calibration : int, float or array-like, default=None
        With a risk, the rows that certify it: how many rows `fit` sets aside, or which share of them, drawn so that
        each label has its share; or the rows themselves, without labels, none of which is a training row. By default a
        quarter of the rows, or half as many again as the risk needs where that is more, but at most half. A model in a
        `FrozenEstimator` is calibrated on all rows given to `fit`.
    methods : sequence of str, default=None
        The names of the methods to choose stages from (default: all).
    effort : {"quick", "normal", "thorough"}, default="normal"
        How long fitting the stages may take.
    random_state : int, RandomState instance or None, default=None
        The seed of the draws of calibration rows and while compiling.

    Attributes
    ----------
    estimator_ : estimator
        The trained model.
    before_ : Pipeline or None
        The steps of a pipeline that no plan can hold, such as `PolynomialFeatures`. Rows go through them in
        scikit-learn, and what is behind them is compiled.
    predictor_ : Predictor
        The compiled model. It also predicts by a deadline, gives intervals, and explains its plan.
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    n_features_in_ : int
        The number of features, if rows are vectors.
    feature_names_in_ : ndarray of shape (n_features,)
        The names of the features, if the rows for training had any.

    See Also
    --------
    dormie.compile : Compile a model that is trained already.

    Examples
    --------
    >>> from dormie.estimators import CompiledClassifier
    >>> from sklearn.datasets import load_iris, make_classification
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.svm import SVC
    >>> X, y = load_iris(return_X_y=True)
    >>> scores = cross_val_score(CompiledClassifier(SVC()), X, y)
    >>> bool((scores == cross_val_score(SVC(), X, y)).all())
    True

    With a risk of 5 %, half of the rows are set aside here:

    >>> X, y = make_classification(4000, random_state=0)
    >>> model = CompiledClassifier(SVC(C=0.1), risk=0.05, calibration=0.5, methods=["linear_filter"], random_state=0)
    >>> print(model.fit(X, y).predictor_.plan.guarantee)
    risk: at most 5 % of the rows get another answer than the full sum's, with 95 % confidence
    """

    _default, _is_kind, _kind = SVC, is_classifier, "a classifier"

    @available_if(_has("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> Floats:
        """Return the decision values of every row: full sums in float64.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or sequence of objects, with n_rows rows
            The rows.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_outputs)
            The values, in the shape that the model's own function gives them.

        Raises
        ------
        NotFittedError
            If `fit` was not called yet.
        ValueError
            If rows are NaN, infinite, or of the wrong shape or type.
        """
        return self._asked(self._predictor.decision_function, X)

    @available_if(_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of every class, where the model has probabilities.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or sequence of objects, with n_rows rows
            The rows.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            The probabilities, in the order of `classes_`.

        Raises
        ------
        NotFittedError
            If `fit` was not called yet.
        ValueError
            If rows are NaN, infinite, or of the wrong shape or type.
        """
        return self._asked(self._predictor.predict_proba, X)

    @available_if(_has("predict_log_proba"))  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> Floats:
        """Return the logarithm of the probability of every class, where the model has probabilities.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or sequence of objects, with n_rows rows
            The rows.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            The logarithms, in the order of `classes_`.

        Raises
        ------
        NotFittedError
            If `fit` was not called yet.
        ValueError
            If rows are NaN, infinite, or of the wrong shape or type.
        """
        return self._asked(self._predictor.predict_log_proba, X)


class CompiledRegressor(RegressorMixin, _Compiled):  # type: ignore[misc]
    """A support vector regressor, or another kernel machine that gives values, that is trained and then compiled.

    Parameters
    ----------
    estimator : estimator, default=None
        The regressor to train, which `dormie.compile` can compile: ``SVR()`` (the default), ``NuSVR``, ``KernelRidge``,
        a Gaussian process, a pipeline or search that ends in one, ... A model in a `FrozenEstimator` is not trained
        again.
    tolerance : float, default=None
        The largest error of a value. By default values are exact.
    risk : float, default=None
        As of `dormie.compile`.
    confidence : float, default=0.95
        The probability, over the draw of the calibration rows, that the risk holds.
    per_class : bool, default=False
        As of `dormie.compile`; values have no classes.
    calibration : int, float or array-like, default=None
        With a risk, the rows that certify it: how many rows `fit` sets aside, or which share of them; or the rows
        themselves, none of which is a training row. By default a quarter of the rows, or half as many again as the
        risk needs where that is more, but at most half. A model in a `FrozenEstimator` is calibrated on all rows given
        to `fit`.
    methods : sequence of str, default=None
        The names of the methods to choose stages from (default: all).
    effort : {"quick", "normal", "thorough"}, default="normal"
        How long fitting the stages may take.
    random_state : int, RandomState instance or None, default=None
        The seed of the draws of calibration rows and while compiling.

    Attributes
    ----------
    estimator_ : estimator
        The trained model.
    before_ : Pipeline or None
        The steps of a pipeline that no plan can hold, such as `PolynomialFeatures`. Rows go through them in
        scikit-learn, and what is behind them is compiled.
    predictor_ : Predictor
        The compiled model. It also predicts by a deadline, gives intervals, and explains its plan.
    n_features_in_ : int
        The number of features, if rows are vectors.
    feature_names_in_ : ndarray of shape (n_features,)
        The names of the features, if the rows for training had any.

    See Also
    --------
    dormie.compile : Compile a model that is trained already.

    Examples
    --------
    >>> import numpy as np
    >>> from dormie.estimators import CompiledRegressor
    >>> from sklearn.datasets import make_friedman1
    >>> from sklearn.svm import SVR
    >>> X, y = make_friedman1(500, random_state=0)
    >>> model = CompiledRegressor(SVR(C=10.0), tolerance=0.01).fit(X, y)
    >>> bool((np.abs(model.predict(X) - model.estimator_.predict(X)) <= 0.01).all())
    True
    >>> model.score(X, y) > 0.9
    True
    """

    _default, _is_kind, _kind = SVR, is_regressor, "a regressor"


class CompiledOutlierDetector(OutlierMixin, _Compiled):  # type: ignore[misc]
    """A one-class support vector machine that is trained and then compiled.

    Parameters
    ----------
    estimator : estimator, default=None
        The detector to train: ``OneClassSVM()`` (the default), or a pipeline that ends in one. A model in a
        `FrozenEstimator` is not trained again.
    tolerance : float, default=None
        As of `dormie.compile`.
    risk : float, default=None
        The share of rows that may get another answer than the model's, such as 0.001. By default none may.
    confidence : float, default=0.95
        The probability, over the draw of the calibration rows, that the risk holds.
    per_class : bool, default=False
        Whether the risk must hold for inliers and outliers separately.
    calibration : int, float or array-like, default=None
        With a risk, the rows that certify it: how many rows `fit` sets aside, or which share of them; or the rows
        themselves, none of which is a training row. By default a quarter of the rows, or half as many again as the
        risk needs where that is more, but at most half. A model in a `FrozenEstimator` is calibrated on all rows given
        to `fit`.
    methods : sequence of str, default=None
        The names of the methods to choose stages from (default: all).
    effort : {"quick", "normal", "thorough"}, default="normal"
        How long fitting the stages may take.
    random_state : int, RandomState instance or None, default=None
        The seed of the draws of calibration rows and while compiling.

    Attributes
    ----------
    estimator_ : estimator
        The trained model.
    before_ : Pipeline or None
        The steps of a pipeline that no plan can hold, such as `PolynomialFeatures`. Rows go through them in
        scikit-learn, and what is behind them is compiled.
    predictor_ : Predictor
        The compiled model. It also predicts by a deadline, gives intervals, and explains its plan.
    offset_ : float
        The score at the decision boundary: ``decision_function = score_samples - offset_``.
    n_features_in_ : int
        The number of features, if rows are vectors.
    feature_names_in_ : ndarray of shape (n_features,)
        The names of the features, if the rows for training had any.

    See Also
    --------
    dormie.compile : Compile a model that is trained already.

    Examples
    --------
    >>> from dormie.estimators import CompiledOutlierDetector
    >>> from sklearn.datasets import make_blobs
    >>> from sklearn.svm import OneClassSVM
    >>> X, _ = make_blobs(500, centers=1, random_state=0)
    >>> model = CompiledOutlierDetector(OneClassSVM(nu=0.1)).fit(X)
    >>> model.predict([X.mean(axis=0), [100.0, 100.0]]).tolist()
    [1, -1]
    """

    _default, _is_kind, _kind = OneClassSVM, is_outlier_detector, "an outlier detector"

    def decision_function(self, X: Any) -> Floats:
        """Return how far inside the decision boundary every row is: full sums in float64.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or sequence of objects, with n_rows rows
            The rows.

        Returns
        -------
        ndarray of shape (n_rows,)
            The values: negative for outliers.

        Raises
        ------
        NotFittedError
            If `fit` was not called yet.
        ValueError
            If rows are NaN, infinite, or of the wrong shape or type.
        """
        return self._asked(self._predictor.decision_function, X)

    def score_samples(self, X: Any) -> Floats:
        """Return the score of every row: the sum of its kernel terms, without the bias.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame or sequence of objects, with n_rows rows
            The rows.

        Returns
        -------
        ndarray of shape (n_rows,)
            The scores: the lower, the more of an outlier.

        Raises
        ------
        NotFittedError
            If `fit` was not called yet.
        ValueError
            If rows are NaN, infinite, or of the wrong shape or type.
        """
        return self._asked(self._predictor.score_samples, X)
