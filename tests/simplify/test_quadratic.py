from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from dormie.machine import Floats, Machine
from dormie.machine.kernels import RBF, Custom, Kernel, Linear, Normalized, Polynomial
from dormie.numerics import reference
from dormie.simplify import quadratic, simplify
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
    Polynomial(gamma=0.5, coef0=1.0, degree=2),
    Polynomial(gamma=2.0, coef0=0.0, degree=2),
    Polynomial(gamma=0.7, coef0=-0.4, degree=2),
    Normalized(Polynomial(gamma=1.0, coef0=0.5, degree=2)),
    Normalized(Polynomial(gamma=1.0, coef0=0.0, degree=2)),
)


@given(machines(kernels=KERNELS, least=8))
def test_outputs_stay_and_few_vectors_remain(drawn: tuple[Machine, Floats]) -> None:
    before, rows = with_names(drawn[0]), drawn[1]
    assume(quadratic.accepts(before))
    after = assert_fewer_points(quadratic, before, rows)
    assert (np.count_nonzero(after.weights, axis=1) == 1).all()


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@given(seed=st.integers(0, 10**6), d=st.integers(1, 5))
def test_at_most_d_plus_1_vectors_an_output(kernel: Kernel, seed: int, d: int) -> None:
    before, rows = random_machine(kernel, d=d, seed=seed)
    assert quadratic.accepts(before)
    after = quadratic.apply(before)
    assert after.n_points <= d + 1
    assert_same_outputs(before, after, rows)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_the_function_stays_in_real_numbers(kernel: Kernel) -> None:
    before, rows = random_machine(kernel, c=2)
    change = exact_change(before, quadratic.apply(before), rows[:4])
    assert (change <= 1e-13 * scale(before, rows[:4])).all()


def _antisymmetric(kernel: Kernel, sign: float) -> Machine:
    """Rows and their mirror images, so that an output has no linear part at all, nor with SVM weights a constant."""
    half = np.random.default_rng(1).normal(size=(10, 2))
    weights = np.array([1.0, 1, 1, 1, 1, sign, sign, sign, sign, sign])
    return machine_of(kernel, np.vstack([half, -half]), np.r_[weights, weights], 0.3)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_forms_that_hardly_meet_the_constant_are_still_exact(kernel: Kernel, sign: float) -> None:
    before = _antisymmetric(kernel, sign)
    after = quadratic.apply(before)
    rows = np.random.default_rng(2).normal(size=(5, 2)) * 3
    assert after.n_points <= 2 + 3
    assert np.abs(after.points).max() < 1e4 * np.abs(before.points).max()
    assert (exact_change(before, after, rows) <= 1e-13 * scale(before, rows)).all()


def test_large_vectors_stay_large_and_small_ones_small() -> None:
    sizes = 10.0 ** -np.arange(6)
    points = np.random.default_rng(3).normal(size=(400, 6)) * sizes
    before = machine_of(Polynomial(1.0, 1e-4, 2), points, np.r_[np.ones(200), -np.full(200, 0.5)])
    after = quadratic.apply(before)
    terms = np.sort(np.abs(after.weights[:, 0]) * after.kernel.diagonal(after.points))
    assert (terms[-3:-1] < 0.5 * terms[-1]).all()
    assert terms[0] < 1e-4 * terms[-1]


def test_unequal_features_and_huge_weights_are_no_obstacle() -> None:
    rng = np.random.default_rng(4)
    points = rng.normal(size=(60, 3)) * [1e-3, 1.0, 1e2]
    before = machine_of(Polynomial(1e-3, 2.0, 2), points, rng.normal(size=60) * 10.0 ** rng.integers(-6, 7, size=60))
    assert_same_outputs(before, quadratic.apply(before), points)


def test_handwritten_digits_against_the_rest() -> None:
    from sklearn.datasets import load_digits
    from sklearn.svm import SVC

    from dormie.convert import read

    X, y = load_digits(return_X_y=True)
    svc = SVC(kernel="poly", degree=2, coef0=1.0).fit(X[:1200], y[:1200] == 8)
    before = read(svc)
    assert before.n_points > 65
    after, applied = simplify(before)
    assert applied == ("quadratic",)
    assert after.n_points <= 65
    assert_same_outputs(before, after, X, within=1e-14)
    assert np.array_equal(after.rule.answer(reference.outputs(after, X)), svc.predict(X).astype(int))


def test_several_outputs_need_fewer_vectors_than_points() -> None:
    assert quadratic.accepts(random_machine(KERNELS[0], count=9, d=3, c=2)[0])
    assert not quadratic.accepts(random_machine(KERNELS[0], count=8, d=3, c=2)[0])
    assert not quadratic.accepts(
        random_machine(KERNELS[0], count=90, d=3, c=3)[0]
    )  # 12 vectors, but 10 products of features


@pytest.mark.parametrize(
    "kernel", [Linear(), RBF(1.0), Polynomial(1.0, 1.0, 3), Normalized(RBF(1.0)), Custom(lambda a, b: (a @ b.T) ** 2)]
)
def test_other_kernels_are_left_alone(kernel: Kernel) -> None:
    assert not quadratic.accepts(random_machine(kernel)[0])


@pytest.mark.parametrize(("points", "weight"), [(1e160, 1.0), (1e100, 1e200), (1e-170, 1.0)])
def test_what_overflows_or_underflows_is_left_alone(points: float, weight: float) -> None:
    rng = np.random.default_rng(5)
    assert not quadratic.accepts(
        machine_of(KERNELS[1], rng.normal(size=(30, 2)) * points, rng.normal(size=30) * weight)
    )


def test_terms_that_cancel_leave_no_more_rounding_than_they_had() -> None:
    """Twins that leave 1e-13 of each other: rounding is a large part of M then, but not of the terms."""
    rng = np.random.default_rng(6)
    points, weights = rng.normal(size=(30, 3)), rng.normal(size=30)
    machine = machine_of(KERNELS[0], np.vstack([points, points * (1 + 1e-13)]), np.r_[weights, -weights])
    assert_same_outputs(machine, quadratic.apply(machine), rng.normal(size=(50, 3)), within=1e-14)


def test_machines_without_points_or_weights_are_left_alone_or_emptied() -> None:
    assert not quadratic.accepts(machine_of(KERNELS[0], np.empty((0, 2)), np.empty((0, 1))))
    zeros = machine_of(KERNELS[0], np.ones((9, 2)), np.zeros(9), 0.25)
    rows: Any = np.ones((3, 2))
    assert reference.outputs(simplify(zeros)[0], rows).tolist() == [[0.25]] * 3
