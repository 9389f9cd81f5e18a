"""The feature-space vector w of a machine: inner products with w, and bounds on their rounding errors.

G(x) - b = <phi(x), w> with w = sum_i beta_i phi(s_i). Certificates about w (its distance from the span of landmarks, or
from a reduced set) are differences of inner products that nearly cancel, so these bounds decide how small a distance
can be certified. The error of an RBF kernel value, and of most radial ones, is proportional to the value. Bounding the
errors by the sum of the values is therefore far tighter than by the largest error times all weights, which a single
outlier would determine.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dormie.machine import Floats, Machine
from dormie.machine.kernels import Kernel, Normalized, Radial
from dormie.machine.rules import Value
from dormie.machine.sparse_points import squared_norms
from dormie.numerics.evaluate import FullSum
from dormie.numerics.rounding import UNIT, in_range, kernel_value_error, stated_error, tile_value_error

_LEAST = 1e-300  # more than a radial kernel value loses to underflow


@dataclass(frozen=True)
class InnerProducts:
    """Inner products of points p with w, points x outputs."""

    values: Floats  # <phi(p), w>
    errors: Floats  # bounds on the errors of the values
    sizes: Floats  # upper bounds on sum_i |beta_i| |K(p, s_i)|, up to rounding

    @classmethod
    def with_w(cls, machine: Machine, points: Any) -> InnerProducts:
        """The inner products of points, in mapped coordinates, with the machine's w."""
        weights = np.abs(machine.weights)
        with np.errstate(over="ignore", invalid="ignore"):
            gamma = _narrow_gamma(machine, points)
            far = np.zeros_like(weights) if gamma is None else _squares(machine.points) * weights
            full_sum = _bare(machine, np.hstack([machine.weights, weights, far]))
            values, sizes, far = np.split(full_sum.outputs(points), 3, axis=1)
            if not machine.kernel.nonnegative:  # Cauchy-Schwarz
                own = np.sqrt(machine.kernel.diagonal(machine.points)) @ weights
                sizes = np.outer(np.sqrt(machine.kernel.diagonal(points)), own) * (1 + 1e-9)
            if gamma is None:
                errors = _error_by_largest(machine, points)
            else:
                errors = _error_of_radial(machine, gamma, points, sizes, far)
            return cls(values, errors + 1.02 * full_sum.roundings * UNIT * sizes, sizes)


@dataclass(frozen=True)
class FeatureVector:
    """w, represented by its inner products with the machine's points, which are computed once."""

    machine: Machine
    products: Floats  # L x c: <phi(s), w>
    squared_norm: Floats  # c: |w|^2
    squared_norm_error: Floats  # c: bounds on the errors of the squared norms

    @classmethod
    def of(cls, machine: Machine) -> FeatureVector:
        weights, products = machine.weights, InnerProducts.with_w(machine, machine.points)
        size, error = (np.einsum("ic,ic->c", np.abs(weights), part) for part in (products.sizes, products.errors))
        if not (in_range(size) | ~weights.any(axis=0)).all():
            raise ValueError("machine: the weights of an output, or its points, are far too small or too large")
        squared_norm = np.array([math.fsum(column) for column in (weights * products.values).T])
        return cls(machine, products.values, squared_norm, error * (1 + 1e-9) + 2 * UNIT * size)

    def of_vectors(self, vectors: Floats) -> FeatureVector:
        """The same w, represented by its inner products with other vectors, in mapped coordinates."""
        products = InnerProducts.with_w(self.machine, vectors).values
        return replace(self, machine=_unweighted(self.machine, vectors), products=products)

    def joined_by(self, vectors: Floats) -> FeatureVector:
        """The same w, represented by its inner products with the points and with more vectors."""
        others = self.of_vectors(vectors)
        points = np.vstack([self.machine.points, vectors])
        products = np.vstack([self.products, others.products])
        return replace(self, machine=_unweighted(self.machine, points), products=products)


def _unweighted(machine: Machine, points: Floats) -> Machine:
    """Other points, of weight 0, in the feature space of a machine."""
    return replace(machine.bare, points=points, weights=np.zeros((len(points), machine.n_outputs)))


