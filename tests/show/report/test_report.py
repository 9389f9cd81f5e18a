"""The report as a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from dormie.show import report
from tests.show.plans import MODEL, X, exact


def test_the_page_replaces_an_older_one(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")
    report(exact(), X[:50], path, against=MODEL)
    assert path.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert list(tmp_path.iterdir()) == [path]


def test_what_goes_wrong_leaves_the_older_one(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")
    with pytest.raises(ValueError, match="no images"):
        report(exact(), X[:50], path, image=(3, 3))
    assert path.read_text() == "old"
    with pytest.raises(FileNotFoundError, match="no folder"):
        report(exact(), X[:50], tmp_path / "no" / "report.html")
