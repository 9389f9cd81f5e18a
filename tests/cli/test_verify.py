"""`dormie verify`: says whether a promise is kept, and ends with another code where it is not."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import dump_svmlight_file
from sklearn.svm import SVC, SVR

import dormie
from dormie.cli.verify import _Findings
from dormie.plan.guarantee import Count
from tests.cli.commands import MODEL, X, files, require_failure, run, y


def test_an_exact_plan_keeps_its_promise(tmp_path: Path) -> None:
    given = files(tmp_path)
    for against in ("svm.joblib", "svm.dormie"):
        result = run("verify", given["svm.dormie"], given["rows.csv"], "--against", given[against], "--trust")
        assert result.exit_code == 0, result.output
        assert "predict: 0 of 600 rows differ" in result.stdout
        assert "the promise holds" in result.stdout


def test_another_model_breaks_it_and_the_rows_are_named(tmp_path: Path) -> None:
    given = files(tmp_path)
    other = SVC(C=0.01).fit(X[:300], y[:300])
    dormie.compile(other, effort="quick").save(tmp_path / "other.dormie")
    result = run("verify", tmp_path / "other.dormie", given["rows.npy"], "--against", given["svm.model"], "--json")
    assert result.exit_code == 1, result.output
    (found,) = json.loads(result.stdout)
    wrong = np.flatnonzero(other.predict(X[300:]) != MODEL.predict(X[300:]))
    assert found["differing"] == len(wrong) > 0
    assert found["first_differing_rows"] == wrong[:5].tolist()
    assert not found["holds"]


def test_a_risk_allows_its_share_and_no_more(tmp_path: Path) -> None:
    given = files(tmp_path)
    fast = dormie.compile(MODEL, X[300:], risk=0.05, fit_rows=X[:300], effort="quick")
    fast.save(tmp_path / "risk.dormie")
    result = run("verify", tmp_path / "risk.dormie", given["rows.npy"], "--against", given["svm.joblib"], "--trust")
    assert result.exit_code == 0, result.output
    other = SVC(C=0.001, gamma=0.01).fit(X[:300], y[:300])
    assert np.mean(other.predict(X[300:]) != MODEL.predict(X[300:])) > 0.08
    import joblib

    joblib.dump(other, tmp_path / "other.joblib")
    result = run(
        "verify", tmp_path / "risk.dormie", given["rows.npy"], "--against", tmp_path / "other.joblib", "--trust"
    )
    assert result.exit_code == 1
    assert "THE PROMISE IS BROKEN" in result.stdout


def test_values_and_probabilities_are_compared_within_their_tolerance(tmp_path: Path) -> None:
    import joblib

    given = files(tmp_path)
    svr = SVR().fit(X[:300], X[:300, 0])
    dormie.compile(svr, tolerance=0.01, effort="quick").save(tmp_path / "svr.dormie")
    joblib.dump(svr, tmp_path / "svr.joblib")
    result = run("verify", tmp_path / "svr.dormie", given["rows.npy"], "--against", tmp_path / "svr.joblib", "--trust")
    assert result.exit_code == 0, result.output
    shifted = SVR().fit(X[:300], X[:300, 0] + 0.1)
    joblib.dump(shifted, tmp_path / "svr.joblib")
    result = run("verify", tmp_path / "svr.dormie", given["rows.npy"], "--against", tmp_path / "svr.joblib", "--trust")
    assert result.exit_code == 1
    calibrated = CalibratedClassifierCV(SVC(), ensemble=False).fit(X[:300], y[:300])
    dormie.compile(calibrated, effort="quick").save(tmp_path / "p.dormie")
    joblib.dump(calibrated, tmp_path / "p.joblib")
    result = run("verify", tmp_path / "p.dormie", given["rows.npy"], "--against", tmp_path / "p.joblib", "--trust")
    assert result.exit_code == 0, result.output
    assert "predict_proba: 0 of 600 rows differ" in result.stdout


@pytest.mark.parametrize(("differing", "holds"), [(40, False), (3, True)])
def test_a_risk_of_each_class_is_checked_in_each_class(differing: int, holds: bool) -> None:
    counts = (Count("0", 500, 0), Count("1", 500, 0))
    evidence = dormie.Evidence(1000, 0, 1e-9, 1, 1, "2024-12-31", 0, classes=counts)
    findings = _Findings("predict", dormie.Risk(0.05, 0.95, evidence))
    theirs = np.repeat([0, 1], [1500, 40])
    findings.compare(np.where(np.arange(1540) < 1540 - differing, theirs, 0), theirs)
    assert len(findings.differing) == differing < 0.05 * 1540  # a share that a risk of all rows would allow
    assert findings.holds == holds


def test_values_that_are_no_numbers_are_wrong_and_equal_ones_are_not() -> None:
    findings = _Findings("predict", dormie.Exact())
    findings.compare(np.array([1.0, np.nan, 1.0, np.inf]), np.array([1.0, 1.0, np.nan, np.inf]))
    assert findings.differing == [1, 2]


def test_no_rows_verify_nothing(tmp_path: Path) -> None:
    given = files(tmp_path)
    (tmp_path / "none.csv").write_text("left,right\n")
    command = ["verify", given["svm.dormie"], tmp_path / "none.csv", "--against", given["svm.model"]]
    require_failure(run(*command), 4, "none.csv", "no rows")


def test_sparse_rows_of_a_text_file(tmp_path: Path) -> None:
    given = files(tmp_path)
    dump_svmlight_file(X[300:], y[300:], str(tmp_path / "rows.svm"), zero_based=False, comment="rows")
    command = ["verify", given["svm.dormie"], tmp_path / "rows.svm", "--against", given["svm.joblib"], "--trust"]
    result = run(*command)
    assert "0 of 600 rows differ" in result.stdout, result.output
