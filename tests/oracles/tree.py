"""Slow twins of Ukkonen (2010), straight from the paper's pseudo-code: plain loops over rows, columns and thresholds.

X_ij = K(x_i, s_j) is given, and r, what is to be explained. The greedy tree has the weights a_j, or scales columns as
in section 4.3, so that the weights make no difference; a column that is next to nothing on some rows is not scaled up
to explain them. Where the paper draws a random element, `first(path, rows)` names the row that is drawn. The exact tree
is the best of all balanced trees, written down one after the other, each measured as a whole and in rational numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

First = Callable[[tuple[int, ...], int], Sequence[int]]


@dataclass
class Node:
    """A node of the paper's tree: column, scale, threshold on the score, the rows that come here."""

    column: int
    scale: float
    rows: list[int]
    threshold: float = 0.0
    left: Node | None = None
    right: Node | None = None


class Builder:
    """Algorithms 2 to 5 on a matrix given as a list of lists."""

    def __init__(self, X: list[list[float]], leaf_rows: int, first: First, weights: list[float] | None = None) -> None:
        self.X = X
        self.weights = weights  # None: columns are scaled
        self.leaf_rows = leaf_rows
        self.first = first
        self.close_calls = 0  # choices that rounding may make otherwise

    def tree(self, r: list[float]) -> Node:
        rows = list(range(len(self.X)))
        self.whole = sum(value**2 for value in r)
        column, scale, _ = self.best_column(rows, dict(enumerate(r)))
        return self.build(rows, self.residual(rows, dict(enumerate(r)), column, scale), column, scale, ())

    def build(self, rows: list[int], r: dict[int, float], j: int, c: float, path: tuple[int, ...]) -> Node:
        """Algorithm 2: rows in the order of their scores, as the drawn row is named by its place in that order."""
        rows = sorted(rows, key=lambda i: c * self.X[i][j])
        node = Node(j, c, rows)
        explained = sum(r[i] ** 2 for i in rows) <= 1e-20 * self.whole
        split = None if len(rows) <= self.leaf_rows or explained else self.find_optimal_split(rows, r, j, c, path)
        if split is None:
            return node
        node.threshold, (jl, cl), (jr, cr) = split
        left, right = self.sides(rows, j, c, node.threshold)
        node.left = self.build(left, self.residual(left, r, jl, cl), jl, cl, (*path, 0))
        node.right = self.build(right, self.residual(right, r, jr, cr), jr, cr, (*path, 1))
        return node

    def find_optimal_split(
        self, rows: list[int], r: dict[int, float], j: int, c: float, path: tuple[int, ...]
    ) -> tuple[float, tuple[int, float], tuple[int, float]] | None:
        """Algorithm 3, the best of several random first thresholds."""
        scores = [c * self.X[i][j] for i in rows]
        if scores[0] == scores[-1]:
            return None
        below = max(score for score in scores if score < scores[-1])
        found = [
            self.alternated(rows, r, j, c, t)
            for t in sorted({min(scores[at], below) for at in self.first(path, len(rows))})
        ]
        cost, split = found[self.first_of_least([cost for cost, _ in found], rows, r)]
        before = sum(r[i] ** 2 for i in rows)
        return split if abs(cost - before) > 1e-12 * before else None  # no use where it changes nothing

    def alternated(
        self, rows: list[int], r: dict[int, float], j: int, c: float, t: float
    ) -> tuple[float, tuple[float, tuple[int, float], tuple[int, float]]]:
        """The loop of Algorithm 3, from one first threshold."""
        low, high, cost = self.optimize_columns(rows, r, j, c, t)
        while True:
            new_t = self.optimize_threshold(rows, r, j, c, low, high)
            new = self.optimize_columns(rows, r, j, c, new_t)
            if not new[2] < cost - 1e-12 * sum(r[i] ** 2 for i in rows):
                return cost, (t, low, high)
            t, (low, high, cost) = new_t, new

    def first_of_least(self, costs: list[float], rows: list[int], r: dict[int, float]) -> int:
        """The first that costs no more than the least, but for rounding."""
        whole, best = sum(r[i] ** 2 for i in rows), min(costs)
        self.close_calls += any(best + 1e-14 * whole < cost < best + 1e-10 * whole for cost in costs)
        return next(at for at, cost in enumerate(costs) if cost <= best + 1e-12 * whole)

    def optimize_columns(
        self, rows: list[int], r: dict[int, float], j: int, c: float, t: float
    ) -> tuple[tuple[int, float], tuple[int, float], float]:
        """Algorithm 4."""
        left, right = self.sides(rows, j, c, t)
        jl, cl, left_cost = self.best_column(left, r)
        jr, cr, right_cost = self.best_column(right, r)
        return (jl, cl), (jr, cr), left_cost + right_cost

    def optimize_threshold(
        self, rows: list[int], r: dict[int, float], j: int, c: float, low: tuple[int, float], high: tuple[int, float]
    ) -> float:
        """Algorithm 5: every row's score is tried as threshold; both sides must have rows."""
        tried, costs = [], []
        for h in rows:
            t = c * self.X[h][j]
            left, right = self.sides(rows, j, c, t)
            if right:
                tried.append(t)
                costs.append(self.cost(left, r, *low) + self.cost(right, r, *high))
        return tried[self.first_of_least(costs, rows, r)]

    def sides(self, rows: list[int], j: int, c: float, t: float) -> tuple[list[int], list[int]]:
        return [i for i in rows if c * self.X[i][j] <= t], [i for i in rows if c * self.X[i][j] > t]

    def best_column(self, rows: list[int], r: dict[int, float]) -> tuple[int, float, float]:
        """The column and scale of least error on these rows."""
        found = []
        squares = [sum(self.X[i][j] ** 2 for i in rows) for j in range(len(self.X[0]))]
        for j, square in enumerate(squares):
            scale = sum(self.X[i][j] * r[i] for i in rows) / square if square > 1e-12 * max(squares) else 0.0
            c = scale if self.weights is None else self.weights[j]
            found.append((j, c, self.cost(rows, r, j, c)))
        return found[self.first_of_least([cost for *_, cost in found], rows, r)]

    def cost(self, rows: list[int], r: dict[int, float], j: int, c: float) -> float:
        return sum((c * self.X[i][j] - r[i]) ** 2 for i in rows)

    def residual(self, rows: list[int], r: dict[int, float], j: int, c: float) -> dict[int, float]:
        return {i: r[i] - c * self.X[i][j] for i in rows}


