"""The sha256 of what a file holds, not of its bytes: any copy with the same numbers in the same order has it.

A set's public home may serve LIBSVM text, a table or Matlab arrays, packed or not. All that counts is the arrays that
the parsers make of them.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np


def digest(X: Any, y: Any) -> str:
    """The sha256 of features and labels in one form, the same on every computer.

    Labels are 64-bit integers. Features are bytes or 64-bit floats (0 for -0), row after row, little-endian; of a CSR
    array the offsets of rows, the columns and the values other than 0.
    """
    sha = hashlib.sha256()
    for array in (*_parts(X), np.asarray(y, dtype="<i8")):
        sha.update(f"{array.dtype.str}{array.shape}".encode())
        sha.update(np.ascontiguousarray(array).data)
    return sha.hexdigest()


def _parts(X: Any) -> tuple[Any, ...]:
    if not hasattr(X, "indptr"):
        return (X,) if X.dtype == np.uint8 else (np.asarray(X, dtype="<f8") + 0.0,)
    csr = X.copy()
    csr.eliminate_zeros()
    csr.sort_indices()
    shape = np.array(csr.shape, dtype="<i8")
    return shape, csr.indptr.astype("<i8"), csr.indices.astype("<i8"), csr.data.astype("<f8")
