"""The exact balanced tree of Ukkonen (2010), Algorithm 1: the best tree whose splits all halve the rows.

Every node tries every column, which takes about m^h steps for m columns and height h. So it is for tiny inputs only, as
a reference for the greedy tree.

The search is exact because the error of a leaf depends on nothing but its rows and the columns on its path:

    without scales   the weights of these columns are the machine's, as in the paper
    with scales      they are those of least error on the rows of the leaf, fitted all at once

In the paper's section 4.3 all leaves below a node share its scale. Here every leaf has scales of its own, so that
leaves can be fitted one by one. No tree with shared scales has a smaller error.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from dormie.convert import read
from dormie.machine import Floats
from dormie.machine.typing import Integers
from dormie.methods.tree.growth import Branching, Limits, Targets, Terminal, constant, midway, numbered
from dormie.methods.tree.structure import Tree

_MOST_STEPS = 10_000_000  # columns tried, times their rows
_DEPENDENT = 1e-12  # relative to a column's squares: a smaller part outside the span of the path is rounding


def exact_balanced(machine: Any, rows: Any, *, height: int, leaf_rows: int = 1, scales: bool = False) -> Tree:
    """
    Find the balanced tree with the least squared error, by exhaustive search.

    Parameters
    ----------
    machine : estimator, path-like or Machine
        A machine, or a model that `dormie.read` reads.
    rows : array-like of shape (n_rows, n_features)
        Unlabelled rows to grow the tree on.
    height : int
        The most nodes on a path.
    leaf_rows : int, default=1
        A node with at most this many rows is not split.
    scales : bool, default=False
        Whether every leaf fits the weights of the support vectors on its path. Otherwise they are the machine's own
        weights, as in the paper.

    Returns
    -------
    Tree
        The best tree of this height whose splits all halve the rows.

    Raises
    ------
    ValueError
        If the search would take too long, or a parameter is out of range.

    Notes
    -----
    This is Algorithm 1 of Ukkonen (2010). It takes about n m^h steps for n rows, m support vectors and height h, so it
    is for tiny inputs: a reference for `greedy`.

    Examples
    --------
    >>> import dormie
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.svm import SVC
    >>> X, y = make_moons(40, noise=0.1, random_state=0)
    >>> machine = dormie.read(SVC().fit(X, y))
    >>> outputs = dormie.compile(machine).decision_function(X)
    >>> def squared_error(tree):
    ...     estimates = tree.walk(machine.kernel, X).values[:, 0]
    ...     return round(float(((estimates - outputs) ** 2).mean()), 2)
    >>> squared_error(dormie.tree.exact_balanced(machine, X, height=2))
    0.36
    >>> squared_error(dormie.tree.exact_balanced(machine, X, height=2, scales=True))
    0.06

    A greedy tree may split anywhere, so it can have a smaller error; but it looks at one node at a time:

    >>> squared_error(dormie.tree.greedy(machine, X, height=2, leaf_rows=1, scales=False))
    0.34
    >>> squared_error(dormie.tree.greedy(machine, X, height=2, leaf_rows=1))
    0.27
    """
    machine, limits = read(machine), Limits(leaf_rows, height, None)
    targets = Targets.of(machine, rows)
    if not machine.n_points:
        return constant(machine)
    _require_tiny(machine.n_points, len(targets.outputs), height)
    values = machine.kernel.matrix(targets.rows, machine.points)
    leaves = _Fitted() if scales else _Given(machine.weights)
    search = _Search(values, targets.outputs - machine.bias, leaves, machine.bias, limits)
    return numbered(search.best(np.arange(len(values)), []).node, machine.points, machine.n_outputs)


def _require_tiny(m: int, n: int, height: int) -> None:
    """Raise ValueError if the search would take too long."""
    with np.errstate(over="ignore"):
        steps = n * np.float64(m) ** height
    if steps > _MOST_STEPS:
        raise ValueError(
            f"exact_balanced looks at every tree: {m:,} support vectors, {n:,} rows and height {height} would take "
            f"some {steps:.0e} steps; grow a greedy tree instead, or take a smaller height"
        )


class _Leaf(NamedTuple):
    """The last column of a path, the weights of all its columns (columns x outputs), and the squared error."""

    column: int
    weights: Floats
    cost: float


class _Leaves(Protocol):
    """How leaves are weighted."""

    def best(self, values: Floats, r: Floats, path: list[int]) -> _Leaf:
        """The best leaf below this path, for rows with these values (rows x all columns) and residuals."""


@dataclass(frozen=True, eq=False)
class _Given:
    """Leaves with the machine's own weights, points x outputs."""

    weights: Floats

    def best(self, values: Floats, r: Floats, path: list[int]) -> _Leaf:
        rest = r - values[:, path] @ self.weights[path]
        costs = np.square(rest[:, None, :] - values[:, :, None] * self.weights).sum(axis=(0, 2))
        column = int(np.argmin(costs))
        return _Leaf(column, self.weights[[*path, column]], float(costs[column]))


