"""Bounds on the rounding of what is computed once, before any row comes: Gram matrices, sums over all points.

Rows' own rounding is bounded in the native core (rounding.hpp).
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from dormie.kernels import RBF, Kernel, Linear, Normalized, Polynomial, Sigmoid
from dormie.machine import Floats

UNIT: float = 2.0**-53
_LEAST_NORMAL: float = 2.0**-1022


def kernel_value_error(kernel: Kernel, a: Floats, b: Floats) -> float:
    """A bound on the error of any entry of `kernel.matrix(a, b)`, for every kernel but Python functions."""
    d = int(a.shape[1])
    if isinstance(kernel, RBF):
        # Differences are squared and summed: the exponent z has relative error (d + 4) u, and z exp(-z) <= 0.37.
        return (0.37 * (d + 4) + 4) * UNIT
    if isinstance(kernel, Normalized):
        if isinstance(kernel.kernel, RBF):
            return kernel_value_error(kernel.kernel, a, b) + 4 * UNIT
        return math.inf if _scale_lost(kernel, a, b) else 2 * (_degree(kernel) + 2) * (d + 8) * UNIT
    size = _largest_norm(a) * _largest_norm(b)
    if isinstance(kernel, Linear):
        return (d + 2) * UNIT * size
    if isinstance(kernel, Polynomial):
        base = kernel.gamma * size + abs(kernel.coef0)
        with np.errstate(over="ignore"):
            return float(2 * kernel.degree * (d + 4) * UNIT * np.power(base, kernel.degree)) + _LEAST_NORMAL
    if isinstance(kernel, Sigmoid):  # tanh is nowhere steeper than 1
        return ((d + 4) * (abs(kernel.gamma) * size + abs(kernel.coef0)) + 4) * UNIT
    raise TypeError(f"no bound on the rounding of {kernel!r}")


def in_range(squares: Floats) -> npt.NDArray[np.bool_]:
    """Whether squared norms are so far from the ends of the range of doubles that what is made of them stays inside."""
    return (squares > 1e-200) & (squares < 1e200)


def exact_gram_error(factor: Floats, gram: Floats) -> Floats:
    """`factor @ factor.T - gram`, almost without rounding.

    The factor is cut into slices of so few bits that the products of the leading slices, and their sums, are exact in
    float64; what is left over is 2^-40 smaller, and so is its rounding.
    """
    k = factor.shape[1]
    bits = (52 - math.ceil(math.log2(max(k, 2)))) // 2
    top = 2.0 ** math.ceil(math.log2(max(float(np.abs(factor).max(initial=0.0)), 1e-300)))
    first = np.round(factor / top * 2.0**bits) / 2.0**bits * top
    second = np.round((factor - first) / top * 2.0 ** (2 * bits)) / 2.0 ** (2 * bits) * top
    third = factor - first - second
    cross = first @ second.T
    rest = first @ third.T
    small = second @ second.T + rest + rest.T + second @ third.T + third @ second.T
    return np.asarray((first @ first.T - gram) + (cross + cross.T) + small)


def _largest_norm(rows: Floats) -> float:
    lost = 1e-150  # no less than what squares, and products of such rows, lose below the normal range
    with np.errstate(over="ignore"):
        return float(np.sqrt(np.einsum("ij,ij->i", rows, rows).max(initial=0.0))) * (1 + 1e-12) + lost


def _scale_lost(kernel: Normalized, *sets: Floats) -> bool:
    """Whether some K(u, u) that a row is normalised by leaves the range of doubles."""
    for rows in sets:
        with np.errstate(over="ignore"):
            own = kernel.kernel.diagonal(rows)
        if (rows.any(axis=1) & ((own < 1e-280) | (own > 1e280))).any():
            return True
    return False


def tile_value_error(kernel: Kernel, a: Floats, b: Floats) -> float:
    """A bound on the error of any kernel value of the native float64 tiles between rows of a and b (rounding.hpp)."""
    if isinstance(kernel, Normalized) and not isinstance(kernel.kernel, RBF):
        return kernel_value_error(kernel, a, b) + 100 * UNIT * _degree(kernel)
    inner = kernel.kernel if isinstance(kernel, Normalized) else kernel
    d = int(a.shape[1])
    chain = 64 + d / 64 + 16
    x, s = _largest_norm(a), _largest_norm(b)
    if isinstance(inner, RBF):
        exponent = chain * UNIT * inner.gamma * ((x + s) * (x + s)) + 16 * UNIT
        return math.expm1(exponent) if exponent < 0.5 else 1.0  # no value is further off than 1
    return kernel_value_error(inner, a, b) * max(1.0, chain / d)


def _degree(kernel: Normalized) -> int:
    return kernel.kernel.degree if isinstance(kernel.kernel, Polynomial) else 1
