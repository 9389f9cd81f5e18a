"""What all tree algorithms share: which node to split next, when to stop, and how to assemble the `Tree`.

The node with the largest gain for an evaluation is split next, so that a budget of evaluations is spent where it helps
most. Without a budget the order makes no difference.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from dormie.machine import Floats, Machine
from dormie.machine.rows import check_rows, mapped, require_finite_vectors, some
from dormie.methods.tree.structure import Tree
from dormie.numerics.evaluate import FullSum


@dataclass(frozen=True)
class Limits:
    """Where growing stops: the rows of a leaf, the nodes of a path, and the mean evaluations of a row."""

    leaf_rows: int
    height: int | None
    evaluations: float | None

    def __post_init__(self) -> None:
        for name in ("leaf_rows", "height"):
            value = getattr(self, name)
            if value is None and name == "height":
                continue
            if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
                raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}")
        if self.evaluations is None:
            return
        if not isinstance(self.evaluations, Real) or isinstance(self.evaluations, bool) or not self.evaluations >= 1:
            raise ValueError(
                f"evaluations must be a number of at least 1, or None for no limit; got {self.evaluations!r}"
            )


@dataclass(frozen=True, eq=False)
class Targets:
    """Rows in the coordinates of the machine's points, and the machine's outputs for them."""

    rows: Any
    outputs: Floats

    @classmethod
    def of(cls, machine: Machine, rows: Any, outputs: Floats | None = None) -> Targets:
        """Check rows as users pass them, and evaluate the machine on them unless `outputs` are given."""
        if machine.has_sparse_points:
            raise ValueError("a tree takes dense points, and those of the machine are sparse: pass points.toarray()")
        rows = check_rows(rows, machine)
        require_finite_vectors(rows, machine)
        if not rows.shape[0]:
            raise ValueError("there are no rows to grow a tree on: pass some like those to come, labels are not needed")
        outputs = FullSum(machine).outputs(rows) if outputs is None else outputs
        if not np.isfinite(outputs).all():
            row = int(np.argwhere(~np.isfinite(outputs))[0, 0])
            raise ValueError(f"row {row}: the machine's output is {outputs[row]}; a tree grows on finite ones: drop it")
        return cls(mapped(machine, rows) if machine.of_vectors else rows, outputs)

    def some(self, most: int, seed: int) -> Targets:
        """At most `most` of the rows, drawn at random."""
        if len(self.outputs) <= most:
            return self
        few = np.sort(np.random.default_rng(seed).choice(len(self.outputs), most, replace=False))
        return Targets(some(self.rows, few), self.outputs[few])


class Grown(Protocol):
    """A node of a grown tree."""

    children: tuple[Any, ...]  # none, one if unsplit, or left and right

    def data(self, below: list[Branching | Terminal]) -> Branching | Terminal:
        """The node as data, given its children as data."""


class Growing(Grown, Protocol):
    """A node that may be split."""

    @property
    def share(self) -> float:
        """The share of all rows that reach the node: the cost of another evaluation here."""

    @property
    def gain(self) -> float:
        """The decrease of the squared error for each row of the node if it is split; 0 if that changes nothing."""


N = TypeVar("N", bound=Growing)


class Frontier(Generic[N]):
    """A priority queue of nodes to split, largest gain first, within a budget of evaluations."""

    def __init__(self, spent: float, evaluations: float | None) -> None:
        self._spent = spent
        self._most = np.inf if evaluations is None else float(evaluations) * (1 + 1e-12)
        self._waiting: list[tuple[float, int, N]] = []
        self._count = 0

    def add(self, node: N | None) -> None:
        """Queue a node, unless it is None or splitting it changes nothing."""
        if node is not None and node.gain:
            heapq.heappush(self._waiting, (-node.gain, self._count, node))
            self._count += 1

    def __iter__(self) -> Iterator[N]:
        """Yield nodes to split; nodes that exceed the budget are skipped."""
        while self._waiting:
            *_, node = heapq.heappop(self._waiting)
            if self._spent + node.share <= self._most:
                self._spent += node.share
                yield node


@dataclass(eq=False)
class Terminal:
    """The end of a path: weights of the kernel values on it (depth x c), and constants."""

    weights: Floats
    constant: Floats


@dataclass(eq=False)
class Branching:
    """A node: the index of its point, its threshold and children. Equal children mean that the node is not split."""

    number: int
    threshold: float
    left: Branching | Terminal
    right: Branching | Terminal


def constant(machine: Machine) -> Tree:
    """The tree of a machine without support vectors."""
    nothing = np.empty((0, machine.n_outputs))
    return Tree(
        machine.points[:0],
        np.empty(0),
        np.empty((0, 2), dtype=np.int64),
        np.zeros(2, dtype=np.int64),
        nothing,
        machine.bias[None],
    )


def assembled(root: Grown, points: Any, outputs: int) -> Tree:
    """The tree with this root; its nodes refer to `points` by index."""
    return numbered(_as_data(root), points, outputs)


def _as_data(root: Grown) -> Branching | Terminal:
    """The nodes as data, children before parents."""
    order, waiting = [], [root]
    while waiting:
        order.append(node := waiting.pop())
        waiting += node.children
    made: dict[int, Branching | Terminal] = {}
    for node in reversed(order):
        made[id(node)] = node.data([made.pop(id(child)) for child in node.children])
    return made[id(root)]


def numbered(root: Branching | Terminal, points: Any, outputs: int) -> Tree:
    """The tree with this root as data, its nodes and terminals numbered in depth-first order, left before right."""
    branchings: list[Branching] = []
    terminals: list[Terminal] = []
    children: list[list[int]] = []
    waiting: list[tuple[Branching | Terminal, list[int], slice]] = [(root, [0], slice(1))]  # and where its number goes
    while waiting:
        at, pair, side = waiting.pop()
        width = len(pair[side])
        if isinstance(at, Terminal):
            terminals.append(at)
            pair[side] = [~(len(terminals) - 1)] * width
            continue
        pair[side] = [len(branchings)] * width
        branchings.append(at)
        children.append([0, 0])
        both = [(at.left, slice(2))] if at.left is at.right else [(at.right, slice(1, 2)), (at.left, slice(1))]
        waiting += [(child, children[-1], where) for child, where in both]
    return Tree(
        some(points, np.array([branching.number for branching in branchings], dtype=np.int64)),
        np.array([branching.threshold for branching in branchings]),
        np.array(children, dtype=np.int64).reshape(-1, 2),
        np.cumsum([0, *(len(terminal.weights) for terminal in terminals)]),
        np.concatenate([np.empty((0, outputs)), *(terminal.weights for terminal in terminals)]),
        np.array([terminal.constant for terminal in terminals]).reshape(-1, outputs),
    )


def midway(a: float, b: float) -> float:
    """A threshold between two different values, at least the lower one and below the higher one."""
    low, high = min(a, b), max(a, b)
    middle = low / 2 + high / 2
    return float(middle if low <= middle < high else low)
