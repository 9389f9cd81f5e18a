"""Answers of a table that comes in pieces, piece by piece."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dormie.predictor import Predictor
from dormie.scale.tables.block import Block, naming_errors
from dormie.scale.tables.features import feature_blocks


def predict_batches(
    predictor: Predictor, batches: Any, *, method: str = "predict", columns: Sequence[str] | None = None
) -> Iterator[npt.NDArray[Any]]:
    """
    Answer a table that comes in pieces, piece by piece.

    Parameters
    ----------
    predictor : Predictor
        The compiled model.
    batches : iterable
        Record batches or tables of Arrow, a dataset or a record-batch reader of pyarrow, chunks of a pandas or polars
        data frame, arrays, sparse matrices, or a `RowsFile`.
    method : str, default="predict"
        The method that answers: ``"predict_proba"`` or ``"decision_function"`` are others.
    columns : sequence of str, default=None
        The columns that are the features, in their order. By default those with the names of the training columns, if
        the model was trained on a data frame, and all columns if not.

    Returns
    -------
    iterator of ndarray of shape (n_rows,) or (n_rows, n_outputs)
        The answers of each piece, when they are asked for. A table without rows has one piece, of no answers.

    Raises
    ------
    TypeError
        If a column does not hold numbers.
    ValueError
        If columns are missing, or of another type than in the first piece; if a value is null, NaN or infinite. The
        message names the file or the piece, the row and the column.

    Notes
    -----
    One piece is in memory at a time. Answers do not depend on how the table is cut into pieces.

    Examples
    --------
    >>> import dormie
    >>> import numpy as np
    >>> from dormie.tables import predict_batches
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.svm import SVC
    >>> X, y = make_moons(600, noise=0.3, random_state=0)
    >>> fast = dormie.compile(SVC().fit(X, y))
    >>> answers = predict_batches(fast, (X[begin : begin + 100] for begin in range(0, 600, 100)))
    >>> bool((np.concatenate(list(answers)) == fast.predict(X)).all())
    True
    """
    answer = getattr(predictor, method)
    machine = predictor.plan.machine
    return _answers(answer, feature_blocks(batches, machine, columns), machine.n_columns)


def _answers(
    answer: Callable[[Any], npt.NDArray[Any]], blocks: Iterator[Block], features: int
) -> Iterator[npt.NDArray[Any]]:
    block = None
    for block in blocks:
        with naming_errors(block):
            answers = answer(block.values)
        yield answers
    if block is None:
        yield answer(np.empty((0, features)))
