"""The report of a plan as a file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dormie.plan.file.archive import replace_file
from dormie.predictor import Predictor
from dormie.show.report.measured import Measured, measure
from dormie.show.report.page import page


def report(
    predictor: Predictor,
    X: Any,
    path: str | os.PathLike[str],
    *,
    against: Any = None,
    image: Sequence[int] | None = None,
) -> None:
    """
    Write a page about a plan at work: what it promises, where rows stop, what they cost, how long answers take.

    The page is one HTML file that loads nothing else. It can be sent, kept, and opened without a network.

    Parameters
    ----------
    predictor : Predictor
        The compiled model.
    X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
        The rows, at least one.
    path : str or path-like
        The file. An existing file is replaced in one step.
    against : object with a `predict` method, default=None
        The model that the plan is timed beside, such as the one that it was compiled from. By default its full sum.
    image : sequence of two int, default=None
        The height and width of rows that are grey images. The rows that cost most are then shown as pictures.

    Raises
    ------
    TypeError
        If rows are of the wrong type.
    ValueError
        If there are no rows, if they are NaN, infinite, or of the wrong shape, or if they are no such images.
    FileNotFoundError
        If the folder does not exist.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import dormie
    >>> from dormie.show import report
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.svm import SVC
    >>> X, y = load_digits(return_X_y=True)
    >>> svc = SVC().fit(X[:900], y[:900])
    >>> fast = dormie.compile(svc)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     report(fast, X[900:], Path(folder) / "report.html", against=svc, image=(8, 8))
    """
    write(measure(predictor, X, against=against, image=image), path)


def write(measured: Measured, path: str | os.PathLike[str]) -> None:
    """Write the page beside its place, and give it its name when it is complete."""
    replace_file(Path(os.path.realpath(path)), [page(measured).encode()])
