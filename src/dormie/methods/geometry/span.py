"""The derivation of the geometry bound: w and a row, projected on the span of the landmarks (DeCoste 2002).

Landmarks S_1..S_k span a subspace of feature space. In it a row x has coordinates q = T^-1 k(S, x), and w has
coordinates c = T^-1 <phi(S), w>, where T T' is the Gram matrix of the landmarks. The component outside the span has
length rho for w and R for x. So, by Cauchy-Schwarz,

    G(x) = c.q + b  within  rho R,      rho^2 = |w|^2 - |c|^2,   R^2 = K(x,x) - |q|^2.

**Rounding.** T and c are floats and are taken as exact; q is what was computed. With the exact inverse N = T^-1 and
a = N'q, p = sum a_i phi(S_i), and alpha = N'c, w' = sum alpha_i phi(S_i), v = w - w':

    G - b = c.q + a.(g - T c) - alpha.(eta - dT q) + alpha'F a + <v, phi(x) - p>
    |phi(x) - p|^2 = K(x,x) - |q|^2 + 2 a.(eta - dT q) - a'F a
    |v|^2 = |w|^2 - |c|^2 - 2 alpha.(g - T c) - alpha'F alpha

where g = <phi(S), w>, F = T T' - K_SS, eta the errors of the row's kernel values, and dT <= gamma_k |T| the backward
error of forward substitution. So every term is bounded by norms that do not depend on the row, and by
|a| <= h = sum_j |q_j| |N_j|, which costs one multiply-add per landmark.

K(x,x) is computed as well. With d features its relative error is at most (degree + 1)(d + 12) u, where the degree is 1
unless the kernel is polynomial: a squared norm of d products, then a power of a sum of non-negative terms. This is
added to R^2. A Python kernel has the errors that the user states.

`Span.of` computes the norms, each rounded up. `Span.radius` and geometry.cpp combine them; `mistake` in the code is the
bound on |eta - dT q|.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np

from dormie.machine import Floats, Machine
from dormie.methods.fitting import CannotFit
from dormie.numerics.cholesky import cholesky, solve_lower
from dormie.numerics.feature_space import FeatureVector, InnerProducts
from dormie.numerics.rounding import UNIT, exact_gram_error, in_range, kernel_value_error

_UP = 1 + 1e-9  # covers the rounding of the norms themselves
_LOST_SQUARE = 1e-290  # more than a sum of squares can lose to underflow


class Projected(NamedTuple):
    """What the radius of the intervals of rows depends on."""

    square: Floats  # |q|^2
    inverse: Floats  # sum_j |q_j| |N_j|
    own: Floats  # at least K(x,x), its error included
    value_errors: Floats  # the most that any of a row's kernel values may be off by


@dataclass(frozen=True, eq=False)
class Span:
    """Landmarks, the coordinates of w in their span, and error bounds for each number of landmarks.

    k landmarks, d features, c outputs; in the order of Span in native/methods/geometry.hpp.
    """

    points: Any  # k x d, in mapped coordinates; with a Python kernel k objects of any type
    factor: Floats  # T, k x k
    coordinates: Floats  # c, k x c
    norms: Floats  # |N_j|, k
    rho: Floats  # |v|, k x c
    coordinate_norms: Floats  # |c|, k x c
    weight_norms: Floats  # |alpha|, k x c
    misfit: Floats  # |g - T c|, k x c
    factor_error: Floats  # |F|, k
    factor_norm: Floats  # |T|, k

    @classmethod
    def of(cls, w: FeatureVector, landmarks: Any) -> Span:
        """The span of these landmarks, cut at the first that lies almost in the span of those before it."""
        machine = w.machine
        landmarks, gram, factor = _factorise(machine, landmarks)
        k = np.arange(1, len(landmarks) + 1)
        value_error = kernel_value_error(machine.kernel, landmarks, landmarks)
        factor_norm = np.sqrt(np.cumsum(np.einsum("ij,ij->i", factor, factor)))
        squares = np.cumsum(np.cumsum(exact_gram_error(factor, gram) ** 2, axis=0), axis=1)
        factor_error = np.sqrt(np.diagonal(squares)) + k * value_error
        inverse, norms = _inverse(factor)
        products = InnerProducts.with_w(machine, landmarks)
        g, g_error = products.values, products.errors
        c = solve_lower(factor, g)
        coordinate_norms = np.sqrt(np.cumsum(c**2, axis=0))
        misfit = np.sqrt(np.cumsum((np.abs(g - factor @ c) + g_error) ** 2, axis=0))
        misfit += (k * UNIT * factor_norm)[:, None] * coordinate_norms
        weight_norms = _weight_norms(inverse, c, norms)
        rho2 = w.squared_norm + w.squared_norm_error - coordinate_norms**2 * (1 - (k[:, None] + 8) * UNIT)
        rho2 += (2 * weight_norms * misfit + weight_norms**2 * factor_error[:, None]) * _UP
        return cls(
            points=landmarks,
            factor=factor,
            coordinates=c,
            norms=norms,
            rho=np.sqrt(np.maximum(rho2, 0)) * _UP,
            coordinate_norms=coordinate_norms * _UP,
            weight_norms=weight_norms * _UP,
            misfit=misfit * _UP,
            factor_error=factor_error * _UP,
            factor_norm=factor_norm * _UP,
        )

    def __len__(self) -> int:
        return len(self.points)

    def first(self, k: int) -> Span:
        """The span of the first k landmarks."""
        arrays = {field.name: getattr(self, field.name)[:k] for field in fields(self)}
        return Span(**(arrays | {"factor": arrays["factor"][:, :k]}))

    def radius(self, k: int, rows: Projected, bias: Floats) -> Floats:
        """The radius of the interval of every output of rows after k landmarks: rho R, and all errors."""
        at, gamma = k - 1, (k + 20) * UNIT
        root, h = np.sqrt(rows.square + _LOST_SQUARE), rows.inverse * (1 + gamma)
        mistake = np.sqrt(k) * rows.value_errors + gamma * self.factor_norm[at] * root
        far2 = rows.own + _LOST_SQUARE - rows.square * (1 - gamma)
        far2 += 2 * h * mistake + h**2 * self.factor_error[at]
        rounding = np.outer(h, self.misfit[at] + self.weight_norms[at] * self.factor_error[at])
        rounding += np.outer(mistake, self.weight_norms[at])
        rounding += gamma * np.outer(root, self.coordinate_norms[at]) + 2 * UNIT * np.abs(bias)
        return np.asarray((np.outer(np.sqrt(np.maximum(far2, 0)), self.rho[at]) + rounding) * (1 + 1e-12))


def _factorise(machine: Machine, landmarks: Any) -> tuple[Any, Floats, Floats]:
    """The leading landmarks with a safely positive definite Gram matrix, that matrix, and its Cholesky factor."""
    gram = machine.kernel.matrix(landmarks, landmarks)
    if not len(gram) or not np.isfinite(gram).all():
        raise CannotFit("geometry: no landmarks, or landmarks so large that their kernel values overflow")
    factor, k = cholesky(gram)
    own = np.diagonal(gram)[:k]
    safe = (np.diagonal(factor)[:k] ** 2 > 1e-10 * own) & in_range(own)
    k = k if safe.all() else int(np.argmin(safe))
    if k == 0:
        raise CannotFit("geometry: no usable landmark (K(s, s) of the first is 0, or far too small or too large)")
    return landmarks[:k], gram[:k, :k], np.ascontiguousarray(factor[:k, :k])


def _inverse(factor: Floats) -> tuple[Floats, Floats]:
    """T^-1, and upper bounds on the norms of its rows."""
    k = len(factor)
    inverse = solve_lower(factor, np.eye(k))
    row_norms = np.sqrt(np.einsum("ij,ij->i", inverse, inverse))
    defect = np.linalg.norm(inverse @ factor - np.eye(k), axis=1)
    defect += k * UNIT * row_norms * np.linalg.norm(factor)
    total = np.linalg.norm(defect)
    if total >= 0.5:
        raise CannotFit("geometry: the landmarks are too nearly dependent")
    return inverse, (row_norms + defect * np.linalg.norm(row_norms) / (1 - total)) * _UP


def _weight_norms(inverse: Floats, c: Floats, norms: Floats) -> Floats:
    """Upper bounds on |N'c| for every number of landmarks and every output."""
    row_norms = np.sqrt(np.einsum("ij,ij->i", inverse, inverse))
    found = np.stack([np.linalg.norm(np.cumsum(column[:, None] * inverse, axis=0), axis=1) for column in c.T], axis=1)
    return np.asarray(found + np.cumsum(np.abs(c) * (norms - row_norms * (1 - 1e-12))[:, None], axis=0))
