"""The sha256 of contents depends on the numbers and their order, and on nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from dormie.lab.datasets.contents import digest

X = np.array([[0.0, 1.5, 2.0], [3.0, 0.0, -4.0]])
Y = np.array([1, -1])


def test_layout_byte_order_and_the_sign_of_zero_do_not_count() -> None:
    same = [np.asfortranarray(X), X.astype(">f8"), np.where(X == 0, -0.0, X), np.repeat(X, 2, axis=0)[::2]]
    assert {digest(each, Y.astype(np.int32)) for each in same} == {digest(X, Y)}


@pytest.mark.parametrize(
    ("features", "labels"),
    [
        (np.nextafter(X, 9), Y),
        (X[::-1], Y),
        (X, Y[::-1]),
        (X.reshape(3, 2), Y),
        (X[:, :2], Y),
        (np.hstack([X, X[:, :1]]), Y),
        (csr_array(X), Y),
    ],
)
def test_everything_else_counts(features: np.ndarray, labels: np.ndarray) -> None:
    assert digest(features, labels) != digest(X, Y)


def test_a_sparse_array_may_be_stored_in_any_way() -> None:
    stored = csr_array((np.array([2.0, 1.5, 0.0, -4.0, 3.0]), [2, 1, 0, 2, 0], [0, 3, 5]), shape=(2, 3))
    assert digest(stored, Y) == digest(csr_array(X), Y)
    assert stored.nnz == 5
    assert digest(csr_array(X), Y) != digest(csr_array(np.hstack([X, 0 * X])), Y)


def test_bytes_are_told_from_numbers() -> None:
    pixels = np.array([[0, 255]], dtype=np.uint8)
    assert digest(pixels, [3]) != digest(pixels.astype(np.float64), [3])
