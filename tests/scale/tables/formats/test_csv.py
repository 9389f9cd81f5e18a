"""CSV: names or none, what separates columns, packed files, and errors that name the line."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from dormie.scale.tables import open_rows
from dormie.scale.tables.formats import csv


def _values(path: Path, columns: list[str] | None = None) -> list[list[float]]:
    return [row for block in open_rows(path, columns) for row in block.values.tolist()]


def _file(folder: Path, text: str, name: str = "rows.csv") -> Path:
    (folder / name).write_text(text, "utf-8", newline="")
    return folder / name


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a,b\n1,2.5\n-3e2,4\n", ("a", "b")),
        ("a\tb\n1\t2.5\n-3e2\t4", ("a", "b")),
        ("\ufeffa;b\r\n1;2.5\r\n-3e2;4\r\n", ("a", "b")),
        ('"a","b, c"\n1,2.5\n\n-3e2,4\n', ("a", "b, c")),
        ("1,2.5\n-3e2,4\n", ("f0", "f1")),
        ("1,b\n1,2.5\n-3e2,4\n", ("1", "b")),
    ],
)
def test_the_first_line_tells_names_and_separator(tmp_path: Path, text: str, names: tuple[str, ...]) -> None:
    path = _file(tmp_path, text)
    file = open_rows(path)
    assert file.columns == names
    assert file.named == (names != ("f0", "f1"))
    assert _values(path) == [[1.0, 2.5], [-300.0, 4.0]]


@pytest.mark.parametrize("line", ["0,1,2", '"0";"1"', "0"])
def test_a_first_line_that_may_be_names_or_a_row_is_refused(tmp_path: Path, line: str) -> None:
    with pytest.raises(ValueError, match=r"rows\.csv: the first line counts from 0 .* as pandas names columns"):
        open_rows(_file(tmp_path, f"{line}\n1,2,3\n"))


def test_lines_may_be_longer_than_a_piece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv, "_PIECE", 20)
    rows = np.arange(3000.0).reshape(30, 100)
    text = "\n".join(",".join(map(str, row)) for row in rows.tolist())
    assert _values(_file(tmp_path, ",".join(f"c{n}" for n in range(100)) + "\n" + text)) == rows.tolist()


def test_an_empty_first_line_is_not_an_empty_file(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"rows\.csv: the first line is empty"):
        open_rows(_file(tmp_path, "\na,b\n1,2\n"))
    with pytest.raises(ValueError, match=r"rows\.csv: the file is empty"):
        open_rows(_file(tmp_path, ""))


def test_packed_files_are_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n1,2\n"))
    assert open_rows(path).columns == ("a", "b")
    assert _values(path, ["b"]) == [[2.0]]


def test_whole_numbers_first_do_not_make_a_column_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv, "_PIECE", 200)
    monkeypatch.setattr(csv, "_ROWS", 70)
    path = _file(tmp_path, "a\n" + "1\n" * 500 + "0.5\n")
    blocks = list(open_rows(path))
    assert len(blocks) > 2
    assert blocks[-1].values[-1, 0] == 0.5
    assert {block.values.dtype for block in blocks} == {np.dtype(np.float64)}


@pytest.mark.parametrize("block", [200, 1 << 20])
@pytest.mark.parametrize("row", [0, 1, 250, 499])
def test_text_in_a_column_of_numbers_is_named_by_line_and_column(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int, row: int
) -> None:
    monkeypatch.setattr(csv, "_PIECE", block)
    monkeypatch.setattr(csv, "_ROWS", 1)
    lines = [f"{i},{i / 2},text" for i in range(500)]
    lines[row] = f"{row},twelve,text"
    path = _file(tmp_path, "\n".join(["a,b,c", *lines, ""]))
    with pytest.raises(ValueError, match=rf"rows\.csv, line {row + 2:,}, column 'b': 'twelve' is not a number"):
        _values(path, ["a", "b"])
    assert len(_values(path, ["a"])) == 500


def test_lines_of_other_lengths_are_named(tmp_path: Path) -> None:
    path = _file(tmp_path, "a,b\n1,2\n3\n4,5\n")
    with pytest.raises(ValueError, match=r"rows\.csv, line 3: there are 1 values, and the file has 2 columns"):
        _values(path)


@pytest.mark.parametrize("missing", ["", "NA", "nan", "NaN"])
def test_missing_values_are_named_by_row_and_column(tmp_path: Path, missing: str) -> None:
    path = _file(tmp_path, f"a,b\n1,2\n{missing},3\n")
    with pytest.raises(ValueError, match=r"rows\.csv: row 1, column 'a' is null"):
        _values(path)


def test_a_packed_file_that_was_cut_off_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv.gz"
    random = np.random.default_rng(0)
    text = "a,b\n" + "".join(f"{a},{b}\n" for a, b in random.normal(size=(5000, 2)).tolist())
    path.write_bytes(gzip.compress(text.encode())[:-20_000])
    with pytest.raises(ValueError, match=r"rows\.csv\.gz"):
        _values(path)
