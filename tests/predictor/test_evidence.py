"""The evidence of an audit: the integrals it stands for, few false alarms at any time, and quick true ones."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dormie.machine import Floats
from dormie.predictor.evidence import Tally, log_evidence, log_weighted_evidence
from tests.oracles import calibration as naive

ALPHA = 0.01

small = st.integers(0, 30)
inner = st.floats(0.01, 0.99)


def interval(audited: int, disagreements: int, confidence: float) -> tuple[float, float]:
    """The ends of the confidence sequence of so many rows, all audited with one probability."""
    tally = Tally()
    tally.add(np.zeros(audited, dtype=np.int64), np.arange(audited) < disagreements)
    return tally.interval(confidence)


@given(small, small, inner)
@settings(max_examples=40)
def test_the_evidence_is_the_integral_it_stands_for(hits: int, misses: int, p: float) -> None:
    assert math.exp(log_evidence(hits, misses, p)) == pytest.approx(naive.evidence(hits, misses, p), rel=1e-6)


@given(small, small, inner, st.floats(0, 1))
@settings(max_examples=25)
def test_evidence_does_not_grow_on_average_while_the_promise_is_kept(
    hits: int, misses: int, p: float, share: float
) -> None:
    before = naive.evidence(hits, misses, p)
    assert naive.mean_step(hits, misses, p, p * share) <= before * (1 + 1e-6)
    assert naive.evidence(0, 0, p) <= 1


@given(st.integers(0, 300), st.integers(0, 300), st.sampled_from([0.5, 0.95, 0.999]))
def test_the_interval_is_where_there_is_not_enough_evidence(hits: int, misses: int, confidence: float) -> None:
    low, high = interval(hits + misses, hits, confidence)
    enough = math.log(2 / (1 - confidence))
    assert 0 <= low <= hits / max(hits + misses, 1) <= high <= 1
    for end, s, f in ((low, hits, misses), (1 - high, misses, hits)):
        if end > 0:
            assert log_evidence(s, f, end * (1 - 1e-9)) >= enough - 1e-6
            assert log_evidence(s, f, end * (1 + 1e-9)) <= enough + 1e-6
        else:
            assert s == 0 or log_evidence(s, f, 1e-12) <= enough


def test_intervals_of_known_counts() -> None:
    assert interval(0, 0, 0.95) == (0.0, 1.0)
    low, high = interval(10_000, 100, 0.95)
    assert 0.006 < low < 0.009
    assert 0.012 < high < 0.015
    few, many = interval(1000, 0, 0.95), interval(100_000, 0, 0.95)
    assert few[0] == many[0] == 0
    assert many[1] < few[1] / 50


PATHS, LENGTH = 2000, 4000


def _ever_alarmed(rates: Floats, confidence: float, seed: int) -> npt.NDArray[np.intp]:
    """For each of many runs of audited rows, after how many the alarm came; one more than all where it never did."""
    wrong = np.random.default_rng(seed).random((PATHS, len(rates))) < rates
    path, place = np.nonzero(wrong)  # evidence rises only there
    hits = np.cumsum(wrong, axis=1)[path, place]
    alarmed = log_evidence(hits, place + 1 - hits, ALPHA) >= math.log(2 / (1 - confidence))
    first = np.full(PATHS, len(rates) + 1)
    np.minimum.at(first, path[alarmed], place[alarmed] + 1)
    return first


@pytest.mark.parametrize("confidence", [0.5, 0.8, 0.95])
@pytest.mark.parametrize("kept", ["at the limit", "up and down", "better first"])
def test_false_alarms_are_as_rare_as_the_confidence_says(confidence: float, kept: str) -> None:
    place = np.arange(LENGTH)
    rates = {
        "at the limit": np.full(LENGTH, ALPHA),
        "up and down": ALPHA * (place // 100 % 2),
        "better first": ALPHA * (place > LENGTH // 2),
    }[kept]
    share = float(np.mean(_ever_alarmed(rates, confidence, seed=1) <= LENGTH))
    delta = 1 - confidence
    assert share <= delta + 3 * math.sqrt(delta / PATHS)


def test_alarms_at_the_limit_do_occur_so_that_their_rarity_means_something() -> None:
    assert np.mean(_ever_alarmed(np.full(LENGTH, ALPHA), 0.5, seed=1) <= LENGTH) > 0.02


@pytest.mark.parametrize(("times", "soon"), [(3, 2000), (10, 300), (50, 50)])
def test_alarms_come_soon_after_a_shift(times: int, soon: int) -> None:
    start = 500
    rates = np.where(np.arange(start + soon) < start, ALPHA / 4, times * ALPHA)
    waited = _ever_alarmed(rates, 0.99, seed=2) - start
    assert np.mean(waited < 0) < 0.01
    assert np.quantile(waited, 0.9) <= soon


counts = st.lists(st.integers(0, 12), min_size=3, max_size=3)


@given(counts, counts, inner)
@settings(max_examples=12)
def test_weighted_evidence_is_the_mixture_it_stands_for(hits: list[int], misses: list[int], p: float) -> None:
    found = log_weighted_evidence(np.array(hits), np.array(misses), p)
    assert math.exp(found) == pytest.approx(naive.weighted_evidence(hits, misses, p), rel=1e-4)


@given(counts, counts, inner, st.floats(0, 1), st.lists(st.floats(0, 1), min_size=3, max_size=3))
def test_weighted_evidence_does_not_grow_on_average_whichever_rows_disagree(
    hits: list[int], misses: list[int], p: float, share: float, like: list[float]
) -> None:
    """A row has any of three levels, and disagreement is as unequal among them as `like` says, p on average."""
    chances, levels = np.array(like) + 1e-9, np.array([0.5, 0.3, 0.2])
    rates = np.minimum(share * p * chances / (levels @ chances), 1)
    before = log_weighted_evidence(np.array(hits), np.array(misses), p)
    after = 0.0
    for level in range(3):
        audited = 2.0 ** (level - 2)  # at the highest level always
        one = np.eye(3, dtype=np.int64)[level]
        hit = math.exp(log_weighted_evidence(hits + one, np.array(misses), p) - before)
        miss = math.exp(log_weighted_evidence(np.array(hits), misses + one, p) - before)
        mean = rates[level] * hit + (1 - rates[level]) * miss
        after += levels[level] * (1 - audited + audited * mean)
    assert after <= 1 + 1e-9


@given(counts, counts, st.sampled_from([0.5, 0.95, 0.999]))
@settings(max_examples=30)
def test_the_weighted_interval_is_where_there_is_not_enough_evidence(
    hits: list[int], misses: list[int], confidence: float
) -> None:
    tally = _tally(hits, misses)
    low, high = tally.interval(confidence)
    assert 0 <= low < high <= 1
    for p in np.linspace(0.01, 0.99, 25):
        assert tally.refutes(p, confidence) == (p <= low)
        assert _tally(misses, hits).refutes(1 - p, confidence) == (p >= high)


def _tally(hits: list[int], misses: list[int]) -> Tally:
    tally = Tally(len(hits) - 1)
    for counted, disagrees in ((hits, True), (misses, False)):
        tally.add(np.repeat(np.arange(len(hits)), counted), np.full(sum(counted), disagrees))
    assert (tally.audited, tally.disagreements) == (sum(hits) + sum(misses), sum(hits))
    return tally


RATE, HIGHEST = 0.05, 4


def _ever_alarmed_by_level(shares: Floats, rates: Floats, confidence: float, rows: int, seed: int) -> Floats:
    """For each of many runs, the number of rows after which a weighted audit raises the alarm; infinite if never.

    shares: of the rows, by level; rates: of disagreement, by level, after which rows have none
    """
    random = np.random.default_rng(seed)
    found = np.full(RUNS, np.inf)
    for run in range(RUNS):
        level = random.choice(HIGHEST + 1, size=rows, p=shares)
        audited = np.flatnonzero(random.random(rows) < RATE * 2.0**level)
        wrong = random.random(len(audited)) < rates[level[audited]]
        tally = Tally(HIGHEST)
        before = 0
        for at in np.flatnonzero(wrong):  # evidence rises only there
            tally.add(level[audited[before : at + 1]], wrong[before : at + 1])
            before = int(at) + 1
            if tally.refutes(ALPHA, confidence):
                found[run] = audited[at] + 1
                break
    return found


RUNS = 400
SHARES = np.array([0.75, 0.1875, 0.046875, 0.01171875, 0.00390625])


@pytest.mark.parametrize("confidence", [0.5, 0.9])
@pytest.mark.parametrize("where", ["everywhere", "on like rows", "on unlike rows"])
def test_false_alarms_of_weighted_audits_are_as_rare_as_the_confidence_says(confidence: float, where: str) -> None:
    weights = {"everywhere": [1, 1, 1, 1, 1], "on like rows": [1, 0, 0, 0, 0], "on unlike rows": [0, 0, 1, 2, 4]}[where]
    rates = ALPHA * np.array(weights) / (SHARES @ np.array(weights))
    assert rates.max() <= 1
    share = float(np.mean(_ever_alarmed_by_level(SHARES, rates, confidence, 20_000, seed=3) < np.inf))
    delta = 1 - confidence
    assert share <= delta / 2 + 3 * math.sqrt(delta / RUNS)  # delta/2: alarms are of the lower end alone
    if confidence == 0.5:
        assert share > 0  # so that their rarity means something


def test_a_drift_to_unlike_rows_is_found_sooner_than_by_an_audit_of_equal_rates() -> None:
    """A tenth of the rows comes from elsewhere, and a plan is wrong on a fifth of those. Both audit as many rows."""
    shares, rates = 0.9 * SHARES, np.array([0.001, 0.001, 0.001, 0.001, 0.2])
    shares[-1] += 0.1
    rows, rate = 20_000, RATE * float(shares @ 2.0 ** np.arange(HIGHEST + 1))
    weighted = np.median(_ever_alarmed_by_level(shares, rates, 0.99, rows, seed=4))
    equal = _ever_alarmed(np.full(int(rate * rows), shares @ rates), 0.99, seed=5) / rate
    assert weighted < 0.3 * np.median(equal)
