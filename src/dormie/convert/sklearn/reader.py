"""The reader of scikit-learn models, alone or inside pipelines, searches and one-vs-rest wrappers.

The reader for a model is chosen by the scikit-learn classes that it inherits from, so a user's subclass is read like
its parent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from dormie.convert import own
from dormie.convert.readers import Reader
from dormie.convert.sklearn import (
    density,
    ensembles,
    estimators,
    expansions,
    linear,
    regression,
    svm,
    targets,
    transformers,
)
from dormie.convert.sklearn.calibration import calibrated
from dormie.convert.sklearn.common import BY_HAND, ancestors, require_own_methods, unreadable
from dormie.convert.sklearn.multiclass import one_vs_one, one_vs_rest, require_one_class_a_row
from dormie.convert.sklearn.thresholds import fixed_threshold, inside, tuned_threshold
from dormie.errors import UnreadableModelError
from dormie.machine import Machine


def read_sklearn(model: Any) -> Machine:
    """Read a fitted scikit-learn model as a machine."""
    reader = _reader(model)
    require_own_methods(model)
    _require_fitted(model)
    try:
        machine = reader(model)
    except UnreadableModelError:
        raise
    except ValueError as error:
        raise unreadable(model, f"{error}. Fit it with other parameters, or {BY_HAND}") from error
    names = getattr(model, "feature_names_in_", None)
    return machine if names is None else machine.changed(feature_names=tuple(names))


def _reader(model: Any) -> Callable[[Any], Machine]:
    names = ancestors(model)
    known = READERS | own.READERS
    for name in names:
        if name in known:
            return known[name].read
    for name in names:
        if name in ADVICE:
            raise unreadable(model, ADVICE[name])
    readable = ", ".join(name for name in READERS if name != _SEARCH)
    raise unreadable(
        model, f"it is none of {readable}, GridSearchCV and other searches. If it is a kernel expansion, {BY_HAND}"
    )


def _require_fitted(model: Any) -> None:
    from sklearn.exceptions import NotFittedError  # optional
    from sklearn.utils.validation import check_is_fitted  # optional

    try:
        check_is_fitted(model)
    except NotFittedError as error:
        raise unreadable(model, "it is not fitted. Call fit first") from error


def _read_search(model: Any) -> Machine:
    if not hasattr(model, "best_estimator_"):
        raise unreadable(
            model, "it has no best_estimator_. Search with refit=True, or compile a model you fit yourself"
        )
    return read_sklearn(model.best_estimator_)


def _read_pipeline(model: Any) -> Machine:
    """Read a pipeline: the final step, with what is done to rows before it."""
    final = model.steps[-1][1]
    if _passes_through(final):
        raise unreadable(model, "its final step passes rows through. Compile a pipeline that ends in a model")
    before, machine = list(_transformers(model.steps[:-1])), read_sklearn(final)
    while (place := _last_expansion(before)) is not None:
        step = before[place]
        machine = expansions.behind(step, read_sklearn(step), transformers.behind(before[place + 1 :], machine))
        before = before[:place]
    return transformers.behind(before, machine)


def _last_expansion(steps: list[Any]) -> int | None:
    """The place of the last step whose outputs are sums over kernel values."""
    places = [place for place, step in enumerate(steps) if {"Nystroem", "KernelPCA"} & {*ancestors(step)}]
    return places[-1] if places else None


def _passes_through(step: Any) -> bool:
    return step is None or (isinstance(step, str) and step == "passthrough")


def _transformers(steps: list[tuple[str, Any]]) -> Iterator[Any]:
    """The steps of a pipeline without those that pass rows through, inner pipelines expanded."""
    for _, step in steps:
        if "Pipeline" in ancestors(step):
            yield from _transformers(step.steps)
        elif not _passes_through(step):
            yield step


def _members(model: Any) -> list[Machine]:
    return [read_sklearn(estimator) for estimator in model.estimators_]


def _of_members(read: Callable[[Any, list[Machine]], Machine]) -> Callable[[Any], Machine]:
    """The reader of a model that takes the machines of its estimators."""
    return lambda model: read(model, _members(model))


def _read_one_vs_rest(model: Any) -> Machine:
    require_one_class_a_row(model)
    return one_vs_rest(model, _members(model))


def _read_compiled(model: Any) -> Machine:
    return own.read_plan(model.predictor_.plan)


def _read_calibrated(model: Any) -> Machine:
    return calibrated(model, [read_sklearn(member.estimator) for member in model.calibrated_classifiers_])


_SEARCH = "BaseSearchCV"  # the parent of GridSearchCV and others
READERS: dict[str, Reader] = {
    "SVC": Reader(svm.read_classifier, "every kernel, two classes or more, `probability=True` included"),
    "NuSVC": Reader(svm.read_classifier, "as `SVC`"),
    "OneClassSVM": Reader(svm.read_one_class, "labels and scores"),
    "SVR": Reader(svm.read_regressor, "every kernel"),
    "NuSVR": Reader(svm.read_regressor, "as `SVR`"),
    "LogisticRegression": Reader(linear.read_logistic_regression, "labels and probabilities"),
    "LinearDiscriminantAnalysis": Reader(linear.read_logistic_regression, "labels and probabilities"),
    "SGDClassifier": Reader(
        linear.read_gradient_descent_classifier, "labels; with `loss='log_loss'` probabilities, too"
    ),
    "LinearClassifierMixin": Reader(
        linear.read_linear_classifier,
        "every other linear classifier: `LinearSVC`, `RidgeClassifier`, `Perceptron`, ...",
    ),
    "LinearModel": Reader(linear.read_linear_regressor, "every linear regressor: `Ridge`, `Lasso`, ..."),
    "LinearSVR": Reader(linear.read_linear_regressor, "its values"),
    "SGDRegressor": Reader(linear.read_linear_regressor, "its values"),
    "SGDOneClassSVM": Reader(linear.read_linear_one_class, "labels and scores"),
    "KernelPCA": Reader(
        expansions.read_kernel_pca, "`predict` gives what `transform` does; or as a step before a linear model"
    ),
    "Nystroem": Reader(
        expansions.read_nystroem, "`predict` gives what `transform` does; or as a step before a linear model"
    ),
    "KernelRidge": Reader(
        regression.read_kernel_ridge,
        "linear, polynomial, RBF, sigmoid, Laplacian, chi-squared and cosine kernels, and functions; several targets",
    ),
    "GaussianProcessRegressor": Reader(
        regression.read_gaussian_process,
        "means; sums of RBF, Matérn (`nu` of ½, 3/2, 5/2), rational quadratic and dot-product kernels, each times a "
        "constant, one length scale or one for each feature; white noise; several targets. `return_std` is not: a "
        "standard deviation takes a triangular system of all training rows for every row, which no early stop shortens",
    ),
    "KernelDensity": Reader(
        density.read_kernel_density, "`predict` gives what `score_samples` does; the Gaussian kernel, sample weights"
    ),
    "GaussianProcessClassifier": Reader(
        regression.read_gaussian_process_classifier, "labels of two classes; kernels as of `GaussianProcessRegressor`"
    ),
    "KernelFisherDiscriminant": Reader(estimators.read_kernel_fisher, "dormie's own, two classes"),
    "VirtualSVC": Reader(_of_members(estimators.virtual_svc), "dormie's own"),
    "CompiledClassifier": Reader(_read_compiled, "dormie's own: its `predictor_`"),
    "CompiledRegressor": Reader(_read_compiled, "as `CompiledClassifier`"),
    "CompiledOutlierDetector": Reader(_read_compiled, "as `CompiledClassifier`"),
    "OneVsRestClassifier": Reader(_read_one_vs_rest, "of any classifiers with decision values"),
    "OneVsOneClassifier": Reader(_of_members(one_vs_one), "of any classifiers with decision values"),
    "BaggingClassifier": Reader(
        _of_members(ensembles.bagging_classifier),
        "votes, and their shares as probabilities, or the mean of probabilities; members may read some of the columns",
    ),
    "BaggingRegressor": Reader(
        _of_members(ensembles.bagging_regressor), "its values; members may read some of the columns"
    ),
    "VotingClassifier": Reader(
        _of_members(ensembles.voting_classifier), "of any of these, hard or soft, with weights or without"
    ),
    "VotingRegressor": Reader(_of_members(ensembles.voting_regressor), "of any of these, with weights or without"),
    "StackingRegressor": Reader(
        _of_members(ensembles.stacking_regressor), "with a linear `final_estimator`, as it is by default"
    ),
    "MultiOutputRegressor": Reader(_of_members(targets.several_targets), "its values, one column for each target"),
    "MultiOutputClassifier": Reader(_of_members(targets.several_labels), "labels, one column for each target"),
    "TransformedTargetRegressor": Reader(
        lambda model: targets.transformed_targets(model, read_sklearn(model.regressor_)),
        "scalers, and the `inverse_func`s of NumPy such as `np.exp`, `np.expm1`, `np.square`",
    ),
    "CalibratedClassifierCV": Reader(
        _read_calibrated, "labels and probabilities; sigmoids, isotonic maps, temperatures, ensembles"
    ),
    "FixedThresholdClassifier": Reader(
        lambda model: fixed_threshold(model, read_sklearn(inside(model))), "of decision values or probabilities"
    ),
    "TunedThresholdClassifierCV": Reader(
        lambda model: tuned_threshold(model, read_sklearn(inside(model))), "of decision values or probabilities"
    ),
    "Pipeline": Reader(_read_pipeline, "a model at the end; before it scalers, projections, selectors, ..."),
    _SEARCH: Reader(_read_search, "`GridSearchCV` and other searches: `best_estimator_`"),
    "FrozenEstimator": Reader(lambda model: read_sklearn(model.estimator), "the model inside"),
}

ADVICE = {
    "RBFSampler": "its features are cosines, and no kernel expansion. Fit a Nystroem, which has the same kernel, "
    "or the kernel machine itself",
    "OutputCodeClassifier": "codes are not read. Fit an SVC or a OneVsRestClassifier",
    "SupportVectorTree": "a tree is no kernel expansion. Compile its machine_, which it stands for",
    "StackingClassifier": "its last model reads the answers of the others. Compile each of model.estimators_ and keep "
    "model.final_estimator_ for what they say, or fit a VotingClassifier",
    "ClassifierChain": "each of its classifiers reads the answers of those before it. Fit a MultiOutputClassifier",
    "RegressorChain": "each of its regressors reads the values of those before it. Fit a MultiOutputRegressor",
    "AdaBoostClassifier": "boosted members are not read. Fit a BaggingClassifier or a VotingClassifier",
    "AdaBoostRegressor": "its value is a weighted median of its members'. Fit a BaggingRegressor or a VotingRegressor",
}
