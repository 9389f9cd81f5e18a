from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dormie.lab.papers.muller2004 import figures
from dormie.lab.papers.muller2004 import tables as muller2004
from dormie.lab.papers.muller2004.tables import Problem
from dormie.machine import Floats, Machine
from dormie.methods.fast_stopping.stage import FastStopping, largest_first
from dormie.numerics import reference


@cache
def problem() -> Problem:
    return muller2004.synthetic()


def far_and_near() -> tuple[Machine, Floats]:
    """A machine whose rows settle after different numbers of terms: the bias is large against small rows."""
    machine = replace(problem().machine, bias=np.array([6.0]))
    return machine, problem().rows * np.linspace(0, 3, 100)[:, None]


def answers_and_terms_by_the_book(machine: Machine, rows: Floats) -> list[tuple[int, int]]:
    """Equation 5, one row and one term at a time."""
    ordered = largest_first(machine)
    roots = np.sqrt(ordered.kernel.diagonal(ordered.points))
    found = []
    for row in rows:
        root = float(np.sqrt(ordered.kernel.diagonal(row[None])[0]))
        for k in range(machine.n_points + 1):
            values = ordered.kernel.matrix(row[None], ordered.points[:k])[0]
            total = float(values @ ordered.weights[:k, 0] + ordered.bias[0])
            left = float(np.abs(ordered.weights[k:, 0]) @ roots[k:]) * root
            if total - left >= 0 or total + left < 0:
                break
        found.append((int(total >= 0), k))
    return found


def test_terms_needed_are_those_of_the_papers_equation() -> None:
    machine, rows = far_and_near()
    expected = answers_and_terms_by_the_book(machine, rows)
    counted = muller2004.terms_needed(machine, rows, one_sided=False)
    assert counted.tolist() == [k for _, k in expected]
    assert len(set(counted.tolist())) > 5
    full = machine.rule.answer(reference.outputs(machine, rows))
    assert full.tolist() == [answer for answer, _ in expected]


def test_one_sided_tails_never_need_more_terms() -> None:
    machine, rows = far_and_near()
    two_sided, one_sided = (muller2004.terms_needed(machine, rows, one_sided=each) for each in (False, True))
    assert (one_sided <= two_sided).all()
    assert one_sided.sum() < two_sided.sum()


@pytest.mark.parametrize("stop", [False, True])
def test_the_loop_gives_the_answers_of_the_full_sum(stop: bool) -> None:
    machine, rows = far_and_near()
    expected = machine.rule.answer(reference.outputs(machine, rows))
    assert muller2004.one_at_a_time(machine, rows, stop).tolist() == expected.tolist()


def test_the_stage_stops_no_sooner_than_the_one_sided_tails_allow() -> None:
    machine, rows = far_and_near()
    found = FastStopping(machine).decide(rows)
    settled = np.ones(len(rows), dtype=bool) if found.settled is None else found.settled
    needed = muller2004.terms_needed(machine, rows, one_sided=True)
    assert settled.any()
    assert (np.asarray(found.evaluations)[settled] >= needed[settled]).all()


def test_the_table_has_the_papers_numbers_beside_ours() -> None:
    table = muller2004.table(problem(), seconds=0)
    lines = {line["line"]: line for line in table.as_record()["lines"]}
    assert lines["one term at a time, full sum: seconds"]["paper"] == 86
    assert lines["support vectors"]["paper"] == 145
    assert lines["support vectors"]["here"] == problem().machine.n_points
    assert lines["answers that differ from the full sum"]["here"] == 0
    assert set(problem().printed) <= set(table.columns["here"])
    assert 0 < lines["terms per row, stopping"]["here"] <= problem().machine.n_points


def test_the_stage_saves_what_the_table_says() -> None:
    machine, rows = far_and_near()
    here = muller2004.measure(replace(problem(), machine=machine, rows=rows), seconds=0)
    assert here["terms saved in %: the stage"] == pytest.approx(
        100 - 100 * np.mean(FastStopping(machine).decide(rows).evaluations) / machine.n_points
    )
    saved: list[Any] = [here[f"terms saved in %: {name}"] for name in ("the stage", "one-sided tails", "stopping")]
    assert 0 <= saved[0] <= saved[1]
    assert 0 < saved[2] < saved[1]


def test_rows_still_open_fall_from_all_to_none() -> None:
    counts, share = figures.still_open(np.array([3, 1, 3, 2]), 4)
    assert counts.tolist() == [0, 1, 2, 3, 4]
    assert share.tolist() == [1, 0.75, 0.5, 0, 0]


def test_figures_are_png_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib", reason='figures need the "plot" extra')
    monkeypatch.setattr(figures, "mnist", lambda _: problem())
    drawn = figures.draw(tmp_path / "new")
    assert [path.name for path in drawn] == ["muller2004-figure1.png", "muller2004-terms.png"]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in drawn)
