"""Fast stopping over a Python kernel: as few terms for each row as settle it, the largest first.

The bound is that of `stage`. To the rounding of the sum comes the error of kernel values that the user states,
e |phi(x)| |phi(s)|.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from dormie.machine import Floats, Machine
from dormie.machine.rows import some
from dormie.methods import stepwise
from dormie.methods.base import Decisions, middle_of
from dormie.methods.fast_stopping.stage import LargestTermsFirst
from dormie.numerics.reference import blocks
from dormie.numerics.rounding import UNIT, feature_lengths, stated_error

_UP = 1 + 1e-9  # covers the rounding of the sums of sizes


class PythonFastStopping(LargestTermsFirst):
    """Partial sums over a Python kernel, largest terms first, some terms at a time."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        lengths = feature_lengths(machine.kernel, machine.points)
        order = np.argsort(-np.abs(machine.weights).max(axis=1, initial=0.0) * lengths, kind="stable")
        ordered = replace(machine, points=some(machine.points, order), weights=machine.weights[order])
        self._ordered, self._tails = ordered.with_origin(machine.origin), _Tails(ordered, lengths[order])

    def decide(self, rows: Any, caution: float = 1.0) -> Decisions:  # noqa: ARG002 - certified
        return Decisions(*stepwise.decide(self.machine, self._start, self._ordered.points, rows))

    @cached_property
    def budgets(self) -> Sequence[int]:
        """Those after which rows may stop, short of the full sum, which is the dense stage's."""
        terms = [*stepwise.schedule(self.machine.n_points)]
        return [k + self.machine.kernel.evaluations_of_diagonal for k in terms[:-1]]

    def steps(self, row: Any) -> Iterator[tuple[int, Floats, Floats]]:
        [(_, part)] = blocks(self.machine, row)
        walk, before = self._start(part), self.machine.kernel.evaluations_of_diagonal
        for budget in self.budgets:
            walk.advance(self._ordered.points, budget - before)
            low, high = walk.ends()
            yield budget, low[0], high[0]

    def _terms(self, budget: int) -> int:
        return min(budget - self.machine.kernel.evaluations_of_diagonal, self.machine.n_points)

    def _interval(self, rows: Any, terms: int) -> tuple[Floats, Floats]:
        low, high, _ = stepwise.interval(self.machine, self._start, self._ordered.points[:terms], rows)
        return low, high

    def _start(self, rows: Any) -> _PartialSums:
        return _PartialSums(self.machine, self._ordered.weights, self._tails, rows)


class _Tails:
    """How far the terms after the k-th can lower and raise each output of a row of length 1, for k from 0.

    seen: the sum of the sizes of the first k terms
    """

    def __init__(self, machine: Machine, lengths: Floats) -> None:
        weights, one_sided = machine.weights, machine.kernel.nonnegative
        sizes = np.abs(weights) * lengths[:, None]
        self.lowering = _after(np.where((weights < 0) | (not one_sided), sizes, 0.0))
        self.raising = _after(np.where((weights > 0) | (not one_sided), sizes, 0.0))
        self.seen = np.vstack([np.zeros(machine.n_outputs), np.cumsum(sizes, axis=0)]) * _UP


def _after(sizes: Floats) -> Floats:
    """The sums of the sizes after the k-th, for k from 0 to all of them."""
    sums = np.cumsum(sizes[::-1], axis=0)[::-1]
    return np.vstack([sums, np.zeros(sizes.shape[1])]) * _UP


class _PartialSums(stepwise.Walk):
    """Rows, and the sums of their first terms."""

    def __init__(self, machine: Machine, weights: Floats, tails: _Tails, rows: Any) -> None:
        super().__init__(machine, rows)
        self._weights, self._tails = weights, tails
        self._sums, self._sizes = np.zeros((2, len(self.lengths), machine.n_outputs))

    @property
    def middle(self) -> Floats:
        return middle_of(*self.ends())  # not the sum so far, as tails may be longer on one side

    def _add(self, values: Floats) -> None:
        weights = self._weights[self.done : self.done + values.shape[1]]
        for column, weight in zip(np.ascontiguousarray(values.T), weights, strict=True):
            terms = np.multiply.outer(column, weight)
            self._sums += terms
            self._sizes += np.abs(terms)

    def _keep(self, which: Any) -> None:
        self._sums, self._sizes = self._sums[which], self._sizes[which]

    def _ends(self) -> tuple[Floats, Floats]:
        k, length, middle = self.done, self.lengths[:, None] * _UP, self._sums + self.machine.bias
        rounding = (k + 8) * UNIT * (self._sizes + np.abs(self.machine.bias))
        rounding += stated_error(self.machine.kernel) * length * self._tails.seen[k]
        low, high = length * self._tails.lowering[k], length * self._tails.raising[k]
        return middle - rounding - low, middle + rounding + high
