"""What methods share for fitting: a candidate that cannot be fitted is left out, alone."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from dormie.machine import Machine
from dormie.machine.kernels import RBF
from dormie.machine.rules import Sign
from dormie.methods.base import Stage
from dormie.methods.dense import Dense
from dormie.methods.fitting import CannotFit, arithmetic, attempts

STAGE = Dense(Machine(RBF(1.0), np.zeros((1, 1)), np.ones(1), np.zeros(1), Sign(np.array([0, 1]))))


def _fit(*parts: Stage | str) -> Iterator[Stage]:
    """Yields stages; a text in their place is the reason why that one cannot be fitted."""
    for part in parts:
        if isinstance(part, str):
            raise CannotFit(part)
        yield part


def test_a_candidate_that_cannot_be_fitted_leaves_the_others() -> None:
    assert [*attempts([_fit("large"), _fit(STAGE), _fit("small"), _fit(STAGE, STAGE)])] == 3 * [STAGE]
    assert [*attempts([_fit(STAGE, "large"), _fit("small")])] == [STAGE]
    assert not [*attempts([])]


def test_where_no_candidate_can_be_fitted_the_first_reason_is_raised() -> None:
    with pytest.raises(CannotFit, match="large"):
        [*attempts([_fit("large"), _fit(), _fit("small")])]


def test_candidates_are_fitted_only_when_they_are_asked_for() -> None:
    asked: list[int] = []

    def fit(number: int) -> Iterator[Stage]:
        asked.append(number)
        yield STAGE

    stages = attempts(fit(number) for number in range(3))
    assert asked == []
    next(stages)
    assert asked == [0]


def test_other_errors_are_not_taken_for_numbers_out_of_range() -> None:
    def fit() -> Iterator[Stage]:
        yield STAGE
        raise ValueError("wrong argument")

    with pytest.raises(ValueError, match="wrong argument"):
        [*attempts([fit()])]
    assert not issubclass(CannotFit, ValueError)


def test_where_arithmetic_fails_the_reason_is_kept() -> None:
    with pytest.raises(CannotFit, match="Singular matrix") as raised, arithmetic():
        np.linalg.inv(np.zeros((2, 2)))
    assert isinstance(raised.value.__cause__, np.linalg.LinAlgError)
    with pytest.raises(TypeError, match="not a number"), arithmetic():
        raise TypeError("not a number")
