"""Arrow files: compressed or not, as files or as streams, and large batches in slices."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import ipc

from dormie.scale.tables import block as of_blocks
from dormie.scale.tables import open_rows

TABLE = pa.table({"a": np.arange(100.0), "b": np.arange(100)})


@pytest.mark.parametrize("make", [ipc.new_file, ipc.new_stream])
@pytest.mark.parametrize("compression", [None, "lz4"])
def test_large_batches_come_in_slices(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: type, compression: str | None
) -> None:
    monkeypatch.setattr(of_blocks, "_BYTES", 30 * 8 * 2)
    with make(str(tmp_path / "x.arrow"), TABLE.schema, options=ipc.IpcWriteOptions(compression=compression)) as out:
        out.write(TABLE)
    blocks = list(open_rows(tmp_path / "x.arrow"))
    assert [(block.first_row, len(block.values)) for block in blocks] == [(0, 30), (30, 30), (60, 30), (90, 10)]
    assert np.concatenate([block.values for block in blocks])[:, 1].tolist() == list(range(100))


def test_a_file_of_something_else_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.feather").write_bytes(b"no Arrow at all, but long enough to be looked at")
    with pytest.raises(ValueError, match=r"x\.feather is not an Arrow file"):
        open_rows(tmp_path / "x.feather")
