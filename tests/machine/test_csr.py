"""Sparse rows: well-formed ones are read as SciPy reads them, others are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from dormie.machine.rows import require_finite
from tests.machine.predictors import MACHINE, METHODS, predictor_of

FAST = predictor_of(MACHINE)


@pytest.mark.parametrize("method", METHODS)
def test_repeated_entries_of_csr_that_add_up_to_infinity_are_named(method: str) -> None:
    parts = (np.array([1e308, 1e308]), np.array([2, 2]), np.array([0, 0, 2]))
    rows = scipy.sparse.csr_array(parts, shape=(2, 4))
    for ask in (lambda: METHODS[method](FAST, rows), lambda: require_finite(rows)):
        with pytest.raises(ValueError, match="row 1, column 2 is infinite"):
            ask()


@pytest.mark.parametrize("method", METHODS)
def test_room_after_the_last_entry_of_csr_is_nobodys(method: str) -> None:
    rows = scipy.sparse.csr_array(np.ones((3, 4)))
    rows.indptr[-1], rows.indices[-1], rows.data[-1] = 11, 99, np.nan
    METHODS[method](FAST, rows)
    require_finite(rows)
    assert FAST.decision_function(rows)[2] == FAST.decision_function([[1.0, 1.0, 1.0, 0.0]])[0]


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
    "indptr of more rows": (
        lambda: _broken(indptr=np.array([0, 4, 8, 12, 12, 12], dtype=np.int32)),
        r"the shape says 3 rows, indptr \(one number more than rows\) 5; build the matrix again",
    ),
    "indptr of fewer rows": (lambda: _broken(indptr=np.array([0, 4], dtype=np.int32)), "shape says 3 rows.* 1; build"),
    "indptr from 1 on": (lambda: _broken(indptr=np.array([1, 4, 8, 12], dtype=np.int32)), "indptr starts at 1"),
    "indptr of fractions": (lambda: _broken(indptr=np.array([0.0, 4.0, 8.0, 12.0])), "of the type of indptr"),
    "indptr as a list": (lambda: _broken(indptr=[0, 4, 8, 12]), "must be vectors"),
    "data as a matrix": (lambda: _broken(data=np.ones((3, 4))), "must be vectors"),
    "integers, indptr falls": (
        lambda: _broken(indptr=np.array([0, 8, 4, 12], dtype=np.int32), data=np.ones(12, dtype=np.int64)),
        "row 1: the CSR indptr is not",
    ),
    "csc, row too large": (
        lambda: _tampered(scipy.sparse.csc_array, "indices"),
        "X is a broken CSC matrix: .*build it",
    ),
    "csc, indptr": (lambda: _tampered(scipy.sparse.csc_array, "indptr"), "X is a broken CSC matrix"),
    "bsr, column too large": (lambda: _tampered(scipy.sparse.bsr_array, "indices"), "X is a broken BSR matrix"),
    "bsr, indptr": (lambda: _tampered(scipy.sparse.bsr_array, "indptr"), "X is a broken BSR matrix"),
    "coo, row too large": (lambda: _tampered(scipy.sparse.coo_array, "row"), "X is a broken COO matrix"),
    "coo, column too large": (lambda: _tampered(scipy.sparse.coo_array, "col"), "X is a broken COO matrix"),
}


def _tampered(form: Any, part: str) -> Any:
    """A sparse array with one index far outside, which scipy would follow."""
    rows = form(np.ones((3, 4)))
    getattr(rows, part)[1] = 10**8
    return rows


@pytest.mark.parametrize("case", BROKEN)
@pytest.mark.parametrize("method", METHODS)
def test_a_malformed_csr_matrix_is_an_error_and_never_a_stray_read(case: str, method: str) -> None:
    make, message = BROKEN[case]
    with pytest.raises((ValueError, TypeError), match=message):
        METHODS[method](FAST, make())
