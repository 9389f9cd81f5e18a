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

import dormie
from dormie.kernels import RBF
from dormie.machine import Machine
from dormie.plan import Exact, Plan, Source
from dormie.rules import Sign
from dormie.stages import Dense

from .strategies import machine


def _predictor(made: Machine) -> dormie.Predictor:
    return dormie.Predictor(Plan(made, (Dense(made),), Exact(), Source("a machine made by hand", made.n_points)))


MACHINE, _ = machine(RBF(0.2), 30, 4)
NAMED = replace(MACHINE, feature_names=("a", "b", "c", "d"))
FAST, FAST_NAMED = _predictor(MACHINE), _predictor(NAMED)
WHOLE = np.array([[1, 0, 1, 1], [0, 1, 0, 0], [2, 3, 1, 0], [5, 1, 2, 4]])
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
    "polars": lambda rows: pl.DataFrame(rows, schema=list("abcd")),
    "csr matrix": scipy.sparse.csr_matrix,
    "csc array": scipy.sparse.csc_array,
    "coo array of integers": scipy.sparse.coo_array,
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


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_a_frame_with_the_training_columns_in_order_works(frame: Any) -> None:
    rows = frame({name: WHOLE[:, j] for j, name in enumerate("abcd")})
    np.testing.assert_array_equal(FAST_NAMED.decision_function(rows), VALUES)
    np.testing.assert_array_equal(FAST_NAMED.decision_function(WHOLE), VALUES)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize(
    ("names", "message"),
    [
        ("abdc", "another order than in training: column 2 is 'd', training had 'c'"),
        ("abc", r"missing \['d'\], unknown \[\]"),
        ("abcde", r"missing \[\], unknown \['e'\]"),
        ("abcx", r"missing \['d'\], unknown \['x'\]"),
    ],
)
def test_other_columns_than_in_training_are_named(frame: Any, names: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        FAST_NAMED.predict(frame({name: [1.0, 2.0] for name in names}))


def test_a_column_given_twice_is_named() -> None:
    frame = pd.DataFrame(np.zeros((2, 5)), columns=list("abcdb"))
    with pytest.raises(ValueError, match=r"columns given more than once: \['b'\]"):
        FAST_NAMED.predict(frame)


BAD: dict[str, tuple[Any, str]] = {
    "one dimension": (np.zeros(4), r"shape \(4,\); for one row pass X.reshape\(1, -1\)"),
    "three dimensions": (np.zeros((2, 2, 4)), r"two dimensions, rows and columns; it has shape \(2, 2, 4\)"),
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
@pytest.mark.parametrize("method", ["predict", "decision_function", "trace"])
def test_what_cannot_be_read_is_refused_by_name(case: str, method: str) -> None:
    rows, message = BAD[case]
    with pytest.raises((ValueError, TypeError), match=message):
        getattr(FAST, method)(rows)


def test_rows_of_unequal_length_are_refused() -> None:
    with pytest.raises(ValueError, match="inhomogeneous"):
        FAST.predict([[1.0, 2.0, 3.0, 4.0], [1.0]])


@pytest.mark.parametrize("method", ["predict", "decision_function", "trace"])
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
        getattr(FAST, method)(form(rows))


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array], ids=["dense", "csr"])
def test_the_first_value_that_is_not_finite_is_named_whichever_thread_finds_one(form: Any) -> None:
    made, _ = machine(RBF(0.1), 3000, 100)
    rows = np.ones((2000, 100))
    rows[150:, 7] = np.nan
    matrix = form(rows)
    parts = (matrix,) if form is np.asarray else (matrix.data, matrix.indices, matrix.indptr, 100)
    for _ in range(5):
        with pytest.raises(ValueError, match="row 150, column 7 is NaN"):
            Dense(made)._native.decide(*parts, True, 4)


def test_repeated_entries_of_csr_that_add_up_to_infinity_are_named() -> None:
    parts = (np.array([1e308, 1e308]), np.array([2, 2]), np.array([0, 0, 2]))
    rows = scipy.sparse.csr_array(parts, shape=(2, 4))
    with pytest.raises(ValueError, match="row 1, column 2 is infinite"):
        FAST.predict(rows)


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_array, pd.DataFrame], ids=["dense", "csr", "pandas"])
@pytest.mark.parametrize("labels", [np.array(["no", "yes"]), np.array([False, True]), np.array([3, 7])], ids=str)
def test_no_rows_give_no_answers_of_the_labels_own_type(form: Any, labels: Any) -> None:
    fast = _predictor(replace(MACHINE, rule=Sign(labels)))
    rows = form(np.zeros((0, 4)))
    answers, trace = fast.predict(rows), fast.trace(rows)
    assert (answers.shape, answers.dtype) == ((0,), labels.dtype)
    assert fast.decision_function(rows).shape == (0,)
    assert (trace.stage.shape, trace.evaluations.shape) == ((0,), (0,))


def _broken(**parts: Any) -> Any:
    """A CSR array whose parts were changed behind its back."""
    rows = scipy.sparse.csr_array(np.ones((3, 4)))
    for name, value in parts.items():
        setattr(rows, name, value)
    return rows


_INDICES = np.tile(np.arange(4, dtype=np.int32), 3)
BROKEN: dict[str, tuple[Callable[[], Any], str]] = {
    "column too large": (
        lambda: _broken(indices=np.where(np.arange(12) == 6, 4, _INDICES).astype(np.int32)),
        r"row 1: CSR column index 4 is outside 0..3",
    ),
    "column negative": (
        lambda: _broken(indices=np.where(np.arange(12) == 6, -1, _INDICES).astype(np.int32)),
        r"row 1: CSR column index -1 is outside 0..3",
    ),
    "column far away": (
        lambda: _broken(indices=np.full(12, 2**31 - 1, dtype=np.int32)),
        r"row 0: CSR column index 2147483647 is outside 0..3",
    ),
    "indptr falls": (lambda: _broken(indptr=np.array([0, 8, 4, 12], dtype=np.int32)), "row 1: the CSR indptr is not"),
    "indptr past the end": (lambda: _broken(indptr=np.array([0, 4, 8, 99], dtype=np.int32)), "row 2: the CSR indptr"),
    "indptr negative": (lambda: _broken(indptr=np.array([-4, 4, 8, 12], dtype=np.int32)), "row 0: the CSR indptr"),
    "data too short": (lambda: _broken(data=np.ones(5)), "indices must be as many as data"),
    "indices too short": (lambda: _broken(indices=_INDICES[:5]), "indices must be as many as data"),
    "indices of two types": (lambda: _broken(indices=_INDICES.astype(np.int64)), "of the type of indptr"),
    "indptr of no rows": (lambda: _broken(indptr=np.zeros(0, dtype=np.int32)), "CSR rows"),
}


@pytest.mark.parametrize("case", BROKEN)
@pytest.mark.parametrize("method", ["predict", "decision_function"])
def test_a_malformed_csr_matrix_is_an_error_and_never_a_stray_read(case: str, method: str) -> None:
    make, message = BROKEN[case]
    with pytest.raises((ValueError, TypeError), match=message):
        getattr(FAST, method)(make())


def test_values_to_the_ends_of_float64_are_rows_like_any_other() -> None:
    edge = np.finfo(np.float64)
    rows = np.array([[edge.max, -edge.max, edge.tiny, 0.0], [edge.smallest_subnormal, -0.0, 0.0, 0.0]])
    values = FAST.decision_function(rows)
    assert values[0] == MACHINE.bias[0]
    assert values[1] == FAST.decision_function(np.zeros((1, 4)))[0]
