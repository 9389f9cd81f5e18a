"""Fitted trees: trees of Ukkonen's kind, with every number fitted to be more accurate with as few evaluations.

    trunk      nodes that every row passes: vectors of a reduced set, half as many as evaluations and at most 16
    branches   below the trunk, one node after another; each takes the vector that explains most of the residual on its
               path (orthogonal matching pursuit), out of support vectors and the vectors of a reduced set
    terminals  a linear model over *all* kernel values on the path, not a sum of scores fitted one by one

A node is split where this most improves the linear models of both sides; otherwise it has one child. A ridge
shrinks the model of each side to its parent's, which keeps weights small where rows are few or a column is nearly zero.
If there are few rows, synthetic rows are added: the tree is fitted to the machine's output, which can be evaluated
anywhere.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dormie.convert import read
from dormie.machine import Floats, Machine
from dormie.machine.rows import some, unmapped
from dormie.machine.typing import Integers
from dormie.methods.fitting import CannotFit, arithmetic
from dormie.methods.reduced_set.fitting import fit
from dormie.methods.tree.columns import Block, Columns
from dormie.methods.tree.growth import Branching, Frontier, Limits, Targets, Terminal, assembled, midway
from dormie.methods.tree.structure import Tree
from dormie.numerics.synthetic_rows import crossover
from dormie.progress import Progress

_ENOUGH_ROWS, _MOST_ROWS = 4000, 20_000
_REDUCED = 16  # size of the reduced set for branches, and the longest trunk
_MOST_POINTS = 1024  # support vectors offered to branches
_RIDGE = 3.0  # in rows: see `_ridged`
_CUTS = 16  # thresholds tried, at quantiles
_CLEARLY = 0.999  # relative to the error without a split
_DEPENDENT = 1e-6  # relative to a column's squares: a smaller part outside the span of the path is rounding


def fitted(
    machine: Any,
    rows: Any,
    *,
    leaf_rows: int = 30,
    height: int | None = None,
    evaluations: float | None = 10.0,
    seed: int = 0,
    outputs: Floats | None = None,
) -> Tree:
    """
    Grow a tree that approximates the outputs of a machine, with every number fitted.

    It is more accurate than the tree of `greedy` with as many kernel evaluations.

    Parameters
    ----------
    machine : estimator, path-like or Machine
        A machine, or a model that `dormie.read` reads.
    rows : array-like of shape (n_rows, n_features)
        Unlabelled rows to grow the tree on; at most 20,000 of them are used.
    leaf_rows : int, default=30
        The fewest rows on either side of a split, synthetic rows included.
    height : int or None, default=None
        The most nodes on a path; None for no limit.
    evaluations : float or None, default=10.0
        The most kernel evaluations of a row, on average over the rows; None for no limit.
    seed : int, default=0
        Seed for the rows used, the synthetic rows and the reduced set.
    outputs : ndarray of shape (n_rows, n_outputs) or None, default=None
        The machine's outputs for these rows, if they have been computed already.

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
    Every row first passes a trunk of reduced-set vectors (Burges & Schölkopf 1997). Below it, each node takes the
    vector that explains most of the residual on its path. A terminal holds a linear model over all kernel values on
    its path.

    Examples
    --------
    >>> import dormie
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.svm import SVC
    >>> X, y = make_moons(200, noise=0.1, random_state=0)
    >>> svc = SVC(C=10).fit(X, y)
    >>> tree = dormie.tree.fitted(svc, X, evaluations=6)
    >>> walk = tree.walk(dormie.read(svc).kernel, X)
    >>> bool(walk.evaluations.mean() <= 6)
    True
    >>> bool(((walk.values[:, 0] > 0) == svc.predict(X)).mean() > 0.95)
    True
    """
    machine, limits = read(machine), Limits(leaf_rows, height, evaluations)
    given = Targets.of(machine, rows, outputs).some(_MOST_ROWS, seed)
    targets = _with_synthetic_rows(machine, given, seed)
    trunk, others = _vectors(machine, targets, limits, seed)
    points = np.vstack([trunk, others]) if len(trunk) else others
    columns = Columns(machine.kernel, points, targets.rows, seed)
    with Progress() as progress:
        growth = _Growth(columns, *columns.moments(), targets.outputs, len(given.outputs), limits, progress)
        root = growth.grown(len(trunk))
    return assembled(root, points, machine.n_outputs)


def _with_synthetic_rows(machine: Machine, given: Targets, seed: int) -> Targets:
    """The rows given, filled up with synthetic rows if they are few vectors."""
    missing = _ENOUGH_ROWS - len(given.outputs)
    if missing <= 0 or machine.kernel.is_python:
        return given
    synthetic = unmapped(machine, crossover(given.rows, missing, np.random.default_rng(seed)))
    more = Targets.of(machine, synthetic)
    return Targets(np.vstack([given.rows, more.rows]), np.vstack([given.outputs, more.outputs]))


def _vectors(machine: Machine, targets: Targets, limits: Limits, seed: int) -> tuple[Any, Any]:
    """The vectors of the trunk, and those offered to branches."""
    most = np.argsort(-np.abs(machine.weights).sum(axis=1), kind="stable")[:_MOST_POINTS]
    points = some(machine.points, np.sort(most))
    if machine.kernel.is_python or not machine.kernel.positive_semidefinite:
        return points[:0], points
    trunk = int(min(limits.evaluations or np.inf, 2 * _REDUCED) / 2)
    trunk = min(trunk, limits.height or trunk)
    try:
        with arithmetic():
            reduced = {n: _reduced(machine, n, targets, seed) for n in {trunk, _REDUCED} if 0 < n < machine.n_points}
    except CannotFit:  # numbers too large, too small, or all equal: only support vectors are used
        reduced = {}
    return reduced.get(trunk, points[:0]), np.vstack([points, reduced.get(_REDUCED, points[:0])])


def _reduced(machine: Machine, n: int, targets: Targets, seed: int) -> Floats:
    """The n vectors of a reduced set."""
    return fit(machine, n, unmapped(machine, targets.rows), seed=seed, outputs=targets.outputs).points


@dataclass(eq=False)
class _Part:
    """The rows at one node: the kernel values on their path, their linear model, and the next vector."""

    rows: Integers
    values: Floats  # rows x (1 + depth), the first column 1
    centers: Floats  # (depth,): the means over all rows, which were subtracted from these values
    sizes: Floats  # (1 + depth): the variances over all rows; 1 for the first column
    theta: Floats  # (1 + depth) x c
    block: Block | None  # the columns of these rows, if X is held in memory
    share: float  # of all rows given
    number: int = -1  # the next vector
    k: Floats | None = None  # its column, until the part has been led on
    explains: float = 0.0  # decrease of the squared error by the next vector
    threshold: float = 0.0
    children: tuple[_Part, ...] = ()

    @property
    def gain(self) -> float:
        return self.explains / len(self.rows) if self.share > 0 else 0.0

    def data(self, below: list[Branching | Terminal]) -> Branching | Terminal:
        if not below:
            return Terminal(self.theta[1:], self.theta[0] - self.centers @ self.theta[1:])
        return Branching(self.number, self.threshold, below[0], below[-1])


@dataclass(frozen=True, eq=False)
class _Growth:
    """The state of growing: columns, outputs, and limits. Evaluations are counted on the first `counted` rows."""

    columns: Columns
    centers: Floats  # the mean of every column
    sizes: Floats  # the variance of every column
    outputs: Floats
    counted: int
    limits: Limits
    progress: Progress

    def grown(self, trunk: int) -> _Part:
        """The root of a tree in which every row passes the first `trunk` points."""
        everything = np.arange(len(self.outputs))
        start = np.vstack([self.outputs.mean(axis=0), np.zeros((trunk, self.outputs.shape[1]))])
        on_path = self.columns.kernel.matrix(self.columns.rows, some(self.columns.points, np.arange(trunk)))
        centers, sizes = self.centers[:trunk], np.append(1.0, self.sizes[:trunk])
        values = np.column_stack([np.ones(len(everything)), on_path - centers])
        theta = _near(values, self.outputs, start, sizes)
        top = _Part(everything, values, centers, sizes, theta, self.columns.whole(), 1.0)
        self._spread(top, trunk)
        return self._on_trunk(top, trunk)

    def _on_trunk(self, top: _Part, trunk: int) -> _Part:
        """The nodes of the trunk, above the part that branches."""
        for number in reversed(range(trunk)):
            top = replace(top, number=number, children=(top,))
        return top

    def _spread(self, top: _Part, spent: int) -> None:
        """Grow the branches, the most profitable part first."""
        frontier: Frontier[_Part] = Frontier(float(spent), self.limits.evaluations)
        frontier.add(self._with_next(top))
        for count, part in enumerate(frontier):
            self.progress.say(f"growing a tree: {spent + count:,} nodes")
            part.children = self._led_on(part)
            for child in part.children:
                frontier.add(self._with_next(child))

    def _with_next(self, part: _Part) -> _Part | None:
        """The part with the vector that explains most of its residual; None if the path ends here."""
        depth = len(part.theta) - 1
        if depth == self.limits.height or not len(self.columns.points):
            return None
        block = self.columns.block(part.rows) if part.block is None else part.block
        error = self.outputs[part.rows] - part.values @ part.theta
        centered, sizes = block.values - self.centers[block.numbers], self.sizes[block.numbers]
        column, part.explains = _best_candidate(centered, sizes, part.values, error)
        part.number, part.k = int(block.numbers[column]), block.values[:, column].copy()
        return part

    def _led_on(self, part: _Part) -> tuple[_Part, ...]:
        """The children after the next vector: both sides of a threshold on its kernel value, or one child, unsplit."""
        assert part.k is not None
        k = part.k
        values, outputs = np.column_stack([part.values, k - self.centers[part.number]]), self.outputs[part.rows]
        sizes = np.append(part.sizes, self.sizes[part.number])
        theta = _near(values, outputs, np.vstack([part.theta, np.zeros((1, outputs.shape[1]))]), sizes)
        order = np.argsort(k, kind="stable")
        values_and_error = np.column_stack([values, outputs - values @ theta])[order]
        at = _best_split(k[order], values_and_error, sizes, self.limits.leaf_rows)
        sides = [order] if at is None else [order[:at], order[at:]]
        part.threshold = 0.0 if at is None else midway(*k[order[at - 1 : at + 1]])
        children = tuple(self._child(part, values, sizes, theta, side) for side in sides)
        part.block, part.k = None, None
        return children

    def _child(self, part: _Part, values: Floats, sizes: Floats, theta: Floats, side: Integers) -> _Part:
        """The part on one side of a split, with its own model."""
        rows = part.rows[side]
        model = theta if len(side) == len(values) else _near(values[side], self.outputs[rows], theta, sizes)
        block = None if part.block is None else part.block.some(side)
        centers = np.append(part.centers, self.centers[part.number])
        return _Part(
            rows, values[side], centers, sizes, model, block, np.count_nonzero(rows < self.counted) / self.counted
        )


def _near(values: Floats, outputs: Floats, theta: Floats, sizes: Floats) -> Floats:
    """The linear model of least squared error plus a ridge around `theta`."""
    gram, slope = values.T @ values, values.T @ (outputs - values @ theta)
    return np.asarray(theta + np.linalg.solve(_ridged(gram, sizes), slope))


def _ridged(gram: Floats, sizes: Floats) -> Floats:
    """The Gram matrix plus `_RIDGE` pseudo-rows for each column, with a value of its usual size and residual 0."""
    least = np.finfo(np.float64).eps * np.diagonal(gram) + np.finfo(np.float64).tiny
    return np.asarray(gram + np.diag(_RIDGE * sizes + least))


def _best_candidate(candidates: Floats, sizes: Floats, values: Floats, error: Floats) -> tuple[int, float]:
    """The candidate column that most reduces the squared error next to the present columns, and the reduction."""
    q = np.linalg.qr(values)[0]
    error = error - q @ (q.T @ error)
    squares = np.einsum("ij,ij->j", candidates, candidates)
    new = squares - np.square(q.T @ candidates).sum(axis=0)
    usable = new > _DEPENDENT * squares
    explained = np.square(candidates.T @ error).sum(axis=1) / np.where(usable, new + _RIDGE * sizes, 1.0)
    best = int(np.argmax(np.where(usable, explained, 0.0)))
    return best, float(explained[best]) if usable[best] else 0.0


def _best_split(k: Floats, values_and_error: Floats, sizes: Floats, least: int) -> int | None:
    """The position to split rows sorted by k at which the models of both sides have the least error; None: no split."""
    n = len(k)
    between = np.flatnonzero(k[1:] > k[:-1]) + 1
    between = between[(between >= least) & (between <= n - least)]
    if not len(between):
        return None
    tried = between[np.unique(np.searchsorted(between, np.linspace(between[0], between[-1], _CUTS)))]
    grams = np.cumsum([part.T @ part for part in np.split(values_and_error, tried)], axis=0)
    whole, width = grams[-1], len(sizes)
    cost = [_error_of(gram, sizes) + _error_of(whole - gram, sizes) for gram in grams[:-1]]
    best = int(np.argmin(cost))
    return int(tried[best]) if cost[best] < _CLEARLY * np.trace(whole[width:, width:]) else None


def _error_of(gram: Floats, sizes: Floats) -> float:
    """The squared error of the best ridged update of the model, from the Gram matrix of values and error."""
    width = len(sizes)
    a, b, whole = gram[:width, :width], gram[:width, width:], float(np.trace(gram[width:, width:]))
    step = np.linalg.solve(_ridged(a, sizes), b)
    return whole - float(np.sum(step * (2 * b - a @ step)))
