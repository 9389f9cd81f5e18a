"""Classifiers with thresholds of their own answer as scikit-learn does, also where a value meets the threshold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.svm import SVC, OneClassSVM

import dormie

_X, _Y = make_classification(1500, n_features=5, random_state=0)
_TRAIN, _LABELS, _ROWS = _X[:500], np.array(["no", "yes"])[_Y[:500]], _X[500:]


def _calibrated() -> Any:
    return CalibratedClassifierCV(SVC(), ensemble=False)


@pytest.mark.parametrize("label", [None, "no", "yes"])
@pytest.mark.parametrize("at", [0.3, "auto", "met"])
@pytest.mark.parametrize("response", ["auto", "decision_function", "predict_proba"])
def test_fixed_thresholds_are_read(label: Any, at: Any, response: str, tmp_path: Path) -> None:
    inner = SVC() if response == "decision_function" else _calibrated()
    inner.fit(_TRAIN, _LABELS)
    if at == "met":  # the threshold is the value of one of the rows
        column = 0 if label == "no" else 1
        by_decision = response == "decision_function"
        scores = inner.decision_function(_ROWS) if by_decision else inner.predict_proba(_ROWS)[:, column]
        at = float(-scores[7] if by_decision and label == "no" else scores[7])
    model = FixedThresholdClassifier(inner, threshold=at, pos_label=label, response_method=response)
    model.fit(_TRAIN, _LABELS)
    fast = dormie.compile(model)
    assert (fast.predict(_ROWS) == model.predict(_ROWS)).all()
    assert hasattr(fast, "predict_proba") == hasattr(model, "predict_proba")
    fast.save(tmp_path / "threshold.dormie")
    assert (dormie.load(tmp_path / "threshold.dormie").predict(_ROWS) == model.predict(_ROWS)).all()


def test_tuned_thresholds_are_read() -> None:
    for inner in (SVC(), _calibrated()):
        model = TunedThresholdClassifierCV(inner, scoring="balanced_accuracy").fit(_TRAIN, _LABELS)
        assert (dormie.compile(model).predict(_ROWS) == model.predict(_ROWS)).all()


@pytest.mark.filterwarnings("ignore:The `probability` parameter")
def test_thresholds_of_coupled_probabilities_are_refused() -> None:
    model = FixedThresholdClassifier(SVC(probability=True), threshold=0.3).fit(_TRAIN, _LABELS)
    with pytest.raises(dormie.UnreadableModelError, match="response_method='decision_function'"):
        dormie.compile(model)


def test_compile_takes_a_threshold() -> None:
    svc = SVC().fit(_TRAIN, _LABELS)
    values = svc.decision_function(_ROWS)
    for at in (0.7, float(values[3])):
        expected = svc.classes_[(values >= at).astype(int)]
        assert (dormie.compile(svc, threshold=at).predict(_ROWS) == expected).all()
    model = _calibrated().fit(_TRAIN, _LABELS)
    chances = model.predict_proba(_ROWS)[:, 1]
    fast = dormie.compile(model, threshold=float(chances[3]))
    assert (fast.predict(_ROWS) == svc.classes_[(chances >= chances[3]).astype(int)]).all()
    np.testing.assert_allclose(fast.predict_proba(_ROWS)[:, 1], chances, atol=1e-12)


def test_scores_of_one_class_machines_have_thresholds() -> None:
    model = OneClassSVM(nu=0.1).fit(_TRAIN)
    scores = model.score_samples(_ROWS)
    fast = dormie.compile(model, threshold=float(scores[3]))
    assert (fast.predict(_ROWS) == np.where(scores >= scores[3], 1, -1)).all()
    np.testing.assert_allclose(fast.score_samples(_ROWS), scores, rtol=1e-12)


def test_thresholds_that_make_no_sense_are_refused() -> None:
    svc, three = SVC().fit(_TRAIN, _LABELS), SVC().fit(_TRAIN, np.arange(500) % 3)
    with pytest.raises(TypeError, match="threshold must be a number"):
        dormie.compile(svc, threshold="0.3")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="two classes and one-class machines"):
        dormie.compile(three, threshold=0.3)
    with pytest.raises(ValueError, match="between 0 and 1"):
        dormie.compile(_calibrated().fit(_TRAIN, _LABELS), threshold=1.5)


def test_a_threshold_may_have_a_risk() -> None:
    X, y = make_classification(4500, n_features=5, flip_y=0.2, random_state=1)
    svc = SVC().fit(X[:500], y[:500])
    fast = dormie.compile(svc, X[500:2500], threshold=0.4, risk=0.05, effort="quick", methods=["reduced_set"])
    assert (fast.predict(X[2500:]) != (svc.decision_function(X[2500:]) >= 0.4)).mean() <= 0.08
