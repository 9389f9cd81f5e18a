"""Reduced sets (Burges & Schölkopf 1997): the reduced_set stage.

A few vectors z_1..z_n, from any source, approximate w by w' = sum_k gamma_k phi(z_k). By Cauchy-Schwarz, for every row,

    G(x) = sum_k gamma_k K(x, z_k) + b  within  rho sqrt(K(x,x)),      rho = |w - w'|.

The vectors are ordered so that prefixes can be used too: level j uses the first n_j of them, with weights of its own,
and only rows that it leaves open are evaluated with the vectors of the next level. The stage needs no triangular solve
and runs in float32. If the kernel is smooth enough for a small rho, it is the cheapest certificate of all.

If rho is too large, the same few vectors are still right on nearly all rows. Then a half-width measured on rows takes
the place of rho (`CalibratedReducedSet`), and calibration determines how often answers may be wrong.

**Rounding.** rho^2 = |w|^2 - 2 gamma.g + gamma'K gamma, with g = <phi(Z), w>, is a small difference of large numbers.
So every number has a bound on its error (`FeatureVector`, `InnerProducts`), products are summed without rounding, and
the bounds are added to rho^2 before the square root. The native core bounds the rounding of the sum over the vectors,
row by row.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import isqrt
from typing import Any

import numpy as np

from dormie.machine import Floats, Machine
from dormie.machine.rows import require_finite
from dormie.machine.typing import Arrays
from dormie.methods.base import (
    CalibratedStage,
    CertifiedStage,
    Decisions,
    NativeStage,
    Rung,
    Stage,
    arrays_of,
    names_of,
    needs_vectors,
    parameters_from,
    require,
    require_state,
    unknown_interval,
)
from dormie.methods.memory import Shapes, Size, extent, packed, padded, panel, panels
from dormie.methods.reduced_set import reference
from dormie.methods.reduced_set.levels import STAGE, Levels, require_fit
from dormie.methods.reduced_set.projection import Projection
from dormie.methods.thresholds import require_caution
from dormie.numerics import backend
from dormie.numerics.feature_space import FeatureVector

_HALF_WIDTHS = "half_widths"
_TILE_POINTS = 32  # of a tile in float32


class _LevelsStage(NativeStage):
    """Intervals from a few vectors, level by level.

    half_widths: levels x c, for rows with K(x,x) = 1
    """

    name = STAGE

    def __init__(self, machine: Machine, levels: Levels, half_widths: Floats) -> None:
        require(needs_vectors(self.name, machine))
        require_fit(machine, levels, half_widths)
        half_widths = np.ascontiguousarray(half_widths)
        self.machine = machine
        self.levels = levels
        self.half_widths = half_widths
        self.sizes: tuple[int, ...] = tuple(levels.sizes.tolist())
        self.details = ", ".join(map(str, self.sizes))
        self._core = backend.choose(
            machine,
            lambda core: backend.extension.ReducedSet(core, levels.points, levels.sizes, levels.weights, half_widths),
            lambda: reference.ReducedSet(machine, levels, half_widths, self.has_caution),
        )

    @property
    def size(self) -> int:
        return self.sizes[-1]

    def native(self, caution: float) -> backend.extension.Stage | None:
        require_caution(caution)
        return backend.stage_of(self._core, self._factor(caution), self.has_caution)

    def decide_in_numpy(self, rows: Any, caution: float) -> Decisions:
        twin: Any = self._core
        return Decisions(*twin.decide(rows, self._factor(caution)))

    def _factor(self, caution: float) -> float:
        """What half-widths are multiplied by: certified ones are as they are."""
        return caution if self.has_caution else 1.0

    def estimate(self, rows: Any) -> Floats:
        return self.level(rows, len(self.sizes) - 1)

    def level(self, rows: Any, level: int) -> Floats:
        """The outputs of checked rows at a level."""
        return self._core.interval(rows, level)[0]

    def state(self) -> tuple[dict[str, Any], Arrays]:
        return {}, arrays_of(self.levels) | {_HALF_WIDTHS: self.half_widths}

    @classmethod
    def memory(cls, machine: Size, shapes: Shapes) -> int:
        levels = panels(extent(shapes, "weights"), 4) + extent(shapes, "sizes")  # every level begins a panel
        points = packed(Size(extent(shapes, "points"), machine.features, 0), 4)
        return points + levels * panel(machine.outputs) + _across(machine.outputs, shapes)

    @classmethod
    def restore(cls, machine: Machine, numbers: dict[str, Any], arrays: Arrays) -> Stage:
        require_state(cls.name, numbers, arrays, [*names_of(Levels), _HALF_WIDTHS])
        return cls(machine, parameters_from(Levels, arrays), arrays[_HALF_WIDTHS])

    def __reduce__(self) -> tuple[type[Stage], tuple[Any, ...]]:
        return type(self), (self.machine, self.levels, self.half_widths)


def _across(outputs: int, shapes: Shapes) -> int:
    """Bytes of weights side by side (native/tiles/weights_across.hpp), if the outputs are those of a vote.

    Each class has the weights of its own pairs once more, and a score. An argmax has fewer, one output none.
    """
    if outputs < 2:
        return 0
    classes = (isqrt(8 * outputs) + 3) // 2  # at least k, where the outputs are k (k - 1) / 2
    rows = extent(shapes, "weights") + _TILE_POINTS * extent(shapes, "sizes")
    return rows * (classes + 1) * padded(classes + 1, 4)


class ReducedSet(_LevelsStage, CertifiedStage):
    """Certified intervals from a few vectors; the half-widths are rho, bounds on |w - w'|."""

    words = "a few vectors in place of the support vectors, with a certified error bound (Burges & Schölkopf 1997)"

    @classmethod
    def build(cls, machine: Machine, points: Any, weights: Sequence[Any], w: FeatureVector | None = None) -> ReducedSet:
        """The stage over any vectors (in mapped coordinates), with the weights of each level, n_j x c.

        Level j uses the first n_j vectors. `w` is `FeatureVector.of(machine)`, if the caller has it.
        """
        fit = Projection.of(machine, points, w)
        return cls._of(machine, fit, [fit.checked(level, at) for at, level in enumerate(weights, start=1)])

    @classmethod
    def project(cls, machine: Machine, points: Any, sizes: Sequence[int], w: FeatureVector | None = None) -> ReducedSet:
        """The stage over any vectors, with the weights of least rho for each of the sizes."""
        fit = Projection.of(machine, points, w)
        return cls._of(machine, fit, fit.best_weights(sizes))

    @classmethod
    def _of(cls, machine: Machine, fit: Projection, weights: Sequence[Floats]) -> ReducedSet:
        rho = np.array([fit.rho(level) for level in weights]).reshape(-1, machine.n_outputs)
        return cls(machine, Levels.of(fit.points, weights, machine.n_outputs), rho)

    @property
    def budgets(self) -> tuple[int, ...]:
        return self.sizes

    def interval(self, rows: Any, budget: int) -> tuple[Floats, Floats]:
        level = sum(size <= budget for size in self.sizes) - 1
        if level < 0:
            require_finite(rows, self.machine)
            return unknown_interval(self.machine, rows)
        middle, radius = self._core.interval(rows, level)
        return middle - radius, middle + radius


class CalibratedReducedSet(_LevelsStage, CalibratedStage):
    """Intervals from a few vectors with measured half-widths, usually rms errors.

    The vote of three or more classes is settled only by a class that wins all its pairs, which is found without working
    out the others.
    """

    words = (
        "a few vectors in place of the support vectors, with an error interval measured on sample rows "
        "(Burges & Schölkopf 1997)"
    )

    @property
    def answers_by_estimate(self) -> bool:
        return len(self.sizes) == 1

    def rungs(self, caution: float) -> list[Rung]:
        require_caution(caution)

        def interval(rows: Any, level: int) -> tuple[Floats, Floats]:
            middle, radius = self._core.interval(rows, level)
            return middle - caution * radius, middle + caution * radius

        return [Rung(size, partial(interval, level=level)) for level, size in enumerate(self.sizes)]
