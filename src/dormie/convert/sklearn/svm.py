"""Readers of scikit-learn's support vector machines: those that LIBSVM trains.

The public arrays are read. scikit-learn predicts with private copies, so the two must be equal. With two classes
scikit-learn negates LIBSVM's outputs, so that a positive one means `classes_[1]`; LIBSVM answers `classes_[0]` only for
an output above 0 of its own, so an output of exactly 0 means `classes_[1]`. With more classes the signs are LIBSVM's: a
positive output votes for the first class of its pair.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dormie.convert.one_vs_one import expand
from dormie.convert.sklearn.common import dense, unreadable
from dormie.convert.sklearn.kernels import kernel_of_function, named_kernel
from dormie.machine import Floats, Machine
from dormie.machine.kernels import Custom, Kernel
from dormie.machine.rules import OneVsOneVote, Probability, Rule, Sign, Value, one_class_sign
from dormie.machine.rules.probability import Coupled
from dormie.machine.sparse_points import in_best_form


def read_classifier(model: Any) -> Machine:
    """Read an SVC or NuSVC."""
    if model.break_ties and model.decision_function_shape == "ovo":
        raise unreadable(
            model, "it cannot predict with break_ties=True and decision_function_shape='ovo'. Set break_ties=False"
        )
    if len(model.n_support_) < len(model.classes_):
        raise unreadable(
            model,
            "all rows of one of its classes had a weight of 0, and scikit-learn then mistakes one class for another. "
            "Fit it on weighted rows of every class; members of a BaggingClassifier with a larger max_samples",
        )
    packed = dense(model.dual_coef_)
    if len(model.classes_) == 2:
        machine = _machine(model, packed.T, Sign(model.classes_, zero=1))
    else:
        rule = OneVsOneVote(model.classes_, bool(model.break_ties), model.decision_function_shape)
        machine = _machine(model, expand(packed, model.n_support_), rule)
    return machine.with_probability(_probability(model)) if len(model._probA) else machine


def _probability(model: Any) -> Probability:
    """LIBSVM's own probabilities; its version inside scikit-learn couples two classes by the iteration too."""
    k = len(model.classes_)
    return Probability(Coupled(model._probA, model._probB, tuple(range(k)), flipped=k == 2, two_by_iteration=True))


def read_one_class(model: Any) -> Machine:
    """Read a OneClassSVM."""
    return _machine(model, dense(model.dual_coef_).T, one_class_sign())


def read_regressor(model: Any) -> Machine:
    """Read an SVR or NuSVR."""
    return _machine(model, dense(model.dual_coef_).T, Value())


def _machine(model: Any, weights: Floats, rule: Rule) -> Machine:
    _require_equal_copies(model)
    if callable(model.kernel):
        points = _rows_at(model._BaseLibSVM__Xfit, model.support_)
        kernel = _kernel_of_function(model.kernel, points)
    else:
        kernel = named_kernel(model, float(model._gamma))
        # Without support vectors, scikit-learn's array has no columns.
        points = in_best_form(model.support_vectors_.reshape((-1, model.n_features_in_)))
    by_blas = not (model._sparse or callable(model.kernel))
    return Machine(kernel, points, weights, model.intercept_, rule, blas_products=by_blas)


def _kernel_of_function(function: Any, points: Any) -> Kernel:
    """What is known of a kernel function."""
    if isinstance(function, Kernel):
        return function
    known = (
        kernel_of_function(function, points.shape[1]) if isinstance(points, np.ndarray) and points.ndim == 2 else None
    )
    return Custom(function) if known is None else known


def _require_equal_copies(model: Any) -> None:
    """Raise an error if the public and private arrays differ, because one of them was changed."""
    sign = "-" if len(getattr(model, "classes_", ())) == 2 else ""
    for name in ("dual_coef_", "intercept_"):
        private = dense(getattr(model, f"_{name}"))
        if not np.array_equal(dense(getattr(model, name)), -private if sign else private):
            raise unreadable(
                model,
                f"its {name} and _{name} differ, so one of them was changed after fit; scikit-learn's predict and "
                f"decision_function use _{name}. To keep its answers set model.{name} = {sign}model._{name}; "
                f"to have those of {name} set model._{name} = {sign}model.{name}",
            )


def _rows_at(rows: Any, support: Any) -> Any:
    """The support vectors among the training rows of a callable kernel, which may be objects of any type."""
    if hasattr(rows, "toarray"):
        rows = rows.toarray()
    elif hasattr(rows, "to_numpy"):
        rows = rows.to_numpy()
    return rows[support] if isinstance(rows, np.ndarray) else [rows[i] for i in support]
