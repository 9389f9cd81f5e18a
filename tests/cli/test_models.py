"""Model files: what is refused says why, and nothing is unpickled unasked."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import pytest
from sklearn.ensemble import RandomForestClassifier

from tests.cli.commands import MODEL, X, files, require_failure, run, y


class _Bomb:
    def __reduce__(self) -> Any:
        return os.mkdir, (str(Path.cwd() / "exploded"),)


def test_a_pickle_runs_only_with_trust(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bomb.pkl").write_bytes(pickle.dumps(_Bomb()))
    require_failure(run("compile", "bomb.pkl", "-o", "out.dormie"), 3, "bomb.pkl", "--trust")
    assert not Path("exploded").exists()
    assert run("compile", "bomb.pkl", "-o", "out.dormie", "--trust").exit_code == 3
    assert Path("exploded").exists()


@pytest.mark.parametrize("name", ["none.model", "none.dormie", "none.pkl", "none.skops"])
def test_a_missing_file_is_said_to_be_missing(tmp_path: Path, name: str) -> None:
    require_failure(run("compile", tmp_path / name, "-o", tmp_path / "out.dormie"), 3, name, "no such file")


@pytest.mark.parametrize("name", ["empty.model", "empty.dormie", "empty.pkl", "empty.skops"])
def test_an_empty_file_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"")
    require_failure(run("compile", tmp_path / name, "-o", tmp_path / "out.dormie", "--trust"), 3, name)


def test_damaged_plans_and_plans_of_later_protocols_are_refused(tmp_path: Path) -> None:
    plan = files(tmp_path)["svm.dormie"]
    whole = plan.read_bytes()
    plan.write_bytes(whole[: len(whole) // 2])
    require_failure(run("inspect", plan), 3, "svm.dormie")
    plan.write_bytes(whole[:-7] + b"x" + whole[-6:])
    require_failure(run("inspect", plan), 3, "svm.dormie")


def test_a_model_in_place_of_a_plan_is_told_what_to_do(tmp_path: Path) -> None:
    model = files(tmp_path)["svm.model"]
    require_failure(run("inspect", model), 3, "is not a plan", f"dormie compile {model}")


def test_a_model_that_cannot_be_read_says_why(tmp_path: Path) -> None:
    import joblib

    joblib.dump(RandomForestClassifier(2).fit(X, y), tmp_path / "forest.joblib")
    result = run("compile", tmp_path / "forest.joblib", "-o", tmp_path / "out.dormie", "--trust")
    require_failure(result, 3, "RandomForestClassifier")


def test_skops_files_are_read_and_unknown_types_are_not_trusted(tmp_path: Path) -> None:
    skops = pytest.importorskip("skops.io")
    skops.dump(MODEL, tmp_path / "svm.skops")
    result = run("compile", tmp_path / "svm.skops", "-o", tmp_path / "out.dormie", "--effort", "quick")
    assert result.exit_code == 0, result.output
