"""`dormie compile`: the same plan as from Python, whatever file the model is in."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import dormie
from tests.cli.commands import MODEL, X, files, require_failure, run


@pytest.mark.parametrize("model", ["svm.model", "svm.joblib", "svm.dormie"])
def test_every_kind_of_model_becomes_a_plan_with_its_labels(tmp_path: Path, model: str) -> None:
    given, plan = files(tmp_path), tmp_path / "out.dormie"
    result = run("compile", given[model], "-o", plan, "--effort", "quick", "--trust")
    assert result.exit_code == 0, result.output
    assert "exact: every answer is the model's own" in result.stdout
    np.testing.assert_array_equal(dormie.load(plan).predict(X), MODEL.predict(X))


def test_a_risk_is_certified_on_rows_of_a_file(tmp_path: Path) -> None:
    given, plan = files(tmp_path), tmp_path / "out.dormie"
    np.save(tmp_path / "train.npy", X[:300])
    options = ["--rows", given["rows.csv"], "--fit-rows", tmp_path / "train.npy", "--risk", "0.05", "--json"]
    result = run("compile", given["svm.joblib"], "--trust", "-o", plan, "--effort", "quick", *options)
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["classes"] == [0, 1]
    if found["guarantee"]["kind"] == "exact":  # which may be as fast on a busy computer; then the plan says so
        assert found["note"]
    else:
        assert (found["guarantee"]["kind"], found["guarantee"]["alpha"]) == ("risk", 0.05)


def test_options_that_cannot_be_met_are_one_line(tmp_path: Path) -> None:
    given, plan = files(tmp_path), tmp_path / "out.dormie"
    compile_ = ["compile", given["svm.model"], "-o", plan]
    require_failure(run(*compile_, "--risk", "0.001"), 2, "rows")
    require_failure(run(*compile_, "--risk", "0.001", "--rows", given["rows.npy"]), 2, "2,995")
    require_failure(run(*compile_, "--methods", "magic"), 2, "magic")
    require_failure(run(*compile_, "--tolerance", "-1"), 2, "tolerance")
    require_failure(run(*compile_, "--scale", tmp_path / "none.range"), 3, "none.range", "no such file")
    assert not plan.exists()


def test_a_plan_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    plan = tmp_path / "no such folder" / "out.dormie"
    require_failure(run("compile", files(tmp_path)["svm.model"], "-o", plan, "--effort", "quick"), 5, str(plan))
