"""Maps from outputs to probabilities: bounds that hold for all outputs in a box, in real numbers and as rounded."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dormie.machine import Floats
from dormie.machine.rules import Argmax, MostProbable, OneVsOneVote, Probability, Sign, Value
from dormie.machine.rules.probability import Calibrated, Coupled, Isotonic, Mean, Platt, ProbabilityMap, Temperature
from tests.machine.rules.probability.maps import NUMBERS, certifiable_maps, probabilities

_WIDTHS = [0.0, 0.0, 1e-15, 1e-9, 1e-3, 0.1, 3.0, 1e6]


@st.composite
def boxes(draw: Any) -> tuple[ProbabilityMap, Floats, Floats, Floats]:
    """A map, a box of outputs, and some points in it, its corners among them."""
    found = draw(certifiable_maps())
    c = found.n_outputs
    middle = np.array(draw(st.lists(NUMBERS | st.just(0.0), min_size=c, max_size=c)))
    half = np.array(draw(st.lists(st.sampled_from(_WIDTHS), min_size=c, max_size=c)))
    low, high = middle - half, middle + half
    shares = np.array(draw(st.lists(st.lists(st.sampled_from([0.0, 0.3, 1.0]), min_size=c, max_size=c), max_size=5)))
    inside = [low, high, middle, *(low + share * (high - low) for share in shares)]
    return found, low, high, np.clip(inside, low, high)


@given(case=boxes())
@settings(max_examples=150)
def test_bounds_contain_the_probabilities_of_all_outputs_between(
    case: tuple[ProbabilityMap, Floats, Floats, Floats],
) -> None:
    found, low, high, inside = case
    [least], [most] = found.bounds(low[None], high[None])
    assert (found.values(inside) >= least).all()
    assert (found.values(inside) <= most).all()
    for outputs in inside:
        exact = probabilities(found, outputs)
        assert all(a <= p <= b for a, p, b in zip(least.tolist(), exact, most.tolist(), strict=True))


@given(case=boxes())
@settings(max_examples=150)
def test_a_settled_label_is_the_label_of_all_outputs_between(
    case: tuple[ProbabilityMap, Floats, Floats, Floats],
) -> None:
    found, low, high, inside = case
    rule = MostProbable(np.arange(found.n_classes), found)
    answers = rule.answer(inside)
    if rule.settled(low[None], high[None])[0]:
        assert len(set(answers.tolist())) == 1
        for outputs in inside:
            exact = probabilities(found, outputs)
            assert all(exact[answers[0]] >= p for p in exact)


@given(case=boxes(), tolerance=st.sampled_from([1e-12, 1e-4, 0.05]))
def test_a_settled_probability_is_within_the_tolerance(
    case: tuple[ProbabilityMap, Floats, Floats, Floats], tolerance: float
) -> None:
    found, low, high, inside = case
    rule = Probability(found, tolerance)
    if rule.settled(low[None], high[None])[0]:
        [given] = rule.answer((low / 2 + high / 2)[None])
        for outputs in inside:
            exact = probabilities(found, outputs)
            assert all(abs(p - float(q)) <= tolerance for p, q in zip(exact, given, strict=True))


@given(found=certifiable_maps())
def test_a_point_has_narrow_bounds(found: ProbabilityMap) -> None:
    """Otherwise bounds that hold would be worth nothing."""
    outputs = np.linspace(-2, 2, 3 * found.n_outputs).reshape(3, -1)
    least, most = found.bounds(outputs, outputs)
    vanishing = (found.values(outputs) < 1e-6).any()  # where all maps are near 0, quotients are uncertain
    steep = any(isinstance(part, Calibrated) for part in getattr(found, "members", [found]))
    assert vanishing or steep or (most - least < 1e-10).all()


def test_narrow_bounds_of_a_sigmoid() -> None:
    found = Calibrated(Sign(np.arange(2)), (Platt(-2.0, 0.3),))
    outputs = np.linspace(-5, 5, 11)[:, None]
    least, most = found.bounds(outputs, outputs)
    assert (most - least < 1e-13).all()


@pytest.mark.parametrize(
    "found",
    [
        Calibrated(Sign(np.arange(2)), (Platt(-2.0, 0.3),)),
        Calibrated(
            Argmax(np.arange(3)),
            (Platt(-2.0, 0.3), Isotonic(np.array([0.0, 1.0]), np.array([0.0, 1.0])), Platt(1.0, 0.0)),
        ),
        Temperature(OneVsOneVote(np.arange(3)), 2.0),
        Mean((Temperature(Sign(np.arange(2)), 2.0), Temperature(Sign(np.arange(2)), 3.0))),
        Coupled(np.array([-1.0]), np.array([0.0]), (1, 0)),
    ],
)
def test_outputs_without_bounds_settle_nothing(found: ProbabilityMap) -> None:
    ends = np.full((1, found.n_outputs), np.inf)
    for low, high in ((-ends, ends), (ends * np.nan, ends * np.nan)):
        least, most = found.bounds(low, high)
        assert (least < 0.01).all()
        assert (most >= 0.5).all()
        assert not MostProbable(np.arange(found.n_classes), found).settled(low, high)[0]


def test_classes_without_any_probability_share_it() -> None:
    none = Isotonic(np.array([0.0, 1.0]), np.array([0.0, 1.0]))
    found = Calibrated(Argmax(np.arange(3)), (none,) * 3)
    outputs = np.full((1, 3), -1.0)
    np.testing.assert_array_equal(found.values(outputs), np.full((1, 3), 1 / 3))
    least, most = found.bounds(outputs, outputs)
    np.testing.assert_allclose([least, most], 1 / 3, rtol=1e-12)


def test_values_of_a_regressor_are_its_outputs() -> None:
    rule, outputs = Value(tolerance=0.5), np.array([[1.0], [2.0]])
    high = outputs + np.array([[1.0], [1.5]])
    np.testing.assert_array_equal(rule.values(outputs), outputs)
    np.testing.assert_array_equal(rule.bounds(outputs, high), (outputs, high))
    assert rule.settled(outputs, high).tolist() == [True, False]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Platt(np.nan, 0.0), "slope and intercept must be finite"),
        (lambda: Isotonic(np.array([0.0, 0.0]), np.array([0.0, 1.0])), "scores must ascend"),
        (lambda: Isotonic(np.array([0.0, 1.0]), np.array([1.0, 0.0])), "numbers must not fall"),
        (lambda: Isotonic(np.array([0.0, 1.0]), np.array([0.0, 1.5])), "between 0 and 1"),
        (lambda: Isotonic(np.array([]), np.array([])), "at least 1"),
        (lambda: Calibrated(Argmax(np.arange(3)), (Platt(1.0, 0.0),)), "3 classes have 3 maps"),
        (lambda: Calibrated(Value(), (Platt(1.0, 0.0),)), "probabilities are those of classes"),
        (lambda: Temperature(OneVsOneVote(np.arange(3), shape="ovo"), 1.0), "set the shape 'ovr'"),
        (lambda: Temperature(Sign(np.arange(2)), 0.0), "must be positive"),
        (lambda: Mean(()), "at least one"),
        (lambda: Coupled(np.array([1.0]), np.array([0.0]), (0, 1, 2)), "3 classes have 3 slopes"),
        (lambda: Coupled(np.array([1.0]), np.array([0.0]), (0, 0)), "each of 0 to 1 once"),
        (lambda: Probability(Temperature(Sign(np.arange(2)), 1.0), -1.0), "not negative"),
        (lambda: MostProbable(np.arange(3), Temperature(Sign(np.arange(2)), 1.0)), "3 classes, and the map has 2"),
    ],
)
def test_maps_that_make_no_sense_are_refused(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_an_infinite_end_leaves_the_other_its_rounding() -> None:
    sigmoid = Platt(-3.0, 0.7)
    score = np.array([0.4])
    for end in (np.array([-np.inf]), score):
        assert sigmoid.bounds(end, score)[1] == sigmoid.bounds(score, score)[1]
    assert sigmoid.bounds(score, np.array([np.inf]))[0] == sigmoid.bounds(score, score)[0]
