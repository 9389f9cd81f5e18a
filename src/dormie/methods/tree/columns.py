"""Kernel values between the rows a tree is grown on and the points it may use: the columns of the paper's matrix X.

Where rows times points are at most `most_values`, all of X is evaluated once. Where they are more, every node is
offered a random part of the columns, as many as there is room for and at most `MOST_COLUMNS`, evaluated for its rows
and given up when its split is found: memory stays bounded (to some 600 MB) however many rows and points there are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dormie.machine import Floats
from dormie.machine.kernels import Kernel
from dormie.machine.rows import some
from dormie.methods.tree.structure import Integers

MOST_COLUMNS = 4096
_ENOUGH_TO_TELL = 1000
_ROUNDING = 1e-13  # of a column's largest value


@dataclass(frozen=True, eq=False)
class Block:
    """Columns of some rows: which points they are of, and rows x columns kernel values."""

    numbers: Integers
    values: Floats

    def some(self, rows: Integers) -> Block:
        return Block(self.numbers, self.values[rows])


@dataclass(frozen=True, eq=False)
class Columns:
    """Points that a tree may use and the rows it is grown on, both in the coordinates of the machine's points."""

    kernel: Kernel
    points: Any
    rows: Any
    seed: int
    most_values: ClassVar[int] = 1 << 25  # 256 MiB

    @property
    def complete(self) -> bool:
        """Whether all columns are held, for all rows."""
        return len(self.rows) * len(self.points) <= self.most_values

    def offered(self, rows: int) -> int:
        """How many columns a node of that many rows is offered."""
        if self.complete:
            return len(self.points)
        return min(len(self.points), MOST_COLUMNS, max(1, self.most_values // rows))

    def block(self, rows: Integers) -> Block:
        """Of these rows, with all points or some drawn at random."""
        numbers = np.arange(len(self.points))
        if not self.complete:
            random = np.random.default_rng([self.seed, len(rows)])
            numbers = np.sort(random.choice(numbers, self.offered(len(rows)), replace=False))
        return Block(numbers, self.kernel.matrix(some(self.rows, rows), some(self.points, numbers)))

    def whole(self) -> Block | None:
        """All columns of all rows, for nodes to take their parts of; None where each has to ask for its own."""
        return self.block(np.arange(len(self.rows))) if self.complete else None

    def moments(self) -> tuple[Floats, Floats]:
        """The mean of every column and the mean square around it, over as many rows as tell."""
        rows = np.random.default_rng(self.seed).permutation(len(self.rows))[:_ENOUGH_TO_TELL]
        values = self.kernel.matrix(some(self.rows, rows), self.points)
        rounding = (_ROUNDING * np.abs(values).max(axis=0, initial=0.0)) ** 2  # what differs in a constant column
        return np.asarray(values.mean(axis=0)), np.asarray(values.var(axis=0) + rounding)
