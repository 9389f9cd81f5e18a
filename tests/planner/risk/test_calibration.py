"""Risk control: exact p-values, the walk from cautious to bold, and the promise itself, by simulation."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dormie
from dormie.numerics.binomial import p_value
from dormie.planner.risk.calibration import Certified, certify, rows_needed, split
from tests.oracles import calibration as naive

Booleans = npt.NDArray[np.bool_]

counts = st.integers(0, 60).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n)))


@given(counts, st.floats(0, 1))
def test_p_values_are_the_sums_they_stand_for(count: tuple[int, int], alpha: float) -> None:
    rows, wrong = count
    expected = float(naive.p_value(rows, wrong, alpha))
    assert p_value(rows, wrong, alpha) == pytest.approx(expected, rel=1e-11, abs=1e-300)


def test_p_values_of_many_rows_keep_their_digits() -> None:
    assert p_value(2995, 0, 1e-3) == pytest.approx(0.999**2995, rel=1e-12)
    assert p_value(2995, 3, 1e-3) == pytest.approx(float(naive.p_value(2995, 3, 1e-3)), rel=1e-12)
    assert p_value(10**6, 0, 1e-9) == pytest.approx(math.exp(-1e-3), rel=1e-9)


def test_p_values_at_the_ends() -> None:
    assert p_value(0, 0, 0.1) == 1  # no rows show nothing
    assert p_value(10, 10, 0.1) == 1
    assert p_value(10, 0, 0.0) == 1  # no risk at all can never be shown
    assert p_value(10, 9, 1.0) == 0  # any agreement shows a risk below 1
    with pytest.raises(ValueError, match="11 disagreements on 10 rows"):
        p_value(10, 11, 0.1)


@given(st.floats(0.02, 0.99), st.floats(0.01, 0.999))
def test_rows_needed_are_the_fewest_that_can_certify(alpha: float, confidence: float) -> None:
    needed, delta = rows_needed(alpha, confidence), 1 - confidence
    assert naive.p_value(needed, 0, alpha) <= delta * (1 + 1e-12)
    assert naive.p_value(needed - 1, 0, alpha) > delta * (1 - 1e-12)


def test_rows_needed_for_common_promises() -> None:
    assert rows_needed(1e-3, 0.95) == 2995
    assert rows_needed(1e-2, 0.95) == 299
    assert rows_needed(0.5, 0.75) == 2  # to the very limit: 0.5^2 is 1 - 0.75


@pytest.mark.parametrize("bad", [0, 1, 0.0, 1.0, -0.1, 1.5, math.nan, math.inf, True])
def test_a_risk_or_confidence_beyond_0_and_1_is_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="risk must lie between 0 and 1"):
        rows_needed(bad, 0.95)
    with pytest.raises(ValueError, match="confidence must lie between 0 and 1"):
        rows_needed(0.1, bad)
    with pytest.raises(TypeError, match=r"risk must be a number between 0 and 1, got '0\.1'"):
        rows_needed("0.1", 0.95)  # type: ignore[arg-type]


@given(st.integers(59, 2000), st.integers(0, 500), st.booleans(), st.integers(0, 9))
def test_a_split_uses_every_row_once(count: int, least: int, per_class: bool, seed: int) -> None:
    choosing, certifying = split(count, 0.05, 0.95, seed, least=least, per_class=per_class)
    assert sorted([*choosing, *certifying]) == list(range(count))
    assert len(choosing) >= min(least, count - 59)
    for part in (choosing, certifying):
        assert (np.diff(part) > 0).all()
    again = split(count, 0.05, 0.95, seed, least=least, per_class=per_class)
    assert np.array_equal(choosing, again.choosing)
    assert np.array_equal(certifying, again.certifying)


def _most_allowed(rows: int) -> int:
    return next(seen for seen in range(rows) if p_value(rows, seen + 1, 0.05) > 0.05)


@given(st.integers(59, 2000), st.integers(0, 500))
def test_no_more_rows_certify_than_make_a_difference(count: int, least: int) -> None:
    certifying = len(split(count, 0.05, 0.95, 0, least=least).certifying)
    every = len(split(count, 0.05, 0.95, 0, least=least, per_class=True).certifying)
    assert every == max(59, count - least)
    assert _most_allowed(certifying) == _most_allowed(every)
    assert certifying == 59 or _most_allowed(certifying - 1) < _most_allowed(every)


def test_a_split_depends_on_the_seed() -> None:
    one, other = (split(200, 0.05, 0.95, seed) for seed in (0, 1))
    assert not np.array_equal(one.certifying, other.certifying)


def test_with_just_enough_rows_all_of_them_certify() -> None:
    choosing, certifying = split(2995, 1e-3, 0.95, 0)
    assert len(choosing) == 0
    assert len(certifying) == 2995


def test_too_few_rows_are_an_error_that_says_how_many_are_needed() -> None:
    with pytest.raises(
        ValueError, match=r"risk of 0\.001 with 95 % confidence needs at least 2,995 held-out rows, and there are 2,994"
    ):
        split(2994, 1e-3, 0.95, 0)
    with pytest.raises(ValueError, match=r"there are 100: .*\(100 rows can certify 0\.03 at best\)"):
        split(100, 1e-3, 0.95, 0)
    with pytest.raises(ValueError, match="and there are 0"):
        split(0, 1e-3, 0.95, 0)
    with pytest.raises(ValueError, match="at least 29 held-out rows, and there are 3"):
        certify([np.zeros(3, dtype=bool)], _as_it_is, 0.1, 0.95)


def _as_it_is(wrong: Booleans) -> Booleans:
    """For plans that are given by the rows on which they are wrong."""
    return wrong


def _wrong_on(*counts: int, rows: int = 200) -> list[Booleans]:
    """Plans that are wrong on the first so many rows."""
    return [np.arange(rows) < count for count in counts]


def test_the_walk_goes_on_while_plans_pass_and_gives_the_boldest() -> None:
    found = certify(_wrong_on(0, 1, 4, 40, 0), _as_it_is, 0.05, 0.95, seed=7)
    assert found is not None
    evidence = found.risk.evidence
    assert found.index == 2
    assert (found.risk.alpha, found.risk.confidence, found.risk.per_class) == (0.05, 0.95, False)
    assert (evidence.rank, evidence.disagreements, evidence.rows) == (3, 4, 200)  # the third from the boldest
    assert evidence.p_value == p_value(200, 4, 0.05)
    assert evidence.tested == 4
    assert evidence.seed == 7
    assert evidence.classes == ()
    assert abs(datetime.date.fromisoformat(evidence.date) - datetime.datetime.now(datetime.UTC).date()).days <= 1
    assert evidence.versions["dormie"] == dormie.__version__
    assert evidence.versions["numpy"] == np.__version__


def test_where_all_plans_pass_the_boldest_has_rank_1() -> None:
    found = certify(_wrong_on(0, 1, 2), _as_it_is, 0.05, 0.95)
    assert found is not None
    assert (found.index, found.risk.evidence.rank, found.risk.evidence.tested) == (2, 1, 3)


def test_plans_may_be_anything_and_those_behind_the_first_failure_are_not_looked_at() -> None:
    asked: list[str] = []

    def wrong(plan: str) -> Booleans:
        asked.append(plan)
        return np.arange(200) < (100 if plan == "bold" else 0)

    found = certify(["careful", "bold", "bolder"], wrong, 0.05, 0.95)
    assert found is not None
    assert found.index == 0
    assert found.risk.evidence.tested == 2
    assert asked == ["careful", "bold"]


def test_nothing_is_promised_where_the_most_cautious_plan_fails_or_there_is_none() -> None:
    assert certify(_wrong_on(30), _as_it_is, 0.05, 0.95) is None
    assert certify([], _as_it_is, 0.05, 0.95) is None


def test_a_class_that_fails_fails_the_plan() -> None:
    labels = np.repeat(["rare", "usual"], [100, 900])
    plans = _wrong_on(0, 10, rows=1000)  # 1 % of all, 10 % of the rare ones
    whole = certify(plans, _as_it_is, 0.05, 0.95)
    each = certify(plans, _as_it_is, 0.05, 0.95, classes=labels)
    assert whole is not None
    assert each is not None
    assert whole.index == 1
    assert each.index == 0
    assert each.risk.per_class
    evidence = each.risk.evidence
    assert [(count.label, count.rows, count.disagreements) for count in evidence.classes] == [
        ("rare", 100, 0),
        ("usual", 900, 0),
    ]
    assert (evidence.rows, evidence.disagreements) == (1000, 0)
    assert evidence.p_value == p_value(100, 0, 0.05)  # the weakest of the tests


def test_classes_with_too_few_rows_are_named() -> None:
    labels = np.array(["ash"] * 100 + ["elm"] * 58 + [""] * 2 + ["oak"] * 59)
    with pytest.raises(
        ValueError, match=r"needs at least 59 certifying rows of each, and class '' has 2, class 'elm' has 58:"
    ):
        certify(_wrong_on(0, rows=219), _as_it_is, 0.05, 0.95, classes=labels)


def test_classes_that_do_not_occur_are_not_promised_anything() -> None:
    found = certify(_wrong_on(0, rows=100), _as_it_is, 0.05, 0.95, classes=np.ones(100, dtype=int))
    assert found is not None
    assert [count.label for count in found.risk.evidence.classes] == ["1"]


def test_labels_must_be_those_of_the_rows() -> None:
    with pytest.raises(ValueError, match="5 labels for 100 certifying rows"):
        certify(_wrong_on(0, rows=100), _as_it_is, 0.05, 0.95, classes=np.ones(5))
    with pytest.raises(ValueError, match="and there are 0"):
        certify(_wrong_on(0, rows=0), _as_it_is, 0.05, 0.95, classes=np.zeros(0))


@given(st.data())
def test_the_walk_is_that_of_the_slow_twin(data: st.DataObject) -> None:
    n, plans = 120, data.draw(st.integers(1, 5))
    shares = data.draw(st.lists(st.floats(0, 0.12), min_size=plans, max_size=plans))
    labels = np.arange(n) % data.draw(st.integers(1, 2))
    random = np.random.default_rng(data.draw(st.integers(0, 99)))
    wrong = [random.random(n) < share for share in shares]
    found = certify(range(plans), wrong.__getitem__, 0.06, 0.9, classes=labels)
    groups = [[(int((labels == k).sum()), int(w[labels == k].sum())) for k in np.unique(labels)] for w in wrong]
    expected = naive.boldest(groups, 0.06, 0.9)
    assert (None if found is None else found.index) == expected
    if found is not None:
        assert found.risk.evidence.rank == plans - found.index
        assert found.risk.evidence.tested == naive.tested(groups, 0.06, 0.9)


@pytest.fixture(params=[1000, pytest.param(5000, marks=pytest.mark.slow)])
def draws(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many times a promise is made: a few in every run, many among the slow tests."""
    monkeypatch.setattr("importlib.metadata.version", lambda _: "1.0")  # which takes longer than all else here
    return int(request.param)


