"""The writer of fitted scikit-learn models from machines, for use in pipelines, searches and other code.

A model is fitted on one row for each class, so that it has every attribute that the installed scikit-learn needs, and
then gets the machine's arrays. Reading it back gives the same machine. In a one-vs-one model, a point with weights for
every pair (as in a reduced set) occurs once for each class, because LIBSVM cannot store it otherwise.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dormie.convert.one_vs_one import Packed, pack
from dormie.machine import Affine, Floats, Machine
from dormie.machine.csr import is_sparse
from dormie.machine.kernels import RBF, Kernel, Linear, Polynomial, Sigmoid
from dormie.machine.rules import Argmax, OneVsOneVote, Rule, Sign, Value

_STAY = "Use the Machine itself, which dormie.compile reads"


def to_sklearn(machine: Machine, *, one_class: bool = False) -> Any:
    """Make a fitted scikit-learn model that answers like the machine; ValueError where scikit-learn has none.

    The model is an SVC for signs and votes (a OneClassSVM with `one_class`), a OneVsRestClassifier for the largest of
    several outputs, an SVR for one value and a KernelRidge for several; in a pipeline after a StandardScaler if the
    machine has an input map. Exact ties are decided as in scikit-learn. Of dense points, all models but KernelRidge
    count as trained on dense rows, and scikit-learn refuses to predict sparse rows with them: pass X.toarray().
    """
    model = _estimator(machine, one_class)
    if machine.input_map is None:
        return _named(model, machine.feature_names)
    from sklearn.pipeline import make_pipeline  # optional

    return make_pipeline(_named(_scaler(machine.input_map), machine.feature_names), model)


def _estimator(machine: Machine, one_class: bool) -> Any:
    from sklearn.svm import SVR, OneClassSVM  # optional

    parameters = _parameters(machine.kernel)
    match machine.rule:
        case Sign() if one_class:
            return _one_output(OneClassSVM(**parameters), machine)
        case Value(flat=True):
            return _one_output(SVR(**parameters), machine)
        case Value():
            return _several_values(machine, parameters)
        case Sign():
            return _two_classes(machine, machine.rule, parameters)
        case OneVsOneVote():
            return _votes(machine, machine.rule, parameters)
        case Argmax(classes) if len(classes) > 2:
            return _one_vs_rest(machine, machine.rule, parameters)
        case Argmax():
            return _estimator(_difference(machine, machine.rule), one_class)
    raise ValueError(f"scikit-learn has no model that answers by the rule {type(machine.rule).__name__}. {_STAY}")


def _parameters(kernel: Kernel) -> dict[str, Any]:
    match kernel:
        case Linear():
            return {"kernel": "linear"}
        case Polynomial(gamma, coef0, degree):
            return {"kernel": "poly", "gamma": gamma, "coef0": coef0, "degree": degree}
        case RBF(gamma):
            return {"kernel": "rbf", "gamma": gamma}
        case Sigmoid(gamma, coef0) if gamma >= 0:
            return {"kernel": "sigmoid", "gamma": gamma, "coef0": coef0}
    raise ValueError(
        f"scikit-learn knows linear, polynomial, RBF and sigmoid kernels (gamma >= 0), not {kernel}. {_STAY}"
    )


def _one_output(model: Any, machine: Machine) -> Any:
    model.fit(np.zeros((2, machine.n_features)), np.arange(2.0))
    every = np.arange(machine.n_points)
    # For these models LIBSVM stores the number of vectors twice.
    _fill(model, machine.points, Packed(every, machine.weights.T, np.full(2, machine.n_points)), machine.bias)
    if hasattr(model, "offset_"):
        model.offset_ = -model.intercept_
    return model


def _two_classes(machine: Machine, rule: Sign, parameters: dict[str, Any]) -> Any:
    classes, sign, zero = rule.classes, 1, rule.zero
    if classes[0] > classes[1]:  # scikit-learn sorts classes
        classes, sign, zero = classes[::-1], -1, 1 - zero
    # An SVC answers classes_[1] for an output of exactly 0. Where classes_[0] is wanted, the bias becomes the next
    # smaller number.
    bias = sign * machine.bias if zero else np.nextafter(sign * machine.bias, -np.inf)
    return _classifier(machine.points, pack(-sign * machine.weights, 2), -bias, classes, parameters)


def _votes(machine: Machine, rule: OneVsOneVote, parameters: dict[str, Any]) -> Any:
    if rule.break_ties and rule.shape == "ovo":
        raise ValueError(f"an SVC cannot break ties with decision_function_shape='ovo'. {_STAY}")
    parameters = parameters | {"break_ties": rule.break_ties, "decision_function_shape": rule.shape}
    k = len(rule.classes)
    if k == 2:  # a single vote: above 0 for the first class, otherwise for the second
        return _two_classes(machine, Sign(rule.classes[::-1], zero=0), parameters)
    return _classifier(machine.points, pack(machine.weights, k), machine.bias, rule.classes, parameters)


def _classifier(
    points: Any, packed: Packed, bias: Floats, classes: npt.NDArray[Any], parameters: dict[str, Any]
) -> Any:
    """An SVC with coefficients and bias in LIBSVM's signs."""
    from sklearn.svm import SVC  # optional

    k = len(classes)
    model = SVC(**parameters).fit(np.zeros((k, points.shape[1])), np.arange(k))
    model.classes_ = classes.copy()
    _fill(model, points[packed.source], packed, bias)
    if k == 2:  # scikit-learn negates the public arrays
        model.dual_coef_, model.intercept_ = -model.dual_coef_, -model.intercept_
    return model


