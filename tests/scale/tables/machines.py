"""A small model with named features, rows for it, and those rows in files of every format."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
from pyarrow import csv, ipc, parquet
from sklearn.datasets import make_moons
from sklearn.svm import SVC

import dormie
from dormie.predictor import Predictor

Floats = npt.NDArray[np.float64]

NAMES = ("a", "b")


def named_model() -> Predictor:
    """A model that was trained on a data frame with the columns a and b."""
    X, y = make_moons(200, noise=0.3, random_state=0)
    return dormie.compile(SVC().fit(pd.DataFrame(X, columns=list(NAMES)), y))


def nameless_model() -> Predictor:
    """The same model, trained on an array."""
    return dormie.compile(SVC().fit(*make_moons(200, noise=0.3, random_state=0)))


def rows(count: int, seed: int = 1) -> Floats:
    """Rows, rounded so that text gives them back."""
    return np.random.default_rng(seed).normal(size=(count, 2)).round(6)


def table(X: Floats) -> pa.Table:
    """The rows as an Arrow table, with a column that is no feature, and the features in another order."""
    return pa.table({"id": [f"row {i}" for i in range(len(X))], "b": X[:, 1], "a": X[:, 0]})


def write(path: Path, X: Floats) -> Path:
    """Write the rows in the format that the name tells."""
    kind = path.suffix
    if kind == ".csv":
        csv.write_csv(table(X), path)
    elif kind == ".tsv":
        csv.write_csv(table(X), path, csv.WriteOptions(delimiter="\t"))
    elif kind == ".parquet":
        parquet.write_table(table(X), path, row_group_size=40)
    elif kind == ".arrow":
        with ipc.new_file(str(path), table(X).schema) as out:
            out.write_table(table(X), max_chunksize=30)
    elif kind == ".feather":
        with ipc.new_stream(str(path), table(X).schema) as out:
            out.write_table(table(X), max_chunksize=30)
    elif kind == ".npy":
        np.save(path, X)
    elif kind == ".npz":
        np.savez(path, X=X, y=np.arange(3))
    else:
        path.write_text("".join(f"1 1:{a!r} 2:{b!r}\n" for a, b in X.tolist()))
    return path


FORMATS = (".csv", ".tsv", ".parquet", ".arrow", ".feather", ".npy", ".npz", ".svm")