def require_inner_product(machine: Machine, most: int) -> None:
    """Raise ValueError if a Python kernel that is stated to be positive semi-definite is seen not to be.

    An exact kernel matrix has no negative eigenvalue, and errors of e |phi(u)| |phi(v)| move one by at most e times the
    trace. The kernel matrix of at most `most` points is tried, so a kernel that passes may still not be one.
    """
    points = machine.points[:most]
    gram = machine.kernel.matrix(points, points)
    allowed = (2 * stated_error(machine.kernel) + 8 * len(gram) * UNIT) * np.abs(np.diagonal(gram)).sum()
    if not np.isfinite(gram).all():
        raise ValueError("the kernel function returned NaN or infinity for points of the machine")
    if (np.diagonal(gram) > machine.kernel.diagonal(points) + allowed).any():
        raise ValueError(
            f"the kernel function has K(x, x) = {np.diagonal(gram).max():.6g} for a point of the machine, more "
            "than the stated self_similarity: state a larger one, or leave it out"
        )
    if machine.kernel.nonnegative and (gram < -allowed).any():
        raise ValueError(
            f"the kernel function is stated to be nonnegative, and returned {gram.min():.3g} for two points of the "
            "machine: leave nonnegative=True out"
        )
    least = float(np.linalg.eigvalsh(gram)[0])
    if least < -allowed or not np.allclose(gram, gram.T, rtol=0, atol=2 * allowed):
        raise ValueError(
            f"the kernel function is not positive semi-definite, as was stated, within its value_error: the kernel "
            f"matrix of {len(gram)} points is not symmetric or has an eigenvalue of {least:.3g}. Leave "
            "positive_semidefinite=True out, or state a larger value_error"
        )


def _bare(machine: Machine, weights: Floats) -> FullSum:
    """Sums over the machine's points with other weights and no bias, for rows in mapped coordinates."""
    rule, bias = Value(flat=False), np.zeros(weights.shape[1])
    return FullSum(replace(machine.bare, weights=weights, bias=bias, rule=rule))


def _error_by_largest(machine: Machine, points: Any) -> Floats:
    """What errors of kernel values add to each inner product, bounded by the largest of them; for any kernel."""
    largest = max(bound(machine.kernel, points, machine.points) for bound in (tile_value_error, kernel_value_error))
    return np.asarray(1.01 * largest * np.abs(machine.weights).sum(axis=0))


def _error_of_radial(machine: Machine, gamma: float, points: Floats, sizes: Floats, far: Floats) -> Floats:
    """The same for a radial kernel: the relative error of a value is that of its exponent, or less.

    That is a few roundings of gamma (|p| + |s|)^2 <= 2 gamma (|p|^2 + |s|^2). `far` is sum_i |beta_i| |s_i|^2 K.
    """
    exponents = 2 * _exponent_roundings(machine) * gamma * (_squares(points) * sizes + far)
    own = _radial(machine).value_roundings * sizes
    return np.asarray(1.02 * UNIT * (exponents + own) + _LEAST * np.abs(machine.weights).sum(axis=0))


def _exponent_roundings(machine: Machine) -> float:
    """The number of roundings of an exponent, in the native tiles (see `tile_value_error`) or NumPy: the larger."""
    d = machine.n_features
    return max(min(d, 64 + d / 64) + 16, d + 4)


def _narrow_gamma(machine: Machine, points: Any) -> float | None:
    """How fast the logarithm of a radial kernel falls for a unit of squared distance, at most.

    None for other kernels, where the fall has no bound, and where exponents have errors above 0.001: then
    `_error_of_radial` does not hold.
    """
    kernel = _inner(machine)
    if not isinstance(kernel, Radial) or kernel.log_fall is None:
        return None
    gamma = kernel.log_fall * kernel.gamma
    reach = sum(math.sqrt(_squares(a).max(initial=0.0)) for a in (points, machine.points))
    return gamma if gamma * reach * reach * _exponent_roundings(machine) * UNIT < 1e-3 else None


def _inner(machine: Machine) -> Kernel:
    return machine.kernel.kernel if isinstance(machine.kernel, Normalized) else machine.kernel


def _radial(machine: Machine) -> Radial:
    kernel = _inner(machine)
    assert isinstance(kernel, Radial)
    return kernel


def _squares(points: Any) -> Floats:
    return squared_norms(points)[:, None]
