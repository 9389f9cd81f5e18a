"""Timing: tasks take turns, and the least time of each is kept."""

from __future__ import annotations

from dormie.planner.clock import best_of


def test_the_least_of_several_rounds_is_kept() -> None:
    calls: list[int] = []
    seconds = best_of([lambda: calls.append(0), lambda: calls.append(1)], 4)
    assert calls == [0, 1] * 4
    assert len(seconds) == 2
    assert min(seconds) >= 0
