"""Costs: with a profile no clock is asked, and the same plan is made again, byte by byte but for its date."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_classification, make_regression
from sklearn.svm import SVC, SVR

import dormie
from dormie.lab.papers.strings import Spectrum
from dormie.machine import Machine
from dormie.machine.kernels import Custom
from dormie.machine.rules import Sign
from dormie.methods.dense import Dense
from dormie.methods.geometry import Geometry
from dormie.numerics.greedy_order import w_greedy
from dormie.plan.cascade import Cascade
from dormie.planner.costs import Alone, Estimated, Timed
from dormie.planner.profile import Profile
from dormie.predictor.cascade import run

# Rounded costs of one computer, in seconds of a unit of work.
PROFILE = Profile(
    "a computer by hand",
    {
        "dense/batch/dense": {"row": 3e-8, "value": 3e-10, "product": 2e-11, "weight": 1e-10},
        "dense/row/dense": {"row": 2e-6, "value": 1e-9, "product": 4e-11, "weight": 2e-10},
        "reduced_set/batch/dense": {"row": 4e-8, "value": 3e-10, "product": 3e-11, "weight": 1e-10},
        "geometry/batch/dense": {"row": 1.4e-7, "value": 5e-9, "weight": 1.5e-9, "pair": 6e-11},
        "linear_filter/batch/dense": {"row": 4e-8, "feature": 2e-9, "weight": 1.5e-10},
        "entry/batch/dense": {"row": 6e-8, "feature": 2e-9},
    },
)


def _classes(n: int) -> tuple[SVC, Any]:
    X, y = make_classification(3000, 5, n_informative=5, n_redundant=0, random_state=0)
    return SVC(gamma=0.3).fit(X[:n], y[:n]), X[n:]


def exact() -> Callable[[], dormie.Predictor]:
    svc, _ = _classes(1000)
    return lambda: dormie.compile(svc, profile=PROFILE)


def exact_row_by_row() -> Callable[[], dormie.Predictor]:
    svc, rows = _classes(1000)
    return lambda: dormie.compile(svc, rows, fast_at="row", profile=PROFILE)


def with_a_risk() -> Callable[[], dormie.Predictor]:
    svc, rows = _classes(700)
    return lambda: dormie.compile(svc, rows, risk=0.01, effort="quick", profile=PROFILE)


def a_vote_with_a_risk() -> Callable[[], dormie.Predictor]:
    X, y = make_classification(2500, 4, n_informative=4, n_redundant=0, n_classes=4, n_clusters_per_class=1)
    svc = SVC(gamma=0.3).fit(X[:600], y[:600])
    return lambda: dormie.compile(svc, X[600:], fit_rows=X[:600], risk=0.02, effort="quick", profile=PROFILE)


def a_vote() -> Callable[[], dormie.Predictor]:
    X, y = load_iris(return_X_y=True)
    svc = SVC(C=0.05).fit(X, y)
    return lambda: dormie.compile(svc, profile=PROFILE)


def a_regressor() -> Callable[[], dormie.Predictor]:
    X, y = make_regression(600, 3, noise=5.0, random_state=0)
    svr = SVR(gamma=0.3, C=10.0).fit(X, y)
    return lambda: dormie.compile(svr, tolerance=0.5, profile=PROFILE)


COMPILES = [exact, exact_row_by_row, with_a_risk, a_vote_with_a_risk, a_vote, a_regressor]


def _without_date(path: Path) -> bytes:
    """The bytes of a plan file with every date, and every checksum that depends on it, blanked."""
    data = path.read_bytes()
    return re.sub(rb"20\d\d-\d\d-\d\d", b"____-__-__", data)


@pytest.fixture
def clockwork(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clocks that never tell the same twice: a second passes whenever one is asked, sometimes a thousand."""
    random, now = np.random.default_rng(), [0.0]

    def tick() -> float:
        now[0] += float(random.choice([1e-6, 1.0, 1e3]))
        return now[0]

    monkeypatch.setattr(time, "process_time", tick)
    monkeypatch.setattr(time, "perf_counter", tick)


@pytest.mark.parametrize("made", COMPILES, ids=lambda made: made.__name__)
@pytest.mark.usefixtures("clockwork")
def test_with_a_profile_plan_files_are_equal_but_for_the_date(
    made: Callable[[], Callable[[], dormie.Predictor]], tmp_path: Path
) -> None:
    compile_again, found = made(), []
    for number in range(3):
        fast = compile_again()
        assert fast.plan.source.seconds is None
        assert fast.plan.source.estimated
        fast.save(tmp_path / f"{number}.dormie")
        found.append((str(fast.plan.cascade), _without_date(tmp_path / f"{number}.dormie")))
    assert found[0] == found[1] == found[2]
    again = dormie.load(tmp_path / "0.dormie")
    assert again.explain() == fast.explain()
    if fast.plan.trials:
        assert "estimated by a profile" in fast.explain()


