"""Adam: finds a known minimum through noise, stops by itself, and takes no leaps where gradients vanish."""

from __future__ import annotations

import numpy as np
import pytest

from dormie.machine import Floats
from dormie.methods.reduced_set import adam

TARGET = np.array([[3.0, -2.0, 0.5], [0.0, 1.0, -1.0]])


def _silent(step: int) -> None:
    del step


@pytest.mark.parametrize("noise", [0.0, 0.2])
def test_it_finds_a_minimum_and_stops_by_itself(noise: float) -> None:
    random = np.random.default_rng(0)
    calls: list[Floats] = []
    said: list[int] = []

    def loss(at: Floats) -> tuple[float, Floats]:
        calls.append(at.copy())
        away = at - TARGET + noise * random.normal(size=at.shape)
        square = (away**2).sum() + 1
        return float(np.log(square)), 2 * away / square

    found = adam.minimise(loss, np.zeros_like(TARGET), 0.2, 10_000, said.append)
    assert np.abs(found - TARGET).max() < 0.05 + noise / 5
    assert 200 < len(calls) < 3000
    assert said == list(range(50, len(calls) + 1, 50))


def test_it_never_takes_more_steps_than_it_may() -> None:
    calls = []

    def loss(at: Floats) -> tuple[float, Floats]:
        calls.append(1)
        return -float(len(calls)), np.ones_like(at)

    adam.minimise(loss, np.zeros((1, 1)), 0.1, 130, _silent)
    assert len(calls) == 130


def test_the_start_is_left_as_it_was() -> None:
    start = np.ones((2, 2))
    adam.minimise(lambda at: (0.0, np.ones_like(at)), start, 0.1, 10, _silent)
    assert (start == 1).all()


def test_gradients_too_small_to_square_move_nothing_far() -> None:
    random = np.random.default_rng(0)
    tiny = np.float32(1e-25)

    def loss(at: Floats) -> tuple[float, Floats]:
        return 0.0, (tiny * random.normal(size=at.shape)).astype(np.float32)

    found = adam.minimise(loss, np.zeros((3, 2), dtype=np.float32), 0.1, 200, _silent)
    assert np.abs(found).max() < 20  # 200 steps of 0.1
