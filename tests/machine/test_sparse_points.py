"""Machines with sparse points: what is kept, what is refused, and when readers keep points sparse."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from dormie.machine import Affine, Machine
from dormie.machine.kernels import RBF
from dormie.machine.rows import mapped_norms
from dormie.machine.rules import Sign
from dormie.machine.sparse_points import in_best_form, keys, norms, squared_norms, stacked

POINTS = np.array([[0.0, 2.0, 0.0, -1.0], [0.0, 0.0, 0.0, 0.0], [3.0, 0.0, 0.0, 0.0]])


def made(points: Any, **parts: Any) -> Machine:
    return Machine(RBF(0.5), points, np.array([1.0, -1.0, 2.0]), np.zeros(1), Sign(np.arange(2)), **parts)


@pytest.mark.parametrize("form", ["csr_array", "csr_matrix", "csc_array", "coo_array", "lil_array", "dok_array"])
def test_points_of_any_sparse_form_become_a_frozen_canonical_csr_array(form: str) -> None:
    machine = made(getattr(scipy.sparse, form)(POINTS))
    assert machine.has_sparse_points
    assert machine.of_vectors
    assert (machine.n_points, machine.n_features) == (3, 4)
    np.testing.assert_array_equal(machine.points.toarray(), POINTS)
    assert machine.points.has_canonical_format
    for part in (machine.points.data, machine.points.indices, machine.points.indptr):
        assert not part.flags.writeable
    assert repr(machine).startswith("Machine(RBF(gamma=0.5), 3 sparse points of 4 features")


def test_stored_zeros_duplicates_and_order_do_not_matter() -> None:
    odd = scipy.sparse.csr_array(([-1.0, 0.5, 0.0, 1.5, 3.0], [3, 1, 2, 1, 0], [0, 4, 4, 5]), shape=(3, 4))
    before = odd.data.copy()
    machine = made(odd)
    np.testing.assert_array_equal(machine.points.toarray(), POINTS)
    assert machine.points.nnz == 3
    np.testing.assert_array_equal(odd.data, before)
    odd.data[:] = 7
    np.testing.assert_array_equal(machine.points.toarray(), POINTS)


def test_a_value_that_is_not_finite_is_named() -> None:
    points = scipy.sparse.csr_array(POINTS)
    points.data[1] = np.nan
    with pytest.raises(ValueError, match=r"points must be finite, found nan at \[0, 3\]"):
        made(points)


def test_what_needs_dense_points_is_refused_with_advice() -> None:
    sparse = scipy.sparse.csr_array(POINTS)
    with pytest.raises(ValueError, match=r"moves zeros: pass points.toarray\(\)"):
        made(sparse, input_map=Affine(np.ones(4), np.ones(4)))
    shifting = Affine(np.zeros(4), np.ones(4), (("add", np.ones(4)), ("subtract", np.ones(4))))
    with pytest.raises(ValueError, match="moves zeros"):
        made(sparse, input_map=shifting)
    with pytest.raises(ValueError, match="BLAS computes inner products of dense points"):
        made(sparse, blas_products=True)
    with pytest.raises(ValueError, match="2 points but 3 rows of weights"):
        made(sparse[:2])


def test_it_can_be_pickled() -> None:
    machine = pickle.loads(pickle.dumps(made(scipy.sparse.csr_array(POINTS))))
    np.testing.assert_array_equal(machine.points.toarray(), POINTS)
    assert not machine.points.data.flags.writeable


def test_readers_keep_points_sparse_where_there_are_many_zeros() -> None:
    def points(count: int, features: int, density: float) -> Any:
        drawn = np.random.default_rng(0).random((count, features))
        return scipy.sparse.csr_array(np.where(drawn < density, drawn, 0.0))

    assert scipy.sparse.issparse(in_best_form(points(200, 10_000, 0.01)))
    assert isinstance(in_best_form(points(200, 10_000, 0.2)), np.ndarray)
    assert isinstance(in_best_form(points(20, 10_000, 0.01)), np.ndarray)
    assert isinstance(in_best_form(points(5_000, 500, 0.01)), np.ndarray)
    assert isinstance(in_best_form(POINTS), np.ndarray)


def test_numbers_of_sparse_points_are_those_of_dense_ones() -> None:
    sparse = scipy.sparse.csr_array(POINTS)
    np.testing.assert_allclose(squared_norms(sparse), squared_norms(POINTS))
    np.testing.assert_allclose(norms(sparse), norms(POINTS))
    repeated = stacked([sparse, sparse])
    assert repeated.shape == (6, 4)
    assert keys(repeated)[:3] == keys(repeated)[3:]
    assert len(set(keys(sparse))) == 3


@pytest.mark.parametrize("scale", [None, [2.0, 0.5, -1.0, 4.0]])
def test_norms_of_mapped_rows(scale: list[float] | None) -> None:
    input_map = None if scale is None else Affine(np.zeros(4), np.array(scale))
    machine, rows = made(scipy.sparse.csr_array(POINTS), input_map=input_map), POINTS[::-1] + 1.0
    twice = scipy.sparse.csr_array((np.repeat(rows.ravel() / 2, 2), np.tile(np.repeat(range(4), 2), 3), [0, 8, 16, 24]))
    expected = np.linalg.norm(rows if scale is None else rows / scale, axis=1)
    for form in (rows, scipy.sparse.csr_array(rows), twice):
        np.testing.assert_allclose(mapped_norms(machine, form), expected)
