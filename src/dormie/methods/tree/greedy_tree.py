"""The greedy tree of Ukkonen (2010), Algorithms 2 to 5, with the scales of his section 4.3 or without.

Let X_ij = K(x_i, s_j) for row i and support vector j, and let r be the residuals of the outputs. A node adds c X_ij to
the value of row i. Its column j and scale c are found when its parent is split. A split alternates between

    columns     given a threshold t, the columns j_l and j_r that reduce r most on either side            (Algorithm 4)
    threshold   given j_l and j_r, the threshold t: one sort, then running sums of the errors             (Algorithm 5)

until the error no longer falls. The paper starts from one random threshold; here several may be tried, and the best
result is taken. With scales, the machine's weights a_j drop out: c is fitted, for each output, where the paper fits the
factor c / a_j. Without scales c is a_j, and a split may raise the error: as in the paper, the node is split all the
same. The paper leaves four things open: here the root has the column of least error, a threshold lies halfway between
the values of two rows, both sides of a split have rows, and a column that is almost zero on the rows of a node is not
scaled up to fit them.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from dormie.convert import read
from dormie.machine import Floats
from dormie.machine.typing import Integers
from dormie.methods.tree.columns import Block, Columns
from dormie.methods.tree.growth import Branching, Frontier, Limits, Targets, Terminal, assembled, constant, midway
from dormie.methods.tree.structure import Tree
from dormie.progress import Progress

_LEAST_FALL = 1e-12  # relative to the error: a smaller decrease ends the alternation
_ROUNDING = 1e-20  # relative to all squared outputs: a smaller residual is rounding
_EQUAL = 1e-12  # relative to the error: costs this close count as equal, and the first is taken
_NEGLIGIBLE = 1e-12  # relative to the largest column's sum of squares


def greedy(
    machine: Any,
    rows: Any,
    *,
    leaf_rows: int = 5,
    height: int | None = None,
    evaluations: float | None = None,
    scales: bool = True,
    restarts: int = 3,
    seed: int = 0,
) -> Tree:
    """
    Grow the greedy tree of Ukkonen (2010), which approximates the outputs of a machine.

    Parameters
    ----------
    machine : estimator, path-like or Machine
        A machine, or a model that `dormie.read` reads.
    rows : array-like of shape (n_rows, n_features)
        Unlabelled rows to grow the tree on.
    leaf_rows : int, default=5
        A node with at most this many rows is not split.
    height : int or None, default=None
        The most nodes on a path; None for no limit.
    evaluations : float or None, default=None
        The most kernel evaluations of a row, on average over the rows; None for no limit.
    scales : bool, default=True
        Whether the weight of a support vector is fitted at every node (section 4.3 of the paper). Otherwise it is the
        machine's own weight, and some splits may raise the error.
    restarts : int, default=3
        The number of random thresholds from which every split is optimised; the paper has one.
    seed : int, default=0
        Seed for these thresholds, and for the choice of columns.

    Returns
    -------
    Tree
        The tree, as plain data.

    Raises
    ------
    ValueError
        If there are no rows, an output is not finite, or a parameter is out of range.

    Notes
    -----
    Algorithms 2 to 5 of the paper. If the kernel matrix of rows and support vectors is too large for memory, every node
    chooses among a random subset of the support vectors.

    Examples
    --------
    >>> import dormie
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.svm import SVC
    >>> X, y = make_moons(300, noise=0.3, random_state=0)
    >>> svc = SVC().fit(X, y)
    >>> tree = dormie.tree.greedy(svc, X, height=6)
    >>> walk = tree.walk(dormie.read(svc).kernel, X)
    >>> int(walk.evaluations.max())
    6
    >>> bool(((walk.values[:, 0] > 0) == svc.predict(X)).mean() > 0.9)
    True
    """
    machine, limits = read(machine), Limits(leaf_rows, height, evaluations)
    if not isinstance(restarts, Integral) or restarts < 1:
        raise ValueError(f"restarts must be a whole number of at least 1, got {restarts!r}")
    targets = Targets.of(machine, rows)
    if not machine.n_points:
        return constant(machine)
    columns = Columns(machine.kernel, machine.points, targets.rows, seed)
    with Progress() as progress:
        weights = None if scales else machine.weights
        root = _Greedy(columns, weights, machine.bias, limits, int(restarts), progress).grown(targets.outputs)
    return assembled(root, machine.points, machine.n_outputs)


class Split(NamedTuple):
    """A split: the first `at` rows of a node, sorted by its column, go left; the columns and scales of both sides."""

    at: int
    columns: tuple[int, int]  # indices within the block
    scales: tuple[Floats, Floats]
    cost: float


class _Path(NamedTuple):
    """The path to a node: the sides taken, the scales on it, and the share of all rows that reach the node."""

    sides: tuple[int, ...]
    weights: Floats
    share: float


@dataclass(eq=False)
class _Node:
    """A column with its scale, and the rows that reach this node, sorted by their scores."""

    number: int
    path: _Path  # including its own scale
    constant: Floats
    rows: Integers
    k: Floats  # the column itself
    r: Floats  # residuals of the outputs after this node's score
    block: Block | None  # the columns of its rows, if X is held in memory
    split: Split | None = None
    next: tuple[tuple[int, Floats], ...] = ()  # the children's columns: index, and values for all rows of this node
    children: tuple[_Node, ...] = ()

    @property
    def share(self) -> float:
        return self.path.share

    @property
    def gain(self) -> float:
        cost = float(np.einsum("io,io->", self.r, self.r))
        fall = 0.0 if self.split is None else cost - self.split.cost
        return fall / len(self.rows) if abs(fall) > _LEAST_FALL * cost else 0.0

    def data(self, below: list[Branching | Terminal]) -> Branching:
        if self.split is None or not below:
            end = Terminal(self.path.weights, self.constant)
            return Branching(self.number, 0.0, end, end)
        last, first = self.k[self.split.at - 1 : self.split.at + 1]
        left, right = below if last < first else reversed(below)  # a negative scale reverses the order
        return Branching(self.number, midway(last, first), left, right)


@dataclass(frozen=True, eq=False)
class _Greedy:
    """Algorithm 2, the most profitable node first."""

    columns: Columns
    weights: Floats | None  # points x outputs; None if scales are fitted
    bias: Floats
    limits: Limits
    restarts: int
    progress: Progress

    def grown(self, outputs: Floats) -> _Node:
        """The root of a tree grown for these outputs."""
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
        column, scale, _ = best_column(block.values, r, self._weights(block))
        chosen = int(block.numbers[column]), block.values[:, column], scale
        return self._node(chosen, rows, r, whole, _Path((), np.empty((0, r.shape[1])), 1.0))

    def _weights(self, block: Block) -> Floats | None:
        """The machine's weights for these columns; None if scales are fitted."""
        return None if self.weights is None else self.weights[block.numbers]

    def _with_split(self, node: _Node, explained: float) -> _Node | None:
        """The node with its best split; None if it stays a leaf."""
        if len(node.rows) <= self.limits.leaf_rows or len(node.path.weights) == self.limits.height:
            return None
        if np.sum(node.r**2) <= explained:
            return None
        random = np.random.default_rng([self.columns.seed, *node.path.sides])
        firsts = random.integers(len(node.rows), size=self.restarts)
        block = self.columns.block(node.rows) if node.block is None else node.block
        node.split = find_optimal_split(block.values, node.r, node.k, firsts, self._weights(block))
        if node.split is None:
            return None
        # copies, because a view would keep the whole block in memory while the node waits
        node.next = tuple((int(block.numbers[column]), block.values[:, column].copy()) for column in node.split.columns)
        return node

    def _children(self, node: _Node) -> tuple[_Node, ...]:
        """The left and right child; the node's own block is dropped, so that only waiting nodes hold one."""
        assert node.split is not None
        at, n = node.split.at, len(node.rows)
        sides = zip((np.arange(at), np.arange(at, n)), node.next, node.split.scales, strict=True)
        children = []
        for taken, (side, (number, k), scale) in enumerate(sides):
            block = None if node.block is None else node.block.some(side)
            path = _Path((*node.path.sides, taken), node.path.weights, node.share * len(side) / n)
            children.append(self._node((number, k[side], scale), node.rows[side], node.r[side], block, path))
        node.block, node.next = None, ()
        return tuple(children)

    def _node(
        self, chosen: tuple[int, Floats, Floats], rows: Integers, r: Floats, block: Block | None, path: _Path
    ) -> _Node:
        """A node for the chosen column (its index, values and scale) at the end of a path."""
        number, k, scale = chosen
        order = np.argsort(-k if scale.sum() < 0 else k, kind="stable")
        rest = r - k[:, None] * scale
        mine = None if block is None else block.some(order)
        path = path._replace(weights=np.vstack([path.weights, scale]))
        return _Node(number, path, self.bias, rows[order], k[order], rest[order], mine)


