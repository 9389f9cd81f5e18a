"""Kernel values K(x, z) and their derivatives with respect to z, for optimising the vectors of a reduced set.

A loss that depends on Z only through the values K(x, z_k) has the gradient sum_x B_xk dK(x, z_k)/dz_k, where B is its
derivative with respect to the values. `KernelDerivatives.gradient` computes it from B with two matrix products.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dormie.machine.kernels import RBF, Kernel, Linear, Normalized, Polynomial, Radial, Sigmoid
from dormie.methods.fitting import CannotFit

_SMALLEST = 1e-200  # smallest scale of kernel values whose products do not underflow

Array = npt.NDArray[Any]  # float32 or float64: results have the type of the rows


def require_derivative(kernel: Kernel) -> None:
    """Raise ValueError for a kernel whose derivative is not known."""
    if kernel.is_python:
        raise ValueError(
            "a reduced set needs the kernel's derivative, which a Python function does not have: train with a kernel "
            "that is known by name (RBF, polynomial, sigmoid, linear)"
        )
    if not kernel.has_derivative:
        raise ValueError(
            f"a reduced set needs the kernel's derivative, and {kernel} has none where a vector and a point share a "
            "coordinate: compile the machine itself, or train with another kernel"
        )


@dataclass(frozen=True)
class KernelDerivatives:
    """K(x, z) of rows X and vectors Z, and its derivative with respect to z.

    dK(x, z)/dz = factor (from_row x - from_vector z), where the last two factors are matrices with an entry for each
    pair.
    """

    rows: Array
    vectors: Array
    values: Array
    factor: float
    from_row: Array
    from_vector: Array | None  # None: all 0

    @classmethod
    def of(cls, kernel: Kernel, rows: Array, vectors: Array) -> KernelDerivatives:
        if isinstance(kernel, Normalized):
            return _normalized(kernel.kernel, rows, vectors)
        return cls(rows, vectors, *_parts(kernel, rows, vectors))

    def gradient(self, by_values: Array) -> Array:
        """The gradient with respect to the vectors of a loss with derivatives `by_values`."""
        by_rows = by_values * self.from_row
        gradient = by_rows.T @ self.rows
        if self.from_vector is not None:
            by_vectors = by_rows if self.from_vector is self.from_row else by_values * self.from_vector
            gradient -= by_vectors.sum(axis=0)[:, None] * self.vectors
        return np.asarray(self.factor * gradient)


def _parts(kernel: Kernel, x: Array, z: Array) -> tuple[Array, float, Array, Array | None]:
    """Kernel values, and the common factor and the factors of x and of z in dK/dz."""
    if isinstance(kernel, RBF):
        values = _rbf_values(kernel.gamma, x, z)
        return values, 2 * kernel.gamma, values, values
    if isinstance(kernel, Radial):
        t = _exponents(kernel.gamma, x, z)
        values = np.asarray(kernel.profile(t))
        fall = np.asarray(kernel.fall(t, values))
        return values, 2 * kernel.gamma, fall, fall
    products = x @ z.T
    if isinstance(kernel, Linear):
        return products, 1.0, np.ones_like(products), None
    if isinstance(kernel, Polynomial):
        base = kernel.gamma * products + kernel.coef0
        below = _whole_power(base, kernel.degree - 1)
        return below * base, kernel.gamma * kernel.degree, below, None
    if isinstance(kernel, Sigmoid):
        values = np.tanh(kernel.gamma * products + kernel.coef0)
        return values, kernel.gamma, 1 - values**2, None
    raise TypeError(f"no slope for {kernel!r}")


def _rbf_values(gamma: float, x: Array, z: Array) -> Array:
    """exp(-gamma |x - z|^2), in place: a large temporary array takes longer than the arithmetic."""
    values = _exponents(gamma, x, z)
    np.negative(values, out=values)
    return np.asarray(np.exp(values, out=values))


def _exponents(gamma: float, x: Array, z: Array) -> Array:
    """gamma |x - z|^2."""
    values = x @ (-2 * gamma * z).T
    values += gamma * _squares(x)[:, None]
    values += gamma * _squares(z)
    return np.asarray(np.maximum(values, 0, out=values))


def _normalized(inner: Kernel, x: Array, z: Array) -> KernelDerivatives:
    """Values and derivatives of K / sqrt(K(x,x) K(z,z)), by the quotient rule."""
    values, factor, from_row, from_vector = _parts(inner, x, z)
    if isinstance(inner, RBF):
        return KernelDerivatives(x, z, values, factor, from_row, from_vector)
    both = _scale(inner, x)[:, None] * _scale(inner, z)
    values = values * both
    return KernelDerivatives(x, z, values, 1.0, factor * from_row * both, values * _own_slope(inner, z))


def _whole_power(base: Array, exponent: int) -> Array:
    """Power by repeated squaring, about ten times faster than NumPy's own."""
    power = np.ones_like(base)
    for bit in bin(exponent)[2:]:
        power = power * power * base if bit == "1" else power * power
    return power


def _squares(a: Array) -> Array:
    return np.asarray(np.einsum("ij,ij->i", a, a))


def _scale(inner: Kernel, a: Array) -> Array:
    return Normalized(_as_polynomial(inner)).scale(a).astype(a.dtype)


def _own_slope(inner: Kernel, z: Array) -> Array:
    """m with d K(z,z)/dz = 2 m K(z,z) z; 0 where K(z,z) is 0."""
    kernel = _as_polynomial(inner)
    base = kernel.gamma * _squares(z) + kernel.coef0
    return np.divide(kernel.gamma * kernel.degree, base, out=np.zeros_like(base), where=base > 0)


def _as_polynomial(kernel: Kernel) -> Polynomial:
    return Polynomial(1.0, degree=1) if isinstance(kernel, Linear) else kernel  # type: ignore[return-value]


def unit_kernel(kernel: Kernel, points: Array) -> tuple[Kernel, float]:
    """The kernel divided by a scale, so that K(s, s) is about 1 and fits float32, and that scale."""
    if not isinstance(kernel, Linear | Polynomial):
        return kernel, 1.0
    kernel = _as_polynomial(kernel)
    base = np.abs(kernel.gamma * _squares(points) + kernel.coef0).mean()
    if base == 0:
        return kernel, 1.0
    with np.errstate(over="ignore", under="ignore"):
        scale = float(base**kernel.degree)
    if not _SMALLEST < scale < 1 / _SMALLEST:
        raise CannotFit(f"the values of {kernel} at the points are about {scale:.1g}: too large or small to work with")
    return replace(kernel, gamma=kernel.gamma / float(base), coef0=kernel.coef0 / float(base)), scale
