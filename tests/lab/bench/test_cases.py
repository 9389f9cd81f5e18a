"""Cases train on some rows and predict others."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.svm import SVC

from dormie.lab import datasets
from dormie.lab.bench import CASES, cases, make_case
from dormie.lab.datasets import Dataset
from tests.lab.bench.models import DIGIT, TEN, TEST, TRAIN


def test_the_digits_case_needs_no_data_and_tells_of_its_copies() -> None:
    case = make_case("digits")
    assert case.rows.shape == (16 * 797, 64)
    assert np.array_equal(case.rows[:797], case.rows[-797:])
    assert "repeated 16 times" in case.notes[0]


def test_standardising_leaves_constant_columns_finite() -> None:
    train, test = cases._standardised(np.array([[1.0, 5.0], [3.0, 5.0]]), np.array([[2.0, 6.0]]))
    assert train.tolist() == [[-1.0, 0.0], [1.0, 0.0]]
    assert test.tolist() == [[0.0, 1.0]]


@pytest.mark.parametrize("official", [True, False])
def test_cases_train_on_some_rows_and_predict_others(monkeypatch: pytest.MonkeyPatch, official: bool) -> None:
    parts = (TEST, DIGIT[300:420]) if official else (None, None)
    data = Dataset("toy", "a toy", TRAIN, TEN, *parts)
    monkeypatch.setattr(datasets, "load", lambda _: data)
    case = CASES["covtype"]()
    assert case.model.classes_.tolist() == [-1, 1]
    assert case.model.shape_fit_[0] == (300 if official else 200)
    assert case.rows.shape[0] == (120 if official else 100)
    if not official:
        assert {*map(bytes, case.rows)}.isdisjoint(map(bytes, case.model.support_vectors_))


def test_the_stored_mnist_machine_is_found_beside_the_data_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    trained = SVC(C=10, gamma=0.02).fit(TRAIN, TEN)
    (tmp_path / "models").mkdir()
    np.savez(
        tmp_path / "models" / "mnist_rbf_c10_g002.npz",
        support=trained.support_,
        dual_coef=trained.dual_coef_,
        intercept=trained.intercept_,
        n_support=trained.n_support_,
    )
    monkeypatch.setattr(datasets, "load", lambda _: Dataset("mnist", "", TRAIN, TEN, TEST, DIGIT[300:420]))
    monkeypatch.setenv("DORMIE_DATA", str(tmp_path / "data"))
    stored = cases.mnist()
    monkeypatch.delenv("DORMIE_DATA")
    afresh = cases.mnist()
    assert np.array_equal(stored.model.decision_function(TEST), trained.decision_function(TEST))
    assert np.array_equal(afresh.model.predict(TEST), trained.predict(TEST))
    assert "earlier" in stored.notes[0]
    assert "minutes" in afresh.notes[0]
