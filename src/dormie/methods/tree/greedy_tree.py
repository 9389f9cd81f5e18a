"""The greedy tree of Ukkonen (2010), Algorithms 2 to 5, with the scales of his section 4.3.

X_ij = K(x_i, s_j) for row i and support vector j, r the outputs still to be explained. A node's column j and scale c
are found when its parent is split; splitting it takes in turns

    columns     j_l, j_r, the columns that explain most of r on either side of a threshold t, given t     (Algorithm 4)
    threshold   t, given j_l and j_r: one sort, then running sums of the errors                           (Algorithm 5)

until the error no longer falls, from several random thresholds, of which the best counts. With scales of their own the
weights a_j of the machine drop out: c_N a_N is fitted as one number, `scale`, and for machines with several outputs as
one an output. Three things the paper leaves open: a threshold lies half way between two rows' values, both sides of a
split have rows, and a column that is next to nothing on a node's rows is not blown up to explain them.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from dormie.convert import read
from dormie.machine import Floats
from dormie.methods.tree.columns import Block, Columns
from dormie.methods.tree.growth import Branching, Frontier, Limits, Targets, Terminal, assembled, constant, midway
from dormie.methods.tree.structure import Integers, Tree
from dormie.progress import Progress

_LEAST_FALL = 1e-12  # of the error, below which it has stopped falling
_ROUNDING = 1e-20  # of all squared outputs: nothing is left to explain
_EQUAL = 1e-12  # of the error to explain: what costs the same but for rounding; the first of such is taken
_NEXT_TO_NOTHING = 1e-12  # of the largest column's sum of squares


def greedy(
    machine: Any,
    rows: Any,
    *,
    leaf_rows: int = 5,
    height: int | None = None,
    evaluations: float | None = None,
    restarts: int = 3,
    seed: int = 0,
) -> Tree:
    """A tree that estimates the outputs of a machine, or of a model that `dormie.read` reads, grown on unlabelled rows.

    Where rows times support vectors are too many to hold (see `columns`), splits are chosen among some of the vectors.

    leaf_rows    a node of at most so many rows is not split
    height       the most nodes on a path
    evaluations  the most kernel evaluations that a row takes on average over these rows
    restarts     random thresholds that every split is tried from
    """
    machine, limits = read(machine), Limits(leaf_rows, height, evaluations)
    if not isinstance(restarts, Integral) or restarts < 1:
        raise ValueError(f"restarts must be a whole number of at least 1, got {restarts!r}")
    targets = Targets.of(machine, rows)
    if not machine.n_points:
        return constant(machine)
    columns = Columns(machine.kernel, machine.points, targets.rows, seed)
    with Progress() as progress:
        root = _Greedy(columns, machine.bias, limits, int(restarts), progress).grown(targets.outputs)
    return assembled(root, machine.points, machine.n_outputs)


class Split(NamedTuple):
    """Rows up to place `at` of a node, in the order of its column, go left; columns and scales of both sides."""

    at: int
    columns: tuple[int, int]  # within the block
    scales: tuple[Floats, Floats]
    cost: float


class _Way(NamedTuple):
    """How rows come to a node: the sides taken, the scales met, and the share of all rows that do."""

    path: tuple[int, ...]
    weights: Floats
    share: float


@dataclass(eq=False)
class _Node:
    """A column and its scale, and the rows that come here, in the order of their scores."""

    number: int
    way: _Way  # its own scale included
    constant: Floats
    rows: Integers
    k: Floats  # the column itself
    r: Floats  # what is left of the outputs after this node's score
    block: Block | None  # the columns of its rows, where they are held
    split: Split | None = None
    next: tuple[tuple[int, Floats], ...] = ()  # the columns of the children: numbers, and values of all its rows
    children: tuple[_Node, ...] = ()

    @property
    def share(self) -> float:
        return self.way.share

    @property
    def gain(self) -> float:
        cost = float(np.einsum("io,io->", self.r, self.r))
        fall = 0.0 if self.split is None else cost - self.split.cost
        return fall / len(self.rows) if fall > _LEAST_FALL * cost else 0.0

    def data(self, below: list[Branching | Terminal]) -> Branching:
        if self.split is None or not below:
            end = Terminal(self.way.weights, self.constant)
            return Branching(self.number, 0.0, end, end)
        last, first = self.k[self.split.at - 1 : self.split.at + 1]
        left, right = below if last < first else reversed(below)  # scores may ascend as kernel values descend
        return Branching(self.number, midway(last, first), left, right)


@dataclass(frozen=True, eq=False)
class _Greedy:
    """Algorithm 2, the most profitable node first."""

    columns: Columns
    bias: Floats
    limits: Limits
    restarts: int
    progress: Progress

    def grown(self, outputs: Floats) -> _Node:
        """The root of the tree for rows with these outputs."""
        everything = np.arange(len(outputs))
        frontier: Frontier[_Node] = Frontier(1.0, self.limits.evaluations)
        root = self._root(everything, outputs - self.bias)
        explained = _ROUNDING * float(np.sum((outputs - self.bias) ** 2))
        frontier.add(self._with_split(root, explained))
        offered = self.columns.offered(len(everything))
        for count, node in enumerate(frontier):
            self.progress.say(f"growing a tree: {2 * count + 1:,} nodes; {offered:,} columns at the root")
            node.children = self._children(node)
            for child in node.children:
                frontier.add(self._with_split(child, explained))
        return root

    def _root(self, rows: Integers, r: Floats) -> _Node:
        whole = self.columns.whole()
        block = self.columns.block(rows) if whole is None else whole
        column, scale, _ = best_column(block.values, r)
        chosen = int(block.numbers[column]), block.values[:, column], scale
        return self._node(chosen, rows, r, whole, _Way((), np.empty((0, r.shape[1])), 1.0))

    def _with_split(self, node: _Node, explained: float) -> _Node | None:
        """The node with its best split, or None where it stays a leaf."""
        if len(node.rows) <= self.limits.leaf_rows or len(node.way.weights) == self.limits.height:
            return None
        if np.sum(node.r**2) <= explained:
            return None
        firsts = np.random.default_rng([self.columns.seed, *node.way.path]).integers(len(node.rows), size=self.restarts)
        block = self.columns.block(node.rows) if node.block is None else node.block
        node.split = find_optimal_split(block.values, node.r, node.k, firsts)
        if node.split is None:
            return None
        # copies: a view would hold the whole block for as long as the node waits
        node.next = tuple((int(block.numbers[column]), block.values[:, column].copy()) for column in node.split.columns)
        return node

    def _children(self, node: _Node) -> tuple[_Node, ...]:
        """Left and right; the node's own block is given up, so that only nodes that wait hold one."""
        assert node.split is not None
        at, n = node.split.at, len(node.rows)
        sides = zip((np.arange(at), np.arange(at, n)), node.next, node.split.scales, strict=True)
        children = []
        for taken, (side, (number, k), scale) in enumerate(sides):
            block = None if node.block is None else node.block.some(side)
            way = _Way((*node.way.path, taken), node.way.weights, node.share * len(side) / n)
            children.append(self._node((number, k[side], scale), node.rows[side], node.r[side], block, way))
        node.block, node.next = None, ()
        return tuple(children)

    def _node(
        self, chosen: tuple[int, Floats, Floats], rows: Integers, r: Floats, block: Block | None, way: _Way
    ) -> _Node:
        """A node of rows that come this way to a column: its number, values and scale."""
        number, k, scale = chosen
        order = np.argsort(-k if scale.sum() < 0 else k, kind="stable")
        rest = r - k[:, None] * scale
        mine = None if block is None else block.some(order)
        way = way._replace(weights=np.vstack([way.weights, scale]))
        return _Node(number, way, self.bias, rows[order], k[order], rest[order], mine)


