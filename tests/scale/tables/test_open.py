"""Every format gives the rows that were written, in blocks of any size."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dormie.scale.tables import block as of_blocks
from dormie.scale.tables import open_rows
from dormie.scale.tables.rows_file import RowsFile
from tests.scale.tables.machines import FORMATS, NAMES, rows, write

X = rows(100)


def _values(file: RowsFile) -> np.ndarray:
    parts = [part.values for part in file]
    return np.concatenate([part.toarray() if hasattr(part, "toarray") else part for part in parts])


def _features(path: Path) -> RowsFile:
    file = open_rows(path)
    return file.select(NAMES if file.named else ("f0", "f1"))


@pytest.mark.parametrize("kind", FORMATS)
def test_rows_come_back_as_written(tmp_path: Path, kind: str) -> None:
    file = _features(write(tmp_path / f"rows{kind}", X))
    assert np.array_equal(_values(file), X)
    assert np.array_equal(_values(file), X), "a file can be read again"
    assert file.n_rows in (None, 100)
    assert file.path == str(tmp_path / f"rows{kind}")


@pytest.mark.parametrize("kind", [".parquet", ".arrow", ".npy", ".npz"])
def test_blocks_follow_one_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.setattr(of_blocks, "_BYTES", 7 * 8 * 2)
    blocks = list(_features(write(tmp_path / f"rows{kind}", X)))
    assert len(blocks) > 10
    assert [block.first_row for block in blocks] == np.cumsum([0, *(len(b.values) for b in blocks[:-1])]).tolist()
    assert np.array_equal(np.concatenate([block.values for block in blocks]), X)


@pytest.mark.parametrize("kind", [".csv", ".parquet", ".arrow"])
def test_columns_are_chosen_by_name(tmp_path: Path, kind: str) -> None:
    path = write(tmp_path / f"rows{kind}", X)
    assert open_rows(path).columns == ("id", "b", "a")
    assert np.array_equal(_values(open_rows(path, ["b"])), X[:, 1:])
    with pytest.raises(ValueError, match=rf"rows{kind}: there is no column 'c'; the columns are 'id', 'b', 'a'"):
        open_rows(path, ["a", "c"])


def test_files_that_do_not_exist_or_are_of_unknown_format_are_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"rows\.csv: there is no such file"):
        open_rows(tmp_path / "rows.csv")
    (tmp_path / "rows.xls").touch()
    with pytest.raises(ValueError, match=r"unknown format '\.xls'; its name must end in one of \.csv, "):
        open_rows(tmp_path / "rows.xls")


@pytest.mark.parametrize("kind", FORMATS[:-1])
def test_empty_files_are_an_error_that_names_them(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"rows{kind}"
    path.touch()
    with pytest.raises(ValueError, match=rf"rows\{kind}"):
        open_rows(path)


@pytest.mark.parametrize("kind", [".parquet", ".arrow", ".npy", ".npz"])
@pytest.mark.parametrize("share", [0.3, 0.98])
def test_truncated_files_are_an_error_that_names_them(tmp_path: Path, kind: str, share: float) -> None:
    path = write(tmp_path / f"rows{kind}", rows(2000))
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
    with pytest.raises(ValueError, match=rf"rows\{kind}"):
        _values(_features(path))
