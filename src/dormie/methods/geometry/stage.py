"""Anytime intervals (DeCoste 2002): the geometry stage.

The projections of w and of a row on the span of a few landmarks give an interval that always contains the output:
`dormie.methods.geometry.span` derives it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dormie.machine import Floats, Machine
from dormie.machine.rows import is_sparse, require_finite
from dormie.machine.typing import Arrays
from dormie.methods.base import Decisions, Stage, needs_inner_product, require
from dormie.methods.geometry import reference
from dormie.methods.geometry.span import SPAN, span
from dormie.methods.memory import Shapes, Size, ceil_div, extent, packed
from dormie.numerics import backend
from dormie.numerics.feature_space import FeatureVector


class Geometry(Stage):
    """Intervals from landmarks, added until the answer is settled, at most `budget` of them."""

    name = "geometry"
    words = "certified intervals from landmark vectors, added until the interval settles the answer (DeCoste 2002)"
    narrows = True
    guesses = True

    def __init__(self, machine: Machine, arrays: Arrays, budget: int) -> None:
        require(needs_inner_product(self.name, machine))
        _require_fit(machine, arrays)
        if not 1 <= budget <= len(arrays["points"]):
            raise ValueError(f"geometry: budget must be between 1 and {len(arrays['points'])}, got {budget}")
        self.machine = machine
        self.arrays = arrays
        self.budget = budget
        self._native = backend.build(
            machine, lambda core: backend.extension.Geometry(core, *backend.contiguous(arrays, SPAN))
        )

    @classmethod
    def build(cls, machine: Machine, landmarks: Floats, w: FeatureVector | None = None) -> Geometry:
        """The stage over the given landmarks (in mapped coordinates), in that order; any vectors can be landmarks.

        The list is cut at the first landmark that lies almost in the span of those before it. `w` is
        `FeatureVector.of(machine)`, if the caller has it.
        """
        require(needs_inner_product(cls.name, machine))
        with np.errstate(over="ignore", invalid="ignore"):  # arrays with overflow are refused below
            arrays = span(w or FeatureVector.of(machine), np.ascontiguousarray(landmarks, dtype=np.float64))
        return cls(machine, arrays, len(arrays["points"]))

    def __str__(self) -> str:
        return f"{self.name}({self.budget})"

    def limited(self, budget: int) -> Geometry:
        """The same stage with at most `budget` landmarks."""
        k = min(budget, len(self.arrays["points"]))
        arrays = {name: a[:k, :k] if name == "factor" else a[:k] for name, a in self.arrays.items()}
        return Geometry(self.machine, arrays, k)

    def decide(self, rows: Any) -> Decisions:
        if self._native is not None:
            return Decisions(*self._native.decide(*backend.arguments(rows, self.budget)))
        require_finite(rows)
        return Decisions(*reference.decide(self.machine, self.arrays, rows, self.budget))

    def interval(self, rows: Any, budget: int) -> tuple[Floats, Floats]:
        """Middle and radius of every output of every row after `budget` landmarks."""
        budget = min(budget, len(self.arrays["points"]))
        if self._native is not None:
            return self._native.interval(*backend.arguments(rows, budget))
        require_finite(rows)
        return reference.interval(self.machine, self.arrays, rows, budget)

    def walk(self, row: Floats) -> Iterator[tuple[Floats, Floats]]:
        """Middle and radius of one row's outputs after each landmark, computed lazily."""
        if self._native is None:
            require_finite(row[None])
            yield from reference.walk(self.machine, self.arrays, row)
            return
        walk = backend.extension.Walk(self._native, np.ascontiguousarray(row, dtype=np.float64))
        while True:
            middles, radii = walk.next()
            if not len(middles):
                return
            yield from zip(middles, radii, strict=True)

    def bounds(self, rows: Any, budget: int) -> tuple[Floats, Floats] | None:
        if budget < 1:
            return None
        middle, radius = self.interval(rows, budget)
        return middle - radius, middle + radius

    def refine(self, row: Any) -> Iterator[tuple[int, Floats, Floats]]:
        vector = row.toarray()[0] if is_sparse(row) else row[0]
        for k, (middle, radius) in enumerate(self.walk(vector), start=1):
            yield k, middle - radius, middle + radius

    def guess(self, rows: Any) -> tuple[Floats, Floats]:
        return self.interval(rows, self.budget)

    def state(self) -> tuple[dict[str, Any], Arrays]:
        return {"budget": self.budget}, dict(self.arrays)

    @classmethod
    def memory(cls, machine: Size, shapes: Shapes) -> int:
        k = extent(shapes, "points")
        tiles = ceil_div(k, 16)
        return packed(Size(k, machine.features, 0), 8) + 1024 * tiles * (tiles + 1)  # half the factor, tile by tile

    @classmethod
    def restore(cls, machine: Machine, numbers: dict[str, Any], arrays: Arrays) -> Geometry:
        if set(arrays) != set(SPAN) or set(numbers) != {"budget"} or type(numbers["budget"]) is not int:
            raise ValueError("geometry: the arrays or numbers of another stage")
        return cls(machine, arrays, numbers["budget"])

    def __reduce__(self) -> tuple[type[Geometry], tuple[Any, ...]]:
        return Geometry, (self.machine, self.arrays, self.budget)


def _require_fit(machine: Machine, arrays: Arrays) -> None:
    """Raise ValueError unless the arrays have the shapes and signs that `span` gives them."""
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