def best_column(values: Floats, r: Floats, weights: Floats | None = None) -> tuple[int, Floats, float]:
    """j = argmin_j |c_j X_j - r|^2, its c_j for each output, and the remaining squared error.

    weights: c, columns x outputs; None for the best ones
    """
    xr, xx = values.T @ r, np.einsum("ij,ij->j", values, values)
    c = _best_scales(xr, xx) if weights is None else weights
    explained = np.einsum("jo,jo->j", c, 2 * xr - c * xx[:, None])
    whole = float(np.einsum("io,io->", r, r))
    j = int(np.argmax(explained >= explained.max() - _EQUAL * whole))
    return j, c[j], whole - float(explained[j])


def _best_scales(xr: Floats, xx: Floats) -> Floats:
    """c_j = X_j r / X_j X_j; 0 for columns that are almost zero."""
    usable = xx > _NEGLIGIBLE * xx.max(initial=0.0)
    return np.asarray(np.where(usable[:, None], xr / np.where(usable, xx, 1.0)[:, None], 0.0))


def find_optimal_split(
    values: Floats, r: Floats, k: Floats, firsts: Integers, weights: Floats | None = None
) -> Split | None:
    """Algorithm 3, started from the values of the rows `firsts` as thresholds; None if k is constant.

    Rows are sorted by k, ascending or descending. A threshold is a position between two rows that differ in k.
    """
    between = np.flatnonzero(k[1:] != k[:-1]) + 1
    if not len(between):
        return None
    positions = {_position_after(between, int(first)) for first in firsts}
    found = [_alternated(values, r, between, position, weights) for position in sorted(positions)]
    return found[_first_of_least(np.array([split.cost for split in found]), r)]


