"""Parquet: damage inside a file, and folders without files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from dormie.scale.tables import open_rows


def test_a_file_that_is_damaged_inside_is_named(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    table = pa.table({"a": np.random.default_rng(0).normal(size=20_000)})
    parquet.write_table(table, path, row_group_size=5000, compression="snappy", write_page_checksum=True)
    content = bytearray(path.read_bytes())
    content[len(content) // 2 : len(content) // 2 + 3000] = b"\xff" * 3000
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"rows\.parquet: damaged after row [\d,]+ \("):
        list(open_rows(path))


def test_a_folder_without_files_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="there is no Parquet file in this folder"):
        open_rows(tmp_path)


def test_one_broken_file_in_a_folder_is_found_before_any_row_is_read(tmp_path: Path) -> None:
    parquet.write_table(pa.table({"a": [1.0]}), tmp_path / "part-0.parquet")
    (tmp_path / "part-1.parquet").write_bytes((tmp_path / "part-0.parquet").read_bytes()[:-9])
    with pytest.raises(ValueError, match=r"part-1\.parquet is not a Parquet file, or not a whole one"):
        open_rows(tmp_path)


def test_row_groups_are_not_gathered_in_memory(tmp_path: Path) -> None:
    table = pa.table({"a": np.random.default_rng(0).normal(size=2_000_000)})
    parquet.write_table(table, tmp_path / "rows.parquet", row_group_size=100_000, use_dictionary=False)
    del table
    before, most = pa.total_allocated_bytes(), 0
    for _ in open_rows(tmp_path / "rows.parquet"):
        most = max(most, pa.total_allocated_bytes() - before)
    assert most < (tmp_path / "rows.parquet").stat().st_size / 2
