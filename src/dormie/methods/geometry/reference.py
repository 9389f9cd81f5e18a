"""The geometry stage in NumPy: coordinates of rows in the span of the landmarks, and the radius of the interval."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from dormie.machine import Floats, Machine
from dormie.machine.rows import mapped_norms, require_finite
from dormie.machine.rules import Value
from dormie.methods.geometry.span import Projected, Span
from dormie.numerics.cholesky import solve_lower
from dormie.numerics.reference import blocks, row_value_error, settled_mapped
from dormie.numerics.rounding import UNIT


class Geometry:
    """The twin of the native core's `Geometry`."""

    def __init__(self, machine: Machine, span: Span) -> None:
        self._machine = machine
        self._span = span

    def interval(self, rows: Any, budget: int) -> tuple[Floats, Floats]:
        """Middle and radius of every output of every row after `budget` landmarks."""
        require_finite(rows, self._machine)
        middle, radius = np.empty((2, rows.shape[0], self._machine.n_outputs))
        for block, part in blocks(self._machine, rows):
            middle[block], radius[block] = next(_steps(self._machine, self._span, part, [budget]))
        return middle, radius

    def decide(self, rows: Any, budget: int) -> tuple[Any, Any, Any]:
        """Answers, which of them are settled, and the landmarks used; a row may stop after every 16 landmarks."""
        require_finite(rows, self._machine)
        n, rule, values = rows.shape[0], self._machine.rule, isinstance(self._machine.rule, Value)
        answers: Any = np.empty((n, self._machine.n_outputs)) if values else np.full(n, -1, dtype=np.intp)
        settled, steps = np.zeros(n, dtype=bool), np.full(n, budget)
        counts, norms = [*range(16, budget, 16), budget], mapped_norms(self._machine, rows)
        for block, part in blocks(self._machine, rows):
            for done, (middle, radius) in zip(counts, _steps(self._machine, self._span, part, counts), strict=True):
                now = settled_mapped(self._machine, norms[block], middle - radius, middle + radius) & ~settled[block]
                copied = ~settled[block] if values else now
                answers[block][copied] = rule.answer(middle)[copied]
                steps[block][now] = done
                settled[block] |= now
        return answers, settled, steps

    def walk(self, row: Floats) -> Iterator[tuple[Floats, Floats]]:
        """Middles and radii of one row's outputs, some landmarks at a time, until there are no more."""
        require_finite(row[None], self._machine)
        [(_, part)] = blocks(self._machine, row[None])
        yield from _steps(self._machine, self._span, part, range(1, len(self._span) + 1))


def _steps(machine: Machine, span: Span, rows: Floats, counts: Sequence[int]) -> Iterator[tuple[Floats, Floats]]:
    """Yield the interval of geometry.cpp for mapped rows after each number of landmarks in `counts`."""
    landmarks, factor = span.points[: counts[-1]], span.factor[: counts[-1], : counts[-1]]
    with np.errstate(over="ignore", invalid="ignore"):
        values = machine.kernel.matrix(rows, landmarks)
        own = machine.kernel.diagonal(rows)
        errors = np.array([row_value_error(machine, row, landmarks) for row in rows])
    usable = np.isfinite(values).all(axis=1) & np.isfinite(errors)  # the others get an infinite radius
    q = solve_lower(factor, np.where(usable, values.T, 0.0)).T
    degree, d = getattr(getattr(machine.kernel, "kernel", machine.kernel), "degree", 1), rows.shape[1]
    most_own = own * (1 + (degree + 1) * (d + 12) * UNIT)
    for done in counts:
        row = q[:, :done]
        projected = Projected((row**2).sum(axis=1), np.abs(row) @ span.norms[:done], most_own, errors)
        radius = span.radius(done, projected, machine.bias)
        radius[~usable] = np.inf
        yield row @ span.coordinates[:done] + machine.bias, radius
