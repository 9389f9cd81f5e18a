"""The comparison of two models: both are asked for the same rows, and every difference is counted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dormie.show.report import speed
from dormie.show.report.speed import compare

ROWS = np.arange(300.0).reshape(-1, 1)


def _labels(rows: Any) -> Any:
    return (rows[:, 0] >= 100).astype(int)


def _others(rows: Any) -> Any:
    return np.where(rows[:, 0] == 7, 5, _labels(rows))


def _values(rows: Any) -> Any:
    return rows[:, 0] / 2


class _Clock:
    """A clock that stands still but for models that let it run."""

    now = 0.0

    def perf_counter(self) -> float:
        return self.now

    def model(self, per_call: float, per_row: float) -> Any:
        def predict(rows: Any) -> Any:
            self.now += per_call + per_row * len(rows)
            return _labels(rows)

        return predict


def test_differences_are_counted() -> None:
    found = compare(_labels, _others, ROWS)
    assert (found.compared, found.differing, found.largest) == (300, 1, 0)
    found = compare(_values, lambda rows: _values(rows) + 0.25, ROWS)
    assert (found.differing, found.largest) == (0, 0.25)


def test_rows_of_several_labels_are_counted_once() -> None:
    found = compare(lambda rows: np.zeros((len(rows), 3), int), lambda rows: np.ones((len(rows), 3), int), ROWS)
    assert found.differing == 300


def test_times_are_those_of_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = _Clock()
    monkeypatch.setattr(speed, "time", clock)
    found = compare(clock.model(3e-4, 1e-6), clock.model(0.0, 1e-3), ROWS)
    assert found.batch.ours == pytest.approx(2e-6)
    assert [found.batch.theirs, found.single.theirs] == pytest.approx([1e-3, 1e-3])
    assert found.batch.ratio == pytest.approx(500)
    assert found.single.ours == pytest.approx(3.01e-4)


def test_the_slower_one_answers_fewer_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = _Clock()
    monkeypatch.setattr(speed, "time", clock)
    found = compare(clock.model(0.0, 1e-6), clock.model(0.0, 0.05), ROWS)
    assert found.compared == 10
    assert clock.now < 6


def test_one_row_is_enough() -> None:
    assert compare(_labels, _labels, ROWS[:1]).compared == 1
