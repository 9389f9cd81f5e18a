"""Without pyarrow, what needs it says how to install it; the rest works."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from dormie.scale.tables import open_rows, write_answers
from tests.scale.tables.machines import rows, write


def test_formats_that_need_pyarrow_say_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = (".csv", ".parquet", ".arrow")
    paths = [write(tmp_path / f"rows{kind}", rows(3)) for kind in kinds]
    for name in [name for name in sys.modules if name.split(".")[0] == "pyarrow"]:
        monkeypatch.setitem(sys.modules, name, None)
    for path in paths:
        with pytest.raises(ModuleNotFoundError, match=r"needs pyarrow: pip install 'dormie\[tables\]'"):
            open_rows(path)
        with pytest.raises(ModuleNotFoundError, match=r"needs pyarrow: pip install 'dormie\[tables\]'"):
            write_answers(tmp_path / f"new{path.suffix}", [np.arange(3)])
    assert write_answers(tmp_path / "a.npy", [np.arange(3)]) == 3
    assert open_rows(write(tmp_path / "rows.npy", rows(3))).n_rows == 3
    assert not list(tmp_path.glob("new*"))
