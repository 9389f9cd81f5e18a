"""Answers are written whole or not at all."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, ipc, parquet

from dormie.scale.tables import write_answers

KINDS = [".csv", ".parquet", ".arrow", ".feather", ".npy"]
LABELS = np.array([3, 1, 2, 2, 1])
BLOCKS = [LABELS[:2], LABELS[2:2], LABELS[2:]]


def _read(path: Path) -> np.ndarray:
    """The answers of a file as one array."""
    if path.suffix == ".npy":
        found: np.ndarray = np.load(path)
        return found
    if path.suffix == ".csv":
        return _columns(csv.read_csv(path))
    return _columns(parquet.read_table(path) if path.suffix == ".parquet" else ipc.open_file(str(path)).read_all())


def _columns(table: pa.Table) -> np.ndarray:
    columns = [column.to_numpy() for column in table.columns]
    return columns[0] if len(columns) == 1 else np.stack(columns, axis=1)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "answers", [LABELS, LABELS / 3, LABELS == 2, np.stack([LABELS / 7, LABELS]).T, np.array(["no", "yes"])[LABELS % 2]]
)
def test_what_was_written_comes_back(tmp_path: Path, kind: str, answers: np.ndarray) -> None:
    path = tmp_path / f"answers{kind}"
    assert write_answers(path, [answers[:2], answers[2:2], answers[2:]]) == 5
    assert np.array_equal(_read(path), answers)
    assert os.listdir(tmp_path) == [path.name]


def test_objects_are_written_as_text_but_not_to_npy(tmp_path: Path) -> None:
    words = np.array(["no", "yes", "no"], dtype=object)
    for kind in (".csv", ".parquet", ".arrow"):
        write_answers(tmp_path / f"a{kind}", [words[:1], words[1:]])
        assert _read(tmp_path / f"a{kind}").tolist() == words.tolist()
    with pytest.raises(TypeError, match=r"cannot be written to \.npy"):
        write_answers(tmp_path / "a.npy", [words])
    assert not (tmp_path / "a.npy").exists()


def test_a_npy_header_has_room_for_any_number_of_rows(tmp_path: Path) -> None:
    for blocks in (1, 12_345):
        write_answers(tmp_path / "a.npy", (np.zeros((1, 3)) for _ in range(blocks)))
        assert np.load(tmp_path / "a.npy").shape == (blocks, 3)


def test_columns_are_named(tmp_path: Path) -> None:
    both = np.stack([LABELS, LABELS], axis=1)
    write_answers(tmp_path / "a.csv", [LABELS])
    write_answers(tmp_path / "b.csv", [both])
    write_answers(tmp_path / "c.csv", [both], columns=["no", "yes"])
    heads = [path.read_text().split("\n")[0] for path in sorted(tmp_path.iterdir())]
    assert heads == ['"answer"', '"answer_0","answer_1"', '"no","yes"']
    with pytest.raises(ValueError, match="1 names of columns for answers of 2 columns"):
        write_answers(tmp_path / "d.csv", [both], columns=["no"])


def test_no_rows_are_a_file_and_no_blocks_are_an_error(tmp_path: Path) -> None:
    for kind in KINDS:
        assert write_answers(tmp_path / f"a{kind}", [LABELS[:0]]) == 0
        assert len(_read(tmp_path / f"a{kind}")) == 0
    with pytest.raises(ValueError, match="there are no answers to write"):
        write_answers(tmp_path / "b.csv", [])


def _failing() -> Iterator[np.ndarray]:
    yield LABELS
    raise OSError("rows.csv: a read error")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("old", [b"an older file", None])
def test_when_the_answers_fail_nothing_is_left_behind(tmp_path: Path, kind: str, old: bytes | None) -> None:
    path = tmp_path / f"answers{kind}"
    if old is not None:
        path.write_bytes(old)
    with pytest.raises(OSError, match=r"^rows\.csv: a read error$"):
        write_answers(path, _failing())
    other = [LABELS, LABELS / 2]
    with pytest.raises(ValueError, match="the answers from row 5 on are of type float64"):
        write_answers(path, other)
    assert [file.read_bytes() for file in tmp_path.iterdir()] == ([] if old is None else [old])


@pytest.fixture
def small_files() -> Iterator[None]:
    """No file may become larger than a few bytes: what is written fails as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("kind", KINDS)
def test_a_full_disk_is_one_error_that_names_the_file(tmp_path: Path, kind: str, small_files: None) -> None:
    del small_files
    path = tmp_path / f"answers{kind}"
    path.write_bytes(b"an older file")
    random = np.random.default_rng(0)
    with pytest.raises(OSError, match=rf"answers\{kind} could not be written, and nothing was left behind"):
        write_answers(path, (random.normal(size=5000) for _ in range(200)))
    assert os.listdir(tmp_path) == [path.name]
    assert path.read_bytes() == b"an older file"


def test_a_folder_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"nowhere.*could not be written"):
        write_answers(tmp_path / "nowhere" / "a.npy", [LABELS])
    with pytest.raises(ValueError, match=r"a\.txt: unknown format"):
        write_answers(tmp_path / "a.txt", [LABELS])


def test_an_interrupt_leaves_nothing_behind(tmp_path: Path) -> None:
    def interrupted() -> Iterator[Any]:
        yield LABELS
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_answers(tmp_path / "a.csv", interrupted())
    assert os.listdir(tmp_path) == []
