"""Ready-made cases by name: a model, which scikit-learn trains each time, and rows that it was not trained on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from dormie.lab import datasets
from dormie.lab.datasets import Dataset
from dormie.lab.datasets.places import data_folder

_SEED = 0
_TRAINING_ROWS = 20_000
_MNIST_MACHINE = Path("models") / "mnist_rbf_c10_g002.npz"


@dataclass(frozen=True, eq=False)
class Case:
    """A model, rows to predict, and notes for the reader of the table."""

    title: str
    model: Any = field(repr=False)
    rows: Any = field(repr=False)
    notes: tuple[str, ...] = ()
    training: Any = field(default=None, repr=False)  # rows the model was trained on, if available
    copies: int = 1  # how many times the rows are repeated
    compiled_in: float | None = None  # seconds, of a plan with a risk


def digits(copies: int = 16) -> Case:
    """scikit-learn's digits: 1,000 to train on; the other 797 are repeated to fill a batch."""
    from sklearn.datasets import load_digits  # optional
    from sklearn.svm import SVC  # optional

    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(_SEED).permutation(len(y))
    train, test = order[:1000], order[1000:]
    note = f"the {len(test)} unseen digits are repeated {copies} times to fill a batch"
    rows = X / 16
    model = SVC().fit(rows[train], y[train])
    return Case("digits", model, np.tile(rows[test], (copies, 1)), (note,), rows[train], copies)


def mnist() -> Case:
    """MNIST with all ten classes and 60,000 training digits, C = 10, gamma = 0.02."""
    from sklearn.svm import SVC  # optional

    data = datasets.load("mnist")
    folder = data_folder()
    machine = None if folder is None else folder.resolve().parent / _MNIST_MACHINE
    if machine is not None and machine.is_file():
        note = "a machine trained earlier, loaded from its arrays"
        return Case("mnist", _transplanted(data, machine), data.X_test, (note,), data.X)
    model = SVC(C=10, gamma=0.02).fit(data.X, data.y)
    return Case("mnist", model, data.X_test, ("trained for this table on 60,000 digits, which takes minutes",), data.X)


def _transplanted(data: Dataset, machine: Path) -> Any:
    """The SVC that the stored arrays came from: fitted on a few rows to set its shape, then given the arrays."""
    from sklearn.svm import SVC  # optional

    few = np.concatenate([np.flatnonzero(data.y == digit)[:3] for digit in range(10)])
    model = SVC(C=10, gamma=0.02).fit(data.X[few], data.y[few])
    with np.load(machine, allow_pickle=False) as arrays:
        model.support_ = arrays["support"]
        model._n_support = arrays["n_support"].astype(np.int32)
        model.dual_coef_ = model._dual_coef_ = arrays["dual_coef"]
        model.intercept_ = model._intercept_ = arrays["intercept"]
    model.support_vectors_ = data.X[model.support_]
    model.shape_fit_ = data.X.shape
    return model


def _standardised(train: Any, test: Any) -> tuple[Any, Any]:
    """Both parts shifted and scaled to mean 0 and standard deviation 1 over the training rows."""
    mean, deviation = train.mean(axis=0), train.std(axis=0)
    deviation[deviation == 0] = 1
    return (train - mean) / deviation, (test - mean) / deviation


def _pooled(data: Dataset) -> Dataset:
    assert data.y_test is not None
    X, y = np.vstack([data.X, data.X_test]), np.concatenate([data.y, data.y_test])
    return replace(data, X=X, y=y, X_test=None, y_test=None)


def _trained(
    name: str,
    *,
    standardise: bool = True,
    positive: int | None = None,
    dense: bool = False,
    most: int = _TRAINING_ROWS,
    pooled: bool = False,
    **parameters: float,
) -> Case:
    """An SVC with the given parameters; the rows to predict are the official test part, or rows left over.

    With `pooled`, the official parts are joined first: for data sets whose test part is too small to calibrate on.
    """
    from sklearn.svm import SVC  # optional

    data = datasets.load(name)
    data = data if positive is None else data.against_rest(positive)
    data = _pooled(data) if pooled else data
    order = np.random.default_rng(_SEED).permutation(len(data.y))
    count = min(most, len(order) if data.X_test is not None else 2 * len(order) // 3)
    train, test = data.X[order[:count]], data.X[order[count:]] if data.X_test is None else data.X_test
    if standardise:
        train, test = _standardised(train, test)
    if dense:
        train, test = train.toarray(), test.toarray()
    model = SVC(**parameters).fit(train, data.y[order[:count]])
    origin = "rows not trained on" if data.X_test is None else "official test rows"
    scaling = ", standardised" if standardise else ""
    return Case(name, model, test, (f"{count:,} training rows{scaling}; {origin}",), train)


CASES: dict[str, Callable[[], Case]] = {
    "digits": digits,
    "mnist": mnist,
    "ijcnn1": partial(_trained, "ijcnn1"),
    "a9a": partial(_trained, "a9a", standardise=False),
    "a9a-dense": partial(_trained, "a9a", standardise=False, dense=True),
    "covtype": partial(_trained, "covtype", standardise=False, positive=2),
    "satimage": partial(_trained, "satimage"),
    "usps": partial(_trained, "usps"),
    "electricity": partial(_trained, "electricity"),
    "cod-rna": partial(_trained, "cod-rna"),
    "phishing": partial(_trained, "phishing"),
    "satimage-pooled": partial(_trained, "satimage", most=2800, pooled=True),
    "usps-pooled": partial(_trained, "usps", standardise=False, most=5498, pooled=True),
    "phishing-7000": partial(_trained, "phishing", most=7000),
    "phoneme": partial(_trained, "phoneme"),
    "skin": partial(_trained, "skin", most=30_000, C=10, gamma=10),
    "ijcnn1-30k": partial(_trained, "ijcnn1", standardise=False, most=30_000, gamma=1 / 22),
    "electricity-30k": partial(_trained, "electricity", most=30_000),
    "covtype-30k": partial(_trained, "covtype", standardise=False, positive=2, most=30_000),
    "cod-rna-30k": partial(_trained, "cod-rna", most=30_000),
}


def make_case(name: str) -> Case:
    """Train the model of the named case."""
    if name not in CASES:
        raise ValueError(f"unknown case {name!r}; there are {', '.join(CASES)}")
    return replace(CASES[name](), title=name)