class _Fitted:
    """Leaves with the weights of least error on their rows."""

    def best(self, values: Floats, r: Floats, path: list[int]) -> _Leaf:
        q = _basis(values[:, path])
        rest, new = r - q @ (q.T @ r), values - q @ (q.T @ values)
        squares = np.square(new).sum(axis=0)
        usable = squares > _DEPENDENT * np.square(values).sum(axis=0)
        explained = np.where(usable, np.square(new.T @ rest).sum(axis=1) / np.where(usable, squares, 1.0), 0.0)
        column = int(np.argmax(explained))
        weights = np.linalg.lstsq(values[:, [*path, column]], r, rcond=None)[0]
        return _Leaf(column, np.asarray(weights), float(np.square(rest).sum() - explained[column]))


def _basis(columns: Floats) -> Floats:
    """Orthonormal columns of the same span; columns that depend on the others, but for rounding, add nothing."""
    lengths = np.linalg.norm(columns, axis=0)
    u, s, _ = np.linalg.svd(columns / np.where(lengths > 0, lengths, 1.0), full_matrices=False)
    return np.asarray(u[:, s**2 > _DEPENDENT])


class _Best(NamedTuple):
    """The best tree for some rows below a path, and its squared error."""

    cost: float
    node: Branching


@dataclass(frozen=True, eq=False)
class _Search:
    """The search over all trees with the columns of `values`, rows x points, for the outputs `r`, rows x outputs."""

    values: Floats
    r: Floats
    leaves: _Leaves
    bias: Floats
    limits: Limits

    def best(self, rows: Integers, path: list[int]) -> _Best:
        """The best of all trees for these rows below this path of columns."""
        leaf = self._leaf(rows, path)
        if len(rows) <= self.limits.leaf_rows or len(path) + 1 == self.limits.height:
            return leaf
        splits = (self._split(column, rows, path) for column in range(self.values.shape[1]))
        return min([leaf, *(split for split in splits if split is not None)], key=lambda tree: tree.cost)

    def _split(self, column: int, rows: Integers, path: list[int]) -> _Best | None:
        """The best tree whose root is split at the median of this column; None if no row is above the median."""
        k = self.values[rows, column]
        ordered = np.sort(k)
        median = ordered[(len(k) - 1) // 2]
        if median == ordered[-1]:
            return None
        left, right = (self.best(rows[side], [*path, column]) for side in (k <= median, k > median))
        threshold = midway(median, ordered[ordered > median][0])
        return _Best(left.cost + right.cost, Branching(column, threshold, left.node, right.node))

    def _leaf(self, rows: Integers, path: list[int]) -> _Best:
        """The best node that is not split."""
        leaf = self.leaves.best(self.values[rows], self.r[rows], path)
        end = Terminal(leaf.weights, self.bias)
        return _Best(leaf.cost, Branching(leaf.column, 0.0, end, end))
