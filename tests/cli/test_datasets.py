"""`dormie datasets` says what is there, what is missing and how to get it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from dormie.cli.app import app
from dormie.lab.datasets import NAMES


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder with the haberman set alone."""
    monkeypatch.setenv("DORMIE_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    place = tmp_path / "data" / "haberman" / "haberman.data"
    place.parent.mkdir(parents=True)
    place.touch()
    return place


def _run(*words: str) -> Result:
    return CliRunner().invoke(app, ["datasets", *words], catch_exceptions=False)


@pytest.mark.usefixtures("folder")
def test_all_sets_are_listed_with_their_state() -> None:
    out = _run().output.splitlines()
    assert [line.split()[0] for line in out[:-1]] == list(NAMES)
    assert "here" in out[NAMES.index("haberman")]
    assert "missing" in out[NAMES.index("sonar")]
    assert "dormie datasets NAME" in out[-1]


def test_named_sets_are_told_in_full(folder: Path) -> None:
    out = _run("haberman", "usps").output
    assert str(folder) in out
    assert "https://hastie.su.domains/ElemStatLearn/datasets/zip.test.gz" in out
    assert "DORMIE_DATA" in out
    assert "mnist" not in out


def test_as_data(folder: Path) -> None:
    records = {record["name"]: record for record in json.loads(_run("--json").output)}
    assert list(records) == list(NAMES)
    assert records["haberman"]["files"] == [str(folder)]
    assert (records["haberman"]["here"], records["a9a"]["here"]) == (True, False)
    assert "a9a.t" in records["a9a"]["how_to_get"]


def test_an_unknown_name_is_refused() -> None:
    result = _run("mnits")
    assert result.exit_code == 2
    assert "unknown data set 'mnits'; there are mnist" in result.output
