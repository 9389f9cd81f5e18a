"""Peers take turns, and a busy moment does not decide how many rows they are timed on."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from dormie.lab.bench import timing
from dormie.lab.bench.timing import ROUNDS, interleave


def test_every_round_runs_all_tasks_until_each_has_its_rounds_and_seconds() -> None:
    order: list[str] = []
    times = interleave({"a": lambda: order.append("a"), "b": lambda: order.append("b")}, seconds=0)
    assert order == ["a", "b"] * ROUNDS
    assert {name: len(spent) for name, spent in times.items()} == {"a": ROUNDS, "b": ROUNDS}
    assert sum(interleave({"c": lambda: time.sleep(0.001)}, seconds=0.01)["c"]) >= 0.01


@pytest.mark.parametrize("busy", [0, 5])
def test_a_peer_sized_in_a_busy_moment_is_timed_again_on_a_full_batch(
    monkeypatch: pytest.MonkeyPatch, busy: int
) -> None:
    """A pretended clock: a row takes 1 ms, and a hundred times that in the first `busy` calls."""
    calls: list[int] = []

    def predict(rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
        calls.append(len(rows))
        return np.zeros(len(rows))

    def pretended(task: Callable[[], object]) -> float:
        task()
        return calls[-1] * (0.1 if len(calls) <= busy else 0.001)

    monkeypatch.setattr(timing, "seconds_of", pretended)
    monkeypatch.setattr(time, "sleep", lambda _: None)
    found = timing.time_batches({"peer": predict}, np.zeros((500, 2)), seconds=1.0)["peer"]
    assert found.rows == 250
    assert found.best == pytest.approx(1000)
