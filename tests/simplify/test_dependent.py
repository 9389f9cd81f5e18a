from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dormie.machine import Floats, Machine
from dormie.machine.kernels import RBF, Custom, Kernel, Linear, Normalized, Polynomial, Sigmoid
from dormie.simplify import dependent, simplify
from tests.simplify.machines import (
    assert_fewer_points,
    assert_same_outputs,
    exact_change,
    machine_of,
    machines,
    random_machine,
    scale,
    with_names,
)

KERNELS: tuple[Kernel, ...] = (
    Linear(),
    Polynomial(gamma=0.5, coef0=1.0, degree=1),
    Polynomial(gamma=0.5, coef0=1.0, degree=3),
    Polynomial(gamma=2.0, coef0=0.0, degree=3),
    Polynomial(gamma=0.7, coef0=-0.4, degree=4),
    Normalized(Linear()),
    Normalized(Polynomial(gamma=1.0, coef0=0.5, degree=2)),
    Normalized(Polynomial(gamma=1.0, coef0=0.0, degree=3)),
)


@given(machines(kernels=KERNELS, least=2))
def test_outputs_stay_and_points_of_the_machine_remain(drawn: tuple[Machine, Floats]) -> None:
    before, rows = with_names(drawn[0]), drawn[1]
    assume(dependent.accepts(before))
    after = assert_fewer_points(dependent, before, rows)
    assert {p.tobytes() for p in after.points} <= {p.tobytes() for p in before.points}


@pytest.mark.parametrize("coef0", [0.0, 0.5, -0.5])
@given(seed=st.integers(0, 10**6), d=st.integers(1, 4), degree=st.integers(1, 5))
def test_as_many_points_remain_as_there_are_monomials(coef0: float, seed: int, d: int, degree: int) -> None:
    monomials = math.comb(d + degree, degree) if coef0 else math.comb(d + degree - 1, degree)
    before, rows = random_machine(Polynomial(0.5, coef0, degree), monomials + 30, d, c=2, seed=seed)
    assume(dependent.accepts(before))  # of d = 1 and degree 5 some samples are too ill-conditioned
    after = dependent.apply(before)
    assert after.n_points == monomials
    assert_same_outputs(before, after, rows)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_the_function_stays_in_real_numbers(kernel: Kernel) -> None:
    before, rows = random_machine(kernel, 60, 2, c=2)
    change = exact_change(before, dependent.apply(before), rows[:3])
    assert (change <= 1e-12 * scale(before, rows[:3])).all()


def test_points_of_a_plane_are_as_few_as_those_of_two_features() -> None:
    rng = np.random.default_rng(1)
    points = rng.integers(-8, 9, size=(80, 2)) @ np.array([[1.0, 0, 2, -1], [0, 1, 1, 3]])
    before = machine_of(Polynomial(0.125, 1.0, 3), points, rng.normal(size=80))
    after = dependent.apply(before)
    assert after.n_points == math.comb(2 + 3, 3)
    assert_same_outputs(before, after, rng.normal(size=(20, 4)) * 8)


def test_binary_features_have_fewer_monomials_than_numbers_do() -> None:
    points = np.array([[a, b, c, d] for a in (0, 1) for b in (0, 1) for c in (0, 1) for d in (0, 1)], dtype=float)
    before = machine_of(Polynomial(0.5, 1.0, 3), points, np.arange(1.0, 17.0))
    after = dependent.apply(before)
    assert after.n_points == 15  # all products of different features but the one of all four


def test_haberman_sized_problems_shrink_to_20_points() -> None:
    rng = np.random.default_rng(2)
    points = np.c_[rng.integers(30, 84, 180), rng.integers(58, 70, 180), rng.geometric(0.2, 180) - 1].astype(float)
    weights = rng.choice([-1000.0, 1000.0], size=180) * rng.uniform(size=180)
    before = machine_of(Normalized(Polynomial(1.0, 1.0, 3)), points, weights, 2.0)
    after, applied = simplify(before)
    assert applied[-1:] == ("dependent",)
    assert after.n_points <= 20
    assert_same_outputs(before, after, points)


def test_many_points_of_few_features_never_make_a_square_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    before, rows = random_machine(Polynomial(0.5, 1.0, 3), 20_000, 3)
    heights = []
    original = Polynomial.matrix

    def matrix(kernel: Polynomial, a: Floats, b: Floats) -> Floats:
        heights.append(len(a))
        return original(kernel, a, b)

    monkeypatch.setattr(Polynomial, "matrix", matrix)
    after = dependent.apply(before)
    assert after.n_points == 20
    assert 0 < max(heights) < 1000
    assert_same_outputs(before, after, rows)


def test_independent_points_are_left_alone() -> None:
    assert not dependent.accepts(random_machine(Polynomial(0.5, 1.0, 3), 20, 3)[0])
    assert dependent.accepts(random_machine(Polynomial(0.5, 1.0, 3), 21, 3)[0])


@pytest.mark.parametrize("kernel", [RBF(1.0), Sigmoid(0.1), Normalized(RBF(1.0)), Custom(lambda a, b: a @ b.T)])
def test_other_kernels_are_left_alone(kernel: Kernel) -> None:
    assert not dependent.accepts(random_machine(kernel, 30, 1)[0])


def test_ill_conditioned_points_are_left_alone() -> None:
    """Sixteen powers of a number between 100 and 101: in floating point they are nearly one and the same."""
    rng = np.random.default_rng(3)
    points = 100 + rng.uniform(size=(60, 1))
    assert not dependent.accepts(machine_of(Polynomial(1e-4, 1.0, 15), points, rng.normal(size=60)))


def test_too_many_monomials_are_left_alone() -> None:
    assert not dependent.accepts(random_machine(Polynomial(0.01, 1.0, 5), 300, 60)[0])


def test_what_overflows_is_left_alone() -> None:
    rng = np.random.default_rng(4)
    assert not dependent.accepts(machine_of(KERNELS[2], rng.normal(size=(60, 2)) * 1e120, rng.normal(size=60)))


def test_no_points_at_all_are_left_alone() -> None:
    assert not dependent.accepts(machine_of(KERNELS[2], np.empty((0, 2)), np.empty((0, 1))))
