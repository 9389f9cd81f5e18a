"""NumPy with a good BLAS: the kernel matrix of a block of rows, computed in place, times the weights.

This is the fastest plain NumPy form we found. Points are converted once. Everything that is added to X S^T (norms,
coef0) is appended to the factors as extra columns, so only the kernel function makes another pass over K.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from dormie.convert import read
from dormie.lab.bench.peers.base import Peer, PeerUnavailableError, Predict
from dormie.machine import Machine
from dormie.machine.kernels import RBF, Linear, Polynomial, Sigmoid

Array = npt.NDArray[Any]


def _block_rows(features: int) -> int:
    """The best block size measured: with few features K should stay in cache, with many the factors should be tall."""
    return 1024 if features >= 256 else 256


def _evaluator(machine: Machine, dtype: str) -> Callable[[Array], Array]:
    """A function from rows in the form [x, 1, |x|^2] to outputs without the bias."""
    kernel, points = machine.kernel, machine.points
    ones, zeros = np.ones(machine.n_points), np.zeros(machine.n_points)
    if isinstance(kernel, Linear):
        folded = np.vstack([points.T @ machine.weights, np.zeros((2, machine.n_outputs))]).astype(dtype)
        return lambda block: block @ folded
    if isinstance(kernel, RBF):
        norms = np.einsum("ij,ij->i", points, points)
        left = np.vstack([2 * kernel.gamma * points.T, -kernel.gamma * norms, -kernel.gamma * ones])
    elif isinstance(kernel, Polynomial | Sigmoid):
        left = np.vstack([kernel.gamma * points.T, kernel.coef0 * ones, zeros])
    else:
        raise PeerUnavailableError(f"knows linear, polynomial, RBF and sigmoid kernels, not {type(kernel).__name__}")
    factors, weights, function = left.astype(dtype), machine.weights.astype(dtype), _elementwise(kernel)
    return lambda block: function(block @ factors) @ weights


def _elementwise(kernel: RBF | Polynomial | Sigmoid) -> Callable[[Array], Array]:
    """The kernel function, applied in place."""
    if isinstance(kernel, RBF):
        return lambda values: np.exp(values, out=values)
    if isinstance(kernel, Sigmoid):
        return lambda values: np.tanh(values, out=values)
    degree = kernel.degree
    return lambda values: _power(values, degree)


def _power(values: Array, degree: int) -> Array:
    """The power by repeated multiplication, which is faster than NumPy's power function."""
    base = values.copy()
    for _ in range(degree - 1):
        values *= base
    return values


def _extended(rows: Any, machine: Machine, dtype: str) -> Array:
    """The rows, mapped and dense, in the form [x, 1, |x|^2]."""
    dense = rows.toarray() if hasattr(rows, "toarray") else np.asarray(rows)
    dense = dense if machine.input_map is None else machine.input_map(dense)
    result = np.empty((len(dense), dense.shape[1] + 2), dtype=dtype)
    result[:, :-2] = dense
    result[:, -2] = 1
    np.einsum("ij,ij->i", result[:, :-2], result[:, :-2], out=result[:, -1])
    return result


class NumpyGemm(Peer):
    """NumPy with a given floating-point type."""

    def __init__(self, dtype: str) -> None:
        self.dtype = dtype
        self.name = f"numpy-{dtype}"

    def prepare(self, model: Any) -> Predict:
        machine = read(model)
        evaluate = _evaluator(machine, self.dtype)
        step = _block_rows(machine.n_features)

        def predict(rows: Any) -> Array:
            outputs = np.empty((rows.shape[0], machine.n_outputs))
            for start in range(0, len(outputs), step):
                block = _extended(rows[start : start + step], machine, self.dtype)
                outputs[start : start + step] = evaluate(block) + machine.bias
            return machine.rule.labels(machine.rule.answer(outputs))

        return predict