def best_column(values: Floats, r: Floats) -> tuple[int, Floats, float]:
    """argmin_j min_c |c X_j - r|^2, its c (one an output), and what it leaves."""
    xr, xx = values.T @ r, np.einsum("ij,ij->j", values, values)
    usable = xx > _NEXT_TO_NOTHING * xx.max(initial=0.0)
    xx = np.where(usable, xx, 1.0)
    explained = np.where(usable, np.einsum("jo,jo->j", xr, xr) / xx, 0.0)
    whole = float(np.einsum("io,io->", r, r))
    j = int(np.argmax(explained >= explained.max() - _EQUAL * whole))
    scale = xr[j] / xx[j] if usable[j] else np.zeros(r.shape[1])
    return j, scale, whole - float(explained[j])


def find_optimal_split(values: Floats, r: Floats, k: Floats, firsts: Integers) -> Split | None:
    """Algorithm 3 from each of several first rows, whose values are the first thresholds; None where k is constant.

    Rows are in the order of k, ascending or descending: a threshold is a place between two of them that differ.
    """
    between = np.flatnonzero(k[1:] != k[:-1]) + 1
    if not len(between):
        return None
    starts = {_place_after(between, int(first)) for first in firsts}
    found = [_alternated(values, r, between, start) for start in sorted(starts)]
    return found[_first_of_least(np.array([split.cost for split in found]), r)]


def _first_of_least(costs: Floats, r: Floats) -> int:
    return int(np.argmax(costs <= costs.min() + _EQUAL * float(np.einsum("io,io->", r, r))))


def _place_after(between: Integers, row: int) -> int:
    """Where the rows with values up to this row's end, or the last place that leaves rows on the right."""
    after = between[between > row]
    return int(after[0] if len(after) else between[-1])


def _alternated(values: Floats, r: Floats, between: Integers, start: int) -> Split:
    """Columns and threshold in turns, until the error no longer falls."""
    least = _LEAST_FALL * float(np.einsum("io,io->", r, r))
    split = optimize_columns(values, r, start)
    while True:
        better = optimize_columns(values, r, optimize_threshold(values, r, between, split))
        if not better.cost < split.cost - least:
            return split
        split = better


def optimize_columns(values: Floats, r: Floats, at: int) -> Split:
    """Algorithm 4: the best column of either side."""
    left, right = (best_column(values[side], r[side]) for side in (slice(0, at), slice(at, None)))
    return Split(at, (left[0], right[0]), (left[1], right[1]), left[2] + right[2])


def optimize_threshold(values: Floats, r: Floats, between: Integers, split: Split) -> int:
    """Algorithm 5: the best place for columns and scales as they are."""
    left, right = (
        ((r - values[:, [column]] * scale) ** 2).sum(axis=1)
        for column, scale in zip(split.columns, split.scales, strict=True)
    )
    cost = np.cumsum(left) + (right.sum() - np.cumsum(right))
    return int(between[_first_of_least(cost[between - 1], r)])
