"""What is known of a file of rows before it is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from dormie.scale.tables import open_rows
from dormie.scale.tables.rows_file import nameless, require_columns, some_names
from tests.scale.tables.machines import rows, write


def test_columns_without_names_are_numbered() -> None:
    assert nameless(3) == ("f0", "f1", "f2")


def test_many_names_are_cut_short() -> None:
    assert some_names(["a", "b"]) == "'a', 'b'"
    assert some_names(nameless(10)).endswith("'f7' and 2 more")


def test_columns_must_be_there_once() -> None:
    require_columns(["b", "a"], ["a", "b", "c", "c"], "x.csv")
    with pytest.raises(ValueError, match=r"x\.csv: there are 2 columns 'c'"):
        require_columns(["a", "c"], ["a", "b", "c", "c"], "x.csv")


def test_text_that_does_not_say_how_many_features_it_has_must_be_told(tmp_path: Path) -> None:
    file = open_rows(write(tmp_path / "rows.svm", rows(3)))
    assert (file.columns, file.n_rows, file.named) == (None, None, False)
    with pytest.raises(ValueError, match=r"rows\.svm does not say how many columns"):
        iter(file)
    assert [block.values.shape for block in file.select(nameless(5))] == [(3, 5)]
