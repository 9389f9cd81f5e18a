"""The data sets dormie is tested and measured on, under one call: `load("ijcnn1")`.

`registry` says what there is, `fetch` finds a file (DORMIE_DATA, then the cache folder, then its public origin) and
checks its sha256 every time, `parse` turns its bytes into arrays. None of them needs scikit-learn.
"""

from __future__ import annotations

import io
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dormie.lab.datasets.fetch import read_file
from dormie.lab.datasets.registry import IDA_NAMES, IDA_SPLITS, RECIPES

__all__ = ["IDA_NAMES", "NAMES", "Dataset", "ida_splits", "load"]

NAMES = tuple(RECIPES)

Labels = npt.NDArray[np.int64]
Rows = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Dataset:
    """Features and labels; `X_test` and `y_test` are None where the set has no official test part.

    X is float64, dense, except for a9a and w8a, which are scipy CSR arrays.
    """

    name: str
    description: str
    X: Any = field(repr=False)
    y: Labels = field(repr=False)
    X_test: Any = field(default=None, repr=False)
    y_test: Labels | None = field(default=None, repr=False)

    def against_rest(self, label: int) -> Dataset:
        """The same rows as a two-class problem: +1 for `label`, -1 for all others (covtype: `against_rest(2)`)."""
        known = np.unique(self.y).tolist()
        if label not in known:
            raise ValueError(f"{self.name}: no class {label}; the classes are {known}")
        test = None if self.y_test is None else np.where(self.y_test == label, 1, -1)
        return replace(self, y=np.where(self.y == label, 1, -1), y_test=test)


def load(name: str) -> Dataset:
    """The data set of that name; `NAMES` lists them."""
    if name not in RECIPES:
        raise ValueError(f"unknown data set {name!r}; there are {', '.join(NAMES)}")
    recipe = RECIPES[name]
    X, y = recipe.parse(*(read_file(file) for file in recipe.train))
    if not recipe.test:
        return Dataset(name, recipe.description, X, y)
    X_test, y_test = recipe.parse(*(read_file(file) for file in recipe.test))
    return Dataset(name, recipe.description, X, y, X_test, y_test)


def ida_splits(name: str) -> tuple[tuple[Rows, Rows], ...]:
    """The original (train rows, test rows) of an IDA set; an empty tuple where none are known.

    Those of diabetis and image have the usual sizes, but are not verified to be among the original realisations.
    """
    if name not in IDA_NAMES:
        raise ValueError(f"{name!r} is not an IDA set; they are {', '.join(IDA_NAMES)}")
    with np.load(io.BytesIO(read_file(IDA_SPLITS)), allow_pickle=False) as splits:
        if f"{name}_train" not in splits:
            return ()
        train, test = splits[f"{name}_train"].astype(np.intp), splits[f"{name}_test"].astype(np.intp)
    return tuple(zip(train, test, strict=True))
