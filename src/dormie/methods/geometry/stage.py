"""Anytime intervals (DeCoste 2002): the geometry stage.

The projections of w and of a row on the span of a few landmarks give an interval that always contains the output:
`dormie.methods.geometry.span` derives it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dormie.machine import Floats, Machine
from dormie.machine.rows import as_array, dense, require_finite_vectors
from dormie.machine.typing import Arrays
from dormie.methods.base import (
    CertifiedStage,
    Decisions,
    NativeStage,
    arrays_of,
    names_of,
    needs_inner_product,
    parameters_from,
    require,
    require_state,
    unknown_interval,
)
from dormie.methods.geometry import of_python_kernel, reference
from dormie.methods.geometry.span import Span
from dormie.methods.memory import Shapes, Size, ceil_div, extent, packed
from dormie.numerics import backend
from dormie.numerics.feature_space import FeatureVector


class Geometry(NativeStage, CertifiedStage):
    """Intervals from landmarks, added until the answer is settled, at most `budget` of them."""

    name = "geometry"
    words = "certified intervals from landmark vectors, added until the interval settles the answer (DeCoste 2002)"

    def __init__(self, machine: Machine, span: Span, budget: int) -> None:
        require(needs_inner_product(self.name, machine))
        _require_fit(machine, span)
        if not 1 <= budget <= len(span):
            raise ValueError(f"geometry: budget must be between 1 and {len(span)}, got {budget}")
        self.machine = machine
        self.span = span
        self.budget = budget
        self.details = str(budget)
        self._core = backend.choose(
            machine,
            lambda core: backend.extension.Geometry(core, *backend.contiguous(span)),
            lambda: (of_python_kernel if machine.kernel.is_python else reference).Geometry(machine, span),
        )

    @classmethod
    def build(cls, machine: Machine, landmarks: Any, w: FeatureVector | None = None) -> Geometry:
        """The stage over the given landmarks (in mapped coordinates), in that order; any vectors can be landmarks.

        The list is cut at the first landmark that lies almost in the span of those before it. `w` is
        `FeatureVector.of(machine)`, if the caller has it.
        """
        require(needs_inner_product(cls.name, machine))
        with np.errstate(over="ignore", invalid="ignore"):  # arrays with overflow are refused below
            span = Span.of(w or FeatureVector.of(machine), _as_points(machine, landmarks))
        return cls(machine, span, len(span))

    @property
    def size(self) -> int:
        return self.budget

    def limited(self, budget: int) -> Geometry:
        """The same stage with at most `budget` landmarks."""
        k = min(budget, len(self.span))
        return Geometry(self.machine, self.span.first(k), k)

    def native(self, caution: float) -> backend.extension.Stage | None:  # noqa: ARG002 - certified
        return backend.stage_of(self._core, self.budget)

    def decide_in_numpy(self, rows: Any, caution: float) -> Decisions:  # noqa: ARG002 - certified
        twin: Any = self._core
        return Decisions(*twin.decide(rows, self.budget))

    def estimate(self, rows: Any) -> Floats:
        return self._core.interval(rows, self.budget)[0]

    @property
    def budgets(self) -> range:
        return range(1 + self._before, len(self.span) + 1 + self._before)

    @property
    def _before(self) -> int:
        """The kernel evaluations of a row before it meets the first landmark."""
        return self.machine.kernel.evaluations_of_diagonal

    def interval(self, rows: Any, budget: int) -> tuple[Floats, Floats]:
        landmarks = min(budget - self._before, len(self.span))
        if landmarks < 1:
            require_finite_vectors(rows, self.machine)
            return unknown_interval(self.machine, rows)
        middle, radius = self._core.interval(rows, landmarks)
        return middle - radius, middle + radius

    def steps(self, row: Any) -> Iterator[tuple[int, Floats, Floats]]:
        # A walk keeps the coordinates found so far: all budgets together cost as much as the last alone.
        walk = self._core.walk(row if self.machine.kernel.is_python else dense(row)[0])
        ends = (pair for some in walk for pair in zip(*some, strict=True))
        for spent, (middle, radius) in enumerate(ends, start=1 + self._before):
            yield spent, middle - radius, middle + radius

    def state(self) -> tuple[dict[str, Any], Arrays]:
        return {"budget": self.budget}, arrays_of(self.span)

    @classmethod
    def memory(cls, machine: Size, shapes: Shapes) -> int:
        k = extent(shapes, "points")
        tiles = ceil_div(k, 16)
        return packed(Size(k, machine.features, 0), 8) + 1024 * tiles * (tiles + 1)  # half the factor, tile by tile

    @classmethod
    def restore(cls, machine: Machine, numbers: dict[str, Any], arrays: Arrays) -> Geometry:
        require_state(cls.name, numbers, arrays, names_of(Span), budget=int)
        return cls(machine, parameters_from(Span, arrays), numbers["budget"])

    def __reduce__(self) -> tuple[type[Geometry], tuple[Any, ...]]:
        return Geometry, (self.machine, self.span, self.budget)


def _as_points(machine: Machine, landmarks: Any) -> Any:
    """Landmarks in the form of the machine's points: objects of any type for a Python kernel."""
    if machine.of_vectors:
        return np.ascontiguousarray(landmarks, dtype=np.float64)
    return as_array(landmarks)


def _require_fit(machine: Machine, span: Span) -> None:
    """Raise ValueError unless the arrays have the shapes and signs that `Span.of` gives them."""
    k, c = span.norms.size, machine.n_outputs
    shapes: dict[str, tuple[int, ...]] = {"factor": (k, k)}
    shapes |= dict.fromkeys(("norms", "factor_error", "factor_norm"), (k,))
    shapes |= {"points": (k, machine.n_features)} if machine.of_vectors else {}
    for name in names_of(Span):
        if name == "points" and not machine.of_vectors:
            continue
        array, shape = getattr(span, name), shapes.get(name, (k, c))
        if array.shape != shape or array.dtype != np.float64:
            raise ValueError(f"geometry: {name} must be float64 of shape {shape}, got {array.dtype} {array.shape}")
        if not np.isfinite(array).all():
            raise ValueError(f"geometry: {name} is not finite; numbers this large leave nothing to certify")
        if name not in ("points", "factor", "coordinates") and (array < 0).any():
            raise ValueError(f"geometry: {name} must not be negative")
    if (np.diagonal(span.factor) <= 0).any():
        raise ValueError("geometry: the diagonal of factor must be positive")
