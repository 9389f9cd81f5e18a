"""Ukkonen 2010: the exact balanced tree (Algorithm 1) beside greedy ones, on inputs tiny enough for it.

The paper gives Algorithm 1 without an experiment. Here the first rows of each set train a machine, and trees of two and
three nodes a path are grown on these same rows: what counts is how close each algorithm comes to the outputs that it
was given, not how well it does on others. A greedy tree may split anywhere, where an exact one must halve the rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from dormie.lab.papers.table import Cell, Numbers, Table
from dormie.lab.papers.ukkonen2010.problems import Split, Trainer
from dormie.machine import Floats, Machine
from dormie.methods.tree import Tree, exact_balanced, greedy
from dormie.numerics.evaluate import FullSum

_ROWS = 40
_HEIGHTS = (2, 3)
_STARTS = 10  # seeds that the greedy tree is grown with


def beside_exact(problems: Mapping[str, tuple[Split, Trainer]]) -> Table:
    """A line for each set: the variance of the outputs that is left, for each height, by exact and by greedy trees."""
    lines = {name: _line(split, trainer) for name, (split, trainer) in problems.items()}
    columns: dict[str, Numbers] = {
        column: {name: line[column] for name, line in lines.items()} for column in next(iter(lines.values()))
    }
    heights = " and ".join(map(str, _HEIGHTS))
    notes = (
        f"mean squared error over the variance of the outputs, in %, of trees with {heights} nodes a path, on the "
        f"{_ROWS} rows that they are grown on",
        f"greedy: one random start, leaves of one row, mean of {_STARTS} seeds; exact: the best tree that halves the "
        "rows at every split; its scales are fitted along each path together, the greedy ones one at a time",
    )
    return Table("Ukkonen 2010: Algorithm 1 on tiny inputs", columns, notes)


def _line(split: Split, trainer: Trainer) -> Numbers:
    few = replace(split, X=split.X[:_ROWS], y=split.y[:_ROWS])
    machine = trainer(few)
    found: dict[str, Cell] = {"support vectors": machine.n_points}
    for scales, name in ((False, "no scales"), (True, "scales")):
        exact = [[exact_balanced(machine, few.X, height=height, scales=scales)] for height in _HEIGHTS]
        grown = [_greedy_trees(machine, few.X, height, scales) for height in _HEIGHTS]
        found[f"exact, {name}"] = tuple(_left(machine, few.X, trees) for trees in exact)
        found[f"greedy, {name}"] = tuple(_left(machine, few.X, trees) for trees in grown)
    return found


def _greedy_trees(machine: Machine, rows: Floats, height: int, scales: bool) -> list[Tree]:
    return [
        greedy(machine, rows, leaf_rows=1, height=height, scales=scales, restarts=1, seed=seed)
        for seed in range(_STARTS)
    ]


def _left(machine: Machine, rows: Floats, trees: list[Tree]) -> float:
    """What is left of the variance of the outputs, in %: the mean over some trees."""
    outputs = FullSum(machine).outputs(rows)
    errors = [np.mean((tree.walk(machine.kernel, rows).values - outputs) ** 2) for tree in trees]
    return round(100 * float(np.mean(errors) / outputs.var()), 1)
