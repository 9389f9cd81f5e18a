"""Predictions of Dask arrays and data frames, block by block and lazily; users import it as `dormie.dask`.

The plan is one key of the graph, whatever the number of blocks: Dask sends its bytes once to each worker process, where
they are unpacked once. What a method returns is known from the rule, so nothing is run to find it out. A row's answer
does not depend on its block, so a block that is computed again, on another worker, gets the same bits.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from typing import Any

import numpy as np
import numpy.typing as npt

from dormie.machine.rows import check_rows
from dormie.predictor import AuditedPredictor, Predictor
from dormie.predictor.no_answers import no_answers

try:
    import cloudpickle  # optional
    import dask.array as da  # optional
    from dask.delayed import delayed  # optional
except ModuleNotFoundError as error:
    raise ModuleNotFoundError("dormie.dask needs Dask: pip install 'dormie[dask]'", name=error.name) from error

__all__ = ["decision_function", "predict", "predict_proba"]

_KEPT = 8  # plans that a process keeps unpacked


def predict(predictor: Predictor, X: Any) -> Any:
    """
    Return the answer of every row of a Dask collection, lazily.

    Parameters
    ----------
    predictor : Predictor
        The compiled model. Its plan is sent once to every worker process. Every task uses one thread, unless the
        predictor was made with a number of threads.
    X : dask.array.Array or dask.dataframe.DataFrame of shape (n_rows, n_features)
        The rows. Numbers of rows may be unknown, and blocks of rows may be empty. Where the columns of an array lie in
        several blocks they are put together.

    Returns
    -------
    dask.array.Array or dask.dataframe.Series
        What `Predictor.predict` returns, in the blocks of X: a Series with the index of X for a data frame (a DataFrame
        if there are several values for each row).

    Raises
    ------
    TypeError
        If X is no Dask array or data frame, if its type cannot hold rows, or if the predictor is audited.
    ValueError
        If X has the wrong shape or columns. What is wrong with the values is found when they are computed: then the
        error names the block.

    Examples
    --------
    >>> import dask.array as da
    >>> import dormie
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import SVC
    >>> X, y = load_iris(return_X_y=True)
    >>> fast = dormie.compile(SVC().fit(X, y))
    >>> labels = dormie.dask.predict(fast, da.from_array(X, chunks=(40, 4)))
    >>> labels.chunks, labels.dtype == y.dtype
    (((40, 40, 40, 30),), True)
    >>> bool((labels.compute() == fast.predict(X)).all())
    True
    """
    return _answers(predictor, X, "predict")


def predict_proba(predictor: Predictor, X: Any) -> Any:
    """
    Return the probability of every class for every row of a Dask collection, lazily.

    Parameters
    ----------
    predictor : Predictor
        The compiled model, one that gives probabilities.
    X : dask.array.Array or dask.dataframe.DataFrame of shape (n_rows, n_features)
        The rows, as in `predict`.

    Returns
    -------
    dask.array.Array or dask.dataframe.DataFrame
        What `Predictor.predict_proba` returns. The columns of a data frame are the classes.

    Raises
    ------
    AttributeError
        If the model has no probabilities.
    TypeError
        As in `predict`.
    ValueError
        As in `predict`.

    Examples
    --------
    >>> import dask.array as da
    >>> import dormie
    >>> from sklearn.calibration import CalibratedClassifierCV
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import SVC
    >>> X, y = load_iris(return_X_y=True)
    >>> fast = dormie.compile(CalibratedClassifierCV(SVC(), ensemble=False).fit(X, y))
    >>> dormie.dask.predict_proba(fast, da.from_array(X, chunks=(40, 4))).chunks
    ((40, 40, 40, 30), (3,))
    """
    return _answers(predictor, X, "predict_proba")


def decision_function(predictor: Predictor, X: Any) -> Any:
    """
    Return the decision values of every row of a Dask collection, lazily.

    Parameters
    ----------
    predictor : Predictor
        The compiled model.
    X : dask.array.Array or dask.dataframe.DataFrame of shape (n_rows, n_features)
        The rows, as in `predict`.

    Returns
    -------
    dask.array.Array, dask.dataframe.Series or dask.dataframe.DataFrame
        What `Predictor.decision_function` returns. The columns of a data frame are the classes where there is a value
        for each, and numbers otherwise.

    Raises
    ------
    AttributeError
        If the model has no decision values.
    TypeError
        As in `predict`.
    ValueError
        As in `predict`.

    Examples
    --------
    >>> import dask.array as da
    >>> import dormie
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import SVC
    >>> X, y = load_iris(return_X_y=True)
    >>> fast = dormie.compile(SVC().fit(X, y))
    >>> dormie.dask.decision_function(fast, da.from_array(X, chunks=(40, 4))).chunks
    ((40, 40, 40, 30), (3,))
    """
    return _answers(predictor, X, "decision_function")


class _Parcel:
    """A predictor as bytes, those of a plan file where there can be one, and the digest that tells it from others."""

    def __init__(self, predictor: Predictor) -> None:
        self.data = cloudpickle.dumps(predictor)  # plain pickle cannot hold a kernel that is a user's own function
        self.digest = hashlib.sha256(self.data).hexdigest()

    @property
    def key(self) -> Any:
        """The parcel as one key of a graph: the same for the same plan."""
        return delayed(self, name=f"dormie-plan-{self.digest}", traverse=False)

    def unpacked(self) -> Predictor:
        """The predictor; tasks run side by side, so that each uses one thread unless another number was asked for."""
        predictor: Predictor = cloudpickle.loads(self.data)
        predictor.threads = predictor.threads or 1
        return predictor


class _Unpacked:
    """The predictors of this process by their digests, those used last."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, Predictor] = OrderedDict()

    def of(self, parcel: _Parcel) -> Predictor:
        """The predictor in a parcel; threads that ask for it at a time wait until one of them has unpacked it."""
        with self._lock:
            found = self._kept.pop(parcel.digest, None) or parcel.unpacked()
            self._kept[parcel.digest] = found
            if len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
            return found


