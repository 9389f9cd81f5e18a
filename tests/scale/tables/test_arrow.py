"""Arrow's columns as arrays: values, types, views, nulls and schemas that change."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dormie.scale.tables import arrow

TYPES = ["float64", "float32", "float16", "int8", "uint8", "int16", "int32", "int64", "uint64", "bool"]


def _block(columns: dict[str, pa.Array], first_row: int = 0) -> np.ndarray:
    batch = pa.record_batch(columns)
    values: np.ndarray = arrow.Columns(list(columns)).block(batch, first_row, "batch 0").values
    return values


@given(st.lists(st.sampled_from(TYPES), min_size=1, max_size=4), st.integers(0, 9), st.integers(0, 2**32 - 1))
def test_numbers_of_any_types_keep_their_values(types: list[str], rows: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    columns = [random.integers(0, 2 if kind == "bool" else 100, rows).astype(kind) for kind in types]
    found = _block({f"c{i}": pa.array(column) for i, column in enumerate(columns)})
    assert found.shape == (rows, len(types))
    assert np.array_equal(found, np.stack(columns, axis=1).astype(np.float64))


def test_types_that_float32_holds_stay_small_and_others_do_not_lose_digits() -> None:
    thirds = np.array([1 / 3, 2 / 3])
    small = _block({"a": pa.array(thirds.astype(np.float32)), "b": pa.array(np.array([1, 2], np.uint16))})
    assert small.dtype == np.float32
    wide = _block({"a": pa.array(thirds), "b": pa.array(np.array([2**31 - 1, 2], np.int32))})
    assert wide.dtype == np.float64
    assert wide[0].tolist() == [1 / 3, 2.0**31 - 1]


def test_slices_and_chunks_are_read_where_they_lie() -> None:
    whole = pa.table({"a": pa.chunked_array([[1.0, 2.0], [3.0]]), "b": pa.chunked_array([[4.0], [5.0, 6.0]])})
    block = arrow.Columns(["b", "a"]).block(whole.slice(1), 0, "x")
    assert block.values.tolist() == [[5.0, 2.0], [6.0, 3.0]]


def test_one_column_and_lists_of_fixed_size_are_not_copied() -> None:
    numbers = pa.array(np.arange(6.0))
    address = numbers.buffers()[1].address
    for column, shape in ((numbers, (6, 1)), (pa.FixedSizeListArray.from_arrays(numbers, 3), (2, 3))):
        values = _block({"a": column})
        assert values.shape == shape
        assert values.ctypes.data == address
        assert values.ravel().tolist() == [0, 1, 2, 3, 4, 5]


def test_sliced_lists_give_their_own_rows() -> None:
    lists = pa.FixedSizeListArray.from_arrays(pa.array(np.arange(8.0)), 2)
    assert _block({"a": lists.slice(1, 2)}).tolist() == [[2.0, 3.0], [4.0, 5.0]]
    chunks = pa.table({"a": pa.chunked_array([lists.slice(3), lists.slice(0, 1)])})
    assert arrow.Columns(["a"]).block(chunks, 0, "x").values.tolist() == [[6.0, 7.0], [0.0, 1.0]]


def test_nulls_are_an_error_that_names_the_row_and_the_column() -> None:
    with pytest.raises(ValueError, match=r"batch 0: row 1,002, column 'b' is null"):
        _block({"a": pa.array([1.0, 2.0, 3.0]), "b": pa.array([1, 2, None])}, first_row=1000)
    with pytest.raises(ValueError, match=r"batch 0: row 1,001, column 'a': place 0 of the list is null"):
        _block({"a": pa.array([[1.0, 2.0], [None, 3.0]], pa.list_(pa.float64(), 2))}, first_row=1000)


@pytest.mark.parametrize("kind", [pa.string(), pa.timestamp("s"), pa.decimal128(5, 2), pa.list_(pa.float64())])
def test_what_is_no_number_is_an_error_that_names_the_column(kind: pa.DataType) -> None:
    with pytest.raises(TypeError, match=r"batch 0: column 'b' has type .*; cast it to float64"):
        _block({"a": pa.array([], pa.float64()), "b": pa.array([], kind)})


def test_a_schema_that_changes_names_the_source_and_the_column() -> None:
    columns = arrow.Columns(["a", "b"])
    first = pa.schema([("b", pa.float64()), ("id", pa.string()), ("a", pa.int32())])
    columns.check(first, "x.parquet")
    columns.check(pa.schema([("a", pa.int32()), ("b", pa.float64())]), "y.parquet")
    with pytest.raises(ValueError, match=r"z\.parquet: column 'a' has type int64, and in x\.parquet it had type int32"):
        columns.check(pa.schema([("a", pa.int64()), ("b", pa.float64())]), "z.parquet")
    with pytest.raises(ValueError, match=r"z\.parquet: there is no column 'b'"):
        columns.check(pa.schema([("a", pa.int32())]), "z.parquet")
