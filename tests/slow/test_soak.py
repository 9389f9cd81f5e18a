"""A share of `make soak` in every run; see there for what counts as wrong."""

from __future__ import annotations

import pytest

from dormie.machine.margin import Margin
from dormie.methods.fast_stopping.one_sided import OneSided
from dormie.numerics import rounding
from tests.slow import soak


def test_every_answer_near_the_decision_boundary_is_right() -> None:
    tally = list(soak.soak(30_000, seed=1_000_000))[-1]
    assert tally.rows >= 30_000
    for stage in ("fast_stopping", "geometry", "reduced_set"):
        assert tally.settled[stage] > 0.3 * tally.seen[stage]
    assert tally.inside > 100
    assert tally.by_source > 10


def test_outputs_that_confidences_overflow_on_are_not_compared() -> None:
    """Outputs of 1e308 are summed to break ties: the sum overflows, and the model's own answer is not the real one."""
    tally = soak.Tally()
    soak.check_seed(31_400_162, tally)
    assert tally.rows == soak.ROWS


def test_the_soak_finds_answers_that_are_not_the_models_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a margin, rows on the decision boundary are settled by whatever rounding makes of them."""
    monkeypatch.setattr("dormie.numerics.backend.margin", lambda machine: Margin.none(machine.n_outputs))
    with pytest.raises(soak.Disagreement, match=r"again: python -m tests.slow.soak 1 "):
        list(soak.soak(200_000))


def test_the_soak_finds_tails_that_are_one_sided_where_values_may_be_negative(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OneSided, "of", lambda _: OneSided.EVERY_ROW)
    with pytest.raises(soak.Disagreement, match=r"fast_stopping(.|\n)*again: python -m tests.slow.soak 1 "):
        list(soak.soak(200_000))


def test_the_soak_finds_a_stated_rounding_that_is_too_small(monkeypatch: pytest.MonkeyPatch) -> None:
    stated = rounding.source_rounding
    monkeypatch.setattr(soak, "source_rounding", lambda machine: _shrunk(stated(machine), 1e-4))
    with pytest.raises(soak.Disagreement, match=r"again: python -m tests.slow.soak 1 "):
        list(soak.soak(200_000))


def _shrunk(margin: Margin, share: float) -> Margin:
    return Margin(margin.constant * share, margin.slope * share, margin.gain, margin.start, margin.degree)
