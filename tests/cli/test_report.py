"""`dormie report`: one page, and the exit codes of what goes wrong."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.cli.commands import files, require_failure, run


def test_a_page_is_written(tmp_path: Path) -> None:
    given, page = files(tmp_path), tmp_path / "report.html"
    command = ["report", given["svm.dormie"], given["rows.csv"], "-o", page]
    result = run(*command)
    assert result.exit_code == 0, result.output
    assert "the full sum" in page.read_text(encoding="utf-8")
    result = run(*command, "--against", given["svm.joblib"], "--trust", "--image", "1x2")
    assert result.exit_code == 0, result.output
    made = page.read_text(encoding="utf-8")
    assert "the source model" in made
    assert "<img" in made
    assert "from 600 rows" in made


def test_what_goes_wrong_is_one_line_and_leaves_nothing(tmp_path: Path) -> None:
    given, page = files(tmp_path), tmp_path / "report.html"
    plan, rows = given["svm.dormie"], given["rows.npy"]
    np.save(tmp_path / "wide.npy", np.ones((5, 7)))
    np.save(tmp_path / "none.npy", np.ones((0, 2)))
    out = ["-o", page]
    require_failure(run("report", plan, rows, *out, "--image", "28"), 2, "28x28")
    require_failure(run("report", plan, rows, *out, "--image", "28x28"), 2, "--image", "2 features")
    require_failure(run("report", tmp_path / "no.dormie", rows, *out), 3, "no.dormie")
    require_failure(run("report", plan, rows, *out, "--against", given["svm.joblib"]), 3, "--trust")
    require_failure(run("report", plan, tmp_path / "no.npy", *out), 4, "no.npy")
    require_failure(run("report", plan, tmp_path / "wide.npy", *out), 4, "wide.npy")
    require_failure(run("report", plan, tmp_path / "none.npy", *out), 4, "none.npy", "no rows")
    require_failure(run("report", plan, rows, "-o", tmp_path / "no" / "report.html"), 5, "no folder")
    require_failure(run("report", plan, rows, "-o", rows), 2, "is an input")
    assert not page.exists()
