"""The regions stage: a geometry stage for every region, and the centers that tell which region a row is in.

A region is the set of rows that are nearer to its center than to any other, in mapped coordinates. The intervals hold
whichever region a row is taken to be in, so the rounding of distances needs no bound. It may depend on the batch,
though: a row on the border of two regions may be in one or the other. The label is the same either way, but a value
would not be, so regions serve classifiers only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from dormie.machine import Floats, Machine
from dormie.machine.rows import mapped, require_finite
from dormie.machine.typing import Arrays, Positions
from dormie.methods.base import CertifiedStage, Decisions, arrays_of, names_of, require, require_state
from dormie.methods.geometry import Geometry
from dormie.methods.geometry.span import Span
from dormie.methods.memory import Shapes, Size, extent
from dormie.methods.thresholds import needs_classifier
from dormie.numerics.k_means import nearest_center

MOST_REGIONS = 256  # in a plan file, too

_BLOCK = 1 << 16  # rows whose distances are computed at a time
_OVERHEAD = 2.0  # kernel evaluations that a center costs a row: 32 of them 57 on covtype, with sorting rows by region


class Regions(CertifiedStage):
    """Intervals from the landmarks of a row's region."""

    name = "regions"
    words = "certified intervals from landmark vectors as in geometry, with other landmarks in every region of rows"

    def __init__(self, machine: Machine, centers: Floats, stages: Sequence[Geometry]) -> None:
        require(needs_classifier(self.name, machine))
        m = len(stages)
        if not 1 <= m <= MOST_REGIONS or centers.shape != (m, machine.n_features) or centers.dtype != np.float64:
            raise ValueError(f"regions: centers must be float64 of {m} regions, at most {MOST_REGIONS}, and features")
        if not np.isfinite(centers).all():
            raise ValueError("regions: centers must be finite")
        self.machine = machine
        self.centers = centers
        self.stages = tuple(stages)
        self.details = f"{m} x {self.budgets[-1]}"

    @property
    def overhead(self) -> float:
        return _OVERHEAD * len(self.centers)

    @property
    def budgets(self) -> range:
        return range(1, max(len(stage.span) for stage in self.stages) + 1)

    @property
    def size(self) -> int:
        return len(self.centers) + sum(stage.size for stage in self.stages)

    def limited(self, budget: int) -> Regions:
        """The same stage with at most `budget` landmarks in every region."""
        return Regions(self.machine, self.centers, [stage.limited(budget) for stage in self.stages])

    def decide(self, rows: Any, caution: float = 1.0) -> Decisions:  # noqa: ARG002 - certified
        require_finite(rows, self.machine)  # here, as stages would count rows within their region
        found = [(of, stage.decide(some)) for stage, of, some in self._by_region(rows)]
        if len(found) == 1:
            return found[0][1]
        if not found:
            return self.stages[0].decide(rows)
        order = np.concatenate([of for of, _ in found])
        answers, settled, evaluations = (
            _in_order(order, [np.asarray(part[field]) for _, part in found]) for field in range(3)
        )
        return Decisions(answers, settled, evaluations)

    def estimate(self, rows: Any) -> Floats:
        require_finite(rows, self.machine)
        outputs = np.empty((rows.shape[0], self.machine.n_outputs))
        for stage, of, some in self._by_region(rows):
            outputs[of] = stage.estimate(some)
        return outputs

    def interval(self, rows: Any, budget: int) -> tuple[Floats, Floats]:
        require_finite(rows, self.machine)
        low, high = np.empty((2, rows.shape[0], self.machine.n_outputs))
        for stage, of, some in self._by_region(rows):
            low[of], high[of] = stage.interval(some, budget)
        return low, high

    def steps(self, row: Any) -> Iterator[tuple[int, Floats, Floats]]:
        yield from self.stages[self._nearest(row)[0]].steps(row)

    def _by_region(self, rows: Any) -> Iterator[tuple[Geometry, Positions, Any]]:
        """The stage, the positions and the rows of every region that has any."""
        nearest = self._nearest(rows)
        order = np.argsort(nearest, kind="stable")
        ends = np.searchsorted(nearest[order], np.arange(len(self.stages) + 1))
        together = rows[order]
        for stage, first, last in zip(self.stages, ends, ends[1:], strict=False):
            if last > first:
                yield stage, order[first:last], together[first:last]

    def _nearest(self, rows: Any) -> Positions:
        """The region of every row, in a type that is sorted fast."""
        nearest = np.empty(rows.shape[0], dtype=np.uint16)
        for first in range(0, len(nearest), _BLOCK):
            block = slice(first, first + _BLOCK)
            with np.errstate(over="ignore", invalid="ignore"):
                nearest[block] = nearest_center(self.centers, mapped(self.machine, rows[block]))
        return nearest

    def state(self) -> tuple[dict[str, Any], Arrays]:
        spans = [stage.span for stage in self.stages]
        lengths = np.array([len(span) for span in spans], dtype=np.int64)
        widest = int(lengths.max())
        arrays = {name: [arrays_of(span)[name] for span in spans] for name in names_of(Span)}
        arrays["factor"] = [np.pad(factor, ((0, 0), (0, widest - len(factor)))) for factor in arrays["factor"]]
        return {}, {
            "centers": self.centers,
            "lengths": lengths,
            **{name: np.concatenate(several) for name, several in arrays.items()},
        }

    @classmethod
    def memory(cls, machine: Size, shapes: Shapes) -> int:
        regions, widest = extent(shapes, "centers"), extent(shapes, "factor", 1)
        copies = extent(shapes, "points") * (machine.features + widest + 5 * machine.outputs + 3)
        largest = Geometry.memory(machine, {"points": (widest, machine.features)})
        return 8 * (copies + regions) + min(regions, MOST_REGIONS) * largest

    @classmethod
    def restore(cls, machine: Machine, numbers: dict[str, Any], arrays: Arrays) -> Regions:
        require_state(cls.name, numbers, arrays, ("centers", "lengths", *names_of(Span)))
        return cls(machine, arrays["centers"], [Geometry(machine, span, len(span)) for span in _spans(arrays)])

    def __reduce__(self) -> tuple[type[Regions], tuple[Any, ...]]:
        return Regions, (self.machine, self.centers, self.stages)


