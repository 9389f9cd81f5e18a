from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from dormie.estimators.calibration_rows import is_number, set_aside
from dormie.planner.options import RiskRequest

LOW = RiskRequest(0.9, 0.5)  # one row certifies it


@settings(max_examples=100, deadline=None)
@given(
    labels=st.lists(st.integers(0, 4), min_size=4, max_size=200),
    share=st.floats(0.25, 0.9),
    seed=st.integers(0, 2**31),
)
def test_every_label_has_its_share_and_stays_in_training(labels: list[int], share: float, seed: int) -> None:
    y = np.array(labels)
    training, calibration = set_aside(share, len(y), y, LOW, seed)
    assert sorted([*training, *calibration]) == [*range(len(y))]
    assert len(calibration) == int(share * len(y))
    if len(training) >= len(np.unique(y)):
        assert set(y[training]) == set(y)
    for label in np.unique(y):
        wanted = share * np.count_nonzero(y == label)
        # Off by one for rounding, and by what the rows kept for training leave to the other labels.
        assert abs(np.count_nonzero(y[calibration] == label) - wanted) <= 1 + len(np.unique(y))


def test_large_labels_are_split_in_proportion() -> None:
    y = np.repeat(["a", "b", "c"], [800, 150, 50])
    _, calibration = set_aside(200, 1000, np.random.default_rng(0).permutation(y), LOW, seed=0)
    shuffled = np.random.default_rng(0).permutation(y)
    counts = [np.count_nonzero(shuffled[calibration] == label) for label in "abc"]
    np.testing.assert_allclose(counts, [160, 30, 10], atol=1)


def test_rows_are_drawn_evenly_and_anew_for_each_seed() -> None:
    y = np.repeat([0, 1], [30, 10])
    drawn = np.zeros(40)
    for seed in range(2000):
        drawn[set_aside(20, 40, y, LOW, seed)[1]] += 1
    np.testing.assert_allclose(drawn, 1000, atol=120)  # five standard deviations
    assert np.array_equal(set_aside(20, 40, y, LOW, 3)[1], set_aside(20, 40, y, LOW, 3)[1])


@pytest.mark.parametrize("wrong", [[0.0, 1.0], [0.05, 0.25]])
def test_a_plan_that_is_wrong_too_often_passes_no_more_often_than_promised(wrong: list[float]) -> None:
    """Wrong about one label alone, or about both: 5 of 100 rows or fewer disagree no more often than by free draws."""
    rng, passed = np.random.default_rng(0), 0
    for seed in range(2000):
        y = (rng.random(200) < 0.1 if wrong[0] == 0 else rng.random(200) < 0.25).astype(np.intp)
        disagrees = rng.random(200) < np.array(wrong)[y]  # at a rate of 10 %
        passed += int(np.count_nonzero(disagrees[set_aside(100, 200, y, LOW, seed)[1]]) <= 5)
    expected = 2000 * binom.cdf(5, 100, 0.1)
    assert passed <= expected + 5 * np.sqrt(expected)  # standard deviations


def test_without_labels_any_rows_are_drawn() -> None:
    training, calibration = set_aside(0.5, 100, None, LOW, seed=0)
    assert sorted([*training, *calibration]) == [*range(100)]
    assert 10 < np.count_nonzero(calibration < 50) < 40


@pytest.mark.parametrize(
    ("count", "risk", "expected"),
    [
        (100_000, RiskRequest(0.001), 25_000),  # a quarter
        (10_000, RiskRequest(0.001), 4_492),  # half as many again as the 2,995 that are needed
        (6_000, RiskRequest(0.001), 3_000),  # at most half
        (1_000, RiskRequest(0.1), 250),
    ],
)
def test_the_number_follows_from_the_risk(count: int, risk: RiskRequest, expected: int) -> None:
    assert len(set_aside(None, count, None, risk, 0)[1]) == expected


def test_a_risk_for_each_class_needs_enough_rows_of_the_rarest() -> None:
    y = np.repeat([0, 1], [900, 100])
    _, calibration = set_aside(None, 1000, y, RiskRequest(0.1, per_class=True), 0)
    assert np.count_nonzero(y[calibration] == 1) == pytest.approx(1.5 * 29, abs=1)


@pytest.mark.parametrize(
    ("calibration", "told"),
    [
        (0, "calibration must be a number of rows such as 4000, a share of them such as 0.3, or the rows .* got 0"),
        (-5, "got -5"),
        (1.0, "got 1.0"),
        (1.5, "got 1.5"),
        (float("nan"), "got nan"),
        (True, "got True"),
        (100, "calibration=100 leaves none of the 100 rows to train on"),
        (np.int64(200), "leaves none of the 100 rows"),
    ],
)
def test_numbers_without_meaning_are_refused(calibration: Any, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        set_aside(calibration, 100, None, LOW, 0)


def test_too_few_rows_are_refused_with_the_number_that_is_needed() -> None:
    told = r"at least 29 held-out rows, and there are 20: .*n_samples=100 rows; calibration=0.2 sets 20 aside"
    with pytest.raises(ValueError, match=told):
        set_aside(0.2, 100, None, RiskRequest(0.1), 0)


def test_rows_themselves_are_no_number() -> None:
    assert [is_number(each) for each in (None, 3, 0.5, np.float32(0.5))] == [True] * 4
    assert not any(is_number(each) for each in ([[1.0]], np.ones((2, 2)), "abc"))
