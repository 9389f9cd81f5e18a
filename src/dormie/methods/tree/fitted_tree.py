"""Better trees: the same kind of tree as Ukkonen's, every number of it fitted to do more with as few evaluations.

    trunk      vectors of a reduced set, as many as half the evaluations (16 at most), that every row meets
    branches   from there on, one vector after another, each the one that explains most of what the way so far does not
               (orthogonal matching pursuit), out of support vectors and the vectors of a reduced set
    terminals  a linear model over *all* kernel values of the way, not the sum of scores that were fitted one by one

A node is split where that helps such models on both sides most, and else leads on unsplit. Fits of a part are held
near that of the whole (a ridge around it), so that few rows, or values that are small there and large elsewhere, do not
make for large weights. Where there are few rows, more are made up from them: what a tree is fitted to, the machine's
output, is known anywhere.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dormie.convert import read
from dormie.machine import Floats, Machine
from dormie.machine.rows import some, unmapped
from dormie.methods.reduced_set.fitting import fit
from dormie.methods.tree.columns import Block, Columns
from dormie.methods.tree.growth import Branching, Frontier, Limits, Targets, Terminal, assembled, midway
from dormie.methods.tree.structure import Integers, Tree
from dormie.numerics.synthetic_rows import crossover
from dormie.progress import Progress

_ENOUGH_ROWS, _MOST_ROWS = 4000, 20_000
_REDUCED = 16  # vectors of the reduced set whose vectors branches may use, and the most of a trunk
_MOST_POINTS = 1024  # support vectors that branches may use
_RIDGE = 3.0  # rows
_CUTS = 16  # thresholds tried, at quantiles
_CLEARLY = 0.999  # of the error without a split
_DEPENDENT = 1e-6  # of a column's squares: what is left of it beside the way's own is rounding


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
    """A tree that estimates the outputs of a machine, or of a model that `dormie.read` reads, grown on unlabelled rows.

    leaf_rows    a split leaves at least so many rows, made-up ones included, on either side
    height       the most nodes on a path
    evaluations  the most kernel evaluations that a row takes on average over the rows given (20,000 of them, if more)
    outputs      of the machine for these rows, where they are known already
    """
    machine, limits = read(machine), Limits(leaf_rows, height, evaluations)
    given = Targets.of(machine, rows, outputs).some(_MOST_ROWS, seed)
    targets = _with_made_up_rows(machine, given, seed)
    trunk, others = _vectors(machine, targets, limits, seed)
    points = np.vstack([trunk, others]) if len(trunk) else others
    columns = Columns(machine.kernel, points, targets.rows, seed)
    with Progress() as progress:
        growth = _Growth(columns, *columns.moments(), targets.outputs, len(given.outputs), limits, progress)
        root = growth.grown(len(trunk))
    return assembled(root, points, machine.n_outputs)


def _with_made_up_rows(machine: Machine, given: Targets, seed: int) -> Targets:
    missing = _ENOUGH_ROWS - len(given.outputs)
    if missing <= 0 or machine.kernel.is_python:
        return given
    made_up = unmapped(machine, crossover(given.rows, missing, np.random.default_rng(seed)))
    more = Targets.of(machine, made_up)
    return Targets(np.vstack([given.rows, more.rows]), np.vstack([given.outputs, more.outputs]))


def _vectors(machine: Machine, targets: Targets, limits: Limits, seed: int) -> tuple[Any, Any]:
    """Those of the trunk, and those that branches may use."""
    most = np.argsort(-np.abs(machine.weights).sum(axis=1), kind="stable")[:_MOST_POINTS]
    points = some(machine.points, np.sort(most))
    if not machine.kernel.certifiable:
        return points[:0], points
    trunk = int(min(limits.evaluations or np.inf, 2 * _REDUCED) / 2)
    trunk = min(trunk, limits.height or trunk)
    try:
        reduced = {n: _reduced(machine, n, targets, seed) for n in {trunk, _REDUCED} if 0 < n < machine.n_points}
    except ValueError:  # numbers too large, too small, or all the same: support vectors have to do
        reduced = {}
    return reduced.get(trunk, points[:0]), np.vstack([points, reduced.get(_REDUCED, points[:0])])


def _reduced(machine: Machine, n: int, targets: Targets, seed: int) -> Floats:
    return fit(machine, n, unmapped(machine, targets.rows), seed=seed, outputs=targets.outputs).points


@dataclass(eq=False)
class _Part:
    """Rows that have come the same way: the values met on it, the model they have, and the vector that is next."""

    rows: Integers
    values: Floats  # rows x (1 + depth), the first column 1
    centers: Floats  # (depth,): what was taken off these values, their means over all rows
    sizes: Floats  # (1 + depth): their mean squares over all rows
    theta: Floats  # (1 + depth) x c
    block: Block | None  # the columns of these rows, where they are held
    share: float
    number: int = -1  # the next vector of the way
    k: Floats | None = None  # its column, until the way has led on
    explains: float = 0.0  # of the squared error
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
    """Columns, outputs to explain, of which rows the evaluations count (the first), and where to stop."""

    columns: Columns
    centers: Floats  # means of all columns
    sizes: Floats  # and their mean squares around those
    outputs: Floats
    counted: int
    limits: Limits
    progress: Progress

    def grown(self, trunk: int) -> _Part:
        """The root of a tree whose first `trunk` points every row meets."""
        everything = np.arange(len(self.outputs))
        start = np.vstack([self.outputs.mean(axis=0), np.zeros((trunk, self.outputs.shape[1]))])
        met = self.columns.kernel.matrix(self.columns.rows, some(self.columns.points, np.arange(trunk)))
        centers, sizes = self.centers[:trunk], np.append(1.0, self.sizes[:trunk])
        values = np.column_stack([np.ones(len(everything)), met - centers])
        theta = _near(values, self.outputs, start, sizes)
        top = _Part(everything, values, centers, sizes, theta, self.columns.whole(), 1.0)
        self._spread(top, trunk)
        return self._on_trunk(top, trunk)

    def _on_trunk(self, top: _Part, trunk: int) -> _Part:
        """The part that branches, below a node for each vector of the trunk."""
        for number in reversed(range(trunk)):
            top = replace(top, number=number, children=(top,))
        return top

    def _spread(self, top: _Part, spent: int) -> None:
        frontier: Frontier[_Part] = Frontier(float(spent), self.limits.evaluations)
        frontier.add(self._with_next(top))
        for count, part in enumerate(frontier):
            self.progress.say(f"growing a tree: {spent + count:,} nodes")
            part.children = self._led_on(part)
            for child in part.children:
                frontier.add(self._with_next(child))

    def _with_next(self, part: _Part) -> _Part | None:
        """The part with the vector that would explain most of what is left, or None where the way ends."""
        depth = len(part.theta) - 1
        if depth == self.limits.height or not len(self.columns.points):
            return None
        block = self.columns.block(part.rows) if part.block is None else part.block
        error = self.outputs[part.rows] - part.values @ part.theta
        centered, sizes = block.values - self.centers[block.numbers], self.sizes[block.numbers]
        column, part.explains = _most_telling(centered, sizes, part.values, error)
        part.number, part.k = int(block.numbers[column]), block.values[:, column].copy()
        return part

    def _led_on(self, part: _Part) -> tuple[_Part, ...]:
        """After one more vector: left and right of a threshold on it, or unsplit."""
        assert part.k is not None
        k = part.k
        values, outputs = np.column_stack([part.values, k - self.centers[part.number]]), self.outputs[part.rows]
        sizes = np.append(part.sizes, self.sizes[part.number])
        theta = _near(values, outputs, np.vstack([part.theta, np.zeros((1, outputs.shape[1]))]), sizes)
        order = np.argsort(k, kind="stable")
        rest = np.column_stack([values, outputs - values @ theta])[order]
        at = _best_place(k[order], rest, sizes, self.limits.leaf_rows)
        sides = [order] if at is None else [order[:at], order[at:]]
        part.threshold = 0.0 if at is None else midway(*k[order[at - 1 : at + 1]])
        children = tuple(self._child(part, values, sizes, theta, side) for side in sides)
        part.block, part.k = None, None
        return children

    def _child(self, part: _Part, values: Floats, sizes: Floats, theta: Floats, side: Integers) -> _Part:
        rows = part.rows[side]
        model = theta if len(side) == len(values) else _near(values[side], self.outputs[rows], theta, sizes)
        block = None if part.block is None else part.block.some(side)
        centers = np.append(part.centers, self.centers[part.number])
        return _Part(
            rows, values[side], centers, sizes, model, block, np.count_nonzero(rows < self.counted) / self.counted
        )


def _near(values: Floats, outputs: Floats, theta: Floats, sizes: Floats) -> Floats:
    """The linear model of least squared error and not far from `theta`."""
    gram, slope = values.T @ values, values.T @ (outputs - values @ theta)
    return np.asarray(theta + np.linalg.solve(_ridged(gram, sizes), slope))


def _ridged(gram: Floats, sizes: Floats) -> Floats:
    """As if there were `_RIDGE` more rows with each value alone, at its usual size, and nothing to explain."""
    least = np.finfo(np.float64).eps * np.diagonal(gram) + np.finfo(np.float64).tiny
    return np.asarray(gram + np.diag(_RIDGE * sizes + least))


def _most_telling(candidates: Floats, sizes: Floats, values: Floats, error: Floats) -> tuple[int, float]:
    """The candidate that explains most of an error beside the values there are, and how much (squared)."""
    q = np.linalg.qr(values)[0]
    error = error - q @ (q.T @ error)
    squares = np.einsum("ij,ij->j", candidates, candidates)
    new = squares - np.square(q.T @ candidates).sum(axis=0)
    usable = new > _DEPENDENT * squares
    explained = np.square(candidates.T @ error).sum(axis=1) / np.where(usable, new + _RIDGE * sizes, 1.0)
    best = int(np.argmax(np.where(usable, explained, 0.0)))
    return best, float(explained[best]) if usable[best] else 0.0


def _best_place(k: Floats, values_and_error: Floats, sizes: Floats, least: int) -> int | None:
    """Where to split rows in the order of k, so that models of the two sides leave the least; None: nowhere."""
    n = len(k)
    between = np.flatnonzero(k[1:] > k[:-1]) + 1
    between = between[(between >= least) & (between <= n - least)]
    if not len(between):
        return None
    tried = between[np.unique(np.searchsorted(between, np.linspace(between[0], between[-1], _CUTS)))]
    grams = np.cumsum([part.T @ part for part in np.split(values_and_error, tried)], axis=0)
    whole, width = grams[-1], len(sizes)
    cost = [_left_over(gram, sizes) + _left_over(whole - gram, sizes) for gram in grams[:-1]]
    best = int(np.argmin(cost))
    return int(tried[best]) if cost[best] < _CLEARLY * np.trace(whole[width:, width:]) else None


def _left_over(gram: Floats, sizes: Floats) -> float:
    """The squared error that the best model near the present one leaves, from the products of values and error."""
    width = len(sizes)
    a, b, whole = gram[:width, :width], gram[:width, width:], float(np.trace(gram[width:, width:]))
    step = np.linalg.solve(_ridged(a, sizes), b)
    return whole - float(np.sum(step * (2 * b - a @ step)))
