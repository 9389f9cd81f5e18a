"""How the tests run commands, and the files that they run them on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import joblib
import numpy as np
from sklearn.datasets import make_moons
from sklearn.svm import SVC
from typer.testing import CliRunner

import dormie
from dormie.cli.app import app
from dormie.convert.libsvm.writer import write_libsvm

X, y = make_moons(900, noise=0.25, random_state=0)
MODEL = SVC().fit(X[:300], y[:300])


def run(*arguments: Any) -> Any:
    """Run a command in a terminal of 200 columns."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments], env={"COLUMNS": "200"})


def files(folder: Path) -> dict[str, Path]:
    """The model as text, pickle and plan, and rows that it was not trained on."""
    paths = {name: folder / name for name in ("svm.model", "svm.joblib", "svm.dormie", "rows.npy", "rows.csv")}
    write_libsvm(dormie.read(MODEL), paths["svm.model"])
    joblib.dump(MODEL, paths["svm.joblib"])
    dormie.compile(MODEL, effort="quick").save(paths["svm.dormie"])
    np.save(paths["rows.npy"], X[300:])
    np.savetxt(paths["rows.csv"], X[300:], delimiter=",", header="left,right", comments="", fmt="%.17g")
    return paths


def require_failure(result: Any, code: int, *words: str) -> None:
    """The command has ended with this code and one line that has these words."""
    assert result.exit_code == code, result.output
    lines = result.stderr.strip().split("\n")
    assert len(lines) == 1, lines
    for word in words:
        assert word in lines[0]
