"""`dormie predict`: the predictor's answers in a file, from files of many formats; nothing half-written is left."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.svm import SVC

import dormie
from tests.cli.commands import MODEL, X, files, require_failure, run, y

pandas = pytest.importorskip("pandas")


def _read(path: Path) -> Any:
    return np.load(path) if path.suffix == ".npy" else pandas.read_csv(path)["answer"].to_numpy()


@pytest.mark.parametrize("out", ["labels.npy", "labels.csv"])
@pytest.mark.parametrize("rows", ["rows.npy", "rows.csv"])
def test_answers_are_the_models(tmp_path: Path, rows: str, out: str) -> None:
    given = files(tmp_path)
    result = run("predict", given["svm.dormie"], given[rows], "-o", tmp_path / out, "--threads", 1)
    assert result.exit_code == 0, result.output
    np.testing.assert_array_equal(_read(tmp_path / out), MODEL.predict(X[300:]))


def test_probabilities_have_a_column_for_each_class(tmp_path: Path) -> None:
    given = files(tmp_path)
    model = CalibratedClassifierCV(SVC(), ensemble=False).fit(X[:300], np.where(y[:300], "up", "down"))
    fast = dormie.compile(model, effort="quick")
    fast.save(tmp_path / "proba.dormie")
    result = run("predict", tmp_path / "proba.dormie", given["rows.csv"], "-o", tmp_path / "p.csv", "--proba")
    assert result.exit_code == 0, result.output
    found = pandas.read_csv(tmp_path / "p.csv")
    assert list(found.columns) == ["down", "up"]
    np.testing.assert_allclose(found.to_numpy(), fast.predict_proba(X[300:]), atol=1e-12)
    require_failure(
        run("predict", given["svm.dormie"], given["rows.csv"], "-o", tmp_path / "q.csv", "--proba"),
        2,
        "no probabilities",
    )


def test_columns_are_chosen_by_name(tmp_path: Path) -> None:
    given = files(tmp_path)
    frame = pandas.DataFrame({"id": range(600), "right": X[300:, 1], "left": X[300:, 0]})
    frame.to_csv(tmp_path / "wide.csv", index=False)
    predict = ["predict", given["svm.dormie"], tmp_path / "wide.csv", "-o", tmp_path / "out.npy"]
    require_failure(run(*predict), 4, "wide.csv", "3 columns", "'id'")
    result = run(*predict, "--columns", "left, right")
    assert result.exit_code == 0, result.output
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), MODEL.predict(X[300:]))


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("none.csv", None, ["no such file"]),
        ("empty.csv", "", ["empty.csv"]),
        ("text.csv", "a,b\n1,2\n3,four\n", ["text.csv", "four"]),
        ("missing.csv", "a,b\n1,2\n3,\n", ["missing.csv"]),
        ("nan.csv", "a,b\n1,2\n3,nan\n", ["nan.csv", "row 1", "missing"]),
        ("narrow.csv", "a\n1\n3\n", ["narrow.csv", "1 column,"]),
        ("rows.xls", "a,b\n", ["rows.xls", "unknown format"]),
        ("cut.npy", "\x93NUMPY", ["cut.npy"]),
        ("cut.parquet", "PAR1", ["cut.parquet"]),
    ],
)
def test_bad_rows_are_one_line_and_leave_nothing_behind(
    tmp_path: Path, name: str, content: str | None, words: list[str]
) -> None:
    given = files(tmp_path)
    if content is not None:
        (tmp_path / name).write_text(content, "latin-1")
    before = sorted(tmp_path.iterdir())
    require_failure(run("predict", given["svm.dormie"], tmp_path / name, "-o", tmp_path / "out.csv"), 4, *words)
    assert sorted(tmp_path.iterdir()) == before


def test_an_output_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    given = files(tmp_path)
    for out in (tmp_path / "no folder" / "out.csv", tmp_path / "out.xls"):
        require_failure(run("predict", given["svm.dormie"], given["rows.npy"], "-o", out), 5, str(out))


def test_rows_are_blamed_even_if_the_output_has_a_part_of_their_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = files(tmp_path)
    monkeypatch.chdir(tmp_path)
    Path("bigger.csv").write_text("a,b\n1,\n")
    require_failure(run("predict", given["svm.dormie"], "bigger.csv", "-o", "r.csv"), 4, "bigger.csv", "row 0")
    require_failure(run("predict", given["svm.dormie"], "rows.csv", "-o", "out.csv.gz"), 5, "unknown format")
