"""Models in memory: what LIBSVM itself answers, without the eight digits of its files."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from libsvm.svmutil import svm_predict, svm_train
from scipy import sparse

import dormie
from dormie.errors import UnreadableModelError
from tests.convert.libsvm.test_reader import libsvm_answers

RNG = np.random.default_rng(17)
X = RNG.normal(size=(70, 4)) * (RNG.random((70, 4)) < 0.8)
NEW = RNG.normal(size=(200, 4)) / 3
TWO = np.where(X[:, 0] + X[:, 3] ** 2 > 0.7, 5, -2)
FOUR = np.array([30, 10, 40, 20])[2 * (X[:, 0] > 0) + (X[:, 1] > 0)]
VALUES = np.sin(X[:, 0]) / 3 + X[:, 1] / 7
CASES = [(0, TWO), (0, FOUR), (1, TWO), (1, FOUR), (2, np.ones(70)), (3, VALUES), (4, VALUES)]


@pytest.mark.parametrize(("svm_type", "targets"), CASES)
@pytest.mark.parametrize("kernel", [0, 1, 2, 3])
@pytest.mark.parametrize("rows", [X, sparse.csr_matrix(X)], ids=["dense", "sparse"])
def test_a_trained_model_answers_as_libsvm_does(svm_type: int, targets: Any, kernel: int, rows: Any) -> None:
    model = svm_train(targets, rows, f"-s {svm_type} -t {kernel} -n 0.4 -g 0.3 -r 0.4 -d 2 -q")
    expected, values = libsvm_answers(model, NEW)
    fast = dormie.compile(dormie.read(model, n_features=4))
    outputs = fast.decision_function(NEW)
    np.testing.assert_allclose(outputs, values.reshape(outputs.shape), rtol=1e-9, atol=1e-12)
    if svm_type > 2:
        np.testing.assert_allclose(fast.predict(NEW), expected, rtol=1e-9, atol=1e-12)
    else:
        np.testing.assert_array_equal(fast.predict(NEW), expected)


@pytest.mark.parametrize("labels", [TWO, FOUR])
def test_its_probabilities(labels: Any) -> None:
    model = svm_train(labels, X, "-b 1 -g 0.3 -q")
    _, _, expected = svm_predict([], NEW, model, "-q -b 1")
    fast = dormie.compile(model)
    order = [fast.classes_.tolist().index(label) for label in model.get_labels()]
    np.testing.assert_allclose(fast.predict_proba(NEW)[:, order], expected, rtol=1e-9)


def test_a_precomputed_kernel_is_refused_with_advice() -> None:
    gram = np.column_stack([np.arange(1, 71), X @ X.T])
    model = svm_train(TWO, [dict(enumerate(row)) for row in gram.tolist()], "-t 4 -q")
    with pytest.raises(UnreadableModelError, match=r"this svm_model, line 2: a precomputed kernel.*by hand"):
        dormie.read(model)


def test_its_name_stands_in_the_plan() -> None:
    fast = dormie.compile(svm_train(TWO, X, "-q"))
    assert "svm_model" in fast.plan.source.description