ALPHA, CONFIDENCE, ROWS = 0.05, 0.9, 200
FAMILIES = {
    "rising slowly": [0.001, 0.02, 0.045, 0.051, 0.06, 0.1],
    "all just bad": [0.0501] * 6,
    "bad at once": [0.0501, 0.0, 0.0],
    "up and down": [0.01, 0.0501, 0.02, 0.055, 0.0, 0.0501, 0.001, 0.3],
    "good, then far off": [0.0, 0.0, 0.2, 0.0],
}


def _share_of_broken_promises(
    promise: Callable[[np.random.Generator], tuple[Certified | None, Callable[[int], bool]]], draws: int
) -> float:
    broken = 0
    for draw in range(draws):
        found, is_bad = promise(np.random.default_rng(draw))
        broken += found is not None and is_bad(found.index)
    return broken / draws


def _within_binomial_error(share: float, draws: int) -> bool:
    delta = 1 - CONFIDENCE
    return share <= delta + 3 * math.sqrt(delta * CONFIDENCE / draws)


@pytest.mark.parametrize("nested", [True, False])
@pytest.mark.parametrize("name", FAMILIES)
def test_promises_are_broken_no_more_often_than_the_confidence_allows(name: str, nested: bool, draws: int) -> None:
    """Plans are numbered, cautious first; nested ones are wrong on the same rows and more, others each on its own."""
    rates = FAMILIES[name]

    def promise(random: np.random.Generator) -> tuple[Certified | None, Callable[[int], bool]]:
        shared = random.random(ROWS)
        wrong = [(shared if nested else random.random(ROWS)) < rate for rate in rates]
        return certify(wrong, _as_it_is, ALPHA, CONFIDENCE), lambda i: rates[i] > ALPHA

    assert _within_binomial_error(_share_of_broken_promises(promise, draws), draws)


