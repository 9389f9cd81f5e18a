"""Candidates for plans with a risk: at several cautions, with their chances of disagreement."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.svm import SVC

import dormie
from dormie.machine import Machine
from dormie.methods.fitting import CannotFit
from dormie.methods.nearest import Nearest
from dormie.methods.reduced_set import CalibratedReducedSet, Reduced, method
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
    assert {family.stage.name for family in families} == expected
    for family in families:
        cautions = list(family.cautions)
        assert len(cautions) > 3
        assert cautions == sorted(cautions)
        assert not family.stage.certified
        assert len(family.disagreement) == len(cautions)
        boldest, careful = (family.stage.decide(rows, caution) for caution in (cautions[0], cautions[-1]))
        assert np.mean(boldest.settled) >= np.mean(careful.settled)  # type: ignore[arg-type]


def _sizes(svc: SVC, rows: Any, *names: str) -> list[int]:
    fitting = calibrated_fitting(dormie.read(svc), rows[:500], rows[500:700], "normal", bool(names))
    families = calibrated_candidates.candidates(fitting, Options(names or None))
    return [stage.sizes[-1] for family in families if isinstance(stage := family.stage, CalibratedReducedSet)]


@pytest.mark.parametrize("names", [(), ("reduced_set",)])
def test_a_candidate_that_cannot_be_fitted_does_not_drop_those_after_it(
    moons: tuple[SVC, Any, Any], monkeypatch: pytest.MonkeyPatch, names: tuple[str, ...]
) -> None:
    def quick(machine: Machine, n: int, *_: Any, **__: Any) -> Reduced:
        if n == 64:
            raise CannotFit("64 are too many")
        return Reduced(machine, machine.points[:n], (n,), (machine.weights[:n],))

    monkeypatch.setattr(method, "fit", quick)
    assert _sizes(moons[0], moons[1], *names) == [16, 32, 128]


def test_the_other_form_of_nearest_remains(moons: tuple[SVC, Any, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    fit = Nearest.fit

    def but_query(machine: Machine, rows: Any, form: str) -> Nearest:
        if form == "query":
            raise np.linalg.LinAlgError("Eigenvalues did not converge")
        return fit(machine, rows, form=form)

    monkeypatch.setattr(Nearest, "fit", but_query)
    svc, rows, _ = moons
    fitting = calibrated_fitting(dormie.read(svc), rows[:300], rows[300:400], "quick", named=True)
    [family] = calibrated_candidates.candidates(fitting, Options(("nearest",)))
    assert isinstance(family.stage, Nearest)
    assert family.stage.ordering.form == "cells"


def test_a_method_that_can_fit_nothing_is_an_error_only_where_it_was_asked_for(
    moons: tuple[SVC, Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(machine: Machine, n: int, *_: Any, **__: Any) -> Reduced:  # noqa: ARG001 - whatever it is
        raise CannotFit(f"{n} are too many")

    monkeypatch.setattr(method, "fit", fails)
    assert not _sizes(moons[0], moons[1])
    with pytest.raises(ValueError, match="16 are too many") as raised:
        _sizes(moons[0], moons[1], "reduced_set")
    assert isinstance(raised.value.__cause__, CannotFit)
