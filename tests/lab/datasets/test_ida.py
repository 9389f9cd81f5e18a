"""The IDA benchmark's own files, in any order of rows, give the arrays that dormie keeps."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from dormie.lab import datasets
from dormie.lab.datasets import ida
from dormie.lab.datasets.contents import digest
from dormie.lab.datasets.registry import IDA_NAMES
from tests.lab.datasets.test_datasets import needs_data

ROWS = np.array([[1.25, -3.0], [0.5, 2.0], [1.25, -3.0], [0.5, -7.1234567]])
LABELS = np.array([1.0, -1.0, -1.0, 1.0])
ORDER = {"toy_order": np.array([3, 1, 0, 2], dtype=np.uint16)}
# In lexicographic order: (0.5, -7.1, 1), (0.5, 2, -1), (1.25, -3, -1), (1.25, -3, 1).
KEPT = ([[1.25, -3.0], [0.5, 2.0], [0.5, -7.1234567], [1.25, -3.0]], [1, -1, 1, -1])


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ida, "_orders", lambda: ORDER)


def _matlab(name: str, rows: np.ndarray, labels: np.ndarray, train: np.ndarray, test: np.ndarray) -> bytes:
    out = io.BytesIO()
    splits = {"train": train + 1.0, "test": test + 1.0}
    savemat(out, {"other": [[1.0]], name: {"x": rows, "t": labels.reshape(-1, 1), **splits}})
    return out.getvalue()


def _asc(numbers: np.ndarray) -> bytes:
    return "".join("".join(f"   {n: .7e}" for n in np.atleast_1d(line)) + "\n" for line in numbers).encode()


@pytest.mark.usefixtures("toy")
@pytest.mark.parametrize("seed", range(4))
def test_any_order_of_rows_in_a_matlab_file_gives_the_same(seed: int) -> None:
    order = np.random.default_rng(seed).permutation(4)
    file = _matlab("toy", ROWS, LABELS, np.array([order[:3], order[1:]]), np.array([order[3:], order[:1]]))
    X, y = ida.matlab_file(file, name="toy")
    assert (X.tolist(), y.tolist()) == KEPT


@pytest.mark.usefixtures("toy")
def test_patterns_stored_once_come_as_often_as_the_split_has_them() -> None:
    rows = np.array([[1.25, -3.0], [0.5, 2.0], [0.5, -7.1234567], [1.25, -3.0]])
    once, labels = rows[:3], np.array([1.0, -1.0, 1.0])
    _, y = ida.matlab_file(_matlab("toy", once, labels, np.array([[0, 1, 2]]), np.array([[0]])), name="toy")
    assert sorted(y.tolist()) == [-1, 1, 1, 1]


@pytest.mark.usefixtures("toy")
def test_the_last_bits_of_a_matlab_file_do_not_count() -> None:
    file = _matlab("toy", np.nextafter(ROWS, 9), LABELS, np.array([[2, 0]]), np.array([[1, 3]]))
    assert ida.matlab_file(file, name="toy")[0].tolist() == KEPT[0]


@pytest.mark.usefixtures("toy")
def test_the_text_files_of_the_first_split_give_the_same() -> None:
    files = (_asc(ROWS[2:]), _asc(LABELS[2:]), _asc(ROWS[:2]), _asc(LABELS[:2]))
    X, y = ida.text_files(*files, name="toy")
    assert (X.tolist(), y.tolist()) == KEPT
    assert ida.split_files("toy")[3] == "toy_test_labels_1.asc"


@pytest.mark.usefixtures("toy")
def test_missing_rows_and_missing_sets_are_named() -> None:
    with pytest.raises(ValueError, match="there are 3 rows, and toy has 4"):
        ida.in_order("toy", ROWS[:3], LABELS[:3])
    with pytest.raises(ValueError, match="no variable 'toy'"):
        ida.matlab_file(_matlab("banana", ROWS, LABELS, np.array([[0, 1]]), np.array([[2, 3]])), name="toy")


def test_orders_are_permutations_and_splits_lie_inside() -> None:
    for name in IDA_NAMES:
        order = ida._orders()[f"{name}_order"]
        assert sorted(order.tolist()) == list(range(len(order)))


@needs_data
@pytest.mark.parametrize("name", ["heart", "titanic", "breast_cancer"])
def test_a_set_comes_out_of_either_public_form(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = datasets.load(name)
    order = np.random.default_rng(5).permutation(len(kept.y))
    train, test = order[: len(order) // 2], order[len(order) // 2 :]
    matlab = _matlab(name, kept.X, kept.y.astype(float), train[None], test[None])
    asc = [_asc(part) for rows in (train, test) for part in (kept.X[rows], kept.y[rows].astype(float))]
    for files in ({"benchmarks.mat": matlab}, dict(zip(ida.split_files(name), asc, strict=True))):
        folder = tmp_path / str(len(files)) / "ida"
        folder.mkdir(parents=True)
        for file, content in files.items():
            (folder / file).write_bytes(content)
        monkeypatch.setenv("DORMIE_DATA", str(folder.parent))
        again = datasets.load(name)
        assert digest(again.X, again.y) == digest(kept.X, kept.y)
