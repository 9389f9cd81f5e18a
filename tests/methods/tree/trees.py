"""Trees to try things on, of any shape, with thresholds among kernel values of rows; and a walk by the definition."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from dormie.machine import Affine, Floats, Machine
from dormie.machine.kernels import Kernel
from dormie.machine.rules import Value
from dormie.methods.tree import Tree
from tests.properties.strategies import KERNELS, Generator, machine


def tree_of(*arrays: Any) -> Tree:
    """A tree of lists and numbers, in the order of its fields."""
    return Tree(*arrays)


def random_tree(rng: Generator, kernel: Kernel, points: Any, rows: Any, nodes: int, outputs: int) -> Tree:
    """A tree over some of the points, grown at random places; rows (mapped) say where thresholds make a difference."""
    children = random_children(rng, nodes)
    depths = depths_of(children)
    chosen = rng.integers(0, len(points), size=nodes)
    mine = points[chosen] if isinstance(points, np.ndarray) else [points[i] for i in chosen]
    return Tree(
        points=mine,
        thresholds=_thresholds(rng, kernel, mine, children, rows),
        children=children,
        offsets=np.concatenate([[0], np.cumsum(depths)]),
        weights=rng.normal(size=(sum(depths), outputs)),
        constants=rng.normal(size=(len(depths), outputs)),
    )


def _thresholds(rng: Generator, kernel: Kernel, points: Any, children: Any, rows: Any) -> Floats:
    """At each node the kernel value of one of the rows that come there, or near it."""
    thresholds, at = np.zeros(len(children)), {0: np.arange(len(rows))}
    for node, (left, right) in enumerate(children.tolist()):
        with np.errstate(all="ignore"):
            k = np.clip(np.nan_to_num(kernel.matrix(rows, points[node : node + 1])[:, 0]), -1e300, 1e300)
        here = at[node]
        if len(here):
            thresholds[node] = np.sort(k[here])[rng.integers(len(here))] * rng.choice([1.0, 1.001])
        at[left], at[right] = here[k[here] <= thresholds[node]], here[k[here] > thresholds[node]]
    return thresholds


def random_children(rng: Generator, nodes: int) -> Any:
    """Every node at a free place of the tree so far, some without a split, terminals in any order."""
    children = np.full((nodes, 2), nodes, dtype=np.int64)  # `nodes`: free
    for node in range(1, nodes):
        children[tuple(rng.choice(np.argwhere(children[:node] == nodes)))] = node
    unsplit = (children == nodes).all(axis=1) & (rng.random(nodes) < 0.3)
    free = [(node, side) for node, side in np.argwhere(children == nodes) if not (unsplit[node] and side)]
    for terminal, place in enumerate(rng.permutation(len(free))):
        children[free[place]] = ~terminal
    children[unsplit, 1] = children[unsplit, 0]
    return children


def depths_of(children: Any) -> list[int]:
    """How many nodes lead to each terminal."""
    depths = {0: 0} if len(children) else {~0: 0}
    for node, pair in enumerate(children.tolist()):
        depths.update((child, depths[node] + 1) for child in pair)
    return [depths[~t] for t in range(-min(depths))]


def walked(tree: Tree, kernel: Kernel, row: Any) -> tuple[list[float], int, int]:
    """The values of one row (a batch of one), its terminal and how many kernel values that took, step by step."""
    child, met = tree.root, []
    while child >= 0:
        k = float(kernel.matrix(row, tree.points[child : child + 1])[0, 0])
        met.append(k)
        child = int(tree.children[child, 0 if k <= tree.thresholds[child] else 1])
    weights = tree.weights[tree.offsets[~child] : tree.offsets[~child + 1]]
    values = [
        sum(w * k for w, k in zip(weights[:, o].tolist(), met, strict=True)) + float(tree.constants[~child, o])
        for o in range(tree.n_outputs)
    ]
    return values, ~child, len(met)


def small_tree() -> Tree:
    """Three nodes, the last one without a split, and three terminals, for two outputs."""
    return Tree(
        points=np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]]),
        thresholds=np.array([0.5, 0.25, 0.75]),
        children=np.array([[1, 2], [~1, ~0], [~2, ~2]]),
        offsets=np.array([0, 2, 4, 6]),
        weights=np.arange(12, dtype=np.float64).reshape(6, 2),
        constants=np.array([[0.5, -0.5], [1.0, 2.0], [3.0, -3.0]]),
    )


@st.composite
def trees(draw: st.DrawFn) -> tuple[Machine, Tree, Floats]:
    """Everyday machines of all kernels and rules, with and without an input map, a tree of any shape, and rows."""
    features, outputs = draw(st.sampled_from([1, 2, 7, 8, 9, 17, 70])), draw(st.sampled_from([1, 1, 3, 10]))
    seed = draw(st.integers(0, 1000))
    made, _ = machine(draw(st.sampled_from(KERNELS)), 20, features, outputs, seed)
    rng = np.random.default_rng(seed)
    rows = np.vstack([made.points, rng.normal(size=(30, features)), np.zeros(features)])
    nodes = draw(st.sampled_from([0, 1, 2, 5, 40]))
    tree = random_tree(rng, made.kernel, made.points, rows, nodes, outputs)
    input_map = Affine(rng.normal(size=features), rng.uniform(0.5, 2, size=features)) if draw(st.booleans()) else None
    rule = Value(0.3, flat=False) if draw(st.integers(0, 3)) == 0 else made.rule
    made = Machine(made.kernel, made.points, made.weights, made.bias, rule, input_map)
    return made, tree, rows if input_map is None else input_map.inverse(rows)
