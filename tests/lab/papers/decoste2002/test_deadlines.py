"""Answers at a deadline as an experiment, on a small machine: what it counts, not how fast this computer is."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from dormie.lab.papers.decoste2002 import deadlines
from dormie.lab.papers.decoste2002.deadlines import Trade
from dormie.lab.papers.machines import predictor
from tests.lab.papers.rows import small_problem


@cache
def small_trade() -> Trade:
    problem = small_problem()
    return deadlines.trade("small", predictor(problem.svm()[0]), problem.X, rounds=2)


def test_nothing_settled_differs_from_predict() -> None:
    assert {moment.settled_wrong for moment in small_trade().moments} == {0}
    assert all(moment.wrong <= moment.most_wrong for moment in small_trade().moments)


def test_in_row_order_the_rows_not_reached_have_the_answer_of_the_bias() -> None:
    problem = small_problem()
    fast = predictor(problem.svm()[0])
    right = fast.predict(problem.X)
    [bias] = set(fast.predict(problem.X, deadline=0.0).labels)
    half = next(moment for moment in small_trade().moments if moment.share == 0.5)
    assert half.wrong_in_row_order == np.sum(right[40:] != bias) / 80
    assert half.wrong_without == np.mean(right != bias)
    assert small_trade().moments[-1].wrong_in_row_order == small_trade().moments[-1].wrong_without == 0


def test_the_table_has_a_column_for_each_deadline_of_interest() -> None:
    made = deadlines.table(small_trade())
    assert list(made.columns) == ["0.5 x", "1 x", "1.5 x", "2 x"]
    assert made.columns["2 x"]["wrong, %: in row order"] == 0
    assert "plan: dense" in made.notes


def test_the_figure_is_a_png_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib", reason='figures need the "plot" extra')
    monkeypatch.setattr(deadlines, "measured", lambda _: small_trade())
    drawn = deadlines.draw(tmp_path / "figure.png")
    assert drawn.read_bytes().startswith(b"\x89PNG")
