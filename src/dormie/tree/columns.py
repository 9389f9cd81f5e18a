"""Kernel values between the rows a tree is grown on and the points it may use: the columns of the paper's matrix X.

Never more than `MOST_VALUES` are held for one node. Where rows times points are more than that, a node is offered a
random part of the columns; the fewer rows a node has, the more columns it sees, and deep nodes see all of them. So
memory stays bounded however many rows and points there are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dormie.kernels import Kernel
from dormie.machine import Floats
from dormie.rows import some
from dormie.tree.structure import Integers

MOST_VALUES = 1 << 24  # 128 MiB
_ENOUGH_TO_TELL = 1000


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
    most_values: int = MOST_VALUES

    def offered(self, rows: int) -> int:
        """How many columns a node of that many rows is offered."""
        return min(len(self.points), max(1, self.most_values // max(rows, 1)))

    def block(self, rows: Integers) -> Block:
        """Of these rows, with all points or as many as there is room for."""
        numbers, offered = np.arange(len(self.points)), self.offered(len(rows))
        if offered < len(numbers):
            random = np.random.default_rng([self.seed, len(rows)])
            numbers = np.sort(random.choice(numbers, offered, replace=False))
        return Block(numbers, self.kernel.matrix(some(self.rows, rows), some(self.points, numbers)))

    def below(self, block: Block, rows: Integers) -> Block:
        """For the rows of a child, `block` of the columns its parent had: that, or more, where there are more."""
        return block if len(block.numbers) == len(self.points) else self.block(rows)

    def mean_squares(self) -> Floats:
        """Of every column, over as many rows as tell."""
        rows = np.random.default_rng(self.seed).permutation(len(self.rows))[:_ENOUGH_TO_TELL]
        values = self.kernel.matrix(some(self.rows, rows), self.points)
        return np.asarray(np.mean(values**2, axis=0))