def _first_of_least(costs: Floats, r: Floats) -> int:
    """The first index with the least cost, up to rounding."""
    return int(np.argmax(costs <= costs.min() + _EQUAL * float(np.einsum("io,io->", r, r))))


def _position_after(between: Integers, row: int) -> int:
    """The first position after this row and its equals, or the last position that leaves rows on the right."""
    after = between[between > row]
    return int(after[0] if len(after) else between[-1])


def _alternated(values: Floats, r: Floats, between: Integers, start: int, weights: Floats | None) -> Split:
    """Optimise columns and threshold in turns until the error no longer falls."""
    least = _LEAST_FALL * float(np.einsum("io,io->", r, r))
    split = optimize_columns(values, r, start, weights)
    while True:
        better = optimize_columns(values, r, optimize_threshold(values, r, between, split), weights)
        if not better.cost < split.cost - least:
            return split
        split = better


def optimize_columns(values: Floats, r: Floats, at: int, weights: Floats | None) -> Split:
    """Algorithm 4: the best column on either side."""
    left, right = (best_column(values[side], r[side], weights) for side in (slice(0, at), slice(at, None)))
    return Split(at, (left[0], right[0]), (left[1], right[1]), left[2] + right[2])


def optimize_threshold(values: Floats, r: Floats, between: Integers, split: Split) -> int:
    """Algorithm 5: the best position for given columns and scales."""
    left, right = (
        ((r - values[:, [column]] * scale) ** 2).sum(axis=1)
        for column, scale in zip(split.columns, split.scales, strict=True)
    )
    cost = np.cumsum(left) + (right.sum() - np.cumsum(right))
    return int(between[_first_of_least(cost[between - 1], r)])
