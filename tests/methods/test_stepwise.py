"""Certified stages over Python kernels: whatever the stated error hides, intervals contain the exact output.

Rows are numbers of vectors of small integers, so that the exact kernel is a whole number and the exact output a
fraction. The function that the stages see is off by as much as is stated, up or down by the pair.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dormie
from dormie.machine import Floats, Machine
from dormie.machine.kernels import RBF, Custom
from dormie.machine.rules import Sign, Value
from dormie.methods import stepwise
from dormie.methods.base import CertifiedStage
from dormie.methods.dense import Dense
from dormie.methods.fast_stopping.of_python_kernel import PythonFastStopping
from dormie.methods.fitting import CannotFit
from dormie.methods.geometry import Geometry
from tests.properties.strategies import by_hand

ERRORS = (0.0, 2.0**-48, 1e-9, 1e-4)


@dataclass
class Noisy:
    """Inner products of whole-number vectors, each off by `error` times the lengths; counts the pairs it was asked."""

    vectors: Any
    error: float
    pairs: int = 0
    calls: list[tuple[int, int]] = field(default_factory=list)

    def __call__(self, a: Any, b: Any) -> Floats:
        self.pairs += len(a) * len(b)
        self.calls.append((len(a), len(b)))
        return np.array([[self.value(int(u), int(v)) for v in b] for u in a]).reshape(len(a), len(b))

    def value(self, u: int, v: int) -> float:
        size = float(np.sqrt(self.exact(u, u) * self.exact(v, v)))
        return float(self.exact(u, v)) + (-1, 0, 1)[(7 * u + 3 * v + u * v) % 3] * self.error * size

    def exact(self, u: int, v: int) -> int:
        return sum(int(p) * int(q) for p, q in zip(self.vectors[u], self.vectors[v], strict=True))


@dataclass
class Case:
    machine: Machine
    function: Noisy
    rows: Any

    def exact(self, row: int) -> Fraction:
        """The real-number output of the exact kernel."""
        machine = self.machine
        terms = zip(machine.weights[:, 0], machine.points, strict=True)
        return sum((Fraction(w) * self.function.exact(row, int(s)) for w, s in terms), Fraction(machine.bias[0]))


@st.composite
def cases(draw: st.DrawFn, tolerance: float | None = None) -> Case:
    seed, features = draw(st.integers(0, 10**6)), draw(st.integers(1, 6))
    count, error, nonnegative = draw(st.integers(1, 24)), draw(st.sampled_from(ERRORS)), draw(st.booleans())
    rng = np.random.default_rng(seed)
    vectors = rng.integers(0 if nonnegative else -3, 4, size=(count + 12, features))
    function = Noisy(vectors, error)
    longest = float((vectors**2).sum(axis=1).max()) or 1.0
    kernel = Custom(
        function,
        positive_semidefinite=True,
        nonnegative=nonnegative,
        value_error=1.001 * error + 2.0**-50,
        self_similarity=draw(st.sampled_from([None, longest])),
    )
    weights = rng.normal(size=count) * draw(st.sampled_from([1.0, 100.0]))
    rule = Sign(np.array([-1, 1])) if tolerance is None else Value(tolerance)
    points: Any = np.arange(count)
    if draw(st.booleans()):
        points = points.tolist()
    rows = np.append(np.arange(count, count + 12), rng.integers(count, size=3))  # three are points
    return Case(by_hand(kernel, points, weights, rng.normal(), rule), function, rows)


def stages(case: Case) -> list[CertifiedStage]:
    order = np.random.default_rng(0).permutation(case.machine.n_points)
    try:
        return [Geometry.build(case.machine, order), PythonFastStopping(case.machine)]
    except (CannotFit, ValueError):  # points of length 0
        return [PythonFastStopping(case.machine)]


@given(case=cases())
def test_intervals_contain_the_exact_output(case: Case) -> None:
    exact = [case.exact(int(row)) for row in case.rows]
    for stage in stages(case):
        for budget in (*stage.budgets, case.machine.n_points + 1):
            low, high = stage.interval(case.rows, budget)
            for row, value in enumerate(exact):
                assert float(low[row, 0]) <= value <= float(high[row, 0]), (stage, budget, row)
        for row, value in zip(case.rows[:2], exact, strict=False):
            for _, one, other in stage.steps(np.array([row])):
                assert float(one[0]) <= value <= float(other[0])


@given(case=cases())
def test_the_interval_of_the_full_sum_contains_the_exact_output(case: Case) -> None:
    low, high = Dense(case.machine).interval(case.rows, case.machine.n_points)
    for row, one, other in zip(case.rows, low[:, 0], high[:, 0], strict=True):
        assert float(one) <= case.exact(int(row)) <= float(other)


@given(case=cases())
def test_settled_answers_are_those_of_the_full_sum(case: Case) -> None:
    right = Dense(case.machine).decide(case.rows).answers
    for stage in stages(case):
        found = stage.decide(case.rows)
        assert found.settled is not None
        assert (found.answers == right)[found.settled].all()


@given(case=cases(tolerance=0.5))
def test_values_keep_the_tolerance(case: Case) -> None:
    for stage in stages(case):
        found = stage.decide(case.rows)
        assert found.settled is not None
        for row, settled, value in zip(case.rows, found.settled, found.answers[:, 0], strict=True):
            assert not settled or abs(Fraction(value) - case.exact(int(row))) <= Fraction(1, 2)


@given(case=cases())
def test_evaluations_are_those_made_and_company_changes_nothing(case: Case) -> None:
    for stage in stages(case):
        together, ends = stage.decide(case.rows), stage.interval(case.rows, stage.budgets[-1] if stage.budgets else 0)
        assert together.settled is not None
        for number, row in enumerate(case.rows):
            before = case.function.pairs
            alone = stage.decide(np.array([row]))
            assert alone.evaluations == case.function.pairs - before == np.asarray(together.evaluations)[number]
            assert alone.answers[0] == together.answers[number]
            assert alone.settled == together.settled[number]
            again = stage.interval(np.array([row]), stage.budgets[-1] if stage.budgets else 0)
            assert [end[0, 0] for end in again] == [end[number, 0] for end in ends]


@given(case=cases())
def test_a_budget_is_kept(case: Case) -> None:
    row = case.rows[:1]
    for stage in stages(case):
        for budget in range(6):
            before = case.function.pairs
            stage.interval(row, budget)
            assert case.function.pairs - before <= budget


def test_open_rows_share_calls_and_settled_ones_drop_out() -> None:
    vectors = np.vstack([np.eye(12, dtype=int), 5 * np.eye(12, dtype=int)[:2], np.ones((1, 12), dtype=int)])
    function = Noisy(vectors, 0.0)
    kernel = Custom(function, positive_semidefinite=True, nonnegative=True, self_similarity=25.0)
    machine = by_hand(kernel, np.arange(12), np.r_[9.0, np.full(11, 0.1)], -1.0, Sign(np.array([-1, 1])))
    stage = PythonFastStopping(machine)
    function.calls.clear()
    found = stage.decide(np.array([12, 13, 14]))
    assert found.settled is not None
    assert found.settled.all()
    assert np.asarray(found.evaluations)[0] < np.asarray(found.evaluations)[1]
    assert function.calls[0] == (3, 1)
    assert [rows for rows, _ in function.calls] == sorted((rows for rows, _ in function.calls), reverse=True)


@pytest.mark.parametrize("most", [1, 2, 3, 8, 9, 100, 1000])
def test_schedules_end_where_they_must_and_overshoot_by_an_eighth(most: int) -> None:
    counts = [*stepwise.schedule(most)]
    assert counts[0] == 1
    assert counts[-1] == most
    for before, after in pairwise(counts):
        assert before < after <= before + (before if before < 8 else before / 8) or after == most


def test_values_that_are_not_finite_leave_a_row_open() -> None:
    def inverse(a: Any, b: Any) -> Floats:
        with np.errstate(all="ignore"):
            return np.ones((len(a), len(b))) / np.asarray(a, dtype=np.float64)[:, None]

    kernel = Custom(inverse, positive_semidefinite=True, self_similarity=1.0)
    machine = by_hand(kernel, [1, 1, 1], [1.0, 1.0, 1.0], 0.5, Sign(np.array([-1, 1])))
    for stage in (Geometry.build(machine, [1]), PythonFastStopping(machine)):
        found = stage.decide(np.array([1, 0]))
        assert found.settled is not None
        assert found.settled.tolist() == [True, False]
        low, high = stage.interval(np.array([0]), 3)
        assert low[0, 0] == -np.inf
        assert high[0, 0] == np.inf


def test_strings_of_any_length_and_rows_of_objects_will_do() -> None:
    def shared(a: Any, b: Any) -> Floats:
        return np.array([[float(len(set(u) & set(v))) for v in b] for u in a])

    words = ["golf", "wolf", "flog", "par", "putter", "bunker", "birdie"]
    machine = by_hand(
        Custom(shared, positive_semidefinite=True), words, np.arange(7) - 3.0, 0.1, Sign(np.array([0, 1]))
    )
    rows = np.array(["eagle", "tee", "fore", "albatross"], dtype=object)
    right = Dense(machine).decide(rows).answers
    for stage in (Geometry.build(machine, words), PythonFastStopping(machine)):
        found = stage.decide(rows)
        assert found.settled is not None
        assert (found.answers == right)[found.settled].all()
        assert stage.estimate(rows).shape == (4, 1)


def _rbf(a: Any, b: Any) -> Floats:
    return RBF(0.5).matrix(np.asarray(a), np.asarray(b))


def _shifted_tanh(a: Any, b: Any) -> Floats:
    return np.asarray(np.tanh(np.asarray(a) @ np.asarray(b).T - 3))


@pytest.mark.parametrize("method", ["geometry", "fast_stopping"])
@pytest.mark.parametrize(
    ("function", "statements", "message"),
    [
        (_rbf, {"self_similarity": 0.1}, "more than the stated self_similarity"),
        (_shifted_tanh, {}, "is not positive semi-definite, as was stated"),
        (lambda a, b: np.asarray(a) @ np.asarray(b).T, {"nonnegative": True}, "is stated to be nonnegative"),
    ],
    ids=["self_similarity", "positive_semidefinite", "nonnegative"],
)
def test_statements_that_the_points_contradict_are_refused(
    method: str, function: Any, statements: dict[str, Any], message: str
) -> None:
    rng = np.random.default_rng(0)
    kernel = Custom(function, positive_semidefinite=True, **statements)
    machine = by_hand(kernel, rng.normal(size=(80, 3)), rng.normal(size=80))
    with pytest.raises(ValueError, match=message):
        dormie.compile(machine, rng.normal(size=(50, 3)), methods=[method])