def test_a_plan_just_over_the_line_is_certified_about_as_often_as_allowed(draws: int) -> None:
    """So the tests above can fail: the level is used up, as far as whole numbers allow."""

    def promise(random: np.random.Generator) -> tuple[Certified | None, Callable[[int], bool]]:
        return certify([random.random(ROWS) < 0.0501], _as_it_is, ALPHA, CONFIDENCE), lambda _: True

    allowed = max(p for k in range(ROWS) if (p := p_value(ROWS, k, ALPHA)) <= 1 - CONFIDENCE)
    assert _share_of_broken_promises(promise, draws) == pytest.approx(allowed, abs=3 * math.sqrt(allowed / draws))


def test_promises_for_each_class_are_broken_no_more_often_either(draws: int) -> None:
    """The bold plan is bad in one class only, where it hides among all rows."""
    rates = [[0.0, 0.01], [0.01, 0.0501], [0.0, 0.2]]

    def promise(random: np.random.Generator) -> tuple[Certified | None, Callable[[int], bool]]:
        labels = (random.random(6 * ROWS) < 0.2).astype(int)
        u = random.random(len(labels))
        found = certify(rates, lambda rate: u < np.take(rate, labels), ALPHA, CONFIDENCE, classes=labels)
        return found, lambda i: max(rates[i]) > ALPHA

    assert _within_binomial_error(_share_of_broken_promises(promise, draws), draws)


def test_good_plans_are_certified_mostly(draws: int) -> None:
    def promise(random: np.random.Generator) -> tuple[Certified | None, Callable[[int], bool]]:
        u = random.random(ROWS)
        return certify([u < 0.001, u < 0.01], _as_it_is, ALPHA, CONFIDENCE), lambda i: i == 1

    assert _share_of_broken_promises(promise, draws) > 0.9
