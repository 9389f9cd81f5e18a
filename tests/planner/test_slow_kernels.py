"""Compiling over slow Python kernels: exact answers from few evaluations, and no evaluation made twice."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.sparse import csr_array
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import dormie
from dormie.lab.papers.strings import Spectrum
from dormie.machine import Floats, Machine
from dormie.machine.kernels import Custom
from dormie.machine.rules import Sign
from dormie.methods.dense import Dense
from dormie.methods.geometry import Geometry
from dormie.plan.cascade import Cascade
from dormie.planner import slow_kernels
from dormie.predictor.cascade import run


class Counted:
    """The normalised spectrum kernel of words of two letters; counts pairs and calls."""

    def __init__(self) -> None:
        self.pairs, self.calls = 0, 0

    def __call__(self, a: Any, b: Any) -> Floats:
        self.pairs, self.calls = self.pairs + len(a) * len(b), self.calls + 1
        return Spectrum(2)([*a], [*b])


def strands(n: int, seed: int) -> tuple[npt.NDArray[np.object_], npt.NDArray[np.int64]]:
    """Strands of four letters from two sources, which differ in how often a letter is followed by itself."""
    rng, found = np.random.default_rng(seed), []
    sources = rng.integers(2, size=n)
    for source in sources:
        letters = [rng.integers(4)]
        for _ in range(29):
            letters.append(letters[-1] if rng.random() < (0.15, 0.4)[source] else rng.integers(4))
        found.append("".join("ACGT"[letter] for letter in letters))
    return np.array(found, dtype=object), sources


def trained(function: Any, **stated: Any) -> Machine:
    X, y = strands(150, seed=1)
    svc = SVC(kernel="precomputed", C=1.0).fit(Spectrum(2)(X.tolist(), X.tolist()), y)
    kernel = Custom(function, nonnegative=True, **stated)
    return Machine(kernel, X[svc.support_], svc.dual_coef_.T, svc.intercept_, Sign(svc.classes_))


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every Python kernel counts as slow, however quick this computer is."""
    monkeypatch.setattr(slow_kernels, "_SLOW", 0.0)
    monkeypatch.setattr(slow_kernels, "_PAIRWISE", np.inf)


ROWS = strands(300, seed=2)[0]


@pytest.mark.parametrize("known", [1.0, None], ids=["self_similarity", "evaluated"])
@pytest.mark.usefixtures("slow")
def test_an_exact_plan_keeps_every_answer_with_few_evaluations(known: float | None) -> None:
    machine = trained(function := Counted(), positive_semidefinite=True, self_similarity=known)
    fast = dormie.compile(machine)
    assert fast.plan.stages[0].name == "geometry"
    assert function.pairs < 0.75 * machine.n_points**2  # half of the kernel matrix of the points, and little more
    full = dormie.compile(machine, methods=[]).predict(ROWS)
    function.pairs = 0
    assert fast.predict(ROWS).tolist() == full.tolist()
    assert function.pairs < machine.n_points * len(ROWS) / 3
    trace = fast.trace(ROWS)
    assert trace.evaluations.sum() >= function.pairs / 2  # the second half was the trace's own
    assert trace.evaluations.max() <= machine.n_points + (known is None)


@pytest.mark.usefixtures("slow")
def test_callers_rows_are_evaluated_once() -> None:
    machine = trained(function := Counted(), positive_semidefinite=True, self_similarity=1.0)
    dormie.compile(machine, ROWS)
    sample = min(len(ROWS), slow_kernels._SAMPLE)
    assert function.pairs < 0.75 * machine.n_points**2 + sample * machine.n_points


@pytest.mark.parametrize("stated", [False, True], ids=["nothing stated", "positive semi-definite"])
@pytest.mark.usefixtures("slow")
def test_a_risk_takes_one_evaluation_of_every_row_and_point(stated: bool) -> None:
    machine = trained(function := Counted(), positive_semidefinite=stated, self_similarity=1.0)
    rows = strands(600, seed=3)[0]
    fast = dormie.compile(machine, rows, risk=0.05)
    assert function.pairs <= (len(rows) + machine.n_points) * machine.n_points
    agree = np.mean(fast.predict(ROWS) == dormie.compile(machine, methods=[]).predict(ROWS))
    assert agree > 0.9


@pytest.mark.usefixtures("slow")
def test_nothing_is_evaluated_where_nothing_can_be_saved() -> None:
    machine = trained(function := Counted())
    fast = dormie.compile(machine, ROWS)
    assert [stage.name for stage in fast.plan.stages] == ["dense"]
    assert function.pairs == 0
    assert "positive_semidefinite=True" in fast.explain()


