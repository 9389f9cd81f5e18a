"""The exact balanced tree of Ukkonen (2010), Algorithm 1: the best tree there is whose splits all halve the rows.

Every node tries every column, so that it takes some m^h steps for m columns and height h: for tiny inputs only, as what
the greedy tree is held against. As in the greedy tree, a column is scaled to what is left to explain at its node.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dormie.convert import read
from dormie.machine import Floats
from dormie.methods.tree.greedy_tree import best_column
from dormie.methods.tree.growth import Branching, Limits, Targets, Terminal, assembled, constant, midway
from dormie.methods.tree.structure import Tree

_MOST_STEPS = 10_000_000  # columns looked at, times their rows


def exact_balanced(machine: Any, rows: Any, *, height: int, leaf_rows: int = 1) -> Tree:
    """The tree of least squared error on these rows whose paths have at most `height` nodes and whose splits halve.

    leaf_rows    a node of at most so many rows is not split
    """
    machine, limits = read(machine), Limits(leaf_rows, height, None)
    targets = Targets.of(machine, rows)
    if not machine.n_points:
        return constant(machine)
    _require_tiny(machine.n_points, len(targets.outputs), height)
    values = machine.kernel.matrix(targets.rows, machine.points)
    root = _Search(values, limits, machine.bias).best(targets.outputs - machine.bias, np.arange(len(values)), ())
    return assembled(root, machine.points, machine.n_outputs)


def _require_tiny(m: int, n: int, height: int) -> None:
    with np.errstate(over="ignore"):
        steps = n * np.float64(m) ** height
    if steps > _MOST_STEPS:
        raise ValueError(
            f"exact_balanced looks at every tree: {m:,} support vectors, {n:,} rows and height {height} would take "
            f"some {steps:.0e} steps; grow a greedy tree instead, or take a smaller height"
        )


@dataclass(eq=False)
class _Best:
    """The best tree for some rows, and the squared error it leaves."""

    number: int
    weights: tuple[Floats, ...]  # scales down to this node
    constant: Floats
    cost: float
    threshold: float = 0.0
    children: tuple[_Best, ...] = ()

    def data(self, below: list[Branching | Terminal]) -> Branching:
        end: list[Branching | Terminal] = [Terminal(np.array(self.weights), self.constant)]
        left, right = below or end * 2
        return Branching(self.number, self.threshold, left, right)


@dataclass(frozen=True, eq=False)
class _Search:
    """All trees over the columns of `values`, rows x points."""

    values: Floats
    limits: Limits
    bias: Floats

    def best(self, r: Floats, rows: Any, above: tuple[Floats, ...]) -> _Best:
        """Of all trees for these rows, whose outputs still to be explained are r."""
        tried = [self._with_column(number, r, rows, above) for number in range(self.values.shape[1])]
        return min(tried, key=lambda tree: tree.cost)

    def _with_column(self, number: int, r: Floats, rows: Any, above: tuple[Floats, ...]) -> _Best:
        """The best tree whose root is this column, split or not."""
        k = self.values[rows, number]
        _, scale, _ = best_column(k[:, None], r)
        rest, weights = r - k[:, None] * scale, (*above, scale)
        unsplit = _Best(number, weights, self.bias, float(np.sum(rest**2)))
        assert self.limits.height is not None
        if len(rows) <= self.limits.leaf_rows or len(weights) == self.limits.height:
            return unsplit
        split = self._split(unsplit, k, rest, rows)
        return split if split is not None and split.cost < unsplit.cost else unsplit

    def _split(self, unsplit: _Best, k: Floats, rest: Floats, rows: Any) -> _Best | None:
        """The same column with rows up to its median on one side; None where that is all of them."""
        ordered = np.sort(k)
        median = ordered[(len(k) - 1) // 2]
        if median == ordered[-1]:
            return None
        left = k <= median
        children = tuple(self.best(rest[side], rows[side], unsplit.weights) for side in (left, ~left))
        threshold = midway(median, ordered[ordered > median][0])
        cost = sum(child.cost for child in children)
        return _Best(unsplit.number, unsplit.weights, self.bias, cost, threshold, children)
