"""A support vector tree in words, after the manner of `sklearn.tree.export_text`.

    k0 = K(x, [0.31, -1.2])
    |--- k0 <= 0.52 (60 rows)
    |    k1 = K(x, [2.1, 0.4])
    |    value = 0.8 k0 - 1.1 k1 - 0.02
    |--- k0 > 0.52 (140 rows)
    |    ...

A row that comes to a node is compared with its point, and k0, k1, ... are what that gave on its way from the root.
"""

from __future__ import annotations

from typing import Any

from dormie.machine import Machine
from dormie.methods.tree.display import added_up, number, point, require_depth, row_counts, tree_of, vector
from dormie.methods.tree.structure import Tree

_BAR = "|    "


def export_text(
    tree: Any, rows: Any = None, *, machine: Machine | None = None, max_depth: int | None = None, digits: int = 3
) -> str:
    """A tree to read: the point and threshold of every node, the linear model where each way ends.

    tree       a `Tree`, or a fitted `SupportVectorTree`
    rows       to say how many of them go each way
    machine    that a bare `Tree` stands for; only needed with rows
    max_depth  splits shown from the root on (default: all)
    digits     significant ones of every number
    """
    deepest, counts, tree = require_depth(max_depth), row_counts(tree, rows, machine), tree_of(tree)
    nodes_below = added_up(tree, [0] * tree.n_terminals, of_node=1)
    lines, waiting = [], [("", tree.root, 0, 0)]
    while waiting:
        way, child, met, splits = waiting.pop()
        if way:
            lines.append(_BAR * (splits - 1) + f"|--- {way}{_rows(counts, child)}")
        indent = _BAR * splits
        if child < 0:
            lines.append(indent + _model(tree, ~child, digits))
        elif splits == deepest:
            lines.append(f"{indent}... ({_counted(nodes_below[child], 'more node')})")
        else:
            lines.append(f"{indent}k{met} = K(x, {point(tree, child, digits)})")
            waiting += _ways(tree, child, met, splits, digits)
    return "\n".join(lines) + "\n"


def _ways(tree: Tree, node: int, met: int, splits: int, digits: int) -> list[tuple[str, int, int, int]]:
    """The ways on from a node, the one to show first last; an unsplit node just leads on."""
    left, right = tree.children[node].tolist()
    if left == right:
        return [("", left, met + 1, splits)]
    threshold = number(tree.thresholds[node], digits)
    return [
        (f"k{met} > {threshold}", right, met + 1, splits + 1),
        (f"k{met} <= {threshold}", left, met + 1, splits + 1),
    ]


def _model(tree: Tree, terminal: int, digits: int) -> str:
    """What the kernel values come to; several outputs as vectors, in short."""
    weights, constant = tree.model(terminal)
    terms = [f"{vector(weight, digits)} k{level}" for level, weight in enumerate(weights)]
    terms += [vector(constant, digits)] if constant.any() or not terms else []
    return f"value = {' + '.join(terms)}".replace("+ -", "- ")


def _rows(counts: dict[int, int], child: int) -> str:
    return f" ({_counted(counts[child], 'row')})" if counts else ""


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count:,} {what}s"
