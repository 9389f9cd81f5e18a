"""Candidates: which stages are fitted for a machine, and what effort changes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.svm import SVC

import dormie
from dormie.machine import Machine
from dormie.machine.kernels import RBF, Sigmoid
from dormie.machine.rules import Sign
from dormie.methods import METHODS
from dormie.methods.base import CertifiedStage, Method, Stage, Usable
from dormie.methods.fast_stopping import FastStopping
from dormie.methods.fitting import EFFORTS, CannotFit, CertifiedFitting, attempts
from dormie.methods.geometry import Geometry
from dormie.methods.reduced_set import ReducedSet
from dormie.methods.reduced_set.norm import Norm
from dormie.numerics.feature_space import FeatureVector
from dormie.planner.certified_candidates import candidates
from dormie.planner.options import Options
from dormie.progress import Progress
from tests.methods.toy import FarAway


@pytest.fixture(scope="module")
def moons() -> tuple[Machine, Any]:
    X, y = make_moons(3000, noise=0.3, random_state=0)
    return dormie.read(SVC(gamma=2.0).fit(X[:2000], y[:2000])), X[2000:]


def _fitted(moons: tuple[Machine, Any], *names: str, effort: str = "normal") -> list[Stage]:
    machine, rows = moons
    return [*candidates(machine, Options(names or None, EFFORTS[effort]), rows, Progress())]


def _reduced(stages: list[Stage]) -> dict[int, ReducedSet]:
    return {stage.sizes[-1]: stage for stage in stages if isinstance(stage, ReducedSet)}


def _open_share(stage: Stage, rows: Any) -> float:
    settled = stage.decide(rows).settled
    assert settled is not None
    return float(np.mean(~settled))


def test_all_kinds_of_stages_are_tried_unless_some_are_named(moons: tuple[Machine, Any]) -> None:
    assert {type(stage) for stage in _fitted(moons)} == {FastStopping, Geometry, ReducedSet}
    for kind in (FastStopping, Geometry, ReducedSet):
        assert {type(stage) for stage in _fitted(moons, kind.name)} == {kind}


def test_vectors_that_moved_leave_less_of_w(moons: tuple[Machine, Any]) -> None:
    still, moved = (_reduced(_fitted(moons, "reduced_set", effort=effort)) for effort in ("quick", "normal"))
    assert still.keys() & moved.keys()
    for size in still.keys() & moved.keys():
        assert moved[size].half_widths < 0.8 * still[size].half_widths
    points = {tuple(point) for point in moons[0].points}
    for stage in still.values():
        assert all(tuple(vector) in points for vector in stage.levels.points)


def test_free_landmarks_leave_fewer_rows_open_than_as_many_points(moons: tuple[Machine, Any]) -> None:
    left: dict[str, dict[int, float]] = {"quick": {}, "normal": {}}
    for effort, shares in left.items():
        for stage in _fitted(moons, "geometry", effort=effort):
            assert isinstance(stage, Geometry)
            shares[stage.budget] = _open_share(stage, moons[1])
    assert left["normal"][32] < 0.5 * left["quick"][32]


def test_sizes_double_until_more_vectors_cannot_pay(moons: tuple[Machine, Any]) -> None:
    machine, rows = moons
    fitted = _reduced(_fitted(moons, "reduced_set"))
    sizes = sorted(fitted)
    assert sizes[0] == 32
    assert all(b == min(2 * a, machine.n_points // 3) for a, b in pairwise(sizes))
    left = {size: _open_share(fitted[size], rows) * machine.n_points for size in sizes}
    assert all(left[size] > size for size in sizes[:-1])


def test_a_kernel_without_geometry_is_refused_only_where_it_was_asked_for() -> None:
    rng = np.random.default_rng(0)
    machine = Machine(Sigmoid(0.1), rng.normal(size=(80, 2)), rng.normal(size=80), np.zeros(1), Sign(np.array([0, 1])))
    rows = rng.normal(size=(20, 2))
    with pytest.raises(ValueError, match="reduced_set needs a kernel known to be positive semi-definite"):
        dormie.compile(machine, rows, methods=["reduced_set"])
    assert not [*candidates(machine, Options(), rows, Progress())]


def test_where_landmarks_settle_nothing_no_time_goes_into_moving_vectors() -> None:
    rng = np.random.default_rng(0)
    points = 10 * rng.normal(size=(600, 20))  # all kernel values are 0: every point is on its own
    machine = Machine(RBF(1.0), points, rng.normal(size=600), np.zeros(1), Sign(np.array([0, 1])))
    stages = [*candidates(machine, Options(), points[:50] + 0.1, Progress())]
    assert not _reduced(stages)


class _Patchy(Method):
    """Has three candidates, of which the second cannot be fitted, or none can."""

    stages = (FarAway,)

    def __init__(self, can: tuple[bool, ...] = (True, False, True), error: type[Exception] = CannotFit) -> None:
        self.can, self.error = can, error

    def is_usable_for(self, machine: Machine) -> Usable:  # noqa: ARG002 - the protocol's
        return Usable()

    def certified_candidates(self, fitting: CertifiedFitting) -> Iterator[CertifiedStage]:
        yield from attempts(self._fitted(fitting.machine, number) for number in range(3))

    def _fitted(self, machine: Machine, number: int) -> Iterator[CertifiedStage]:
        if not self.can[number]:
            raise self.error(f"candidate {number} is too large")
        yield FarAway(machine, machine.points[0], float(number))


@pytest.mark.parametrize("named", [True, False])
def test_a_candidate_that_cannot_be_fitted_does_not_drop_those_after_it(
    moons: tuple[Machine, Any], monkeypatch: pytest.MonkeyPatch, named: bool
) -> None:
    monkeypatch.setitem(METHODS, "far_away", _Patchy())
    stages = _fitted(moons, *(["far_away"] if named else []), effort="quick")
    assert [stage.radius for stage in stages if isinstance(stage, FarAway)] == [0.0, 2.0]


def test_a_method_that_can_fit_nothing_is_an_error_only_where_it_was_asked_for(
    moons: tuple[Machine, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(METHODS, "far_away", _Patchy((False, False, False)))
    assert {type(stage) for stage in _fitted(moons, effort="quick")} == {FastStopping, Geometry, ReducedSet}
    with pytest.raises(ValueError, match="candidate 0 is too large") as raised:
        dormie.compile(moons[0], moons[1], methods=["far_away", "fast_stopping"])
    assert isinstance(raised.value.__cause__, CannotFit)


class _Ends(_Patchy):
    """Raises CannotFit after its first candidate, without `attempts`."""

    def certified_candidates(self, fitting: CertifiedFitting) -> Iterator[CertifiedStage]:
        for number in range(3):
            yield from self._fitted(fitting.machine, number)


def test_a_named_method_that_fits_one_candidate_and_then_ends_is_no_error(
    moons: tuple[Machine, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(METHODS, "far_away", _Ends())
    [stage] = _fitted(moons, "far_away")
    assert isinstance(stage, FarAway)


def test_a_mistake_in_a_method_is_not_taken_for_numbers_out_of_range(
    moons: tuple[Machine, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(METHODS, "far_away", _Patchy(error=ValueError))
    with pytest.raises(ValueError, match="candidate 1 is too large"):
        _fitted(moons, effort="quick")


def test_landmarks_that_cannot_be_fitted_do_not_drop_optimised_vectors(
    moons: tuple[Machine, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    build, tried = Geometry.build, []

    def at_the_second_call(machine: Machine, landmarks: Any, w: FeatureVector | None = None) -> Geometry:
        tried.append(len(landmarks))
        if len(tried) == 1:
            raise CannotFit("too nearly dependent")
        return build(machine, landmarks, w)

    monkeypatch.setattr(Geometry, "build", at_the_second_call)
    stages = _fitted(moons, "geometry")
    assert len(tried) > 1
    assert len(stages) == len(tried) - 1
    points = {tuple(point) for point in moons[0].points}
    assert all(tuple(stage.span.points[0]) not in points for stage in stages if isinstance(stage, Geometry))


def test_a_reduced_set_that_cannot_be_fitted_does_not_drop_larger_ones(
    moons: tuple[Machine, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    project, tried = ReducedSet.project, []

    def but_the_first(machine: Machine, points: Any, sizes: Any, w: FeatureVector | None = None) -> ReducedSet:
        tried.append(len(points))
        if len(tried) == 1:
            raise CannotFit("so large that nothing can be certified")
        return project(machine, points, sizes, w)

    monkeypatch.setattr(ReducedSet, "project", but_the_first)
    assert [*_reduced(_fitted(moons, "geometry", "reduced_set", effort="quick"))] == tried[1:]
    assert len(tried) > 1
    assert len(set(tried)) == len(tried)  # both methods share what was fitted, and what was not


def test_vectors_that_cannot_be_optimised_stay_points(
    moons: tuple[Machine, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any) -> None:
        raise CannotFit("the kernel matrix of the vectors is not positive semi-definite")

    still = _reduced(_fitted(moons, "reduced_set", effort="quick"))
    monkeypatch.setattr(Norm, "minimise", fails)
    found = _reduced(_fitted(moons, "reduced_set"))
    assert found.keys() == still.keys()
    for size, stage in found.items():
        np.testing.assert_array_equal(stage.levels.points, still[size].levels.points)


@pytest.mark.parametrize("method", ["geometry", "reduced_set"])
def test_a_machine_out_of_range_is_refused_by_the_methods_that_were_asked_for(method: str) -> None:
    rng = np.random.default_rng(0)
    points, weights = rng.normal(size=(100, 2)), 1e-170 * rng.normal(size=100)
    machine = Machine(RBF(1.0), points, weights, np.zeros(1), Sign(np.array([0, 1])))
    assert {type(stage) for stage in candidates(machine, Options(), points, Progress())} <= {FastStopping}
    with pytest.raises(ValueError, match="far too small or too large"):
        dormie.compile(machine, points, methods=[method])


def test_an_unknown_effort_is_explained(moons: tuple[Machine, Any]) -> None:
    with pytest.raises(ValueError, match=r"effort must be one of 'quick', 'normal', 'thorough', got 'huge'"):
        dormie.compile(moons[0], effort="huge")  # type: ignore[arg-type]
