"""Reduced sets (Burges & Scholkopf 1997): the reduced_set stage.

A few vectors z_1..z_n, wherever they come from, stand in for all: w' = sum gamma_k phi(z_k) for w. Whatever the row,

    G(x) = sum_k gamma_k K(x, z_k) + b  within  rho sqrt(K(x,x)),      rho = |w - w'|.

The vectors are in an order in which prefixes serve as well: level j uses the first n_j of them, with weights of its
own, and only the rows it leaves open pay for the vectors of the next. No triangular solve, and float32 will do: where
the kernel is smooth enough for rho to be small, this is the cheapest certificate there is.

Where it is not, the same few vectors are still right on nearly all rows. In place of rho stands then a half-width that
was measured on rows (`ReducedSet.calibrated`), and how often the answer may be wrong is for calibration to say.

**Rounding.** rho^2 = |w|^2 - 2 gamma.g + gamma'K gamma, g = <phi(Z), w>: what cancels is all but rho^2, so every number
comes with a bound on its error (`Expansion`, `Known`), products are added without rounding, and the bounds are added
to rho^2 before the root. What the sum over the vectors itself loses is bounded in the native core, row by row.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dormie import native, reference
from dormie.known import Known
from dormie.landmarks import Expansion
from dormie.machine import Floats, Machine
from dormie.rounding import UNIT, kernel_value_error
from dormie.rows import require_finite
from dormie.stages.base import CautiousStage, Decisions, require_inner_product
from dormie.stages.room import Shapes, Size, extent, packed, panel, panels
from dormie.thresholds import require_caution, some_of
from dormie.triangular import cholesky, solve_gram

Arrays = dict[str, npt.NDArray[Any]]

_NUMBERS = {"certified": bool, "caution": float}
_UP = 1 + 1e-9  # room for the rounding of the bounds themselves
_RIDGES = (1e-15, 1e-13, 1e-11, 1e-9, 1e-7)  # of the mean K(z, z)
_FLOAT_ERROR = 2.0**-20  # of a sum in float32, about, over the sizes of its terms


class ReducedSet(CautiousStage):
    """Intervals from a few vectors, level by level.

    arrays: `points` (n x d, in mapped coordinates), `sizes` (of the levels, ascending to n), `weights` (those of each
    level below the others', sum of sizes x c), `rho` (levels x c): the half-width of a row with K(x,x) = 1.
    """

    name = "reduced_set"

    def __init__(self, machine: Machine, arrays: Arrays, certified: bool = True, caution: float = 1.0) -> None:
        require_inner_product(machine, ReducedSet)
        _require_fit(machine, arrays)
        self.machine = machine
        self.arrays = arrays
        self.certified = certified
        self.caution = _require_positive(caution)
        self.sizes: tuple[int, ...] = tuple(arrays["sizes"].tolist())
        self._native = native.reduced_set(machine, arrays)

    @classmethod
    def build(
        cls, machine: Machine, points: Any, weights: Sequence[Any], expansion: Expansion | None = None
    ) -> ReducedSet:
        """The stage over any vectors (in mapped coordinates), with the weights of each level, n_j x c.

        Level j uses as many of the vectors, from the first on, as it has rows of weights. `expansion` is
        `Expansion.of(machine)`, where it is known already.
        """
        fit = _Fit.of(machine, points, expansion)
        return fit.stage([fit.checked(level, at) for at, level in enumerate(weights, start=1)])

    @classmethod
    def project(
        cls, machine: Machine, points: Any, sizes: Sequence[int], expansion: Expansion | None = None
    ) -> ReducedSet:
        """The stage over any vectors with the weights that bring each of these many closest to w."""
        fit = _Fit.of(machine, points, expansion)
        return fit.stage(fit.best_weights(sizes))

    @classmethod
    def calibrated(cls, machine: Machine, points: Floats, weights: Sequence[Floats], half_widths: Floats) -> ReducedSet:
        """The stage with half-widths (levels x c, for rows with K(x,x) = 1) that were measured rather than proved."""
        arrays = {
            "points": np.array(points, dtype=np.float64, order="C"),
            "sizes": np.array([len(level) for level in weights], dtype=np.int64),
            "weights": np.concatenate(weights),
            "rho": np.array(half_widths, dtype=np.float64),
        }
        return cls(machine, arrays, certified=False)

    def cautious(self, caution: float) -> ReducedSet:
        if self.certified:
            raise ValueError("reduced_set: certified half-widths are what they are; calibrated ones can be scaled")
        caution = _require_positive(caution)
        with np.errstate(over="ignore"):  # what overflows is refused with the arrays
            half_widths = self.arrays["rho"] * (caution / self.caution)
        return ReducedSet(self.machine, self.arrays | {"rho": half_widths}, False, caution)

    def __str__(self) -> str:
        caution = "" if self.certified else f"; caution {self.caution:.3g}"
        return f"{self.name}({', '.join(map(str, self.sizes))}{caution})"

    def decide(self, rows: Any) -> Decisions:
        if self._native is not None:
            return Decisions(*self._native.decide(*native.arguments(rows)))
        require_finite(rows)
        return Decisions(*reference.reduced_set_decide(self.machine, self.arrays, rows))

    def interval(self, rows: Any, level: int) -> tuple[Floats, Floats]:
        """Middle and radius of every output of every row at a level, counted from 0."""
        if not 0 <= level < len(self.sizes):
            raise ValueError(f"reduced_set: level must be between 0 and {len(self.sizes) - 1}, got {level}")
        if self._native is not None:
            return self._native.interval(*native.arguments(rows, level))  # type: ignore[no-any-return]
        require_finite(rows)
        return reference.reduced_set_interval(self.machine, self.arrays, rows, level)

    def estimate(self, rows: Any) -> Floats | None:
        return self.interval(rows, 0)[0] if len(self.sizes) == 1 else None

    def state(self) -> tuple[dict[str, Any], Arrays]:
        return {"certified": self.certified, "caution": self.caution}, dict(self.arrays)

    @classmethod
    def room(cls, machine: Size, shapes: Shapes) -> int:
        levels = panels(extent(shapes, "weights"), 4) + extent(shapes, "sizes")  # every level begins a panel
        return packed(Size(extent(shapes, "points"), machine.features, 0), 4) + levels * panel(machine.outputs)

    @classmethod
    def restore(cls, machine: Machine, numbers: dict[str, Any], arrays: Arrays) -> ReducedSet:
        if set(arrays) != set(native.VECTORS) or {n: type(v) for n, v in numbers.items()} != _NUMBERS:
            raise ValueError("reduced_set: the arrays or numbers of another stage")
        return cls(machine, arrays, **numbers)

    def __reduce__(self) -> tuple[type[ReducedSet], tuple[Any, ...]]:
        return ReducedSet, (self.machine, self.arrays, self.certified, self.caution)


def _require_positive(caution: Any) -> float:
    """The caution as a float, or ValueError: half-widths of 0 could not be scaled to another one."""
    if not (checked := require_caution(ReducedSet.name, caution)):
        raise ValueError("reduced_set: caution must be positive, got 0; the smaller it is, the bolder the stage")
    return checked


def _require_fit(machine: Machine, arrays: Arrays) -> None:
    """ValueError unless the arrays are of the shapes and signs that `_Fit.stage` gives them."""
    n, sizes = _require_sizes(arrays)
    shapes = {
        "points": (n, machine.n_features),
        "weights": (sum(sizes), machine.n_outputs),
        "rho": (len(sizes), machine.n_outputs),
    }
    for name, shape in shapes.items():
        array = arrays[name]
        if array.shape != shape or array.dtype != np.float64:
            raise ValueError(f"reduced_set: {name} must be float64 of shape {shape}, got {array.dtype} {array.shape}")
        if not np.isfinite(array).all():
            raise ValueError(f"reduced_set: {name} is not finite; numbers this large leave nothing to certify")
    if (arrays["rho"] < 0).any():
        raise ValueError("reduced_set: rho must not be negative")


def _require_sizes(arrays: Arrays) -> tuple[int, list[int]]:
    """How many vectors there are, and the sizes of the levels."""
    n = len(arrays["points"]) if arrays["points"].ndim else 0
    sizes = arrays["sizes"]
    if sizes.ndim != 1 or sizes.dtype != np.int64 or not len(sizes):
        raise ValueError(f"reduced_set: sizes must be a list of int64, got {sizes.dtype} of shape {sizes.shape}")
    if sizes[0] < 1 or (sizes[1:] <= sizes[:-1]).any() or sizes[-1] != n:
        raise ValueError(f"reduced_set: sizes must ascend from at least 1 to the {n} vectors, got {some_of(sizes)}")
    return n, sizes.tolist()


@dataclass(frozen=True)
class _Fit:
    """Vectors, what they know of w and of each other, and how far those numbers may be off."""

    expansion: Expansion
    points: Floats
    known: Known
    gram: Floats
    value_error: float  # of the Gram matrix

    @classmethod
    def of(cls, machine: Machine, points: Any, expansion: Expansion | None) -> _Fit:
        require_inner_product(machine, ReducedSet)
        points = np.array(points, dtype=np.float64, order="C")
        if points.ndim != 2 or points.shape[1] != machine.n_features or not len(points):
            raise ValueError(f"reduced_set: vectors must be n x {machine.n_features}, n >= 1, got {points.shape}")
        with np.errstate(over="ignore", invalid="ignore"):  # what overflows is refused with what it ends up in
            gram = machine.kernel.matrix(points, points)
            value_error = kernel_value_error(machine.kernel, points, points)
            return cls(expansion or Expansion.of(machine), points, Known.by(machine, points), gram, value_error)

    def checked(self, weights: Any, level: int) -> Floats:
        """The weights of a level as float64, n_j x c; a vector is taken as one output."""
        array = np.array(weights, dtype=np.float64, order="C")
        array = array[:, None] if array.ndim == 1 else array
        if array.ndim != 2 or array.shape[1] != self.expansion.machine.n_outputs or len(array) > len(self.points):
            raise ValueError(
                f"reduced_set: the weights of level {level} must have a column for each of the "
                f"{self.expansion.machine.n_outputs} outputs and at most {len(self.points)} rows, got {array.shape}"
            )
        return array

    def stage(self, weights: Sequence[Floats]) -> ReducedSet:
        c = self.expansion.machine.n_outputs
        arrays = {
            "points": self.points,
            "sizes": np.array([len(level) for level in weights], dtype=np.int64),
            "weights": np.concatenate([np.empty((0, c)), *weights]),
            "rho": np.array([self.rho(level) for level in weights]).reshape(-1, c),
        }
        return ReducedSet(self.expansion.machine, arrays)

    def rho(self, gamma: Floats) -> Floats:
        """At least |w - w'| of every output, w' with these weights of the first vectors."""
        n, sizes = len(gamma), np.abs(gamma)
        g, g_error = self.known.values[:n], self.known.errors[:n]
        with np.errstate(over="ignore", invalid="ignore"):
            h, h_sizes = self.gram[:n, :n] @ gamma, np.abs(self.gram[:n, :n]) @ sizes
            terms = np.vstack([self.expansion.squared_norm, -gamma * (2 * g - h)])
            if not (np.abs(terms) < 1e200).all():
                raise ValueError("reduced_set: weights or vectors are so large that nothing can be certified")
            errors = 2 * g_error + self.value_error * sizes.sum(axis=0) + UNIT * (8 * np.abs(g) + (n + 8) * h_sizes)
            error = self.expansion.squared_norm_error + np.einsum("kc,kc->c", sizes, errors)
        rho2 = np.array([math.fsum(column) for column in terms.T])
        return np.asarray(np.sqrt(np.maximum(rho2 * (1 + UNIT) + error * _UP, 0)) * _UP)

    def best_weights(self, sizes: Sequence[int]) -> list[Floats]:
        """For each size the weights K^-1 g, with the ridge that leaves the least of rho and rounding together.

        Without one, nearly dependent vectors have huge weights of both signs, and the sum is lost in float32.
        """
        found = [weights for ridge in _RIDGES if (weights := self._solved(sizes, ridge)) is not None]
        if not found:
            raise ValueError("reduced_set: the vectors' kernel values are not finite")
        return [self._least(candidates) for candidates in zip(*found, strict=True)]

    def _solved(self, sizes: Sequence[int], ridge: float) -> list[Floats] | None:
        n = len(self.points)
        if not np.isfinite(self.gram).all():
            return None
        factor, positive = cholesky(self.gram + ridge * (np.trace(self.gram) / n) * np.eye(n))
        if positive < n:
            return None
        return [solve_gram(factor[:k, :k], self.known.values[:k]) for k in sizes]

    def _least(self, candidates: Sequence[Floats]) -> Floats:
        """Of each output the weights that serve it best: the radius is at most sqrt(K(x,x)) times these scores."""
        lengths = np.sqrt(np.diagonal(self.gram))[: len(candidates[0])]
        scores = [self.rho(gamma) + _FLOAT_ERROR * (lengths @ np.abs(gamma)) for gamma in candidates]
        best = np.argmin(scores, axis=0)
        return np.stack([candidates[i][:, o] for o, i in enumerate(best)], axis=1)
