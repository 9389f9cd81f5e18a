"""Rows over a Python kernel, some evaluations at a time: each row stops once its answer is settled.

In the native core a tile of points costs little more than one point, so rows stop after whole tiles. Calls of a Python
function cost as many times more as there are pairs in them. So here all open rows meet the next few points in one call,
few at first, and the settled ones drop out. Everything is computed row by row and in one order: neither the company
that a row comes in nor where the others stop changes a bit of its interval.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from dormie.machine import Floats, Machine
from dormie.machine.rows import require_finite_vectors, some
from dormie.machine.rules import Value
from dormie.machine.typing import Booleans
from dormie.numerics.reference import blocks
from dormie.numerics.rounding import feature_lengths, margin

# On the 500 strands of examples/strings.py, geometry over the first 64 support vectors settles a row after 32.7
# evaluations if it may stop after each, 34.1 with eighths, 39.8 with halves and 48.0 if steps go on doubling.
_DOUBLING_TO = 8  # points up to which steps double
_ADDED_PART = 8  # from then on a step adds one in so many of the points so far


class Walk(ABC):
    """Rows on their way: what the kernel values so far say of their outputs."""

    def __init__(self, machine: Machine, rows: Any) -> None:
        self.machine = machine
        self.rows = rows
        self.done = 0  # points that the rows have met
        self.lengths = feature_lengths(machine.kernel, rows)  # upper bounds on |phi(x)|
        self.lost = ~np.isfinite(self.lengths)  # rows of which nothing is known, as some value is not finite

    def advance(self, points: Any, k: int) -> None:
        """Meet the points up to the k-th."""
        with np.errstate(over="ignore", invalid="ignore"):
            values = self.machine.kernel.matrix(self.rows, points[self.done : k])
            self.lost |= ~np.isfinite(values).all(axis=1)
            self._add(np.where(self.lost[:, None], 0.0, values))
        self.done = k

    def settled(self) -> Booleans:
        """Which rows are settled, at the machine's margin from the decision boundary."""
        with np.errstate(over="ignore", invalid="ignore"):
            margins = margin(self.machine)(self.lengths)
            low, high = self.ends()
            return np.asarray(self.machine.rule.settled(low - margins, high + margins))

    def keep(self, rows: Booleans) -> None:
        """Go on with some of the rows."""
        which = np.flatnonzero(rows)
        self.rows, self.lengths, self.lost = some(self.rows, which), self.lengths[which], self.lost[which]
        self._keep(which)

    def ends(self) -> tuple[Floats, Floats]:
        """Low and high ends of every output of every row, rounding and the errors of kernel values included."""
        with np.errstate(over="ignore", invalid="ignore"):
            low, high = self._ends()
        unknown = self.lost[:, None] | np.isnan(low) | np.isnan(high)
        return np.where(unknown, -np.inf, low), np.where(unknown, np.inf, high)

    @property
    @abstractmethod
    def middle(self) -> Floats:
        """The best guess of the outputs."""

    @abstractmethod
    def _add(self, values: Floats) -> None:
        """Use the kernel values (rows x points) of the points next in turn."""

    @abstractmethod
    def _keep(self, which: Any) -> None: ...

    @abstractmethod
    def _ends(self) -> tuple[Floats, Floats]: ...


Start = Callable[[Any], Walk]  # a walk of mapped rows


def schedule(most: int) -> Iterator[int]:
    """The numbers of points after which rows may stop: 1, 2, 4, 8, and then every eighth more, up to `most`."""
    k = 1
    while k < most:
        yield k
        k += k if k < _DOUBLING_TO else k // _ADDED_PART
    yield most


def decide(machine: Machine, start: Start, points: Any, rows: Any) -> tuple[Any, Any, Any]:
    """Answers, which of them are settled, and the kernel evaluations of each row."""
    require_finite_vectors(rows, machine)
    n, values = rows.shape[0], isinstance(machine.rule, Value)
    answers: Any = np.empty((n, machine.n_outputs)) if values else np.full(n, -1, dtype=np.intp)
    settled, steps = np.zeros(n, dtype=bool), np.full(n, len(points))
    for block, part in blocks(machine, rows):
        walk, waiting = start(part), np.arange(block.start, block.stop)
        for k in schedule(len(points)):
            walk.advance(points, k)
            now = walk.settled()
            answered = np.ones_like(now) if values else now
            answers[waiting[answered]] = machine.rule.answer(walk.middle)[answered]
            settled[waiting[now]], steps[waiting[now]] = True, k
            waiting = waiting[~now]
            if not len(waiting):
                break
            walk.keep(~now)
    return answers, settled, steps + machine.kernel.evaluations_of_diagonal


def interval(machine: Machine, start: Start, points: Any, rows: Any) -> tuple[Floats, Floats, Floats]:
    """Low ends, high ends and middles of every output of every row, after these points."""
    require_finite_vectors(rows, machine)
    low, high, middle = np.empty((3, rows.shape[0], machine.n_outputs))
    for block, part in blocks(machine, rows):
        walk = start(part)
        walk.advance(points, len(points))
        (low[block], high[block]), middle[block] = walk.ends(), walk.middle
    return low, high, middle
