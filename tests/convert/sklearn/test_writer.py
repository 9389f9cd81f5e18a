"""Machines as scikit-learn models: the same answers there, and the same machine when read back."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.kernel_ridge import KernelRidge
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC, SVR, OneClassSVM

from dormie.convert import read
from dormie.convert.sklearn.writer import to_sklearn
from dormie.machine import Affine, Floats, Machine, kernels
from dormie.machine.kernels import Kernel
from dormie.machine.rules import Argmax, OneVsOneVote, Rule, Sign, Value, one_class_sign
from dormie.numerics import reference

RNG = np.random.default_rng(6)
POINTS, ROWS = RNG.normal(size=(12, 4)), RNG.normal(size=(200, 4))
KERNELS = [kernels.Linear(), kernels.Polynomial(0.4, 0.7, 3), kernels.RBF(0.3), kernels.Sigmoid(0.2, -0.1)]
RULES: list[tuple[Rule, int, type]] = [
    (Sign(np.array(["no", "yes"])), 1, SVC),
    (Sign(np.array([0, 1]), zero=0), 1, SVC),
    (Sign(np.array([5, -2]), zero=0), 1, SVC),
    (Sign(np.array([5, -2]), zero=1), 1, SVC),
    (OneVsOneVote(np.array([3, 8])), 1, SVC),
    (OneVsOneVote(np.array(["a", "b", "c"])), 3, SVC),
    (OneVsOneVote(np.array([30, 10, 40, 20]), shape="ovo"), 6, SVC),
    (OneVsOneVote(np.arange(4), break_ties=True), 6, SVC),
    (Argmax(np.array(["a", "b", "c"])), 3, OneVsRestClassifier),
    (Argmax(np.array([7, 3, 5, 1])), 4, OneVsRestClassifier),
    (Argmax(np.array([1, 2])), 2, SVC),
    (Value(), 1, SVR),
    (Value(flat=False), 1, KernelRidge),
    (Value(flat=False), 3, KernelRidge),
]


def _machine(kernel: Kernel, rule: Rule, outputs: int) -> Machine:
    """Every point has weights for all outputs, as those of a reduced set have."""
    bias = np.zeros(outputs) if rule == Value(flat=False) else RNG.normal(size=outputs)
    return Machine(kernel, POINTS, RNG.normal(size=(12, outputs)), bias, rule)


def _answers(machine: Machine, rows: Floats = ROWS) -> Any:
    return machine.rule.labels(machine.rule.answer(reference.outputs(machine, rows)))


def _assert_same(found: Any, expected: Any) -> None:
    if np.asarray(expected).dtype.kind == "f":
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    else:
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize(("rule", "outputs", "kind"), RULES, ids=str)
def test_it_predicts_alike_and_reads_back(kernel: Kernel, rule: Rule, outputs: int, kind: type) -> None:
    machine = _machine(kernel, rule, outputs)
    model = to_sklearn(machine)
    assert type(model).__name__ == kind.__name__
    _assert_same(model.predict(ROWS), _answers(machine))
    _assert_same(_answers(read(model)), _answers(machine))


@pytest.mark.parametrize(("rule", "outputs", "kind"), RULES, ids=str)
def test_scaled_input_becomes_a_scaler_in_front(rule: Rule, outputs: int, kind: type) -> None:
    input_map = Affine(np.array([1.0, -2.0, 0.0, 30.0]), np.array([2.0, 0.1, 1.0, -3.0]))
    machine = replace(_machine(kernels.RBF(0.3), rule, outputs), input_map=input_map)
    model, rows = to_sklearn(machine), input_map.inverse(ROWS)
    assert isinstance(model, Pipeline)
    assert type(model[-1]) is kind
    _assert_same(model.predict(rows), _answers(machine, rows))
    back = read(model).input_map
    assert back is not None
    np.testing.assert_array_equal(back.center, input_map.center)
    np.testing.assert_array_equal(back.scale, input_map.scale)


@pytest.mark.parametrize(("rule", "outputs", "kind"), RULES, ids=str)
@pytest.mark.parametrize("scaled", [False, True])
def test_named_columns_are_asked_for_without_a_warning(rule: Rule, outputs: int, kind: type, scaled: bool) -> None:
    del kind
    names = ("height", "width", "depth", "age")
    input_map = Affine(np.ones(4), np.full(4, 2.0)) if scaled else None
    machine = replace(_machine(kernels.RBF(0.3), rule, outputs), feature_names=names, input_map=input_map)
    model, frame = to_sklearn(machine), pd.DataFrame(ROWS, columns=list(names))
    _assert_same(model.predict(frame), _answers(machine))
    assert read(model).feature_names == names
    if not isinstance(model, KernelRidge | Pipeline | OneVsRestClassifier):
        with pytest.raises(ValueError, match="feature names should match"):
            model.predict(frame.rename(columns={"age": "years"}))


@pytest.mark.parametrize("place", [0, 1, 5, 6, 7, 8])
def test_decision_values_are_the_machines_own(place: int) -> None:
    rule, outputs, _ = RULES[place]
    machine = _machine(kernels.RBF(0.3), rule, outputs)
    expected = rule.decision(reference.outputs(machine, ROWS))
    np.testing.assert_allclose(to_sklearn(machine).decision_function(ROWS), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("zero", [0, 1])
@pytest.mark.parametrize("classes", [[0, 1], [1, 0]])
@pytest.mark.parametrize("bias", [0.0, -2.0, 0.25])
def test_outputs_of_exactly_zero_go_where_they_went(zero: int, classes: list[int], bias: float) -> None:
    machine = Machine(kernels.Linear(), [[1.0, 0.0]], np.ones(1), np.full(1, bias), Sign(np.array(classes), zero))
    rows = np.array([[-bias, 1.0], [-bias - 0.5, 1.0], [-bias + 0.5, 1.0]])
    assert reference.outputs(machine, rows)[0, 0] == 0
    np.testing.assert_array_equal(to_sklearn(machine).predict(rows), _answers(machine, rows))


def test_a_one_class_machine_keeps_weights_of_both_signs() -> None:
    machine = _machine(kernels.RBF(0.3), one_class_sign(), 1)
    model = to_sklearn(machine, one_class=True)
    assert isinstance(model, OneClassSVM)
    np.testing.assert_array_equal(model.predict(ROWS), _answers(machine))
    np.testing.assert_allclose(model.decision_function(ROWS), reference.outputs(machine, ROWS)[:, 0], atol=1e-12)
    np.testing.assert_allclose(model.score_samples(ROWS), model.decision_function(ROWS) + model.offset_, atol=1e-12)


@pytest.mark.parametrize(("rule", "outputs", "kind"), RULES, ids=str)
def test_it_is_a_model_of_the_right_parameters_that_can_be_fitted_again(rule: Rule, outputs: int, kind: type) -> None:
    model = clone(to_sklearn(_machine(kernels.Polynomial(0.4, 0.7, 3), rule, outputs)))
    labels = RNG.normal(size=200) if kind in (SVR, KernelRidge) else np.arange(200) % 3
    inner = model.fit(ROWS, labels).get_params()
    prefix = "estimator__" if kind is OneVsRestClassifier else ""
    assert {name: inner[prefix + name] for name in ("gamma", "coef0", "degree")} == {
        "gamma": 0.4,
        "coef0": 0.7,
        "degree": 3,
    }


@pytest.mark.parametrize(("rule", "outputs"), [(RULES[0][0], 1), (RULES[5][0], 3), (Value(), 1)], ids=str)
def test_without_weights_or_without_vectors_the_answer_is_constant(rule: Rule, outputs: int) -> None:
    machine = _machine(kernels.RBF(0.3), rule, outputs)
    machine = replace(machine, weights=machine.weights * 0)
    _assert_same(to_sklearn(machine).predict(ROWS), _answers(machine))


def test_a_read_only_machine_is_not_shared() -> None:
    machine = _machine(kernels.RBF(0.3), Value(), 1)
    model = to_sklearn(machine)
    model.support_vectors_[:] = 0
    np.testing.assert_array_equal(machine.points, POINTS)


INEXPRESSIBLE = [
    (_machine(kernels.Normalized(kernels.Linear()), Value(), 1), "not Normalized.*dormie.compile reads"),
    (_machine(kernels.Sigmoid(-0.2, 0.1), Value(), 1), "gamma >= 0"),
    (
        replace(_machine(kernels.RBF(0.3), Value(flat=False), 2), bias=np.ones(2)),
        "several values with constants of their own. Reduce one output at a time",
    ),
    (
        _machine(kernels.RBF(0.3), OneVsOneVote(np.arange(3), break_ties=True, shape="ovo"), 3),
        "cannot break ties with decision_function_shape='ovo'",
    ),
]


@pytest.mark.parametrize(("machine", "message"), INEXPRESSIBLE)
def test_what_scikit_learn_cannot_express_is_refused(machine: Machine, message: str) -> None:
    with pytest.raises(ValueError, match=re.compile(message, re.DOTALL)):
        to_sklearn(machine)


@pytest.mark.parametrize("center", [np.zeros(4), np.array([0.0, 2.0, 0.0, 0.0])], ids=["zero", "mean"])
def test_a_scaler_that_moves_nothing_takes_sparse_rows(center: Floats) -> None:
    machine = _machine(kernels.RBF(0.3), Value(flat=False), 3)
    machine = replace(machine, input_map=Affine(center, np.array([2.0, 0.1, 1.0, 3.0])))
    model, sparse = to_sklearn(machine), scipy.sparse.csr_array(ROWS)
    assert model[0].with_mean == center.any()
    if center.any():
        with pytest.raises(ValueError, match="Cannot center sparse"):
            model.predict(sparse)
    else:
        _assert_same(model.predict(sparse), _answers(machine))
    _assert_same(_answers(read(model)), _answers(machine))
