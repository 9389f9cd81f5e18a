"""Answers of a table in pieces are those of the whole, and errors say where."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import dataset, parquet
from scipy.sparse import csr_array

from dormie.predictor import Predictor
from dormie.scale.tables import open_rows, predict_batches
from tests.scale.tables.machines import FORMATS, NAMES, named_model, nameless_model, rows, table, write

X = rows(100)


@pytest.fixture(scope="module")
def named() -> Predictor:
    return named_model()


@pytest.fixture(scope="module")
def nameless() -> Predictor:
    return nameless_model()


@pytest.fixture(scope="module")
def labels(nameless: Predictor) -> np.ndarray:
    answers: np.ndarray = nameless.predict(X)
    return answers


def _cut(X: Any, size: int = 30) -> Iterator[Any]:
    return (X[begin : begin + size] for begin in range(0, 100, size))


def _reader(X: np.ndarray) -> pa.RecordBatchReader:
    return pa.RecordBatchReader.from_batches(table(X).schema, table(X).to_batches(max_chunksize=30))


PIECES: dict[str, Callable[[np.ndarray], Any]] = {
    "record batches": lambda X: iter(table(X).to_batches(max_chunksize=30)),
    "tables": lambda X: [table(part) for part in _cut(X)],
    "one table": table,
    "reader": _reader,
    "pandas": lambda X: _cut(table(X).to_pandas()),
    "polars": lambda X: _cut(pl.from_arrow(table(X))),
    "dataset": lambda X: dataset.dataset(table(X)),
}


@pytest.mark.parametrize("kind", PIECES)
def test_pieces_of_any_kind_with_columns_chosen_by_name(named: Predictor, labels: np.ndarray, kind: str) -> None:
    found = list(predict_batches(named, PIECES[kind](X)))
    assert np.array_equal(np.concatenate(found), labels)


@pytest.mark.parametrize("make", [np.asarray, csr_array, np.ndarray.tolist])
def test_arrays_and_their_like(nameless: Predictor, labels: np.ndarray, make: Callable[[Any], Any]) -> None:
    found = list(predict_batches(nameless, (make(part) for part in _cut(X))))
    assert [len(part) for part in found] == [30, 30, 30, 10]
    assert np.array_equal(np.concatenate(found), labels)


@pytest.mark.parametrize("kind", FORMATS)
def test_files_of_every_format(named: Predictor, labels: np.ndarray, tmp_path: Path, kind: str) -> None:
    found = list(predict_batches(named, open_rows(write(tmp_path / f"rows{kind}", X))))
    assert np.array_equal(np.concatenate(found), labels)


def test_other_methods_and_columns_by_other_names(nameless: Predictor) -> None:
    pieces = table(X).rename_columns(["id", "y", "x"]).to_batches(max_chunksize=7)
    found = predict_batches(nameless, pieces, method="decision_function", columns=["x", "y"])
    assert np.array_equal(np.concatenate(list(found)), nameless.decision_function(X))


def test_a_folder_of_parquet_files_is_read_in_the_order_of_names(
    named: Predictor, labels: np.ndarray, tmp_path: Path
) -> None:
    for number, part in enumerate(_cut(X)):
        write(tmp_path / f"part-{number}.parquet", part)
    (tmp_path / "_metadata.parquet").touch()
    file = open_rows(tmp_path)
    assert file.n_rows == 100
    assert np.array_equal(np.concatenate(list(predict_batches(named, file))), labels)
    whole = dataset.dataset(tmp_path)
    assert np.array_equal(np.concatenate(list(predict_batches(named, whole))), labels)


@pytest.mark.parametrize("through", [open_rows, dataset.dataset])
def test_a_schema_that_changes_between_files_names_the_file_and_the_column(
    named: Predictor, tmp_path: Path, through: Callable[[Path], Any]
) -> None:
    write(tmp_path / "part-0.parquet", X)
    changed = table(X).set_column(1, "b", pa.array(np.arange(100)))
    parquet.write_table(changed, tmp_path / "part-1.parquet")
    answers = predict_batches(named, through(tmp_path))
    assert len(next(answers)) > 0
    with pytest.raises(ValueError, match=r"part-1\.parquet: column 'b' has type int64, and in .*part-0\.parquet"):
        list(answers)
    parquet.write_table(table(X).drop_columns(["b"]), tmp_path / "part-1.parquet")
    with pytest.raises(ValueError, match=r"part-1\.parquet: there is no column 'b'"):
        list(predict_batches(named, through(tmp_path)))


def test_a_schema_that_changes_between_batches_names_the_batch_and_the_column(named: Predictor) -> None:
    pieces = [table(X), table(X).set_column(2, "a", pa.array(np.arange(100)))]
    with pytest.raises(ValueError, match="batch 1: column 'a' has type int64, and in batch 0 it had type double"):
        list(predict_batches(named, pieces))
    with pytest.raises(ValueError, match="batch 1: there is no column 'b'; the columns are 'a'"):
        list(predict_batches(named, [pd.DataFrame(X, columns=["a", "b"]), pd.DataFrame(X[:, :1], columns=["a"])]))


def test_types_that_pandas_guessed_anew_are_no_change_of_schema(named: Predictor) -> None:
    chunks = [pd.DataFrame({"a": [1, 2], "b": [0.5, 1.0]}), pd.DataFrame({"a": [0.5], "b": [1]})]
    whole = named.predict(pd.DataFrame({"a": [1, 2, 0.5], "b": [0.5, 1.0, 1]}))
    assert np.array_equal(np.concatenate(list(predict_batches(named, chunks))), whole)


def test_values_that_are_missing_name_row_and_column(named: Predictor, nameless: Predictor, tmp_path: Path) -> None:
    wrong = X.copy()
    wrong[77, 0] = np.nan
    for kind in (".parquet", ".arrow", ".npy"):
        column = "f0" if kind == ".npy" else "a"
        with pytest.raises(ValueError, match=rf"rows\{kind}: row 77, column '{column}' is NaN"):
            list(predict_batches(named, open_rows(write(tmp_path / f"rows{kind}", wrong))))
    with pytest.raises(ValueError, match="batch 2: row 17, column 0 is NaN"):
        list(predict_batches(nameless, _cut(wrong)))


def test_a_table_without_rows_has_no_answers_of_the_right_type(named: Predictor, tmp_path: Path) -> None:
    for kind in FORMATS:
        found = list(predict_batches(named, open_rows(write(tmp_path / f"rows{kind}", X[:0]))))
        assert sum(map(len, found)) == 0
        assert found[0].dtype == named.predict(pd.DataFrame(X, columns=list(NAMES))).dtype
    assert [part.shape for part in predict_batches(named, [], method="decision_function")] == [(0,)]


def test_columns_that_do_not_fit_the_model_are_refused(named: Predictor, nameless: Predictor, tmp_path: Path) -> None:
    with pytest.raises(
        ValueError, match=r"batch 0 has 3 columns, the model was trained with 2; .* There are 'id', 'b'"
    ):
        list(predict_batches(nameless, [table(X)]))
    with pytest.raises(ValueError, match=r"rows\.csv has 3 columns, the model was trained with 2"):
        list(predict_batches(nameless, open_rows(write(tmp_path / "rows.csv", X))))
    with pytest.raises(ValueError, match="3 columns were named, the model was trained with 2"):
        list(predict_batches(named, [table(X)], columns=["a", "b", "id"]))
    np.save(tmp_path / "wide.npy", np.ones((3, 4)))
    with pytest.raises(ValueError, match=r"wide\.npy has 4 columns, the model was trained with 2"):
        list(predict_batches(named, open_rows(tmp_path / "wide.npy")))
    with pytest.raises(TypeError, match="column 'id' has type string"):
        list(predict_batches(named, [table(X)], columns=["a", "id"]))


def test_columns_without_names_may_be_chosen_too(nameless: Predictor, labels: np.ndarray, tmp_path: Path) -> None:
    np.save(tmp_path / "wide.npy", np.hstack([X, X]))
    found = predict_batches(nameless, open_rows(tmp_path / "wide.npy"), columns=["f2", "f1"])
    assert np.array_equal(np.concatenate(list(found)), labels)


def test_one_table_in_place_of_pieces_is_refused(nameless: Predictor) -> None:
    for wrong in (X, table(X).to_pandas(), "rows.csv"):
        with pytest.raises(TypeError, match="not an iterable of pieces: pass \\[X\\], or open_rows"):
            predict_batches(nameless, wrong)


def test_pieces_are_taken_one_at_a_time(nameless: Predictor) -> None:
    taken: list[int] = []

    def pieces() -> Iterator[np.ndarray]:
        for number, part in enumerate(_cut(X)):
            taken.append(number)
            yield part

    answers = predict_batches(nameless, pieces())
    assert taken == []
    next(answers)
    assert taken == [0]