_unpacked = _Unpacked()


def _answers(predictor: Predictor, X: Any, method: str) -> Any:
    _require_plain(predictor)
    getattr(predictor, method)  # an error where there is none, before anything is sent
    parcel = _Parcel(predictor)
    if isinstance(X, da.Array):
        return _of_array(predictor, _whole_rows(predictor, X), parcel, method)
    if _is_frame(X):
        check_rows(X._meta, predictor.plan.machine)  # names and types of columns
        like = _framed(predictor, no_answers(predictor.plan, method), X._meta.index)
        return X.map_partitions(_answer_partition, parcel.key, method, meta=like)
    raise TypeError(
        f"X is a {type(X).__name__}; dormie.dask takes Dask arrays and Dask data frames. For rows in memory call "
        f"{method} of the predictor itself"
    )


def _require_plain(predictor: Any) -> None:
    if isinstance(predictor, AuditedPredictor) or not isinstance(predictor, Predictor):
        raise TypeError(f"dormie.dask needs the Predictor that dormie.compile returns, got {type(predictor).__name__}")
    if not predictor.plan.machine.of_vectors:
        raise TypeError(
            "rows of this plan are objects of a Python kernel: put them in a Dask bag and map its partitions"
        )


def _whole_rows(predictor: Predictor, X: Any) -> Any:
    """An array of rows, each of them in one block."""
    known = X.ndim != 2 or not np.isnan(X.shape[1])
    check_rows(np.empty((0, *X.shape[1:]) if known else (0, predictor.n_features_in_), X.dtype), predictor.plan.machine)
    return X.rechunk({1: -1}) if X.numblocks[1] > 1 else X


def _of_array(predictor: Predictor, X: Any, parcel: _Parcel, method: str) -> Any:
    like = no_answers(predictor.plan, method)
    columns = {"drop_axis": 1} if like.ndim == 1 else {"chunks": (X.chunks[0], (like.shape[1],))}
    return X.map_blocks(_answer_block, parcel.key, method, dtype=like.dtype, meta=like, **columns)


def _is_frame(X: Any) -> bool:
    """Whether X is a Dask data frame; dask.dataframe takes long to import."""
    return type(X).__module__.split(".")[0] == "dask" and hasattr(X, "map_partitions") and hasattr(X, "columns")


def _answer_block(
    block: Any, parcel: _Parcel, method: str, block_id: tuple[int, ...] | None = None
) -> npt.NDArray[Any]:
    return _answer(_unpacked.of(parcel), block, method, f"block {block_id[0] if block_id else 0}")


def _answer_partition(part: Any, parcel: _Parcel, method: str, partition_info: dict[str, Any] | None = None) -> Any:
    predictor = _unpacked.of(parcel)
    number = partition_info["number"] if partition_info else 0
    return _framed(predictor, _answer(predictor, part, method, f"partition {number}"), part.index)


def _answer(predictor: Predictor, rows: Any, method: str, place: str) -> npt.NDArray[Any]:
    try:
        found: npt.NDArray[Any] = getattr(predictor, method)(rows)
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{place} of X: {error}") from error
    return found


def _framed(predictor: Predictor, answers: npt.NDArray[Any], index: Any) -> Any:
    """Answers as pandas has them."""
    import pandas  # optional

    if answers.ndim == 1:
        return pandas.Series(answers, index=index)
    classes = getattr(predictor, "classes_", ())
    return pandas.DataFrame(answers, index=index, columns=classes if len(classes) == answers.shape[1] else None)
