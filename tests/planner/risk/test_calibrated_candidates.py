"""Candidates for plans with a risk: at several cautions, with their chances of disagreement."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.svm import SVC

import dormie
from dormie.planner.options import Options
from dormie.planner.risk import calibrated_candidates
from tests.planner.risk.fittings import calibrated_fitting


@pytest.mark.parametrize(
    ("effort", "names", "expected"),
    [
        ("quick", None, {"linear_filter", "reduced_set"}),
        pytest.param("thorough", None, {"linear_filter", "reduced_set", "nearest", "tree"}, marks=pytest.mark.slow),
        ("quick", ("nearest", "tree"), {"nearest", "tree"}),
    ],
)
def test_calibrated_candidates_come_at_several_cautions_with_their_chances_of_disagreement(
    moons: tuple[SVC, Any, Any], effort: str, names: tuple[str, ...] | None, expected: set[str]
) -> None:
    svc, rows, _ = moons
    fitting = calibrated_fitting(dormie.read(svc), rows[:500], rows[500:700], effort, names is not None)
    families = [*calibrated_candidates.candidates(fitting, Options(names))]
    assert {family.stages[0].name for family in families} == expected
    for family in families:
        cautions = [stage.caution for stage in family.stages]  # type: ignore[attr-defined]
        assert len(cautions) > 3
        assert cautions == sorted(cautions)
        assert not any(stage.certified for stage in family.stages)
        assert len(family.disagreement) == len(cautions)
        boldest, careful = family.stages[0], family.stages[-1]
        assert np.mean(boldest.decide(rows).settled) >= np.mean(careful.decide(rows).settled)  # type: ignore[arg-type]
