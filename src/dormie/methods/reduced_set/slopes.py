"""Kernel values and how they change as the second vector moves: what moving the vectors of a reduced set needs.

A loss that depends on Z through K(x, z_k) alone has the gradient sum_x B_xk dK(x, z_k)/dz_k, B being its derivative by
the values. `pull` takes B to that gradient, in two matrix products, for every kernel at once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dormie.machine.kernels import RBF, Kernel, Linear, Normalized, Polynomial, Sigmoid

_SMALLEST = 1e-200  # value of a kernel that can still be multiplied with others

Array = npt.NDArray[Any]  # float32 or float64: results are of the type of the rows


def require_slope(kernel: Kernel) -> None:
    """ValueError for a kernel nothing is known of but its values."""
    if kernel.is_python:
        raise ValueError(
            "a reduced set needs the kernel's derivative, which a Python function does not have: train with a kernel "
            "that is known by name (RBF, polynomial, sigmoid, linear)"
        )


@dataclass(frozen=True)
class Slopes:
    """K(x, z) of rows X with vectors Z, and its derivative by z in a form that `pull` can use.

    dK(x, z)/dz = from_row x + from_vector z, each a matrix of one number for every x and z.
    """

    rows: Array
    vectors: Array
    values: Array
    from_row: Array
    from_vector: Array | None  # None: 0 throughout

    @classmethod
    def of(cls, kernel: Kernel, rows: Array, vectors: Array) -> Slopes:
        if isinstance(kernel, Normalized):
            return _normalized(kernel.kernel, rows, vectors)
        return cls(rows, vectors, *_parts(kernel, rows, vectors))

    def pull(self, by_values: Array) -> Array:
        """The gradient by every vector of a loss with these derivatives by the values."""
        gradient = (by_values * self.from_row).T @ self.rows
        if self.from_vector is not None:
            gradient += (by_values * self.from_vector).sum(axis=0)[:, None] * self.vectors
        return np.asarray(gradient)


def _parts(kernel: Kernel, x: Array, z: Array) -> tuple[Array, Array, Array | None]:
    """Values, and the numbers that x and z count with in dK/dz."""
    products = x @ z.T
    if isinstance(kernel, RBF):
        squares = _squares(x)[:, None] + _squares(z) - 2 * products
        values = np.exp(-kernel.gamma * np.maximum(squares, 0))
        slope = 2 * kernel.gamma * values
        return values, slope, -slope
    if isinstance(kernel, Linear):
        return products, np.ones_like(products), None
    if isinstance(kernel, Polynomial):
        base = kernel.gamma * products + kernel.coef0
        below = _whole_power(base, kernel.degree - 1)
        return below * base, kernel.gamma * kernel.degree * below, None
    if isinstance(kernel, Sigmoid):
        values = np.tanh(kernel.gamma * products + kernel.coef0)
        return values, kernel.gamma * (1 - values**2), None
    raise TypeError(f"no slope for {kernel!r}")


def _normalized(inner: Kernel, x: Array, z: Array) -> Slopes:
    """Of K / sqrt(K(x,x) K(z,z)): its slope is the inner one's scaled, less what K(z,z) grows by."""
    values, from_row, from_vector = _parts(inner, x, z)
    if isinstance(inner, RBF):
        return Slopes(x, z, values, from_row, from_vector)
    both = _scale(inner, x)[:, None] * _scale(inner, z)
    values = values * both
    return Slopes(x, z, values, from_row * both, -values * _own_slope(inner, z))


def _whole_power(base: Array, exponent: int) -> Array:
    """By squaring: NumPy's own power is some ten times slower than the multiplications it takes."""
    power = np.ones_like(base)
    for bit in bin(exponent)[2:]:
        power = power * power * base if bit == "1" else power * power
    return power


def _squares(a: Array) -> Array:
    return np.asarray(np.einsum("ij,ij->i", a, a))


def _scale(inner: Kernel, a: Array) -> Array:
    return Normalized(_as_polynomial(inner)).scale(a).astype(a.dtype)


def _own_slope(inner: Kernel, z: Array) -> Array:
    """m with d K(z,z)/dz = 2 m K(z,z) z; 0 where K(z,z) is."""
    kernel = _as_polynomial(inner)
    base = kernel.gamma * _squares(z) + kernel.coef0
    return np.divide(kernel.gamma * kernel.degree, base, out=np.zeros_like(base), where=base > 0)


def _as_polynomial(kernel: Kernel) -> Polynomial:
    return Polynomial(1.0, degree=1) if isinstance(kernel, Linear) else kernel  # type: ignore[return-value]


def unit_kernel(kernel: Kernel, points: Array) -> tuple[Kernel, float]:
    """A multiple of the kernel whose K(s, s) is about 1, and 1 over that multiple: for arithmetic in float32."""
    if not isinstance(kernel, Linear | Polynomial):
        return kernel, 1.0
    kernel = _as_polynomial(kernel)
    base = np.abs(kernel.gamma * _squares(points) + kernel.coef0).mean()
    if base == 0:
        return kernel, 1.0
    with np.errstate(over="ignore", under="ignore"):
        unit = float(base**kernel.degree)
    if not _SMALLEST < unit < 1 / _SMALLEST:
        raise ValueError(f"the values of {kernel} at the points are about {unit:.1g}: too large or small to work with")
    return replace(kernel, gamma=kernel.gamma / float(base), coef0=kernel.coef0 / float(base)), unit
