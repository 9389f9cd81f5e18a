"""Random maps from outputs to probabilities, and the same maps in many digits, straight from their definitions."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
from hypothesis import strategies as st

from dormie.machine import Floats
from dormie.machine.rules import Argmax, OneVsOneVote, Rule, Sign
from dormie.machine.rules.probability import Among, Calibrated, Isotonic, Mean, Platt, ProbabilityMap, Temperature

NUMBERS = st.floats(-8, 8, allow_subnormal=False)


@st.composite
def calibrators(draw: Any) -> Platt | Isotonic:
    if draw(st.booleans()):
        steep = draw(st.sampled_from([0.0, 1.0, -1.0, 1e-3, -50.0, 1e6, -1e-9]))
        return Platt(steep * draw(st.floats(0.1, 2)), draw(NUMBERS))
    scores = sorted(draw(st.sets(NUMBERS.map(lambda x: round(x, 9)), min_size=1, max_size=6)))
    numbers = sorted(draw(st.lists(st.sampled_from([0.0, 0.0, 1e-9, 0.25, 0.5, 1 / 3, 1.0]), min_size=6, max_size=6)))
    return Isotonic(np.array(scores), np.array(numbers[: len(scores)]))


@st.composite
def scores(draw: Any) -> Rule:
    k = draw(st.integers(2, 4))
    if k == 2:
        return Sign(np.arange(2))
    of_many: list[Rule] = [Argmax(np.arange(k)), OneVsOneVote(np.arange(k))]
    return of_many[int(draw(st.integers(0, 1)))]


@st.composite
def certifiable_maps(draw: Any) -> ProbabilityMap:
    rule: Any = draw(scores())
    maps: list[ProbabilityMap] = []
    for _ in range(draw(st.integers(1, 2))):
        if draw(st.booleans()):
            maps.append(Temperature(rule, draw(st.floats(1e-4, 50))))
        else:
            count = 1 if isinstance(rule, Sign) else len(rule.classes)
            maps.append(Calibrated(rule, tuple(draw(calibrators()) for _ in range(count))))
    if draw(st.booleans()):
        places = tuple(draw(st.permutations(range(5))))[: maps[0].n_classes]
        maps = [Among(each, places, 5) for each in maps]
    if len(maps) == 1:
        return maps[0]
    return Mean(tuple(maps), draw(st.sampled_from([(), (0.1, 0.2), (0.0, 3.0), (1.0, 1.0)])))


def probabilities(found: ProbabilityMap, outputs: Floats) -> list[Any]:
    """The probabilities of one row of outputs in 60 digits."""
    with mpmath.workdps(60):
        exact = [mpmath.mpf(float(x)) for x in outputs]
        return _of(found, exact)


def _of(found: ProbabilityMap, outputs: list[Any]) -> list[Any]:
    if isinstance(found, Mean):
        parts, start = [], 0
        for member in found.members:
            parts.append(_of(member, outputs[start : start + member.n_outputs]))
            start += member.n_outputs
        weights = [mpmath.mpf(weight) for weight in found.weights or [1.0] * len(parts)]
        sums = [mpmath.fdot(weights, each) for each in zip(*parts, strict=True)]
        return [each / mpmath.fsum(weights) for each in sums]
    if isinstance(found, Among):
        placed = dict(zip(found.places, _of(found.map, outputs), strict=True))
        return [placed.get(place, mpmath.mpf(0)) for place in range(found.n_classes)]
    assert isinstance(found, Calibrated | Temperature)
    scored = _scores(found.scores, outputs)
    if isinstance(found, Temperature):
        scored = [-scored[0], scored[0]] if len(scored) == 1 else scored
        powers = [mpmath.exp(mpmath.mpf(found.inverse) * score) for score in scored]
        return [power / mpmath.fsum(powers) for power in powers]
    numbers = [_calibrated(each, score) for each, score in zip(found.maps, scored, strict=True)]
    if len(numbers) == 1:
        return [1 - numbers[0], numbers[0]]
    total = mpmath.fsum(numbers)
    return [number / total if total else mpmath.mpf(1) / len(numbers) for number in numbers]


def _scores(rule: Rule, outputs: list[Any]) -> list[Any]:
    if not isinstance(rule, OneVsOneVote):
        return outputs
    k, pair = len(rule.classes), iter(outputs)
    votes, sums = [mpmath.mpf(0)] * k, [mpmath.mpf(0)] * k
    for a in range(k):
        for b in range(a + 1, k):
            value = next(pair)
            votes[a if value >= 0 else b] += 1
            sums[a], sums[b] = sums[a] + value, sums[b] - value
    return [vote + total / (3 * (abs(total) + 1)) for vote, total in zip(votes, sums, strict=True)]


def _calibrated(found: Platt | Isotonic, score: Any) -> Any:
    if isinstance(found, Platt):
        return 1 / (1 + mpmath.exp(mpmath.mpf(found.slope) * score + mpmath.mpf(found.intercept)))
    x, y = ([mpmath.mpf(float(value)) for value in each] for each in (found.scores, found.numbers))
    if score <= x[0]:
        return y[0]
    for left, right, low, high in zip(x, x[1:], y, y[1:], strict=False):
        if score <= right:
            return low + (high - low) * (score - left) / (right - left)
    return y[-1]
