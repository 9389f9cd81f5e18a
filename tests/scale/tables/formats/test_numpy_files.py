"""NumPy's files: mapped into memory, chosen columns, archives, and what holds no rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from dormie.scale.tables import open_rows

X = np.arange(12.0).reshape(4, 3)


def test_rows_of_a_npy_file_are_not_copied(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X.astype(np.float32))
    (block,) = open_rows(tmp_path / "x.npy")
    base: object = block.values
    while isinstance(base, np.ndarray) and not isinstance(base, np.memmap):
        base = base.base
    assert isinstance(base, np.memmap)
    assert type(block.values) is np.ndarray
    assert block.values.dtype == np.float32


def test_an_archive_has_one_array_or_one_named_x(tmp_path: Path) -> None:
    np.savez(tmp_path / "one.npz", rows=X)
    np.savez_compressed(tmp_path / "more.npz", y=np.arange(4), X=X)
    sparse.save_npz(tmp_path / "sparse.npz", sparse.csc_array(X))
    for name in ("one", "more", "sparse"):
        (block,) = open_rows(tmp_path / f"{name}.npz", ["f2", "f0"])
        values = block.values.toarray() if name == "sparse" else block.values
        assert values.tolist() == X[:, [2, 0]].tolist()
    np.savez(tmp_path / "two.npz", a=X, b=X)
    with pytest.raises(ValueError, match=r"two\.npz: there are the arrays a, b; save one alone"):
        open_rows(tmp_path / "two.npz")


def test_what_holds_no_rows_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X[0])
    with pytest.raises(ValueError, match=r"x\.npy: an array of shape \(3,\); rows and columns are needed"):
        open_rows(tmp_path / "x.npy")
    np.save(tmp_path / "x.npy", np.array([[1, "a"]], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match=r"x\.npy is not a NumPy file with numbers, .*Python objects"):
        open_rows(tmp_path / "x.npy")
