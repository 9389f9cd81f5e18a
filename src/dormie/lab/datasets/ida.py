"""The IDA benchmark's files, and the order of the rows that dormie keeps.

The benchmark was published as splits: for each set a hundred (or twenty) pairs of training and test rows, first as text
files, `banana_train_data_1.asc` and so on, today as the Matlab file `benchmarks.mat`. A set has no order of its own
there. `ida_orders.npz` states one: the place of every row in lexicographic order of its numbers and its label, so that
any copy gives the same arrays. The file also has the training rows of those original splits that are known.

All numbers have eight significant digits. Those of a Matlab file are rounded to that, for its reader may have been off
in the last bit.
"""

from __future__ import annotations

import io
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from dormie.lab.datasets.parse import Floats, Labels, numbers_in_lines

_ORDERS = Path(__file__).with_name("ida_orders.npz")

Rows = npt.NDArray[np.intp]


def split_files(name: str) -> tuple[str, ...]:
    """The text files of a set's first split, which together hold all its rows."""
    return tuple(f"{name}_{part}_{what}_1.asc" for part in ("train", "test") for what in ("data", "labels"))


def text_files(
    train: bytes, train_labels: bytes, test: bytes, test_labels: bytes, *, name: str
) -> tuple[Floats, Labels]:
    """The four text files of the first split."""
    rows = np.concatenate([numbers_in_lines(train), numbers_in_lines(test)])
    labels = np.concatenate([numbers_in_lines(train_labels), numbers_in_lines(test_labels)])
    return in_order(name, rows, labels)


def matlab_file(content: bytes, *, name: str) -> tuple[Floats, Labels]:
    """A set of `benchmarks.mat`: patterns `x`, labels `t`, and in each row of `train` and `test` a split, from 1."""
    from scipy.io import loadmat  # here: it takes long to import

    found = loadmat(io.BytesIO(content), variable_names=[name], squeeze_me=False)
    if name not in found:
        raise ValueError(f"the Matlab file has no variable {name!r}")
    benchmark = found[name][0, 0]
    first = np.concatenate([benchmark["train"][0], benchmark["test"][0]]).astype(np.intp) - 1
    return in_order(name, benchmark["x"][first], benchmark["t"].reshape(-1, 1)[first])


def in_order(name: str, rows: npt.ArrayLike, labels: npt.ArrayLike) -> tuple[Floats, Labels]:
    """The rows of a set, which come in any order, in the order that dormie keeps."""
    columns = _eight_digits(np.column_stack([np.asarray(rows, np.float64), np.asarray(labels, np.float64)]))
    order = _orders()[f"{name}_order"]
    if len(order) != len(columns):
        raise ValueError(f"there are {len(columns):,} rows, and {name} has {len(order):,}")
    kept = columns[lexicographic(columns)[order]]
    return np.ascontiguousarray(kept[:, :-1]), kept[:, -1].astype(np.int64)


def lexicographic(columns: Floats) -> Rows:
    """The positions that sort rows by their first number, those with the same by their second, and so on."""
    return np.lexsort(columns.T[::-1])


def splits(name: str) -> tuple[tuple[Rows, Rows], ...]:
    """Training rows, in the order of the original files, and test rows, ascending, of the known original splits."""
    train = _orders().get(f"{name}_train", ())
    everything = np.arange(len(_orders()[f"{name}_order"]))
    return tuple((rows.astype(np.intp), np.setdiff1d(everything, rows)) for rows in train)


@cache
def _orders() -> dict[str, npt.NDArray[np.uint16]]:
    with np.load(_ORDERS, allow_pickle=False) as orders:
        return dict(orders)


def _eight_digits(columns: Floats) -> Floats:
    return np.array([float(f"{number:.7e}") for number in columns.ravel()]).reshape(columns.shape) + 0.0
