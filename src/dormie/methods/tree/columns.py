"""Kernel values of the rows a tree is grown on with the points it may use: the columns of the paper's matrix X.

If X has at most `most_values` entries, all of it is evaluated once. Otherwise every node chooses among a random subset
of the columns, at most `MOST_COLUMNS` and as many as fit into memory. They are evaluated for the rows of the node and
dropped once its split is found, so that memory stays below about 600 MB for any number of rows and points.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dormie.machine import Floats
from dormie.machine.kernels import Kernel
from dormie.machine.rows import some
from dormie.machine.typing import Integers

MOST_COLUMNS = 4096
_MOMENT_ROWS = 1000  # rows for the means and variances of columns
_ROUNDING = 1e-13  # relative to a column's largest value


@dataclass(frozen=True, eq=False)
class Block:
    """Columns of X for some rows: the indices of their points, and the kernel values, rows x columns."""

    numbers: Integers
    values: Floats

    def some(self, rows: Integers) -> Block:
        """The same columns for some of the rows."""
        return Block(self.numbers, self.values[rows])


@dataclass(frozen=True, eq=False)
class Columns:
    """The points that a tree may use and the rows it is grown on, both in the coordinates of the machine's points."""

    kernel: Kernel
    points: Any
    rows: Any
    seed: int
    most_values: ClassVar[int] = 1 << 25  # 256 MiB

    @property
    def complete(self) -> bool:
        """Whether all of X fits into memory."""
        return len(self.rows) * len(self.points) <= self.most_values

    def offered(self, rows: int) -> int:
        """Number of columns that a node with `rows` rows chooses among."""
        if self.complete:
            return len(self.points)
        return min(len(self.points), MOST_COLUMNS, max(1, self.most_values // rows))

    def block(self, rows: Integers) -> Block:
        """The columns of these rows: all of them, or a random subset."""
        numbers = np.arange(len(self.points))
        if not self.complete:
            random = np.random.default_rng([self.seed, len(rows)])
            numbers = np.sort(random.choice(numbers, self.offered(len(rows)), replace=False))
        return Block(numbers, self.kernel.matrix(some(self.rows, rows), some(self.points, numbers)))

    def whole(self) -> Block | None:
        """All of X, which nodes then take their rows from; None if every node has to evaluate its own block."""
        return self.block(np.arange(len(self.rows))) if self.complete else None

    def moments(self) -> tuple[Floats, Floats]:
        """The mean and variance of every column, over at most 1000 rows."""
        rows = np.random.default_rng(self.seed).permutation(len(self.rows))[:_MOMENT_ROWS]
        values = self.kernel.matrix(some(self.rows, rows), self.points)
        rounding = (_ROUNDING * np.abs(values).max(axis=0, initial=0.0)) ** 2  # the variance of a constant column
        return np.asarray(values.mean(axis=0)), np.asarray(values.var(axis=0) + rounding)
