"""The examples run, and show what they say."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"


def _main(name: str) -> Any:
    return runpy.run_path(str(EXAMPLES / name))["main"]()


def test_strings(capsys: pytest.CaptureFixture[str]) -> None:
    result = _main("strings.py")
    assert result.support_vectors > 150
    assert result.exact_agreement == 1
    assert result.exact_evaluations < 20
    assert result.evaluations < 11
    assert result.machine_accuracy > 0.97
    assert result.tree_accuracy > 0.95
    assert result.agreement > 0.96
    printed = capsys.readouterr().out
    assert f"{result.support_vectors} kernel evaluations per strand" in printed
    assert "|--- k0 <= " in printed


def test_typed() -> None:
    result = _main("typed.py")
    assert result.by_hand == ["near", "far"]
    assert result.in_time == 400
    assert result.score > 0.9
    assert result.loaded


def test_raster(tmp_path: Path) -> None:
    main = runpy.run_path(str(EXAMPLES / "raster.py"))["main"]
    (risk, exact) = main(["--size", "160", "--train", "600", "--exact", "--out", str(tmp_path / "out")])
    assert (risk.name, exact.name) == ("risk", "exact")
    assert risk.differ <= 10
    assert exact.differ == 0
    assert (tmp_path / "out" / "raster.jpg").stat().st_size > 10_000
