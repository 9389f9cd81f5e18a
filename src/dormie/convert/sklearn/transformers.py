"""Transformers of scikit-learn before a model, read as steps of a preparation: what a plan can do to rows by itself.

Scalers alone become an input map (`scalers`), which is quicker: it is folded into a linear model, and composed with the
center that `simplify` subtracts. As soon as anything else is among them, all become steps, but for the scalers at the
end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from dormie.convert.sklearn.common import ancestors, dense, require_own_methods, unreadable
from dormie.convert.sklearn.scalers import SCALERS, clips, scaler_map
from dormie.machine import Affine, Machine
from dormie.machine.preparation import (
    Arithmetic,
    Binarize,
    Clip,
    Columns,
    Impute,
    Normalize,
    Preparation,
    Projection,
    Step,
)

_MOST_NUMBERS = 1 << 26  # of sparse points made dense: 0.5 GB
ELSEWHERE = (
    "Pass the pipeline to dormie's CompiledClassifier, CompiledRegressor or CompiledOutlierDetector (FrozenEstimator("
    "pipeline) if it is fitted): they run such steps in scikit-learn, and compile the rest; or transform the rows "
    "yourself (pipeline[:-1].transform) and compile the final step (pipeline[-1])"
)


def behind(transformers: list[Any], machine: Machine) -> Machine:
    """The machine whose rows go through fitted transformers first."""
    if not transformers:
        return machine
    # Only the first transformer has the names of the input columns; those of the others are made up.
    names = getattr(transformers[0], "feature_names_in_", None)
    names = None if names is None else tuple(names)
    scalers = _scalers_at_the_end(transformers) if machine.preparation is None and _has_one_map(machine) else []
    if scalers:
        maps = [scaler_map(scaler) for scaler in scalers]
        maps += [] if machine.input_map is None else [machine.input_map]
        machine = machine.changed(input_map=_one_map(maps), feature_names=None)
    before = transformers[: len(transformers) - len(scalers)]
    if not before:
        return machine.changed(feature_names=names)
    return _dense_points(before[-1], machine).behind(_preparation(before), names)


def steps_of(transformer: Any, width: int, at: int = 0) -> list[Step]:
    """The steps of one transformer, for `width` columns that begin at `at`."""
    if _passes_through(transformer):
        return []
    for name in ancestors(transformer):
        if name in _READERS:
            require_own_methods(transformer)
            return _READERS[name](transformer, width, at)
        if name in SCALERS:
            return _of_scaler(transformer, at)
    raise unreadable(transformer, f"a plan cannot hold this step of the pipeline. {ELSEWHERE}")


def _has_one_map(machine: Machine) -> bool:
    return not hasattr(machine, "members")


def _scalers_at_the_end(transformers: list[Any]) -> list[Any]:
    first = len(transformers)
    while first > 0 and _is_plain_scaler(transformers[first - 1]):
        first -= 1
    return transformers[first:]


def _is_plain_scaler(transformer: Any) -> bool:
    return any(name in SCALERS for name in ancestors(transformer)) and not clips(transformer)


def _one_map(maps: list[Affine]) -> Affine:
    """Compose maps into one; it keeps their steps, because the composed center and scale round differently."""
    return maps[0] if len(maps) == 1 else replace(reduce(Affine.then, maps), steps=sum((m.all_steps for m in maps), ()))


def _dense_points(transformer: Any, machine: Machine) -> Machine:
    """The machine, with dense points: rows that were prepared are dense."""
    if not machine.has_sparse_points:
        return machine
    if machine.n_points * machine.n_features > _MOST_NUMBERS:
        raise unreadable(
            transformer,
            f"the model behind it has {machine.n_points:,} sparse support vectors of {machine.n_features:,} columns, "
            f"too many to be made dense. {ELSEWHERE}",
        )
    return replace(machine, points=machine.points.toarray()).with_probability(machine.probability)


def _preparation(transformers: list[Any]) -> Preparation:
    columns = width = int(transformers[0].n_features_in_)
    steps: list[Step] = []
    for transformer in transformers:
        steps += steps_of(transformer, width)
        width = Preparation(columns, steps).result
    return Preparation(columns, steps)


def _passes_through(step: Any) -> bool:
    if step is None or (isinstance(step, str) and step == "passthrough"):
        return True
    return "FunctionTransformer" in ancestors(step) and step.func is None


def _of_scaler(scaler: Any, at: int) -> list[Step]:
    steps = [Arithmetic(name, values, at) for name, values in scaler_map(scaler).all_steps]
    changing: list[Step] = [step for step in steps if not _is_neutral(step)]
    if clips(scaler):
        low, high = getattr(scaler, "feature_range", (-1.0, 1.0))
        changing.append(Clip(float(low), float(high), steps[0].columns, at))
    return changing


def _is_neutral(step: Arithmetic) -> bool:
    return bool((step.values == (0.0 if step.operation in ("subtract", "add") else 1.0)).all())


def _pca(model: Any, _: int, at: int) -> list[Step]:
    steps = _projection(model.components_.T, at)
    shift = np.ravel(np.reshape(model.mean_, (1, -1)) @ model.components_.T)  # as scikit-learn computes it
    steps += [Arithmetic("subtract", shift, at)] if shift.any() else []
    if model.whiten:
        scale = np.sqrt(model.explained_variance_)
        steps.append(Arithmetic("divide", np.maximum(scale, np.finfo(scale.dtype).eps), at))
    return steps


def _projection(matrix: Any, at: int) -> list[Step]:
    return [Projection(np.asarray(dense(matrix), dtype=np.float64), at)]


def _of_components(model: Any, _: int, at: int) -> list[Step]:
    return _projection(model.components_.T, at)


def _centered_components(model: Any, _: int, at: int) -> list[Step]:
    center: list[Step] = [Arithmetic("subtract", model.mean_, at)] if getattr(model, "mean_", None) is not None else []
    return center + _projection(model.components_.T, at)


def _discriminants(model: Any, _: int, at: int) -> list[Step]:
    if model.solver == "lsqr":
        raise unreadable(model, "with solver='lsqr' it transforms no rows. Fit it with solver='svd' or 'eigen'")
    kept = _projection(model.scalings_[:, : model._max_components], at)
    return [Arithmetic("subtract", model.xbar_, at), *kept] if model.solver == "svd" else kept


def _selected(model: Any, width: int, at: int) -> list[Step]:
    which = np.flatnonzero(model.get_support())
    if not len(which):
        raise unreadable(model, "it selects no column. Fit it so that it keeps one at least")
    return _chosen(which, width, at)


def _chosen(which: npt.NDArray[Any], width: int, at: int) -> list[Step]:
    return [] if np.array_equal(which, np.arange(width)) else [Columns(which, width, at)]


def _imputed(model: Any, width: int, at: int) -> list[Step]:
    if model.add_indicator:
        raise unreadable(model, f"a plan has no columns that say what was missing (add_indicator=True). {ELSEWHERE}")
    missing = model.missing_values
    if missing is None or not isinstance(missing, int | float | np.number) or np.isinf(missing):
        raise unreadable(model, f"missing_values={missing!r} is no number. {ELSEWHERE}")
    try:
        statistics = np.asarray(model.statistics_, dtype=np.float64)  # of a constant they are objects
    except ValueError as error:
        raise unreadable(model, f"it imputes values that are no numbers. {ELSEWHERE}") from error
    lost = np.isnan(statistics)
    steps: list[Step] = [Impute(np.where(lost, 0.0, statistics), float(missing), at)]
    if not lost.any():
        return steps
    return steps + ([] if model.keep_empty_features else _chosen(np.flatnonzero(~lost), width, at))


def _normalized(model: Any, width: int, at: int) -> list[Step]:
    return [Normalize(model.norm, width, at)]


def _tf_idf(model: Any, width: int, at: int) -> list[Step]:
    if model.sublinear_tf:
        raise unreadable(model, f"it takes logarithms (sublinear_tf=True). {ELSEWHERE}")
    steps: list[Step] = [Arithmetic("multiply", model.idf_, at)] if hasattr(model, "idf_") else []
    return steps if model.norm is None else [*steps, Normalize(model.norm, width, at)]


def _binarized(model: Any, width: int, at: int) -> list[Step]:
    return [Binarize(float(model.threshold), width, at)]


def _of_pipeline(model: Any, width: int, at: int) -> list[Step]:
    steps: list[Step] = []
    for _, transformer in model.steps:
        added = steps_of(transformer, width, at)
        steps += added
        width += sum(step.result - step.columns for step in added)
    return steps


def _is_dropped(part: Any) -> bool:
    return isinstance(part, str) and part == "drop"


def _of_union(model: Any, width: int, at: int) -> list[Step]:
    weights = model.transformer_weights or {}
    parts = [
        (part, np.arange(width), weights.get(name)) for name, part in model.transformer_list if not _is_dropped(part)
    ]
    return _side_by_side(model, parts, width, at)


def _of_columns(model: Any, width: int, at: int) -> list[Step]:
    weights, columns = model.transformer_weights or {}, model._transformer_to_input_indices
    parts = [
        (part, np.asarray(columns[name], dtype=np.int64), weights.get(name))
        for name, part, *_ in model.transformers_
        if not _is_dropped(part) and len(columns[name])
    ]
    return _side_by_side(model, parts, width, at)


def _side_by_side(
    model: Any, parts: list[tuple[Any, npt.NDArray[Any], float | None]], width: int, at: int
) -> list[Step]:
    """Each transformer's columns beside each other, and then its steps on them."""
    if not parts:
        raise unreadable(model, "it makes no column. Keep one at least")
    steps = _chosen(np.concatenate([which for _, which, _ in parts]), width, at)
    for part, which, weight in parts:
        own = steps_of(part, len(which), at)
        result = len(which) + sum(step.result - step.columns for step in own)
        own += [] if weight is None else [Arithmetic("multiply", np.full(result, float(weight)), at)]
        steps += own
        at += result
    return steps


_READERS: dict[str, Callable[[Any, int, int], list[Step]]] = {
    "PCA": _pca,
    "IncrementalPCA": _pca,
    "TruncatedSVD": _of_components,
    "LinearDiscriminantAnalysis": _discriminants,
    "BaseRandomProjection": _of_components,
    "FastICA": _centered_components,
    "NeighborhoodComponentsAnalysis": _of_components,
    "SelectorMixin": _selected,
    "SimpleImputer": _imputed,
    "Normalizer": _normalized,
    "TfidfTransformer": _tf_idf,
    "Binarizer": _binarized,
    "Pipeline": _of_pipeline,
    "FeatureUnion": _of_union,
    "ColumnTransformer": _of_columns,
}
