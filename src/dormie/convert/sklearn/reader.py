"""The reader of scikit-learn models, alone or inside pipelines, searches and one-vs-rest wrappers.

The reader for a model is chosen by the scikit-learn classes that it inherits from, so a user's subclass is read like
its parent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import reduce
from typing import Any

from dormie.convert.sklearn import estimators, regression, svm
from dormie.convert.sklearn.calibration import calibrated
from dormie.convert.sklearn.common import BY_HAND, ancestors, require_own_methods, unreadable
from dormie.convert.sklearn.multiclass import one_vs_rest, require_one_class_a_row
from dormie.convert.sklearn.scalers import scaler_map
from dormie.convert.sklearn.thresholds import fixed_threshold, inside, tuned_threshold
from dormie.errors import UnreadableModelError
from dormie.machine import Affine, Machine


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
    for name in names:
        if name in _READERS:
            return _READERS[name]
    for name in names:
        if name in _ADVICE:
            raise unreadable(model, _ADVICE[name])
    readable = ", ".join(name for name in _READERS if name != _SEARCH)
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
    """Read a pipeline: the final step, with the scalers before it as its input map."""
    final = model.steps[-1][1]
    if _passes_through(final):
        raise unreadable(model, "its final step passes rows through. Compile a pipeline that ends in a model")
    scalers = list(_transformers(model.steps[:-1]))
    machine = read_sklearn(final)
    if not scalers:
        return machine
    maps = [scaler_map(scaler) for scaler in scalers]
    if machine.input_map is not None:
        maps.append(machine.input_map)
    # Only the first scaler has the names of the input columns; those of the final step are made up by scalers.
    names = getattr(scalers[0], "feature_names_in_", None)
    return machine.changed(input_map=_one_map(maps), feature_names=None if names is None else tuple(names))


def _one_map(maps: list[Affine]) -> Affine:
    """Compose maps into one; it keeps their steps, because the composed center and scale round differently."""
    return maps[0] if len(maps) == 1 else replace(reduce(Affine.then, maps), steps=sum((m.all_steps for m in maps), ()))


def _passes_through(step: Any) -> bool:
    return step is None or (isinstance(step, str) and step == "passthrough")


def _transformers(steps: list[tuple[str, Any]]) -> Iterator[Any]:
    """The steps of a pipeline without those that pass rows through, inner pipelines expanded."""
    for _, step in steps:
        if "Pipeline" in ancestors(step):
            yield from _transformers(step.steps)
        elif not _passes_through(step):
            yield step


def _read_one_vs_rest(model: Any) -> Machine:
    require_one_class_a_row(model)
    return one_vs_rest(model, [read_sklearn(estimator) for estimator in model.estimators_])


def _read_virtual(model: Any) -> Machine:
    return estimators.virtual_svc(model, [read_sklearn(estimator) for estimator in model.estimators_])


def _read_calibrated(model: Any) -> Machine:
    return calibrated(model, [read_sklearn(member.estimator) for member in model.calibrated_classifiers_])


_SEARCH = "BaseSearchCV"  # the parent of GridSearchCV and others
_READERS: dict[str, Callable[[Any], Machine]] = {
    "SVC": svm.read_classifier,
    "NuSVC": svm.read_classifier,
    "OneClassSVM": svm.read_one_class,
    "SVR": svm.read_regressor,
    "NuSVR": svm.read_regressor,
    "LinearSVC": svm.read_linear_classifier,
    "LinearSVR": svm.read_linear_regressor,
    "KernelRidge": regression.read_kernel_ridge,
    "GaussianProcessRegressor": regression.read_gaussian_process,
    "KernelFisherDiscriminant": estimators.read_kernel_fisher,
    "VirtualSVC": _read_virtual,
    "OneVsRestClassifier": _read_one_vs_rest,
    "CalibratedClassifierCV": _read_calibrated,
    "FixedThresholdClassifier": lambda model: fixed_threshold(model, read_sklearn(inside(model))),
    "TunedThresholdClassifierCV": lambda model: tuned_threshold(model, read_sklearn(inside(model))),
    "Pipeline": _read_pipeline,
    _SEARCH: _read_search,
    "FrozenEstimator": lambda model: read_sklearn(model.estimator),
}

_ADVICE = {
    "GaussianProcessClassifier": "it answers by probabilities. Fit an SVC instead",
    "OneVsOneClassifier": "it settles zeros in a way of its own. Fit an SVC, which is one-vs-one itself",
    "Predictor": "it is compiled already. Use it as it is, or compile the model it came from",
    "OutputCodeClassifier": "codes are not read. Fit an SVC or a OneVsRestClassifier",
    "SupportVectorTree": "a tree is no kernel expansion. Compile its estimator_, the model it stands for",
    "TransformedTargetRegressor": "targets are transformed. Compile model.regressor_ and transform its values back",
}
