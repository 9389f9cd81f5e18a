"""The geometry stage over a Python kernel: as few landmarks for each row as settle it.

The bound is that of `span`. The error of a kernel value is what the user states, e |phi(x)| |phi(s)|, and so is that of
K(x,x). The coordinates of a row come from forward substitution: once q_j is known, its part in all later equations is
added up, so that a row takes as many vector operations as it has landmarks.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dormie.machine import Floats, Machine
from dormie.methods import stepwise
from dormie.methods.geometry.span import Projected, Span
from dormie.numerics.reference import blocks
from dormie.numerics.rounding import UNIT, max_length, stated_error


class Geometry:
    """What the native core's `Geometry` is for vectors."""

    def __init__(self, machine: Machine, span: Span) -> None:
        self._machine, self._span = machine, span
        self._value_error = stated_error(machine.kernel) * max_length(machine.kernel, span.points)

    def interval(self, rows: Any, budget: int) -> tuple[Floats, Floats]:
        """Middle and radius of every output of every row after `budget` landmarks."""
        points = self._span.points[:budget]
        low, high, middle = stepwise.interval(self._machine, self._start, points, rows)
        return middle, np.maximum(high - middle, middle - low)

    def decide(self, rows: Any, budget: int) -> tuple[Any, Any, Any]:
        """Answers, which of them are settled, and the kernel evaluations of each row."""
        return stepwise.decide(self._machine, self._start, self._span.points[:budget], rows)

    def walk(self, row: Any) -> Iterator[tuple[Floats, Floats]]:
        """Middles and radii of one row's outputs, one landmark at a time, until there are no more."""
        [(_, part)] = blocks(self._machine, row)
        walk = self._start(part)
        for k in range(1, len(self._span) + 1):
            walk.advance(self._span.points, k)
            yield walk.middle, walk.radius()

    def _start(self, rows: Any) -> _Coordinates:
        return _Coordinates(self._machine, self._span, self._value_error, rows)


class _Coordinates(stepwise.Walk):
    """Rows, and their coordinates in the span of the landmarks so far."""

    def __init__(self, machine: Machine, span: Span, value_error: float, rows: Any) -> None:
        super().__init__(machine, rows)
        n = len(self.lengths)
        self._span, self._value_error = span, value_error
        self._found = np.zeros((len(span), n))  # the sums of T_ji q_i over the coordinates i found so far
        self._square, self._inverse = np.zeros((2, n))  # |q|^2 and sum_j |q_j| |N_j|
        self._products = np.zeros((n, machine.n_outputs))  # c.q

    @property
    def middle(self) -> Floats:
        return self._products + self.machine.bias

    def _add(self, values: Floats) -> None:
        span = self._span
        for j, column in enumerate(np.ascontiguousarray(values.T), start=self.done):
            q = (column - self._found[j]) / span.factor[j, j]
            self._found[j + 1 :] += np.multiply.outer(span.factor[j + 1 :, j], q)
            self._square += q * q
            self._inverse += np.abs(q) * span.norms[j]
            self._products += np.multiply.outer(q, span.coordinates[j])

    def _keep(self, which: Any) -> None:
        self._found = self._found[:, which]
        self._square, self._inverse = self._square[which], self._inverse[which]
        self._products = self._products[which]

    def _ends(self) -> tuple[Floats, Floats]:
        middle, radius = self.middle, self.radius()
        return middle - radius, middle + radius

    def radius(self) -> Floats:
        """The radius of the interval of every output: rho R, and all errors."""
        with np.errstate(over="ignore", invalid="ignore"):
            own, value_errors = self.lengths**2 * (1 + 8 * UNIT), self._value_error * self.lengths
            projected = Projected(self._square, self._inverse, own, value_errors)
            radius = self._span.radius(self.done, projected, self.machine.bias)
        return np.where(self.lost[:, None] | np.isnan(radius), np.inf, radius)
