"""Trees in words: everything that is in them, and nothing else."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from dormie.machine import Floats, Machine
from dormie.machine.kernels import RBF, Custom
from dormie.machine.rules import Sign, Value
from dormie.methods.tree import Tree, export_text
from tests.methods.tree.trees import small_tree, tree_of, trees


def _two_outputs() -> Machine:
    return Machine(RBF(1.0), np.eye(2), np.ones((2, 2)), np.zeros(2), Value(flat=False))


def test_a_small_tree_reads_as_it_should() -> None:
    assert export_text(small_tree()) == (
        "k0 = K(x, [0, 0])\n"
        "|--- k0 <= 0.5\n"
        "|    k1 = K(x, [1, 0])\n"
        "|    |--- k1 <= 0.25\n"
        "|    |    value = [4, 5] k0 + [6, 7] k1 + [1, 2]\n"
        "|    |--- k1 > 0.25\n"
        "|    |    value = [0, 1] k0 + [2, 3] k1 + [0.5, -0.5]\n"
        "|--- k0 > 0.5\n"
        "|    k1 = K(x, [0, 2])\n"
        "|    value = [8, 9] k0 + [10, 11] k1 + [3, -3]\n"
    )


def test_rows_are_counted_on_every_branch() -> None:
    rows = np.array([[0.0, 0.0], [5.0, 5.0], [1.0, 0.1], [0.9, 0.0]])
    found = export_text(small_tree(), rows, machine=_two_outputs())
    assert re.findall(r"--- (.*)", found) == [
        "k0 <= 0.5 (3 rows)",
        "k1 <= 0.25 (1 row)",
        "k1 > 0.25 (2 rows)",
        "k0 > 0.5 (1 row)",
    ]


@settings(max_examples=40)
@given(case=trees())
def test_every_node_and_terminal_is_there_once_and_rows_add_up(case: tuple[Machine, Tree, Floats]) -> None:
    made, tree, rows = case
    lines = export_text(tree, rows, machine=made).splitlines()
    assert sum("= K(x, " in line for line in lines) == tree.n_nodes
    assert sum("value = " in line for line in lines) == tree.n_terminals
    top = [line for line in lines if line.startswith("|---")]
    assert sum(_rows(line) for line in top) == (len(rows) if top else 0)


def _rows(line: str) -> int:
    found = re.search(r"\(([\d,]+) rows?\)$", line)
    assert found is not None
    return int(found[1].replace(",", ""))


def _words(points: Any) -> Tree:
    return tree_of(points, [1.0, 0.0], [[1, ~0], [~1, ~1]], [0, 1, 3], [[2.0], [-1.0], [0.5]], [[0.25], [0.0]])


@pytest.mark.parametrize("form", [list, np.array, lambda words: np.array(words, dtype=object)])
def test_words_are_quoted_and_long_ones_cut_short(form: Any) -> None:
    found = export_text(_words(form(["oak", "elm" * 50])))
    assert "k0 = K(x, 'oak')\n" in found
    (line,) = [line for line in found.splitlines() if "k1 = " in line]
    assert re.fullmatch(r"\|    k1 = K\(x, 'elm.*\.\.\..*elm'\)", line)
    assert len(line) < 60
    assert "|    value = -1 k0 + 0.5 k1\n" in found
    assert "|    value = 2 k0 + 0.25\n" in found


def test_rows_may_be_words() -> None:
    machine = Machine(
        Custom(lambda a, b: [[len(set(u) & set(v)) for v in b] for u in a]),
        ["oak", "elm"],
        np.ones(2),
        np.zeros(1),
        Sign(np.array([0, 1])),
    )
    found = export_text(_words(["oak", "elm"]), ["koala", "elk", "ash"], machine=machine)
    assert "k0 <= 1 (2 rows)" in found
    assert "k0 > 1 (1 row)" in found


def test_a_node_that_only_leads_on_takes_no_indent() -> None:
    tree = tree_of([[1.0]] * 40, np.zeros(40), _trunk(40), [0, 40], np.ones((40, 1)), [[0.0]])
    lines = export_text(tree).splitlines()
    assert len(lines) == 41
    assert not any(line.startswith("|") for line in lines)


def _trunk(nodes: int) -> list[list[int]]:
    return [[node + 1] * 2 for node in range(nodes - 1)] + [[~0, ~0]]


def test_what_is_deeper_is_counted() -> None:
    found = export_text(small_tree(), max_depth=1)
    assert found.splitlines()[:3] == ["k0 = K(x, [0, 0])", "|--- k0 <= 0.5", "|    ... (1 more node)"]
    assert export_text(small_tree(), max_depth=2) == export_text(small_tree())


def test_thousands_of_splits_on_one_path_are_no_trouble() -> None:
    n = 3000
    children = [[node + 1 if node + 1 < n else ~n, ~node] for node in range(n)]
    offsets = np.concatenate([[0], np.cumsum([*range(1, n + 1), n])])
    tree = tree_of(np.zeros((n, 1)), np.zeros(n), children, offsets, np.zeros((offsets[-1], 1)), np.ones((n + 1, 1)))
    assert export_text(tree, max_depth=2).count("\n") == 9
    assert f"({n - 2:,} more nodes)" in export_text(tree, max_depth=2)


def test_a_single_terminal_is_its_constant() -> None:
    tree = tree_of(np.empty((0, 2)), [], np.empty((0, 2), dtype=int), [0, 0], np.empty((0, 1)), [[0.0]])
    assert export_text(tree) == "value = 0\n"


def test_numbers_have_the_digits_asked_for() -> None:
    tree = tree_of(np.array([[np.pi, 1e-7]]), [math.e], [[~0, ~1]], [0, 1, 2], [[1 / 3], [1e9]], [[0.0], [0.0]])
    assert export_text(tree, digits=5) == (
        "k0 = K(x, [3.1416, 1e-07])\n"
        "|--- k0 <= 2.7183\n"
        "|    value = 0.33333 k0\n"
        "|--- k0 > 2.7183\n"
        "|    value = 1e+09 k0\n"
    )


def test_what_is_wrong_is_said() -> None:
    with pytest.raises(ValueError, match="pass the machine="):
        export_text(small_tree(), np.zeros((1, 2)))
    with pytest.raises(ValueError, match=r"max_depth must be a whole number of at least 1, .* got 0"):
        export_text(small_tree(), max_depth=0)
    with pytest.raises(TypeError, match=r"give a dormie.tree.Tree or a fitted SupportVectorTree, got 'oak'"):
        export_text("oak")
    with pytest.raises(ValueError, match="X has 3 columns"):
        export_text(small_tree(), np.zeros((1, 3)), machine=_two_outputs())
    with pytest.raises(ValueError, match="row 0, column 1 is NaN"):
        export_text(small_tree(), [[0.0, np.nan]], machine=_two_outputs())
