"""Fast stopping in NumPy: partial sums, and a bound on the remaining terms."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dormie.machine import Floats, Machine
from dormie.machine.kernels import Kernel
from dormie.machine.margin import LOST_LENGTH
from dormie.machine.rows import dense, mapped_norms, require_finite
from dormie.methods.base import middle_of
from dormie.methods.fast_stopping.one_sided import OneSided
from dormie.numerics.reference import blocks, row_value_error, settled_mapped
from dormie.numerics.rounding import UNIT

STEP = 32  # terms between two tests: a tile of the native core
_TINY = float(np.finfo(np.float64).tiny)  # at least what a product loses below the normal range


class FastStopping:
    """The twin of the native core's `FastStopping`; the points of the machine are in the order they are added in."""

    def __init__(self, machine: Machine, one_sided: OneSided) -> None:
        self._machine, self._one_sided = machine, one_sided
        sizes = machine.weights * _roots(machine.kernel, machine.points)
        self._negative, self._positive = _tails(np.maximum(-sizes, 0)), _tails(np.maximum(sizes, 0))

    def decide(self, rows: Any) -> tuple[Any, Any, Any]:
        """Answers, which of them are settled, and the kernel evaluations of each row."""
        require_finite(rows, self._machine)
        low, high = np.empty((2, rows.shape[0], self._machine.n_outputs))
        settled = np.zeros(rows.shape[0], dtype=bool)
        evaluations, norms = np.zeros(rows.shape[0], dtype=np.int64), mapped_norms(self._machine, rows)
        for block, part in blocks(self._machine, rows):
            sums = _PartialSums(self._machine, part)
            tight = self._one_sided.among(self._machine, dense(rows[block]))
            for terms in self._stops():
                sums.add(terms)
                here = block.start + sums.open
                low[here], high[here] = self._ends(sums, tight)
                evaluations[here] = terms
                settled[here] = settled_mapped(self._machine, norms[here], low[here], high[here])
                sums.keep(~settled[here])
        return self._machine.rule.answer(middle_of(low, high)), settled, evaluations

    def interval(self, rows: Any, budget: int) -> tuple[Floats, Floats]:
        """Low and high ends of every output of every row after the first `budget` terms."""
        require_finite(rows, self._machine)
        low, high = np.empty((2, rows.shape[0], self._machine.n_outputs))
        for block, part in blocks(self._machine, rows):
            sums = _PartialSums(self._machine, part)
            sums.add(budget)
            low[block], high[block] = self._ends(sums, self._one_sided.among(self._machine, dense(rows[block])))
        return low, high

    def _stops(self) -> Iterator[int]:
        yield from range(STEP, self._machine.n_points, STEP)
        yield self._machine.n_points

    def _ends(self, sums: _PartialSums, one_sided: Any) -> tuple[Floats, Floats]:
        """The interval of the rows that are open."""
        roots, tight = _roots(self._machine.kernel, sums.rows), one_sided[sums.open, None]
        with np.errstate(over="ignore", invalid="ignore"):
            negative, positive = roots * self._negative[sums.terms], roots * self._positive[sums.terms]
            low = sums.middle - sums.rounding - np.where(tight, negative, negative + positive)
            high = sums.middle + sums.rounding + np.where(tight, positive, negative + positive)
        return np.where(low > -np.inf, low, -np.inf), np.where(high < np.inf, high, np.inf)  # no end is NaN


class _PartialSums:
    """The sums of the first terms of mapped rows, of those still open."""

    def __init__(self, machine: Machine, part: Floats) -> None:
        self._machine, self.rows, self.terms = machine, part, 0
        self.open = np.arange(len(part))  # the places of these rows
        self.middle = np.tile(machine.bias, (len(part), 1))
        self._sizes = np.abs(self.middle)
        self._errors = np.array([row_value_error(machine, row, machine.points) for row in part])

    def add(self, terms: int) -> None:
        """Add terms until there are so many."""
        points, weights = self._machine.points[self.terms : terms], self._machine.weights[self.terms : terms]
        with np.errstate(over="ignore", invalid="ignore"):
            values = self._machine.kernel.matrix(self.rows, points)
            self.middle += values @ weights
            self._sizes += np.abs(values) @ np.abs(weights)
        self.terms = terms

    @property
    def rounding(self) -> Floats:
        """A bound on what rounding did to the sums."""
        weights = np.abs(self._machine.weights[: self.terms]).sum(axis=0)
        lost = (len(self._machine.weights) + 8) * _TINY * self._machine.weights.any(axis=0)
        return np.asarray((self.terms + 8) * UNIT * self._sizes + np.outer(self._errors, weights) + lost)

    def keep(self, which: Any) -> None:
        """Leave the other rows out from now on."""
        self.rows, self.open, self._errors = self.rows[which], self.open[which], self._errors[which]
        self.middle, self._sizes = self.middle[which], self._sizes[which]


def _roots(kernel: Kernel, rows: Floats) -> Floats:
    """At least sqrt(K(u, u)) of every row, as a column: it depends on the norm alone, and grows with it."""
    with np.errstate(over="ignore"):
        norms = np.where(rows.any(axis=1), np.linalg.norm(rows, axis=1) + LOST_LENGTH, 0.0)
        return np.sqrt(kernel.diagonal(norms[:, None]))[:, None] * (1 + 1e-9)


def _tails(sizes: Floats) -> Floats:
    """The sums of all sizes from each place on, and 0 at the end."""
    return np.vstack([np.cumsum(sizes[::-1], axis=0)[::-1], np.zeros((1, sizes.shape[1]))])
