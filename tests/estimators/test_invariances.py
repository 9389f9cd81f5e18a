from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dormie.estimators.invariances import Rotations, Shifts, Thickness

INVARIANCES = [Shifts(), Shifts(2, directions=8), Rotations(7.5), Thickness(0.3)]


def _bar(side: int = 9) -> Any:
    """A bright upright line in the middle of a square image."""
    image = np.zeros((side, side))
    image[2 : side - 2, side // 2] = 1
    return image


def _letters() -> Any:
    return np.arange(12.0).reshape(1, 12)


def test_four_shifts_go_up_down_left_and_right_and_repeat_the_border() -> None:
    up, down, left, right = (moved.reshape(3, 4) for moved in Shifts(shape=(3, 4))(_letters()))
    assert up.tolist() == [[4, 5, 6, 7], [8, 9, 10, 11], [8, 9, 10, 11]]
    assert down.tolist() == [[0, 1, 2, 3], [0, 1, 2, 3], [4, 5, 6, 7]]
    assert left.tolist() == [[1, 2, 3, 3], [5, 6, 7, 7], [9, 10, 11, 11]]
    assert right.tolist() == [[0, 0, 1, 2], [4, 4, 5, 6], [8, 8, 9, 10]]


def test_eight_shifts_are_the_four_and_the_diagonals() -> None:
    eight = Shifts(directions=8, shape=(3, 4))(_letters())
    four = Shifts(shape=(3, 4))(_letters())
    assert len(eight) == 8
    assert all(np.array_equal(a, b) for a, b in zip(eight, four, strict=False))
    down_right = Shifts(shape=(3, 4))(four[1])[3]
    assert np.array_equal(eight[-1], down_right)


@given(st.integers(1, 3), st.sampled_from([4, 8]), st.integers(0, 2**32 - 1))
def test_away_from_the_border_a_shift_only_moves_the_picture(pixels: int, directions: int, seed: int) -> None:
    image = np.zeros((10, 11))
    image[3:7, 3:8] = np.random.default_rng(seed).random((4, 5))
    for moved in Shifts(pixels, directions, shape=(10, 11))(image.reshape(1, -1)):
        there = moved.reshape(10, 11)
        steps = [
            (a, b)
            for a in (-pixels, 0, pixels)
            for b in (-pixels, 0, pixels)
            if np.array_equal(np.roll(image, (a, b), (0, 1)), there)
        ]
        assert steps
        assert steps != [(0, 0)]


def test_a_shift_moves_every_channel_alike() -> None:
    grey = np.random.default_rng(0).random((2, 5, 4))
    colour = np.stack([grey, 2 * grey, -grey], axis=-1)
    for one, three in zip(
        Shifts(shape=(5, 4))(grey.reshape(2, -1)), Shifts(shape=(5, 4, 3))(colour.reshape(2, -1)), strict=True
    ):
        channels = three.reshape(2, 5, 4, 3)
        assert np.array_equal(channels, np.stack([one, 2 * one, -one], axis=-1).reshape(channels.shape))


def test_a_quarter_turn_lays_an_upright_bar_down() -> None:
    for turned in Rotations(90.0)(_bar().reshape(1, -1)):
        np.testing.assert_allclose(turned.reshape(9, 9), _bar().T, atol=1e-12)


def test_the_two_rotations_mirror_each_other_and_keep_the_ink() -> None:
    one, other = (moved.reshape(9, 9) for moved in Rotations(10.0)(_bar().reshape(1, -1)))
    np.testing.assert_allclose(one, other[:, ::-1], atol=1e-12)
    assert not np.allclose(one, other)
    assert one.sum() == pytest.approx(_bar().sum(), rel=0.05)


def test_rotations_and_thickness_treat_every_channel_alike() -> None:
    grey = np.random.default_rng(1).random((2, 6, 5))
    colour = np.repeat(grey[..., None], 2, axis=-1)
    for make in (Rotations, Thickness):
        ones = make(shape=(6, 5))(grey.reshape(2, -1))
        twos = make(shape=(6, 5, 2))(colour.reshape(2, -1))
        for one, two in zip(ones, twos, strict=True):
            np.testing.assert_allclose(two.reshape(2, 30, 2), np.repeat(one[..., None], 2, axis=-1), atol=1e-12)


def test_thicker_lines_have_more_ink_and_thinner_ones_less() -> None:
    thicker, thinner = (moved.reshape(9, 9) for moved in Thickness(0.5)(_bar().reshape(1, -1)))
    assert thicker[4].tolist() == [0, 0, 0, 0.5, 1, 0.5, 0, 0, 0]
    assert thinner[4].tolist() == [0, 0, 0, 0, 0.5, 0, 0, 0, 0]


@pytest.mark.parametrize("invariance", INVARIANCES, ids=repr)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_keep_their_shape_and_type_and_the_given_ones_stay_as_they_are(invariance: Any, dtype: Any) -> None:
    rows = np.random.default_rng(2).random((3, 36)).astype(dtype)
    before = rows.copy()
    for moved in invariance(rows):
        assert moved.shape == rows.shape
        assert moved.dtype == dtype
        assert not np.shares_memory(moved, rows)
    assert np.array_equal(rows, before)


@pytest.mark.parametrize("invariance", INVARIANCES, ids=repr)
def test_an_even_picture_stays_even_whatever_its_brightness(invariance: Any) -> None:
    rows = np.full((2, 25), -3.5)
    for moved in invariance(rows):
        np.testing.assert_allclose(moved, rows, rtol=1e-12)


@pytest.mark.parametrize("invariance", INVARIANCES, ids=repr)
def test_they_are_values(invariance: Any) -> None:
    assert pickle.loads(pickle.dumps(invariance)) == invariance
    assert eval(repr(invariance)) == invariance
    assert hash(invariance) == hash(eval(repr(invariance)))


@pytest.mark.parametrize("make", [Shifts, Rotations, Thickness])
def test_rows_that_are_no_such_images_are_explained(make: Any) -> None:
    rows = np.zeros((2, 12))
    with pytest.raises(ValueError, match=rf"{make.__name__}: rows of 12 features are not square.*shape=\(height, wid"):
        make()(rows)
    with pytest.raises(ValueError, match=r"12 features are not images of shape \(3, 5\), which have 15"):
        make(shape=(3, 5))(rows)


@pytest.mark.parametrize(
    ("make", "parameters", "message"),
    [
        (Shifts, {"pixels": 0}, "pixels must be a whole number of at least 1, got 0"),
        (Shifts, {"directions": 6}, "directions must be 4 or 8, got 6"),
        (Shifts, {"shape": (28,)}, r"shape must be \(height, width\) or"),
        (Rotations, {"degrees": 0.0}, "degrees must be a number above 0"),
        (Rotations, {"degrees": float("nan")}, "degrees must be a number above 0"),
        (Rotations, {"shape": (0, 4)}, "Rotations: shape must be"),
        (Thickness, {"amount": 0.0}, "amount must be above 0 and at most 1"),
        (Thickness, {"amount": 1.5}, "amount must be above 0 and at most 1"),
        (Thickness, {"shape": (2, 2, 2, 2)}, "Thickness: shape must be"),
    ],
)
def test_wrong_parameters_are_named(make: Any, parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make(**parameters)


@pytest.mark.parametrize(
    ("make", "parameters", "message"),
    [
        (Shifts, {"pixels": 1.5}, "Shifts: pixels must be a whole number such as 1, got 1.5"),
        (Shifts, {"pixels": 2.0}, "pixels must be a whole number such as 1, got 2.0"),
        (Shifts, {"pixels": None}, "pixels must be a whole number such as 1, got None"),
        (Shifts, {"pixels": float("nan")}, "pixels must be a whole number such as 1, got nan"),
        (Shifts, {"shape": 8}, r"shape must be \(height, width\) or .*, got 8: give whole numbers, such as \(28, 28\)"),
        (Shifts, {"shape": (8.0, 8.0)}, r"Shifts: shape must be .*got \(8.0, 8.0\): give whole numbers"),
        (Thickness, {"shape": "8x8"}, "Thickness: shape must be .*got '8x8': give whole numbers"),
        (Rotations, {"degrees": "x"}, "Rotations: degrees must be a number, got 'x'"),
        (Thickness, {"amount": "a"}, "Thickness: amount must be a number, got 'a'"),
    ],
)
def test_parameters_of_the_wrong_type_are_named(make: Any, parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        make(**parameters)


def test_numbers_of_numpy_are_numbers() -> None:
    one: Any = np.int64(1)
    assert [moved.tolist() for moved in Shifts(one, shape=(3 * one, 4 * one))(_letters())] == [
        moved.tolist() for moved in Shifts(shape=(3, 4))(_letters())
    ]
    assert Rotations(np.float32(10) * one) == Rotations(10)
    assert Thickness(1) == Thickness(1.0)
