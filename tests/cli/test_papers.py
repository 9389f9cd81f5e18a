from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from dormie.cli.app import app
from dormie.lab.papers import PAPERS, Paper
from dormie.lab.papers.table import Table

TABLE = Table("Table 4 [again]", {"paper": {"k mean": 26.2}, "here": {"k mean": 21.75}}, ("a [note]",))


def _run(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["papers", *arguments], env={"COLUMNS": "200"})


def _figure(folder: Path) -> list[Path]:
    return [folder / "figure.png"]


def _needs_matplotlib(folder: Path) -> list[Path]:
    import matplotlib

    raise AssertionError(f"{matplotlib} drew in {folder}")


def _tables(seconds: float) -> Iterator[Table]:
    assert seconds == 0.5
    yield TABLE


def _no_data(seconds: float) -> Iterator[Table]:
    raise OSError(f"no data after {seconds}")
    yield


@pytest.fixture(autouse=True)
def _a_short_paper(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PAPERS, "short", Paper("A short paper", _tables, _figure))


def test_alone_it_lists_the_papers_and_runs_none() -> None:
    result = _run()
    assert result.exit_code == 0
    assert [line.split()[0] for line in result.stdout.splitlines()] == [
        "muller2004",
        "decoste2002",
        "burges1997",
        "decoste2003",
        "ukkonen2010",
        "short",
    ]
    assert json.loads(_run("--json").stdout)["papers"][-1] == {"paper": "short", "title": "A short paper"}


def test_a_paper_is_printed_with_its_numbers_beside_ours(tmp_path: Path) -> None:
    result = _run("short", "--seconds", "0.5", "--out", str(tmp_path))
    assert result.exit_code == 0, result.output
    for words in ("Table 4 [again]", "paper", "26.2", "21.8", "a [note]"):
        assert words in result.stdout
    assert str(tmp_path / "figure.png") in result.stderr


def test_the_small_form_is_run_where_there_is_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert "Table 4" in _run("short", "--small", "--seconds", "0.5", "--out", str(tmp_path)).stdout
    monkeypatch.setitem(PAPERS, "short", Paper("A short paper", _no_data, small=_tables))
    result = _run("short", "--small", "--seconds", "0.5")
    assert result.exit_code == 0, result.output
    assert "Table 4" in result.stdout
    assert _run("short").exit_code == 1


def test_json_holds_the_same(tmp_path: Path) -> None:
    record = json.loads(_run("short", "--seconds", "0.5", "--json", "--out", str(tmp_path)).stdout)
    (paper,) = record["papers"]
    assert paper["tables"][0]["lines"] == [{"line": "k mean", "paper": 26.2, "here": 21.75}]
    assert paper["figures"] == [str(tmp_path / "figure.png")]
    assert record["environment"]["cores"] >= 1


def test_without_matplotlib_the_tables_come_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PAPERS, "short", Paper("A short paper", _tables, _needs_matplotlib))
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = _run("short", "--seconds", "0.5")
    assert result.exit_code == 0
    assert "26.2" in result.stdout
    assert 'pip install "dormie[plot]"' in result.stderr


def test_what_is_wrong_is_said_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PAPERS, "short", Paper("A short paper", _no_data))
    for name, code, words in (
        ("short", 1, "no data after 4.0"),
        ("smith1999", 2, "unknown paper 'smith1999'; there are muller2004"),
    ):
        result = _run(name)
        assert result.exit_code == code
        assert words in result.stderr
        assert "Traceback" not in result.output
