"""The chance that a stage disagrees with the full machine, even where it agreed on all rows at hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.svm import SVC

import dormie
from dormie.machine import Floats
from dormie.machine.rules import OneVsOneVote, Sign
from dormie.methods.base import (
    CalibratedStage,
    Decisions,
)
from dormie.methods.linear_filter import LinearFilter
from dormie.numerics.evaluate import FullSum
from dormie.planner.risk.disagreement import decay_probabilities, exchange_probabilities
from tests.methods.stages import StageByHand


def test_estimates_that_are_right_never_flip_and_constant_errors_flip_what_they_reach() -> None:
    outputs = np.array([[-2.0], [-0.1], [0.1], [2.0]])
    rule = Sign(np.array([0, 1]))
    assert not exchange_probabilities(rule, outputs, outputs, 0).any()
    estimates = outputs + 1.0  # too high by 1 everywhere: what is estimated between 0 and 1 is negative in truth
    assert exchange_probabilities(rule, estimates, outputs, 0).tolist() == [0, 1, 0, 0]


def test_exchange_probabilities_are_shares_of_exchanged_errors() -> None:
    rng = np.random.default_rng(0)
    rule = OneVsOneVote(np.array([0, 1, 2]))
    outputs = rng.normal(size=(40, 3))
    estimates = outputs + 0.5 * rng.normal(size=(40, 3))
    errors = estimates - outputs
    every = np.array([np.mean(rule.answer(row - errors) != rule.answer(row[None])) for row in estimates])
    found = exchange_probabilities(rule, estimates, outputs, 0)
    assert np.abs(found - every).max() < 5 * 0.5 / np.sqrt(64)
    assert abs(found.mean() - every.mean()) < 0.03


class _TellsSides(StageByHand, CalibratedStage):
    """Settles all rows: as class 1 those that take more caution than it has, as class 0 the others."""

    name = "tells_sides"
    words = "tells sides"

    certified = False

    def __init__(self, takes: Floats) -> None:
        self.takes = takes

    def decide(self, rows: Any, caution: float = 1.0) -> Decisions:  # noqa: ARG002 - the protocol's
        return Decisions((self.takes > caution).astype(int), np.ones(len(self.takes), dtype=bool), 1)


def _expected_wrong(takes: Floats, cautions: Floats) -> Floats:
    """How many rows are expected to be wrong at each caution; all are of class 0."""
    chances = decay_probabilities(
        Sign(np.arange(2)), _TellsSides(takes), cautions.tolist(), takes[:, None], np.zeros(len(takes), dtype=int)
    )
    return np.array([each.sum() for each in chances])


@pytest.mark.parametrize("mean", [0.3, 1.0])
def test_what_is_wrong_at_higher_cautions_shows_in_how_fast_it_vanishes(mean: float) -> None:
    cautions = np.array([0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0])
    takes = 0.5 + np.random.default_rng(0).exponential(mean, 400)
    found = _expected_wrong(takes, cautions)
    expected = 400 * np.exp(-(cautions - 0.5) / mean)
    assert (np.abs(np.log(found) - np.log(expected))[:3] < 0.8).all()


def test_where_none_was_wrong_there_may_still_be_some() -> None:
    found = _expected_wrong(np.zeros(400), np.array([0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0]))
    assert (np.diff(found) < 0).all()
    assert found[0] == pytest.approx(0.5)


def test_chances_of_stages_that_only_tell_sides_fall_with_caution(moons: tuple[SVC, Any, Any]) -> None:
    svc, rows, _ = moons
    machine = dormie.read(svc)
    outputs = FullSum(machine).outputs(rows)
    cautions = [0.1, 0.5, 1.0, 2.0]
    stage = LinearFilter.fit(machine, rows)
    found = decay_probabilities(Sign(np.arange(2)), stage, cautions, rows, machine.rule.answer(outputs))
    totals = [float(chances.sum()) for chances in found]
    assert totals == sorted(totals, reverse=True)
    seen = stage.decide(rows, 0.1)
    assert totals[0] == pytest.approx(np.sum(seen.settled & (seen.answers != machine.rule.answer(outputs))) + 0.5)
    for caution, chances in zip(cautions, found, strict=True):
        settled = stage.decide(rows, caution).settled
        assert settled is not None
        assert not chances[~settled].any()
