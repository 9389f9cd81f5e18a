"""Anytime intervals (DeCoste 2002): the geometry stage.

Landmarks S_1..S_k span a subspace of feature space. A row x has coordinates q = T^-1 k(S, x) in it, w has coordinates
c = T^-1 <phi(S), w>, where T T' is the landmarks' Gram matrix; what lies outside is at most rho for w and R for x:

    G(x) = c.q + b  within  rho R,      rho^2 = |w|^2 - |c|^2,   R^2 = K(x,x) - |q|^2.

**Rounding.** The numbers at hand are T, c (floats, taken as they are) and q as computed. With N = T^-1 (exactly) and
a = N'q, p = sum a_i phi(S_i), and alpha = N'c, w' = sum alpha_i phi(S_i), v = w - w':

    G - b = c.q + a.(g - T c) - alpha.(eta - dT q) + alpha'F a + <v, phi(x) - p>
    |phi(x) - p|^2 = K(x,x) - |q|^2 + 2 a.(eta - dT q) - a'F a
    |v|^2 = |w|^2 - |c|^2 - 2 alpha.(g - T c) - alpha'F alpha

where g = <phi(S), w>, F = T T' - K_SS, eta the errors of the row's kernel values, and dT <= gamma_k |T| the backward
error of forward substitution. So every term is bounded by norms known beforehand and by |a| <= h = sum_j |q_j| |N_j|,
which costs one multiply-add a landmark. `Span` computes those norms, each rounded up; geometry.cpp puts them together.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from dormie import native, reference
from dormie.known import Known
from dormie.landmarks import Expansion
from dormie.machine import Floats, Machine
from dormie.rounding import UNIT, exact_gram_error, in_range, kernel_value_error
from dormie.rows import require_finite
from dormie.stages.base import Decisions, Stage, require_inner_product
from dormie.stages.room import Shapes, Size, extent, packed, parts
from dormie.triangular import cholesky, solve_lower

_UP = 1 + 1e-9  # room for the rounding of the norms themselves


class Geometry(Stage):
    """Intervals from landmarks, as many as it takes, at most `budget`."""

    name = "geometry"

    def __init__(self, machine: Machine, arrays: dict[str, Floats], budget: int) -> None:
        require_inner_product(machine, Geometry)
        _require_fit(machine, arrays)
        if not 1 <= budget <= len(arrays["points"]):
            raise ValueError(f"geometry: budget must be between 1 and {len(arrays['points'])}, got {budget}")
        self.machine = machine
        self.arrays = arrays
        self.budget = budget
        self._native = native.geometry(machine, arrays)

    @classmethod
    def build(cls, machine: Machine, landmarks: Floats, expansion: Expansion | None = None) -> Geometry:
        """The stage over given landmarks (in mapped coordinates), in their order; any points will do.

        Landmarks that leave too little outside the span of those before them end the list. `expansion` is
        `Expansion.of(machine)`, where it is known already.
        """
        require_inner_product(machine, Geometry)
        with np.errstate(over="ignore", invalid="ignore"):  # what overflows is refused with the arrays it ends up in
            arrays = _span(expansion or Expansion.of(machine), np.ascontiguousarray(landmarks, dtype=np.float64))
        return cls(machine, arrays, len(arrays["points"]))

    def __str__(self) -> str:
        return f"{self.name}({self.budget})"

    def limited(self, budget: int) -> Geometry:
        """The same stage, giving up after fewer landmarks."""
        k = min(budget, len(self.arrays["points"]))
        arrays = {name: a[:k, :k] if name == "factor" else a[:k] for name, a in self.arrays.items()}
        return Geometry(self.machine, arrays, k)

    def decide(self, rows: Any) -> Decisions:
        if self._native is not None:
            return Decisions(*self._native.decide(*native.arguments(rows, self.budget)))
        require_finite(rows)
        return Decisions(*reference.geometry_decide(self.machine, self.arrays, rows, self.budget))

    def interval(self, rows: Any, budget: int) -> tuple[Floats, Floats]:
        """Middle and radius of every output of every row after `budget` landmarks."""
        budget = min(budget, len(self.arrays["points"]))
        if self._native is not None:
            return self._native.interval(*native.arguments(rows, budget))  # type: ignore[no-any-return]
        require_finite(rows)
        return reference.geometry_interval(self.machine, self.arrays, rows, budget)

    def walk(self, row: Floats) -> Iterator[tuple[Floats, Floats]]:
        """Middle and radius of one row's outputs after each landmark, worked out as they are asked for."""
        if self._native is None:
            require_finite(row[None])
            yield from reference.geometry_walk(self.machine, self.arrays, row)
            return
        walk = native.walk(self._native, row)
        while True:
            middles, radii = walk.next()
            if not len(middles):
                return
            yield from zip(middles, radii, strict=True)

    def state(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        return {"budget": self.budget}, dict(self.arrays)

    @classmethod
    def room(cls, machine: Size, shapes: Shapes) -> int:
        k = extent(shapes, "points")
        tiles = parts(k, 16)
        return packed(Size(k, machine.features, 0), 8) + 1024 * tiles * (tiles + 1)  # half the factor, tile by tile

    @classmethod
    def restore(cls, machine: Machine, numbers: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> Geometry:
        if set(arrays) != set(native.SPAN) or set(numbers) != {"budget"} or type(numbers["budget"]) is not int:
            raise ValueError("geometry: the arrays or numbers of another stage")
        return cls(machine, arrays, numbers["budget"])

    def __reduce__(self) -> tuple[type[Geometry], tuple[Any, ...]]:
        return Geometry, (self.machine, self.arrays, self.budget)


def _require_fit(machine: Machine, arrays: dict[str, Floats]) -> None:
    """ValueError unless the arrays are of the shapes and signs that `_span` gives them."""
    k, c = arrays["norms"].size, machine.n_outputs
    shapes: dict[str, tuple[int, ...]] = {"points": (k, machine.n_features), "factor": (k, k)}
    shapes |= dict.fromkeys(("norms", "factor_error", "factor_norm"), (k,))
    for name, array in arrays.items():
        shape = shapes.get(name, (k, c))
        if array.shape != shape or array.dtype != np.float64:
            raise ValueError(f"geometry: {name} must be float64 of shape {shape}, got {array.dtype} {array.shape}")
        if not np.isfinite(array).all():
            raise ValueError(f"geometry: {name} is not finite; numbers this large leave nothing to certify")
        if name not in ("points", "factor", "coordinates") and (array < 0).any():
            raise ValueError(f"geometry: {name} must not be negative")
    if (np.diagonal(arrays["factor"]) <= 0).any():
        raise ValueError("geometry: the diagonal of factor must be positive")


def _span(expansion: Expansion, landmarks: Floats) -> dict[str, Floats]:
    """The arrays of `Span` in geometry.hpp: what the landmarks know of w, and how far each number may be off."""
    machine = expansion.machine
    landmarks, gram, factor = _factorise(machine, landmarks)
    k = np.arange(1, len(landmarks) + 1)
    value_error = kernel_value_error(machine.kernel, landmarks, landmarks)
    factor_norm = np.sqrt(np.cumsum(np.einsum("ij,ij->i", factor, factor)))
    squares = np.cumsum(np.cumsum(exact_gram_error(factor, gram) ** 2, axis=0), axis=1)
    factor_error = np.sqrt(np.diagonal(squares)) + k * value_error
    inverse, norms = _inverse(factor)
    known = Known.by(machine, landmarks)
    g, g_error = known.values, known.errors
    c = solve_lower(factor, g)
    coordinate_norms = np.sqrt(np.cumsum(c**2, axis=0))
    misfit = np.sqrt(np.cumsum((np.abs(g - factor @ c) + g_error) ** 2, axis=0))
    misfit += (k * UNIT * factor_norm)[:, None] * coordinate_norms
    weight_norms = _weight_norms(inverse, c, norms)
    rho2 = expansion.squared_norm + expansion.squared_norm_error - coordinate_norms**2 * (1 - (k[:, None] + 8) * UNIT)
    rho2 += (2 * weight_norms * misfit + weight_norms**2 * factor_error[:, None]) * _UP
    return {
        "points": landmarks,
        "factor": factor,
        "coordinates": c,
        "norms": norms,
        "rho": np.sqrt(np.maximum(rho2, 0)) * _UP,
        "coordinate_norms": coordinate_norms * _UP,
        "weight_norms": weight_norms * _UP,
        "misfit": misfit * _UP,
        "factor_error": factor_error * _UP,
        "factor_norm": factor_norm * _UP,
    }


def _factorise(machine: Machine, landmarks: Floats) -> tuple[Floats, Floats, Floats]:
    """Landmarks as far as their Gram matrix is safely positive definite, the matrix, and its Cholesky factor."""
    gram = machine.kernel.matrix(landmarks, landmarks)
    if not len(gram) or not np.isfinite(gram).all():
        raise ValueError("geometry: no landmarks, or landmarks so large that their kernel values overflow")
    factor, k = cholesky(gram)
    own = np.diagonal(gram)[:k]
    safe = (np.diagonal(factor)[:k] ** 2 > 1e-10 * own) & in_range(own)
    k = k if safe.all() else int(np.argmin(safe))
    if k == 0:
        raise ValueError("geometry: no usable landmark (K(s, s) of the first is 0, or far too small or too large)")
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
        raise ValueError("geometry: the landmarks are too nearly dependent")
    return inverse, (row_norms + defect * np.linalg.norm(row_norms) / (1 - total)) * _UP


def _weight_norms(inverse: Floats, c: Floats, norms: Floats) -> Floats:
    """Upper bounds on |N'c| for every number of landmarks and every output."""
    row_norms = np.sqrt(np.einsum("ij,ij->i", inverse, inverse))
    found = np.stack([np.linalg.norm(np.cumsum(column[:, None] * inverse, axis=0), axis=1) for column in c.T], axis=1)
    return np.asarray(found + np.cumsum(np.abs(c) * (norms - row_norms * (1 - 1e-12))[:, None], axis=0))