@pytest.mark.usefixtures("clockwork")
def test_with_a_profile_a_python_kernel_gives_the_same_plan() -> None:
    """A plan over a Python function cannot be saved, so its stages are compared."""
    rng = np.random.default_rng(1)
    words = np.array(["".join(rng.choice([*"ACGT"], size=20)) for _ in range(150)], dtype=object)
    svc = SVC(kernel="precomputed").fit(Spectrum(2)(words.tolist(), words.tolist()), rng.integers(2, size=150))
    calls: list[tuple[int, int]] = []

    def function(a: Any, b: Any) -> Any:
        calls.append((len(a), len(b)))
        return Spectrum(2)([*a], [*b])

    kernel = Custom(function, nonnegative=True, positive_semidefinite=True, self_similarity=1.0)
    machine = Machine(kernel, words[svc.support_], svc.dual_coef_.T, svc.intercept_, Sign(svc.classes_))
    found = []
    for _ in range(3):
        calls.clear()
        plan = dormie.compile(machine, profile=PROFILE).plan
        found.append((str(plan.cascade), plan.trials, plan.source, [*calls]))
    assert found[0] == found[1] == found[2]


def _stages() -> tuple[Machine, Dense, Geometry, Any]:
    svc, rows = _classes(1000)
    machine = dormie.read(svc)
    return machine, Dense(machine), Geometry.build(machine, machine.points[w_greedy(machine, 32)]), rows


def test_an_estimate_is_the_sum_over_the_rows_that_reach_a_stage() -> None:
    machine, dense, geometry, rows = _stages()
    decided = geometry.decide(rows)
    assert decided.settled is not None
    n, d = machine.n_points, machine.n_features
    full = 3e-8 + n * (3e-10 + 2e-11 * d + 1e-10)
    e = np.asarray(decided.evaluations, dtype=float)
    first = 1.4e-7 + e * (5e-9 + 1.5e-9) + 6e-11 * e**2
    by_hand = 6e-8 + 2e-9 * d + first.mean() + np.mean(~decided.settled) * full
    [found] = Estimated(PROFILE).of_cascades([Cascade.of(geometry, dense)], rows)
    assert found == pytest.approx(by_hand, rel=0.01)  # float64, for rows near the boundary, counts as more evaluations


def test_single_rows_are_run_in_calls_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    _, dense, geometry, rows = _stages()
    sizes: list[int] = []

    def recording(cascade: Any, some: Any, threads: int = 0) -> Any:
        sizes.append(some.shape[0])
        return run(cascade, some, threads)

    monkeypatch.setattr("dormie.planner.costs.run", recording)
    seconds = Timed("row").of_cascades([Cascade.of(geometry, dense), Cascade.of(dense)], rows[:40])
    assert {*sizes} == {1}
    assert len(sizes) % 80 == 0
    assert min(seconds) > 0
    sizes.clear()
    Timed("batch").of_cascades([Cascade.of(dense)], rows[:40])
    assert {*sizes} == {40}


def test_times_of_stages_are_shared_out_by_work(monkeypatch: pytest.MonkeyPatch) -> None:
    _, dense, geometry, rows = _stages()
    monkeypatch.setattr("dormie.planner.costs.best_of", lambda tasks, _: [2.0, 5.0][: len(tasks)])
    alone = [Alone(stage, 1.0, stage.decide(rows)) for stage in (geometry, dense)]
    for each, price, total in zip(alone, Timed().of_stages(alone, rows), (2.0, 5.0), strict=True):
        costs = price(each.found)
        assert costs.sum() == pytest.approx(total)
        evaluations = np.broadcast_to(each.found.evaluations, len(rows))
        assert np.argmax(costs) == np.argmax(evaluations)


def test_what_a_plan_is_fast_at_is_said_and_kept(tmp_path: Path) -> None:
    svc, rows = _classes(300)
    fast = dormie.compile(svc, rows[:200], fast_at="row", methods=["geometry"])
    assert fast.plan.source.fast_at == "row"
    assert "one row at a time" in fast.explain()
    fast.save(tmp_path / "row.dormie")
    assert dormie.load(tmp_path / "row.dormie").explain() == fast.explain()
    assert "one row at a time" not in dormie.compile(svc, rows[:200], methods=["geometry"]).explain()
    with pytest.raises(ValueError, match="fast_at must be 'batch'"):
        dormie.compile(svc, fast_at="rows")  # type: ignore[arg-type]