def test_quick_kernels_are_timed_like_native_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slow_kernels, "_SLOW", np.inf)
    machine = trained(Counted(), positive_semidefinite=True, self_similarity=1.0)
    fast = dormie.compile(machine, ROWS[:64], methods=["geometry"], effort="quick")
    assert fast.predict(ROWS).tolist() == dormie.compile(machine, methods=[]).predict(ROWS).tolist()
    assert fast.plan.stages[0].name == "geometry"


@pytest.mark.usefixtures("slow")
def test_a_kernel_that_is_not_what_was_stated_is_refused() -> None:
    def distance(a: Any, b: Any) -> Floats:
        return np.array([[float(sum(p != q for p, q in zip(u, v, strict=True))) for v in b] for u in a])

    with pytest.raises(ValueError, match=r"not positive semi-definite, as was stated.*value_error"):
        dormie.compile(trained(distance, positive_semidefinite=True))


@pytest.mark.usefixtures("slow")
def test_what_takes_too_long_is_left_out_unless_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = trained(function := Counted(), positive_semidefinite=True, self_similarity=1.0)
    monkeypatch.setattr("dormie.methods.fitting.MOST_VALUES", machine.n_points**2 - 1)
    dormie.compile(machine, ROWS[:20])
    assert function.pairs < 0.4 * machine.n_points**2
    assert dormie.compile(machine, ROWS[:20], methods=["geometry"]).plan.stages[0].name == "geometry"


def test_later_stages_use_what_earlier_ones_evaluated() -> None:
    machine = trained(function := Counted(), positive_semidefinite=True, self_similarity=1.0)
    dense = Dense(machine)
    few = Geometry.build(machine, machine.points[:6])
    function.pairs = 0
    found = run(Cascade.of(few, dense), ROWS)
    assert found.evaluations.max() == machine.n_points  # type: ignore[union-attr]
    assert function.pairs == np.sum(found.evaluations)
    assert found.answers.tolist() == dense.decide(ROWS).answers.tolist()
    alone = [run(Cascade.of(few, dense), np.array([row], dtype=object)) for row in ROWS[:20]]
    assert [int(np.ravel(each.evaluations)[0]) for each in alone] == np.asarray(found.evaluations)[:20].tolist()


@pytest.mark.usefixtures("slow")
def test_strings_get_intervals_steps_and_answers_by_a_deadline() -> None:
    machine = trained(Counted(), positive_semidefinite=True, self_similarity=1.0)
    fast = dormie.compile(machine)
    outputs = fast.decision_function(ROWS)
    for budget in (0, 1, 5, 20, 10**6):
        low, high = fast.interval([*ROWS], budget)
        assert ((low - 1e-9 <= outputs) & (outputs <= high + 1e-9)).all()
    steps = [*fast.anytime(ROWS[:1])]
    assert all((step.low <= outputs[0] + 1e-9).all() and (step.high >= outputs[0] - 1e-9).all() for step in steps)
    assert steps[-1].high[0] - steps[-1].low[0] < 1e-9
    answers = fast.predict([*ROWS], deadline=60.0)
    assert answers.settled.all()
    assert answers.labels.tolist() == fast.predict(ROWS).tolist()


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.usefixtures("slow")
def test_a_statement_made_in_training_is_read_with_the_model(classes: int, sparse: bool) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(150, 3)), rng.integers(classes, size=150)
    kernel = Custom(lambda a, b: (a @ b.T + 1) ** 2, positive_semidefinite=True, nonnegative=True)
    model = make_pipeline(StandardScaler(with_mean=False), SVC(kernel=kernel)).fit(X, y)
    assert dormie.read(model).kernel is model[-1].kernel
    fast = dormie.compile(model, methods=["geometry", "fast_stopping"])
    rows = csr_array(X) if sparse else X
    assert fast.predict(rows).tolist() == model.predict(X).tolist()
    assert fast.plan.stages[0].name == "geometry"
    assert fast.trace(rows).evaluations.mean() <= 12  # there are ten monomials
    low, high = fast.interval(rows, 8)
    outputs = model.decision_function(X) if classes == 2 else dormie.compile(model, methods=[]).interval(rows)[0]
    assert ((low - 1e-9 <= outputs) & (outputs <= high + 1e-9)).all()


def test_a_predictor_survives_a_pickle() -> None:
    machine = trained(Spectrum(2), positive_semidefinite=True, self_similarity=1.0)
    fast = dormie.compile(machine, methods=["geometry", "fast_stopping"], effort="quick")
    again = pickle.loads(pickle.dumps(fast))
    assert again.predict(ROWS).tolist() == fast.predict(ROWS).tolist()
    assert str(again.plan.cascade) == str(fast.plan.cascade)