@dataclass(frozen=True)
class Balanced:
    """A balanced tree: the column of its root and, if that is split, its threshold and both parts."""

    column: int
    threshold: float = 0.0
    parts: tuple[Balanced, Balanced] | None = None


def least_balanced_error(
    X: list[list[float]], r: list[list[float]], height: int, weights: list[list[float]] | None
) -> float:
    """The least squared error of all balanced trees; r: rows x outputs; weights: columns x outputs, None: fitted."""

    @cache
    def of_leaf(rows: tuple[int, ...], path: tuple[int, ...]) -> Fraction:
        columns = [[Fraction(X[i][j]) for i in rows] for j in path]
        total = Fraction(0)
        for output in range(len(r[0])):
            rest = [Fraction(r[i][output]) for i in rows]
            if weights is None:
                rest = _unexplained(rest, columns)
            else:
                for j, column in zip(path, columns, strict=True):
                    rest = _less(rest, Fraction(weights[j][output]), column)
            total += _product(rest, rest)
        return total

    def of_tree(tree: Balanced) -> Fraction:
        leaves: dict[tuple[tuple[int, ...], tuple[bool, ...]], list[int]] = {}
        for i in range(len(X)):
            leaves.setdefault(_way(tree, X[i]), []).append(i)
        return sum((of_leaf(tuple(rows), path) for (path, _), rows in leaves.items()), Fraction(0))

    return float(min(of_tree(tree) for tree in balanced_trees(X, list(range(len(X))), height)))


def balanced_trees(X: list[list[float]], rows: list[int], height: int) -> Iterator[Balanced]:
    """Every tree that splits rows where at least half of them, and as few as can be, go left; or leaves them be."""
    for column in range(len(X[0])):
        yield Balanced(column)
        values = [X[i][column] for i in rows]
        threshold = min(t for t in values if 2 * sum(value <= t for value in values) >= len(rows))
        left, right = [i for i in rows if X[i][column] <= threshold], [i for i in rows if X[i][column] > threshold]
        if height > 1 and right:
            others = list(balanced_trees(X, right, height - 1))
            for one in balanced_trees(X, left, height - 1):
                yield from (Balanced(column, threshold, (one, other)) for other in others)


def _way(tree: Balanced, x: list[float]) -> tuple[tuple[int, ...], tuple[bool, ...]]:
    """The columns that a row meets, and the sides it takes."""
    if tree.parts is None:
        return (tree.column,), ()
    side = x[tree.column] > tree.threshold
    columns, sides = _way(tree.parts[side], x)
    return (tree.column, *columns), (side, *sides)


def _unexplained(rest: list[Fraction], columns: list[list[Fraction]]) -> list[Fraction]:
    """What no combination of the columns explains, by the Gram-Schmidt process."""
    directions: list[list[Fraction]] = []
    for column in columns:
        for direction in directions:
            column = _less(column, _product(column, direction) / _product(direction, direction), direction)
        if any(column):
            directions.append(column)
            rest = _less(rest, _product(rest, column) / _product(column, column), column)
    return rest


def _less(a: list[Fraction], factor: Fraction, b: list[Fraction]) -> list[Fraction]:
    return [x - factor * y for x, y in zip(a, b, strict=True)]


def _product(a: list[Fraction], b: list[Fraction]) -> Fraction:
    return sum((x * y for x, y in zip(a, b, strict=True)), Fraction(0))
