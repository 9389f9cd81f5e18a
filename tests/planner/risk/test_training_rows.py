"""Rows that served for training are recognised; rows that only look alike are not accused."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.svm import SVC, LinearSVC

import dormie
from dormie.errors import TrainingRowsWarning
from dormie.machine import Floats, Machine
from dormie.machine.kernels import RBF, Custom
from dormie.machine.rows import as_array
from dormie.machine.rules import Sign
from dormie.planner.risk.training_rows import warn_of_training_rows

RNG = np.random.default_rng(4)
X = RNG.normal(size=(600, 3)) * [1, 10, 0.1] + [5, -3, 0.7]
Y = X[:, 0] + RNG.normal(size=600) > 5
NEW = RNG.normal(size=(600, 3)) * [1, 10, 0.1] + [5, -3, 0.7]


def _is_warned_of(machine: Machine, rows: Any) -> bool:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_of_training_rows(machine, rows)
    return any(issubclass(warning.category, TrainingRowsWarning) for warning in caught)


@pytest.mark.parametrize("scaler", [None, StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler])
def test_training_rows_are_recognised_through_the_scaler(scaler: Any) -> None:
    model = (SVC() if scaler is None else make_pipeline(scaler(), SVC())).fit(X, Y)
    machine = dormie.read(model)
    assert _is_warned_of(machine, X)
    assert _is_warned_of(machine, X[::7])
    assert _is_warned_of(machine, scipy.sparse.csr_array(X))
    assert not _is_warned_of(machine, NEW)
    assert not _is_warned_of(machine, X[:0])


def test_whole_numbers_are_recognised_through_a_scaler() -> None:
    """Where most values lie on a grid, rounding must not push equal ones apart."""
    random = np.random.default_rng(6)
    rows = random.integers(0, 50, size=(400, 6)).astype(float)
    model = make_pipeline(MinMaxScaler((0.1, 0.7)), SVC()).fit(rows, rows[:, 0] + random.normal(size=400) * 20 > 25)
    vectors = len(model[-1].support_vectors_)
    with pytest.warns(TrainingRowsWarning, match=f"{vectors:,} of the 400 rows given equal support vectors"):
        warn_of_training_rows(dormie.read(model), rows)


def test_rows_in_single_precision_are_recognised() -> None:
    machine = dormie.read(SVC().fit(X.astype(np.float32), Y))
    assert _is_warned_of(machine, X.astype(np.float32))


@pytest.mark.parametrize("scaler", [None, StandardScaler, MinMaxScaler])
def test_rows_in_single_precision_are_recognised_far_from_the_origin_and_through_a_scaler(scaler: Any) -> None:
    rows = np.random.default_rng(7).normal(size=(500, 50)) + 10
    kind = rows[:, 0] > 10
    for trained_on in (rows, rows.astype(np.float32)):
        model = (SVC() if scaler is None else make_pipeline(scaler(), SVC())).fit(trained_on, kind)
        assert _is_warned_of(dormie.read(model), rows.astype(np.float32))
        assert not _is_warned_of(dormie.read(model), (rows[:, ::-1]).astype(np.float32))


def test_training_rows_of_an_easy_model_are_recognised_by_its_few_support_vectors() -> None:
    random = np.random.default_rng(8)
    far = np.array([[-3.0, 0.0], [3.0, 0.0]])
    rows, fresh = (far[random.integers(2, size=20_000)] + random.normal(size=(20_000, 2)) * 0.8 for _ in range(2))
    machine = dormie.read(SVC(gamma=0.1).fit(rows, rows[:, 0] > 0))
    assert machine.n_points < 100
    assert _is_warned_of(machine, rows)
    assert not _is_warned_of(machine, fresh)


@pytest.mark.parametrize("copies", [2, 3])
def test_training_rows_given_several_times_are_recognised(copies: int) -> None:
    machine = dormie.read(SVC().fit(X, Y))
    assert _is_warned_of(machine, np.tile(X, (copies, 1)))
    assert _is_warned_of(machine, np.vstack([X, X[:300]]))
    assert not _is_warned_of(machine, np.tile(NEW, (copies, 1)))


def test_a_few_training_rows_among_many_are_let_pass() -> None:
    machine = dormie.read(SVC().fit(X, Y))
    assert not _is_warned_of(machine, np.vstack([NEW, machine.points[:5]]))
    assert _is_warned_of(machine, np.vstack([NEW, machine.points[:100]]))


def _table(count: int, columns: int, seed: int) -> Floats:
    """Yes or no in every column, some answers rarer than others: rows often coincide."""
    return (np.random.default_rng(seed).random((count, columns)) < np.linspace(0.05, 0.5, columns)).astype(float)


def _trained_on(rows: Floats) -> Machine:
    noise = np.random.default_rng(5).normal(size=len(rows))
    return dormie.read(SVC().fit(rows, rows[:, -1] + rows[:, 0] + noise > 0.5))


@pytest.mark.parametrize("columns", [3, 8, 12, 16])
@pytest.mark.parametrize("held_out", [50, 300, 2000])
def test_rows_of_a_table_of_few_values_coincide_by_nature(columns: int, held_out: int) -> None:
    machine, fresh = _trained_on(_table(1000, columns, seed=0)), _table(held_out, columns, seed=1)
    vectors = {point.tobytes() for point in machine.points}
    assert any(row.tobytes() in vectors for row in fresh)
    assert not _is_warned_of(machine, fresh)


@pytest.mark.parametrize("seed", range(8))
def test_rows_near_a_few_prototypes_coincide_by_nature(seed: int) -> None:
    """Without noise rare values are support vectors far more often than common ones."""
    random = np.random.default_rng(seed)
    columns, values = random.integers(3, 14), random.integers(2, 5)
    prototypes = random.integers(values, size=(40, columns))[random.integers(40, size=5000)]
    changed = random.random((5000, columns)) < 0.1
    table = np.where(changed, random.integers(values, size=(5000, columns)), prototypes).astype(float)
    kind = table.sum(axis=1) > table.sum(axis=1).mean()
    machine = dormie.read(SVC(C=10).fit(table[:1000], kind[:1000]))
    assert not _is_warned_of(machine, table[1000:])


def test_training_rows_of_a_table_of_few_values_are_recognised() -> None:
    rows = _table(1000, 20, seed=0)
    assert _is_warned_of(_trained_on(rows), rows)


def test_models_that_carry_no_training_rows_are_let_pass() -> None:
    assert not _is_warned_of(dormie.read(LinearSVC().fit(X, Y)), X)
    empty = Machine(RBF(1.0), np.empty((0, 3)), np.empty((0, 1)), np.ones(1), Sign(np.array([0, 1])))
    assert not _is_warned_of(empty, X)


def test_huge_values_and_constant_features_do_no_harm() -> None:
    rows = np.c_[X[:50, 0] * 1e-200, np.full(50, 3.0), X[:50, 1]]
    machine = Machine(RBF(1.0), rows, np.ones(50), np.zeros(1), Sign(np.array([0, 1])))
    assert _is_warned_of(machine, rows)
    assert not _is_warned_of(machine, np.full((50, 3), 1e300))


def test_rows_of_a_python_kernel_are_told_too() -> None:
    vectors = Machine(Custom(lambda a, b: a @ b.T), X, np.ones(len(X)), np.zeros(1), Sign(np.array([0, 1])))
    assert _is_warned_of(vectors, X)
    assert not _is_warned_of(vectors, NEW)
    for thing in (np.ndarray.tobytes, np.ndarray.tolist):  # a list cannot be a key
        points, others = ([thing(row) for row in some] for some in (X, NEW))
        things = replace(vectors, points=points)
        assert _is_warned_of(things, as_array(points))
        assert not _is_warned_of(things, as_array(others))
