"""Rows as users have them: each form works and changes nothing, or is refused by its row, column or parameter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse

from dormie.machine.kernels import RBF, Custom
from dormie.machine.rows import check_rows
from dormie.machine.rules import Sign
from dormie.methods.dense import Dense
from tests.machine.predictors import MACHINE, METHODS, WHOLE, predictor_of
from tests.methods.stages import traced
from tests.properties.strategies import by_hand, machine

FAST = predictor_of(MACHINE)
VALUES = FAST.decision_function(WHOLE.astype(np.float64))


def _record_field(rows: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A field of packed records: unaligned, and with a stride that is no whole number of elements."""
    records = np.zeros(len(rows), dtype=np.dtype([("tag", np.int8), ("row", np.float64, (4,))]))
    records["row"] = rows
    return records["row"]


def _unaligned(rows: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    buffer = np.zeros(rows.size * 8 + 1, dtype=np.uint8)
    view = buffer[1:].view(np.float64).reshape(rows.shape)
    view[:] = rows
    assert not view.flags.aligned
    return view


def _nullable(rows: np.ndarray[Any, Any]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=list("abcd")).convert_dtypes()


def _unsorted(rows: np.ndarray[Any, Any]) -> Any:
    """CSR with the columns of every row from last to first, each in two entries."""
    n, d = rows.shape
    columns = np.tile(np.repeat(np.arange(d)[::-1], 2), n)
    halves = np.repeat(rows[:, ::-1] / 2, 2, axis=1).ravel()
    return scipy.sparse.csr_array((halves, columns, np.arange(n + 1) * 2 * d), shape=(n, d))


FORMS: dict[str, Callable[[np.ndarray[Any, Any]], Any]] = {
    "lists": lambda rows: rows.tolist(),
    "tuples": lambda rows: tuple(map(tuple, rows.tolist())),
    "list of vectors": list,
    "objects": lambda rows: rows.astype(object),
    "objects with text numbers": lambda rows: rows.astype(str).astype(object),
    "big-endian": lambda rows: rows.astype(">f8"),
    "big-endian float32": lambda rows: rows.astype(">f4"),
    "float16": lambda rows: rows.astype(np.float16),
    "longdouble": lambda rows: rows.astype(np.longdouble),
    "record field": _record_field,
    "unaligned": _unaligned,
    "memory view": lambda rows: memoryview(rows.astype(np.float64)),
    "subclass": lambda rows: rows.astype(np.float64).view(np.recarray),
    "pandas": lambda rows: pd.DataFrame(rows, columns=list("abcd")),
    "pandas, mixed types": lambda rows: pd.DataFrame(rows, columns=list("abcd")).astype({"a": "int8", "c": "float32"}),
    "pandas, nullable": _nullable,
    "pandas, one nullable column": lambda rows: pd.DataFrame(rows, columns=list("abcd")).astype({"b": "Float64"}),
    "pandas, sparse": lambda rows: pd.DataFrame(rows, columns=list("abcd")).astype(pd.SparseDtype("float64", 0.0)),
    "pandas, text numbers": lambda rows: pd.DataFrame(rows, columns=list("abcd")).astype(str),
    "polars": lambda rows: pl.DataFrame(rows, schema=list("abcd")),
    "polars, mixed types": lambda rows: pl.DataFrame(rows, schema=list("abcd")).cast({"a": pl.Int8, "c": pl.Float32}),
    "nothing masked": lambda rows: np.ma.masked_array(rows),
    "csr matrix": scipy.sparse.csr_matrix,
    "csc array": scipy.sparse.csc_array,
    "coo array of integers": scipy.sparse.coo_array,
    "lil array": scipy.sparse.lil_array,
    "dia array": scipy.sparse.dia_array,
    "bsr array": lambda rows: scipy.sparse.bsr_array(rows.astype(np.float64), blocksize=(2, 2)),
    "csr, unsorted and in halves": _unsorted,
    "csr of float32": lambda rows: scipy.sparse.csr_array(rows.astype(np.float32)),
} | {
    str(np.dtype(code)): lambda rows, code=code: rows.astype(code)
    for code in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4")
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_every_numeric_form_gives_the_same_values(form: str) -> None:
    given = FORMS[form](WHOLE)
    np.testing.assert_array_equal(FAST.decision_function(given), VALUES)
    np.testing.assert_array_equal(FAST.predict(given), np.where(VALUES > 0, 1, -1))


def test_booleans_are_zeros_and_ones() -> None:
    rows = WHOLE > 0
    np.testing.assert_array_equal(FAST.decision_function(rows), FAST.decision_function(rows.astype(float)))
    np.testing.assert_array_equal(
        FAST.decision_function(scipy.sparse.csr_array(rows)), FAST.decision_function(rows.astype(float))
    )


class _Graph:
    """What a Dask array, or an xarray one around it, shows of itself; None is xarray's for an array in memory."""

    shape, ndim = (4, 4), 2

    def __init__(self, graph: Any) -> None:
        self.graph = graph

    def __dask_graph__(self) -> Any:
        return self.graph

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        assert self.graph is None, "computed whole"
        return WHOLE


def test_an_array_that_could_be_lazy_but_is_not_works() -> None:
    np.testing.assert_array_equal(FAST.decision_function(_Graph(None)), VALUES)


class _OnDisk:
    """A data set of a file."""

    def __init__(self, *shape: int) -> None:
        self.shape = shape

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise AssertionError("read, though its shape is wrong")


class _Table:
    """A data frame of another kind."""

    columns = ("a", "b", "c", "d")


BAD: dict[str, tuple[Any, str]] = {
    "one dimension": (np.zeros(4), r"shape \(4,\); for one row pass numpy.reshape\(X, \(1, -1\)\)"),
    "an image": (
        np.zeros((2, 3, 4)),
        r"it has shape \(2, 3, 4\); pass X.reshape\(-1, X.shape\[-1\]\), .* answers.reshape\(X.shape\[:-1\]\)",
    ),
    "an image, bands first": (
        np.zeros((4, 2, 3)),
        r"it has shape \(4, 2, 3\); pass X.reshape\(X.shape\[0\], -1\).T, .* answers.reshape\(X.shape\[1:\]\)",
    ),
    "masked": (
        np.ma.masked_array(WHOLE, mask=WHOLE == 3),
        r"masked values, the first at row 2, column 1; fill them \(X.filled\(value\)\) or drop their rows",
    ),
    "a Dask array": (_Graph({}), r"Dask collection, which would be computed whole.*dormie.dask.predict\(fast, X\)"),
    "a query": (pl.DataFrame(WHOLE).lazy(), r"X is a LazyFrame, a query that has not been run; pass X.collect\(\)"),
    "another frame": (_Table(), "X is a _Table; pass a pandas or polars data frame"),
    "too few columns on disk": (_OnDisk(10**9, 3), "X has 3 columns"),
    "an image on disk": (_OnDisk(10**5, 10**5, 4), "for one row|X.reshape"),
    "records": (np.zeros(3, dtype=[("a", float), ("b", float)]), "records; pass numpy.lib.recfunctions.structured_to_"),
    "nothing": (None, "X is None; pass rows: an array, a data frame"),
    "a generator": ((row for row in WHOLE), "X is <generator .*; pass rows: an array"),
    "a dictionary": ({"a": [1.0]}, "X is {'a': .*; pass rows: an array"),
    "a series": (pd.Series([1.0, 2.0, 3.0, 4.0]), r"for one row pass numpy.reshape\(X, \(1, -1\)\)"),
    "a date among numbers": (
        pd.DataFrame({"a": [1.0], "b": pd.to_datetime(["2020-01-01"]), "c": [1.0], "d": [1.0]}),
        "column 'b' has values of type datetime64.*; encode them as floats",
    ),
    "a duration among numbers": (
        pd.DataFrame({"a": [1.0], "b": pd.to_timedelta([1], unit="s"), "c": [1.0], "d": [1.0]}),
        "column 'b' has values of type timedelta64",
    ),
    "a date of polars among numbers": (
        pl.DataFrame({"a": [1.0], "b": ["2020-01-01"], "c": [1.0], "d": [1.0]}).with_columns(pl.col("b").str.to_date()),
        "column 'b' has values of type Date; encode them as floats",
    ),
    "past float64": (np.full((2, 4), np.longdouble("1e400")), "row 0, column 0 is infinite"),
    "no dimension": (3.0, r"it has shape \(\)"),
    "too few columns": (np.zeros((2, 3)), "X has 3 columns, the machine was trained with 4"),
    "too many columns": (np.zeros((2, 5)), "X has 5 columns, the machine was trained with 4"),
    "too many sparse columns": (scipy.sparse.csr_array((2, 5)), "X has 5 columns"),
    "no columns": (np.zeros((2, 0)), "X has 0 columns"),
    "sparse vector": (scipy.sparse.coo_array(np.ones(4)), r"shape \(4,\)"),
    "text": ([["a", "b", "c", "d"]], "values of type <U1; dormie needs numbers"),
    "complex": (np.zeros((2, 4), dtype=complex), "values of type complex128"),
    "dates": (np.zeros((2, 4), dtype="M8[D]"), "values of type datetime64"),
    "sparse complex": (scipy.sparse.csr_array(np.ones((2, 4), dtype=complex)), "values of type complex128"),
    "text among numbers": (
        np.array([[1, 2, 3, 4], [1, "oak", 3, 4]], dtype=object),
        "row 1, column 1 is 'oak'; encode it as a number",
    ),
    "nothing among numbers": ([[1, 2, 3, 4], [1, 2, 3, None]], "row 1, column 3 is NaN"),
    "a whole number past float64": ([[1, 2, 3, 4], [1, 10**400, 3, 4]], "row 1, column 1 is 1000"),
    "complex among objects": (np.array([[1, 2, 3, 4j]], dtype=object), "row 0, column 3 is 4j"),
    "missing value of pandas": (
        pd.DataFrame({"a": [1, None], "b": [1, 2], "c": [1, 2], "d": [1, 2]}, dtype="Int64"),
        "row 1, column 0 is",
    ),
    "missing value of polars": (
        pl.DataFrame({"a": [1.0, None], "b": [1.0, 2.0], "c": [1.0, 2.0], "d": [1.0, 2.0]}),
        "row 1, column 0 is NaN",
    ),
}


@pytest.mark.parametrize("case", BAD)
@pytest.mark.parametrize("method", METHODS)
def test_what_cannot_be_read_is_refused_by_name(case: str, method: str) -> None:
    rows, message = BAD[case]
    with pytest.raises((ValueError, TypeError), match=message):
        METHODS[method](FAST, rows)


def test_an_image_gets_its_answers_back_as_the_error_says() -> None:
    last = np.random.default_rng(0).normal(size=(5, 6, 4))
    expected = np.array([FAST.predict(line) for line in last])
    np.testing.assert_array_equal(FAST.predict(last.reshape(-1, last.shape[-1])).reshape(last.shape[:-1]), expected)
    first = np.moveaxis(last, -1, 0)
    np.testing.assert_array_equal(FAST.predict(first.reshape(first.shape[0], -1).T).reshape(first.shape[1:]), expected)


@pytest.mark.parametrize("case", ["masked", "a Dask array", "a query"])
def test_rows_of_any_kind_are_refused_where_they_would_change_silently(case: str) -> None:
    strings = by_hand(Custom(lambda a, b: np.ones((len(a), len(b)))), ["a", "b"], [1.0, 1.0])
    rows, message = BAD[case]
    with pytest.raises((ValueError, TypeError), match=message):
        check_rows(rows, strings)


def test_rows_of_unequal_length_are_refused() -> None:
    with pytest.raises(ValueError, match="row 1 has 1 values, row 0 has 4"):
        FAST.predict([[1.0, 2.0, 3.0, 4.0], [1.0]])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("value", "what"), [(np.nan, "NaN"), (np.inf, "infinite"), (-np.inf, "infinite")])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("form", [np.asarray, np.asfortranarray, scipy.sparse.csr_array], ids=["c", "f", "csr"])
def test_the_first_value_that_is_not_finite_is_named(
    method: str, value: float, what: str, dtype: Any, form: Any
) -> None:
    rows = np.ones((500, 4), dtype=dtype)
    rows[[211, 430, 499], [2, 0, 1]] = value
    rows[211, 3] = np.nan
    with pytest.raises(ValueError, match=f"row 211, column 2 is {what}; dormie needs finite rows: impute or drop"):
        METHODS[method](FAST, form(rows))


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array], ids=["dense", "csr"])
def test_the_first_value_that_is_not_finite_is_named_whichever_thread_finds_one(form: Any) -> None:
    made, _ = machine(RBF(0.1), 3000, 100)
    rows = np.ones((2000, 100))
    rows[150:, 7] = np.nan
    matrix = form(rows)
    for _ in range(5):
        with pytest.raises(ValueError, match="row 150, column 7 is NaN"):
            traced(Dense(made).native(1.0), matrix, 4)


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array, pd.DataFrame], ids=["dense", "csr", "pandas"])
@pytest.mark.parametrize("labels", [np.array(["no", "yes"]), np.array([False, True]), np.array([3, 7])], ids=str)
def test_no_rows_give_no_answers_of_the_labels_own_type(form: Any, labels: Any) -> None:
    fast = predictor_of(replace(MACHINE, rule=Sign(labels)))
    rows = form(np.zeros((0, 4)))
    answers, trace = fast.predict(rows), fast.trace(rows)
    assert (answers.shape, answers.dtype) == ((0,), labels.dtype)
    assert fast.decision_function(rows).shape == (0,)
    assert (trace.stage.shape, trace.evaluations.shape) == ((0,), (0,))


def test_values_to_the_ends_of_float64_are_rows_like_any_other() -> None:
    edge = np.finfo(np.float64)
    rows = np.array([[edge.max, -edge.max, edge.tiny, 0.0], [edge.smallest_subnormal, -0.0, 0.0, 0.0]])
    values = FAST.decision_function(rows)
    assert values[0] == MACHINE.bias[0]
    assert values[1] == FAST.decision_function(np.zeros((1, 4)))[0]
