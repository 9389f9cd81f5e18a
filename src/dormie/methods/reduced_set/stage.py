"""Reduced sets (Burges & Schölkopf 1997): the reduced_set stage.

A few vectors z_1..z_n, from any source, approximate w by w' = sum_k gamma_k phi(z_k). By Cauchy-Schwarz, for every row,

    G(x) = sum_k gamma_k K(x, z_k) + b  within  rho sqrt(K(x,x)),      rho = |w - w'|.

The vectors are ordered so that prefixes can be used too: level j uses the first n_j of them, with weights of its own,
and only rows that it leaves open are evaluated with the vectors of the next level. The stage needs no triangular solve
and runs in float32. If the kernel is smooth enough for a small rho, it is the cheapest certificate of all.

If rho is too large, the same few vectors are still right on nearly all rows. Then a half-width measured on rows takes
the place of rho (`ReducedSet.calibrated`), and calibration determines how often answers may be wrong.

**Rounding.** rho^2 = |w|^2 - 2 gamma.g + gamma'K gamma, with g = <phi(Z), w>, is a small difference of large numbers.
So every number has a bound on its error (`FeatureVector`, `InnerProducts`), products are summed without rounding, and
the bounds are added to rho^2 before the square root. The native core bounds the rounding of the sum over the vectors,
row by row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dormie.machine import Floats, Machine
from dormie.machine.rows import require_finite
from dormie.machine.typing import Arrays
from dormie.methods.base import CalibratedStage, Decisions, needs_inner_product, require
from dormie.methods.memory import Shapes, Size, extent, packed, panel, panels
from dormie.methods.reduced_set import reference
from dormie.methods.reduced_set.projection import Projection
from dormie.methods.thresholds import require_caution, some_of
from dormie.numerics import backend
from dormie.numerics.feature_space import FeatureVector

# The arrays of the stage, in the order of Vectors (native/methods/reduced_set.hpp).
VECTORS = ("points", "sizes", "weights", "rho")
_NUMBERS = {"certified": bool, "caution": float}


class ReducedSet(CalibratedStage):
    """Intervals from a few vectors, level by level.

    arrays: `points` (n x d, in mapped coordinates), `sizes` (of the levels, ascending to n), `weights` (of all levels,
    stacked: sum of sizes x c), `rho` (levels x c), the half-width for a row with K(x,x) = 1.
    """

    name = "reduced_set"

    def __init__(self, machine: Machine, arrays: Arrays, certified: bool = True, caution: float = 1.0) -> None:
        require(needs_inner_product(self.name, machine))
        _require_fit(machine, arrays)
        self.machine = machine
        self.arrays = arrays
        self.certified = certified
        self.caution = _require_positive(caution)
        self.sizes: tuple[int, ...] = tuple(arrays["sizes"].tolist())
        self._native = backend.build(
            machine, lambda core: backend.extension.ReducedSet(core, *backend.contiguous(arrays, VECTORS))
        )

    @property
    def words(self) -> str:
        interval = "a certified error bound" if self.certified else "an error interval measured on sample rows"
        return f"a few vectors in place of the support vectors, with {interval} (Burges & Schölkopf 1997)"

    @classmethod
    def build(cls, machine: Machine, points: Any, weights: Sequence[Any], w: FeatureVector | None = None) -> ReducedSet:
        """The certified stage over any vectors (in mapped coordinates), with the weights of each level, n_j x c.

        Level j uses the first n_j vectors. `w` is `FeatureVector.of(machine)`, if the caller has it.
        """
        fit = Projection.of(machine, points, w)
        return cls(machine, fit.arrays([fit.checked(level, at) for at, level in enumerate(weights, start=1)]))

    @classmethod
    def project(cls, machine: Machine, points: Any, sizes: Sequence[int], w: FeatureVector | None = None) -> ReducedSet:
        """The certified stage over any vectors, with the weights of least rho for each of the sizes."""
        fit = Projection.of(machine, points, w)
        return cls(machine, fit.arrays(fit.best_weights(sizes)))

    @classmethod
    def calibrated(cls, machine: Machine, points: Floats, weights: Sequence[Floats], half_widths: Floats) -> ReducedSet:
        """The stage with measured half-widths (levels x c, for rows with K(x,x) = 1), usually rms errors."""
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
        with np.errstate(over="ignore"):  # arrays with overflow are refused
            half_widths = self.arrays["rho"] * (caution / self.caution)
        return ReducedSet(self.machine, self.arrays | {"rho": half_widths}, False, caution)

    def __str__(self) -> str:
        caution = "" if self.certified else f"; {self.caution:.3g} x rms error"
        return f"{self.name}({', '.join(map(str, self.sizes))}{caution})"

    def decide(self, rows: Any) -> Decisions:
        if self._native is not None:
            return Decisions(*self._native.decide(*backend.arguments(rows)))
        require_finite(rows)
        return Decisions(*reference.decide(self.machine, self.arrays, rows))

    def interval(self, rows: Any, level: int) -> tuple[Floats, Floats]:
        """Middle and radius of every output of every row at a level, counted from 0."""
        if not 0 <= level < len(self.sizes):
            raise ValueError(f"reduced_set: level must be between 0 and {len(self.sizes) - 1}, got {level}")
        if self._native is not None:
            return self._native.interval(*backend.arguments(rows, level))
        require_finite(rows)
        return reference.interval(self.machine, self.arrays, rows, level)

    def estimate(self, rows: Any) -> Floats | None:
        return self.interval(rows, 0)[0] if len(self.sizes) == 1 else None

    def state(self) -> tuple[dict[str, Any], Arrays]:
        return {"certified": self.certified, "caution": self.caution}, dict(self.arrays)

    @classmethod
    def memory(cls, machine: Size, shapes: Shapes) -> int:
        levels = panels(extent(shapes, "weights"), 4) + extent(shapes, "sizes")  # every level begins a panel
        return packed(Size(extent(shapes, "points"), machine.features, 0), 4) + levels * panel(machine.outputs)

    @classmethod
    def restore(cls, machine: Machine, numbers: dict[str, Any], arrays: Arrays) -> ReducedSet:
        if set(arrays) != set(VECTORS) or {n: type(v) for n, v in numbers.items()} != _NUMBERS:
            raise ValueError("reduced_set: the arrays or numbers of another stage")
        return cls(machine, arrays, **numbers)

    def __reduce__(self) -> tuple[type[ReducedSet], tuple[Any, ...]]:
        return ReducedSet, (self.machine, self.arrays, self.certified, self.caution)


def _require_positive(caution: Any) -> float:
    """The caution as a float; raises ValueError for 0, because half-widths of 0 cannot be rescaled."""
    if not (checked := require_caution(ReducedSet.name, caution)):
        raise ValueError("reduced_set: caution must be positive, got 0; the smaller it is, the bolder the stage")
    return checked


def _require_fit(machine: Machine, arrays: Arrays) -> None:
    """Raise ValueError unless the arrays have the shapes and signs that `Projection.arrays` gives them."""
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
    """The number of vectors and the sizes of the levels; raises ValueError if they do not fit."""
    n = len(arrays["points"]) if arrays["points"].ndim else 0
    sizes = arrays["sizes"]
    if sizes.ndim != 1 or sizes.dtype != np.int64 or not len(sizes):
        raise ValueError(f"reduced_set: sizes must be a list of int64, got {sizes.dtype} of shape {sizes.shape}")
    if sizes[0] < 1 or (sizes[1:] <= sizes[:-1]).any() or sizes[-1] != n:
        raise ValueError(f"reduced_set: sizes must ascend from at least 1 to the {n} vectors, got {some_of(sizes)}")
    return n, sizes.tolist()
