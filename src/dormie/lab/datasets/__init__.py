"""The data sets that dormie is tested and measured on; users import this as `dormie.datasets`.

`load("ijcnn1")` returns a data set. `registry` lists the data sets and the forms in which they are published, `fetch`
finds a copy (DORMIE_DATA, then the cache folder, then a public home), `parse` turns its bytes into arrays, and
`contents` takes the sha256 of these every time. Only what OpenML alone serves needs scikit-learn, and only to fetch it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dormie.lab.datasets import ida
from dormie.lab.datasets.fetch import read
from dormie.lab.datasets.places import Part
from dormie.lab.datasets.registry import IDA_NAMES, RECIPES, Recipe

__all__ = ["IDA_NAMES", "NAMES", "Dataset", "ida_splits", "load"]

NAMES = tuple(RECIPES)

Labels = npt.NDArray[np.int64]
Rows = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Dataset:
    """Features and labels of a data set.

    Parameters
    ----------
    name : str
        The name by which `load` finds it.
    description : str
        One line about it.
    X : ndarray or CSR array of shape (n_rows, n_features)
        The training rows in float64: dense, except for a9a and w8a, which are scipy CSR arrays. The rows of
        splice-strings are strings, in an array of shape (n_rows,).
    y : ndarray of int of shape (n_rows,)
        Their labels.
    X_test : ndarray or CSR array of shape (n_test_rows, n_features), default=None
        The rows of the official test part; None if the data set has none.
    y_test : ndarray of int of shape (n_test_rows,), default=None
        Their labels; None if there is no test part.

    Examples
    --------
    >>> import numpy as np
    >>> from dormie.datasets import Dataset
    >>> data = Dataset("tiny", "three rows of three classes", np.eye(3), np.array([1, 2, 3]))
    >>> data.against_rest(2).y
    array([-1,  1, -1])
    """

    name: str
    description: str
    X: Any = field(repr=False)
    y: Labels = field(repr=False)
    X_test: Any = field(default=None, repr=False)
    y_test: Labels | None = field(default=None, repr=False)

    def against_rest(self, label: int) -> Dataset:
        """Return the same rows as a problem of two classes.

        Parameters
        ----------
        label : int
            The label that becomes +1; all others become -1.

        Returns
        -------
        Dataset
            The data set with the new labels.

        Raises
        ------
        ValueError
            If no training row has that label.
        """
        classes = np.unique(self.y).tolist()
        if label not in classes:
            raise ValueError(f"{self.name}: no class {label}; the classes are {classes}")
        test = None if self.y_test is None else np.where(self.y_test == label, 1, -1)
        return replace(self, y=np.where(self.y == label, 1, -1), y_test=test)


def load(name: str) -> Dataset:
    """Load a data set from a data folder, from the cache, or from its public origin.

    Parameters
    ----------
    name : str
        One of `NAMES`.

    Returns
    -------
    Dataset
        Its features and labels.

    Raises
    ------
    ValueError
        If there is no data set of that name, or if a file found holds something else.
    FileNotFoundError
        If the set is nowhere to be had. The message says how to get it and where to put it.

    Notes
    -----
    Files are looked for in the folder named by the environment variable DORMIE_DATA, then in ``$XDG_CACHE_HOME/dormie``
    or ``~/.cache/dormie``. What is in neither is downloaded to the cache. Each set is taken as its public home serves
    it; what counts is the sha256 of the arrays, so that any copy will do. ``dormie datasets`` lists what is there.

    Examples
    --------
    >>> from dormie import datasets
    >>> "ijcnn1" in datasets.NAMES
    True
    >>> datasets.load("ijcnn2")
    Traceback (most recent call last):
    ValueError: unknown data set 'ijcnn2'; there are mnist, sonar, ...
    """
    if name not in RECIPES:
        raise ValueError(f"unknown data set {name!r}; there are {', '.join(NAMES)}")
    recipe = RECIPES[name]
    train = _part(recipe, recipe.train)
    test = (None, None) if recipe.test is None else _part(recipe, recipe.test)
    return Dataset(name, recipe.description, *train, *test)


def _part(recipe: Recipe, part: Part) -> tuple[Any, Labels]:
    X, y = read(part)
    return X if recipe.convert is None else recipe.convert(X), y


def ida_splits(name: str) -> tuple[tuple[Rows, Rows], ...]:
    """Load the original splits of an IDA data set.

    Parameters
    ----------
    name : str
        One of `IDA_NAMES`.

    Returns
    -------
    tuple of (ndarray, ndarray)
        For each split, the positions of the training rows, in the order of the original files, and of the test rows,
        ascending; empty if no original split is known.

    Raises
    ------
    ValueError
        If there is no IDA data set of that name.

    Notes
    -----
    The splits of diabetis and image have the usual sizes, but were not verified to be among the original ones.

    Examples
    --------
    >>> from dormie import datasets
    >>> "banana" in datasets.IDA_NAMES
    True
    >>> datasets.ida_splits("mnist")
    Traceback (most recent call last):
    ValueError: 'mnist' is not an IDA set; they are banana, ...
    """
    if name not in IDA_NAMES:
        raise ValueError(f"{name!r} is not an IDA set; they are {', '.join(IDA_NAMES)}")
    return ida.splits(name)
