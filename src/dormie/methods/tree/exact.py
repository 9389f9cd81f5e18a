"""The exact balanced tree of Ukkonen (2010), Algorithm 1: the best tree whose splits all halve the rows.

Every node tries every column, which takes about m^h steps for m columns and height h. So it is for tiny inputs only, as
a reference for the greedy tree. As in the greedy tree, a column is scaled to fit the residual at its node.
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

_MOST_STEPS = 10_000_000  # columns tried, times their rows


def exact_balanced(machine: Any, rows: Any, *, height: int, leaf_rows: int = 1) -> Tree:
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
    0.3

    A greedy tree can have a smaller error, because its splits need not halve the rows:

    >>> squared_error(dormie.tree.greedy(machine, X, height=2, leaf_rows=1))
    0.27
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
    """Raise ValueError if the search would take too long."""
    with np.errstate(over="ignore"):
        steps = n * np.float64(m) ** height
    if steps > _MOST_STEPS:
        raise ValueError(
            f"exact_balanced looks at every tree: {m:,} support vectors, {n:,} rows and height {height} would take "
            f"some {steps:.0e} steps; grow a greedy tree instead, or take a smaller height"
        )


@dataclass(eq=False)
class _Best:
    """The best tree for some rows, and its squared error."""

    number: int
    weights: tuple[Floats, ...]  # the scales on the path, this node's included
    constant: Floats
    cost: float
    threshold: float = 0.0
    children: tuple[_Best, ...] = ()

    def data(self, below: list[Branching | Terminal]) -> Branching:
        """The node as data: see `Grown`."""
        end: list[Branching | Terminal] = [Terminal(np.array(self.weights), self.constant)]
        left, right = below or end * 2
        return Branching(self.number, self.threshold, left, right)


@dataclass(frozen=True, eq=False)
class _Search:
    """The search over all trees with the columns of `values`, rows x points."""

    values: Floats
    limits: Limits
    bias: Floats

    def best(self, r: Floats, rows: Any, above: tuple[Floats, ...]) -> _Best:
        """The best of all trees for these rows, where r are the residuals of the outputs."""
        tried = [self._with_column(number, r, rows, above) for number in range(self.values.shape[1])]
        return min(tried, key=lambda tree: tree.cost)

    def _with_column(self, number: int, r: Floats, rows: Any, above: tuple[Floats, ...]) -> _Best:
        """The best tree with this column at its root, split or not."""
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
        """The same root, split at the median of its column; None if no row is above the median."""
        ordered = np.sort(k)
        median = ordered[(len(k) - 1) // 2]
        if median == ordered[-1]:
            return None
        left = k <= median
        children = tuple(self.best(rest[side], rows[side], unsplit.weights) for side in (left, ~left))
        threshold = midway(median, ordered[ordered > median][0])
        cost = sum(child.cost for child in children)
        return _Best(unsplit.number, unsplit.weights, self.bias, cost, threshold, children)