def _one_vs_rest(machine: Machine, rule: Argmax, parameters: dict[str, Any]) -> Any:
    from sklearn.multiclass import OneVsRestClassifier  # optional
    from sklearn.svm import SVC  # optional

    order = np.argsort(rule.classes)
    model = OneVsRestClassifier(SVC(**parameters))
    model.fit(np.zeros((len(order), machine.n_features)), rule.classes[order])
    one_or_other = Sign(np.arange(2))
    model.estimators_ = [
        _two_classes(_output(machine, column, one_or_other), one_or_other, parameters) for column in order
    ]
    return model


def _output(machine: Machine, column: int, rule: Rule) -> Machine:
    return replace(machine, weights=machine.weights[:, column], bias=machine.bias[column], rule=rule)


def _difference(machine: Machine, rule: Argmax) -> Machine:
    """A machine with one output, the difference of two, whose sign is the larger of them."""
    [first, second], (b, c) = machine.weights.T, machine.bias
    return replace(machine, weights=second - first, bias=c - b, rule=Sign(rule.classes, zero=int(rule.last_of_equal)))


def _several_values(machine: Machine, parameters: dict[str, Any]) -> Any:
    from sklearn.kernel_ridge import KernelRidge  # optional

    if machine.bias.any():
        raise ValueError(
            "scikit-learn has no kernel model of several values with constants of their own. Reduce one output at a "
            "time (fit one model for each), or use the Machine itself, which dormie.compile reads"
        )
    model = KernelRidge(**parameters).fit(np.zeros((1, machine.n_features)), np.zeros((1, machine.n_outputs)))
    model.X_fit_, model.dual_coef_ = machine.points.copy(), machine.weights.copy()
    return model


def _fill(model: Any, points: Any, packed: Packed, bias: Floats) -> None:
    """Set the arrays of a LIBSVM model, in LIBSVM's signs; one of sparse points counts as trained on sparse rows."""
    coefficients = np.array(packed.coefficients, order="C")
    if is_sparse(points):
        model._sparse, points, coefficients = True, _for_libsvm(points), _all_stored(coefficients)
    model.support_vectors_ = points.copy()
    model.support_ = np.arange(points.shape[0], dtype=np.int32)
    model._n_support = packed.n_support.astype(np.int32)
    model.dual_coef_ = model._dual_coef_ = coefficients
    model.intercept_ = model._intercept_ = np.array(bias)
    model.shape_fit_ = points.shape


def _for_libsvm(points: Any) -> Any:
    """Sparse points as scikit-learn hands them to LIBSVM: a CSR matrix with indices of 32 bits."""
    from scipy.sparse import csr_matrix  # here: whoever has sparse points has imported it

    parts = points.data.copy(), points.indices.astype(np.int32), points.indptr.astype(np.int32)
    return csr_matrix(parts, shape=points.shape)


def _all_stored(coefficients: Floats) -> Any:
    """A CSR matrix that stores zeros too: scikit-learn hands its data to LIBSVM as they lie."""
    from scipy.sparse import csr_matrix  # here: whoever has sparse points has imported it

    rows, columns = coefficients.shape
    indices = np.tile(np.arange(columns, dtype=np.int32), rows)
    starts = np.arange(0, rows * columns + 1, columns, dtype=np.int32)
    return csr_matrix((coefficients.ravel(), indices, starts), shape=coefficients.shape)


def _scaler(input_map: Affine) -> Any:
    from sklearn.preprocessing import StandardScaler  # optional

    # A scaler with with_mean=True refuses sparse rows even if the mean is 0.
    scaler = StandardScaler(with_mean=bool(input_map.center.any())).fit(np.zeros((1, len(input_map.center))))
    scaler.mean_, scaler.scale_, scaler.var_ = input_map.center.copy(), input_map.scale.copy(), input_map.scale**2
    return scaler


def _named(model: Any, names: tuple[str, ...] | None) -> Any:
    """The model with the column names that it expects of a data frame."""
    if names is not None:
        for part in [model, *getattr(model, "estimators_", [])]:
            part.feature_names_in_ = np.array(names, dtype=object)
    return model
