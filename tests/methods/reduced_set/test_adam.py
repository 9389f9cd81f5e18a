"""Adam: finds a known minimum through noise, and takes no leaps where gradients vanish."""

from __future__ import annotations

import numpy as np
import pytest

from dormie.machine import Floats
from dormie.methods.reduced_set import adam

TARGET = np.array([[3.0, -2.0, 0.5], [0.0, 1.0, -1.0]])


def _silent(step: int) -> None:
    del step


@pytest.mark.parametrize("noise", [0.0, 0.2])
def test_it_finds_a_minimum_through_noise(noise: float) -> None:
    random = np.random.default_rng(0)
    said: list[int] = []

    def loss(at: Floats) -> tuple[float, Floats]:
        away = at - TARGET + noise * random.normal(size=at.shape)
        square = (away**2).sum() + 1
        return float(np.log(square)), 2 * away / square

    found = adam.minimise(loss, np.zeros_like(TARGET), 0.2, 400, said.append)
    assert np.abs(found - TARGET).max() < 0.01 + noise / 5
    assert said == [50, 100, 150, 200, 250, 300, 350, 400]


def test_steps_shrink_evenly_to_nothing() -> None:
    seen: list[float] = []

    def loss(at: Floats) -> tuple[float, Floats]:
        seen.append(float(at[0, 0]))
        return 0.0, np.ones_like(at)

    found = adam.minimise(loss, np.zeros((1, 1)), 0.1, 10, _silent)
    assert found[0, 0] == pytest.approx(seen[-1])
    np.testing.assert_allclose(np.diff(seen), -0.1 * np.arange(0.9, 0, -0.1))


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