def _in_order(order: Positions, parts: list[Any]) -> Any:
    """What was found region by region, in the order of the rows."""
    joined = np.concatenate(parts)
    found = np.empty_like(joined)
    found[order] = joined
    return found


def _spans(arrays: Arrays) -> list[Span]:
    """The spans of all regions; raises ValueError unless the arrays of each are where `lengths` says."""
    lengths, factor = arrays["lengths"], arrays["factor"]
    if lengths.ndim != 1 or lengths.dtype != np.int64 or not 1 <= len(lengths) <= MOST_REGIONS:
        raise ValueError(f"regions: lengths must be whole numbers of at most {MOST_REGIONS} regions")
    total = len(factor) if factor.ndim == 2 else -1
    if (lengths < 1).any() or (lengths > total).any() or lengths.sum() != total or factor.shape[1] != lengths.max():
        raise ValueError("regions: lengths are not those of the regions' landmarks")
    if any(array.ndim < 1 or len(array) != total for array in (arrays[name] for name in names_of(Span))):
        raise ValueError("regions: all arrays of landmarks must be as long as all regions together")
    ends = np.cumsum(lengths)[:-1]
    parts = {name: np.split(arrays[name], ends) for name in names_of(Span)}
    parts["factor"] = [np.ascontiguousarray(part[:, : len(part)]) for part in parts["factor"]]
    return [Span(**dict(zip(parts, each, strict=True))) for each in zip(*parts.values(), strict=True)]
