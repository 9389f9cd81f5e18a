"""The command line: what a newcomer types, and what it says when something is missing."""

from __future__ import annotations

import json
import pickle
import runpy
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.svm import SVC
from typer.testing import CliRunner

import dormie
from dormie.cli import main
from dormie.cli.app import app
from dormie.convert import read
from dormie.convert.libsvm.writer import write_libsvm
from dormie.lab.bench import PEERS

X, DIGIT = load_digits(return_X_y=True)
ROWS = X[200:260] / 16
MODEL = SVC().fit(X[:200] / 16, DIGIT[:200])


def _run(*arguments: str) -> Any:
    return CliRunner().invoke(app, [str(argument) for argument in arguments], env={"COLUMNS": "200"})


@pytest.fixture
def rows_file(tmp_path: Path) -> Path:
    np.save(tmp_path / "rows.npy", ROWS)
    return tmp_path / "rows.npy"


def test_demo_shows_the_gain_and_the_promise() -> None:
    result = _run("demo", "--seconds", "0")
    assert result.exit_code == 0, result.output
    for words in ("rows per second", "single row", "times as fast", "0 of 12,752", "Guarantee: exact", "repeated 16"):
        assert words in result.output


def test_demo_fails_loudly_when_a_label_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    class Wrong:
        def prepare(self, model: Any) -> Any:
            return lambda rows: (model.predict(rows) + 1) % 10

        def missing(self) -> None:
            return None

    monkeypatch.setitem(PEERS, "dormie", Wrong())
    result = _run("demo", "--seconds", "0")
    assert result.exit_code == 1
    assert "FAILED: 12,752 of 12,752 labels differ" in result.output
    assert "Guarantee" not in result.output


def test_bench_without_a_case_measures_the_digits() -> None:
    result = _run("bench", "--seconds", "0", "--rows", "40")
    assert result.exit_code == 0, result.output
    assert "40 rows" in result.output
    assert all(peer in result.output for peer in PEERS)


def test_bench_json_has_every_peer_or_a_note_and_the_machine() -> None:
    result = _run("bench", "digits", "--seconds", "0", "--rows", "40", "--full", "--json")
    assert result.exit_code == 0, result.output
    record = json.loads(result.stdout)
    (comparison,) = record["comparisons"]
    assert sorted([*(peer["peer"] for peer in comparison["peers"]), *comparison["left_out"]]) == sorted(PEERS)
    assert all((peer["compared"], peer["differences"]) == (40, 0) for peer in comparison["peers"])
    assert record["environment"]["cores"] >= 1
    assert "numpy" in record["environment"]["versions"]
    assert record["environment"]["dormie_build"] == json.loads(json.dumps(dormie.build_info()))


def test_bench_measures_only_the_peers_asked_for() -> None:
    result = _run("bench", "--seconds", "0", "--rows", "20", "--peers", "scikit-learn, numpy-float64", "--json")
    (comparison,) = json.loads(result.stdout)["comparisons"]
    assert [peer["peer"] for peer in comparison["peers"]] == ["scikit-learn", "numpy-float64"]
    assert comparison["left_out"] == {}


def test_bench_measures_a_plan_with_a_risk_too() -> None:
    result = _run("bench", "digits", "--peers", "scikit-learn,dormie", "--seconds", "0", "--risk", "0.02", "--json")
    assert result.exit_code == 0, result.output
    [comparison] = json.loads(result.stdout)["comparisons"]
    assert [peer["peer"] for peer in comparison["peers"]] == ["scikit-learn", "dormie", "dormie, risk 0.02"]
    assert comparison["peers"][2]["differences"] <= 0.04 * comparison["peers"][2]["compared"]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["cifar"], 2, "unknown case 'cifar'"),
        (["--peers", "numpi"], 2, "unknown peer 'numpi'"),
        (["--model", "m"], 2, "--model and --rows-file go together"),
        (["--model", "absent", "--rows-file", "absent.npy"], 3, "absent: there is no such file"),
    ],
)
def test_bench_says_what_is_wrong_in_one_line(arguments: list[str], code: int, words: str) -> None:
    result = _run("bench", *arguments)
    assert result.exit_code == code
    assert words in result.stderr
    assert "Traceback" not in result.output


def test_bench_reads_a_libsvm_text_model(tmp_path: Path, rows_file: Path) -> None:
    model = tmp_path / "digits.model"
    write_libsvm(read(MODEL), model)
    result = _run("bench", "--model", str(model), "--rows-file", str(rows_file), "--seconds", "0", "--json", "--full")
    assert result.exit_code == 0, result.output
    (comparison,) = json.loads(result.stdout)["comparisons"]
    assert comparison["reference"] == "numpy-float64"
    assert comparison["left_out"].keys() == {"scikit-learn", "scikit-learn-intelex", "onnxruntime"}
    assert all(peer["differences"] == 0 for peer in comparison["peers"])


def test_bench_loads_a_pickle_only_when_told_to_trust_it(tmp_path: Path, rows_file: Path) -> None:
    model = tmp_path / "model.pkl"
    model.write_bytes(pickle.dumps(MODEL))
    arguments = ("bench", "--model", str(model), "--rows-file", str(rows_file), "--seconds", "0", "--json")
    refused = _run(*arguments)
    assert refused.exit_code == 3
    assert "--trust" in refused.stderr
    trusted = _run(*arguments, "--trust")
    assert trusted.exit_code == 0, trusted.output
    assert json.loads(trusted.stdout)["comparisons"][0]["reference"] == "scikit-learn"


@pytest.mark.parametrize("package", ["typer", "rich", "sklearn"])
def test_without_its_packages_the_command_says_what_to_install(
    package: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    loaded = ("dormie.cli.", "dormie.lab.bench.table", f"{package}.")
    for name in [name for name in sys.modules if name.startswith(loaded)]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 1
    assert capsys.readouterr().err == f'the dormie command needs {package}: pip install "dormie[cli]"\n'


def test_python_dash_m_is_the_same_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["dormie", "--help"])
    with pytest.raises(SystemExit) as stop:
        runpy.run_module("dormie", run_name="__main__")
    assert stop.value.code == 0
    assert "bench" in capsys.readouterr().out
