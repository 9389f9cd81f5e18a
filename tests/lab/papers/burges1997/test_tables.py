from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits

from dormie.lab.datasets import Dataset
from dormie.lab.datasets.places import data_folder
from dormie.lab.papers.burges1997 import printed as burges1997_printed
from dormie.lab.papers.burges1997 import tables as burges1997
from dormie.lab.papers.burges1997.systems import (
    OURS,
    PAPER,
    Digits,
    Reduced,
    System,
    bayes_shifts,
    minus_to_plus,
    original,
    reduced,
    shared,
    train,
    unit_length,
    virtual,
)
from dormie.lab.papers.burges1997.tables import Extent, Result, tables_of
from dormie.lab.papers.table import Table
from dormie.machine import Machine
from dormie.machine.rules import Sign
from dormie.methods.reduced_set import fit
from dormie.methods.reduced_set.errors import Distance
from dormie.numerics.evaluate import FullSum

needs_data = pytest.mark.skipif(data_folder() is None, reason="no data: DORMIE_DATA is not set")
SIZES = (3, 2, 4, 4, 4, 4, 3, 4, 5, 5)


def _small_mnist(name: str) -> Dataset:
    """scikit-learn's digits of 8 x 8 pixels in the place of MNIST's."""
    assert name == "mnist"
    X, y = load_digits(return_X_y=True)
    return Dataset(name, "8 x 8 digits", X[:1000] / 16, y[:1000], X[1000:] / 16, y[1000:])


@cache
def digits() -> Digits:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dormie.datasets.load", _small_mnist)
        return Digits.load(500, 400, unit_length)


@cache
def model() -> Any:
    return train(digits(), OURS)


@cache
def sets() -> Reduced:
    return reduced(model(), SIZES)


def few() -> System:
    return sets().system


def few_of(digit: int) -> Machine:
    """The reduced set of one digit's machine."""
    machine = few().machine
    mine = machine.weights[:, digit] != 0
    rule, bias = Sign(np.array([False, True])), machine.bias[[digit]]
    return Machine(machine.kernel, machine.points[mine], machine.weights[mine, digit], bias, rule)


@cache
def small_tables() -> tuple[Table, ...]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dormie.datasets.load", _small_mnist)
        return tuple(tables_of(Extent(300, 200, SIZES, (10,), 100), seconds=0))


def test_digits_have_unit_length_and_are_the_first_ones() -> None:
    data = _small_mnist("mnist")
    assert digits().X.shape == (500, 64)
    assert digits().X_test.shape == (400, 64)
    np.testing.assert_allclose(np.linalg.norm(digits().X, axis=1), 1, rtol=1e-6)
    np.testing.assert_allclose(digits().X[7] * np.linalg.norm(data.X[7]), data.X[7], rtol=1e-5)
    assert np.array_equal(digits().y, data.y[:500])


def test_pixels_from_minus_to_plus_one_keep_their_order_and_no_row_is_longer_than_one() -> None:
    pixels = _small_mnist("mnist").X
    scaled = minus_to_plus(pixels)
    np.testing.assert_allclose(scaled * 8, 2 * pixels - 1, atol=1e-6)
    assert np.linalg.norm(scaled, axis=1).max() <= 1


def test_sets_are_fitted_on_every_digit_and_eight_moved_copies_of_it() -> None:
    rows = digits().to_fit_on().reshape(-1, 500, 8, 8)
    own = digits().X.reshape(-1, 8, 8)
    assert len(rows) == 9
    assert np.array_equal(rows[0], own)
    up, down = rows[1], rows[2]
    assert np.array_equal(up[:, :-1], own[:, 1:])
    assert np.array_equal(down[:, 1:], own[:, :-1])
    assert len({moved.tobytes() for moved in rows}) == 9


def test_each_system_gives_the_outputs_of_its_ten_machines() -> None:
    rows = digits().X_test
    for system, estimators in ((original(model()), model().first_estimators_), (virtual(model()), model().estimators_)):
        expected = np.column_stack([each.decision_function(rows) for each in estimators])
        np.testing.assert_allclose(system.outputs(rows), expected, atol=1e-9)
        assert system.vectors == tuple(len(each.support_) for each in estimators)
        assert system.machine.n_points < sum(system.vectors)


def test_virtual_support_vectors_make_fewer_errors() -> None:
    wrong = [
        np.mean(system.outputs(digits().X_test).argmax(axis=1) != digits().y_test)
        for system in (original(model()), virtual(model()))
    ]
    assert wrong[1] < wrong[0]


def test_multiply_adds_are_those_of_the_length_the_products_and_the_weights() -> None:
    separate = few()
    assert separate.vectors == SIZES
    assert separate.machine.n_points == sum(SIZES)
    assert separate.multiply_adds == 64 + sum(SIZES) * (64 + 1)
    for_all = System(separate.machine, (12,))
    assert for_all.multiply_adds == 64 + 12 * (64 + 10)


def test_at_the_paper_s_sizes_a_shared_set_of_439_takes_no_more_than_lenet5() -> None:
    assert 784 + 439 * (784 + 10) <= 350_000
    assert 439 in burges1997.FULL.shared
    assert sum(burges1997.FULL.sizes) == max(burges1997.FULL.shared) == 890


def test_reduced_sets_are_closer_to_the_virtual_machine_than_none_would_be() -> None:
    rows = digits().X_test
    machine = virtual(model()).machine
    target = FullSum(machine).outputs(rows.astype(np.float64))
    spread = ((target - machine.bias) ** 2).sum(axis=1).mean()
    for_all = shared(virtual(model()), 20, digits().to_fit_on())
    assert for_all.machine.n_points == 20
    for system, share in ((few(), 0.8), (for_all, 0.2)):
        assert ((system.outputs(rows) - target) ** 2).sum(axis=1).mean() < share * spread


def test_a_reduced_set_is_that_of_its_own_digit() -> None:
    rows = digits().X_test.astype(np.float64)
    outputs = few().outputs(digits().X_test)
    for digit in burges1997_printed.DIGITS:
        target = FullSum(model().estimators_[digit].machine_).outputs(rows)[:, 0]
        correlations = [np.corrcoef(target, output)[0, 1] for output in outputs.T]
        assert np.argmax(correlations) == digit


def test_moved_all_together_the_vectors_come_closer_than_one_by_one() -> None:
    assert all(1 < first < final for first, final in zip(sets().one_by_one, sets().together, strict=True))
    machine, found = model().estimators_[3].machine_, few_of(3)
    gram = machine.kernel.matrix
    z, s, gamma, beta = found.points, machine.points, found.weights[:, 0], machine.weights[:, 0]
    whole = beta @ gram(s, s) @ beta
    left = whole - 2 * gamma @ gram(z, s) @ beta + gamma @ gram(z, z) @ gamma
    assert sets().together[3] == pytest.approx(whole / left, rel=1e-6)
    again = fit(machine, SIZES[3], start="one_by_one").machine()
    apart = Distance.between(few_of(3), again)
    assert apart is not None
    assert apart.relative[0] < 0.02


def test_the_papers_second_machine_sees_no_original_digit() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dormie.datasets.load", _small_mnist)
        few_digits = Digits.load(200, 1, PAPER.scaled)
    known = {row.tobytes() for row in few_digits.X}
    second = virtual(train(few_digits, PAPER)).machine.points.astype(np.float32)
    assert not any(row.tobytes() in known for row in second)


def test_bayes_thresholds_never_make_more_errors_on_the_rows_they_come_from() -> None:
    outputs = few().outputs(digits().X)
    shifts = bayes_shifts(outputs, digits().y)
    before, after = (burges1997.errors_of_each(each, digits().y) for each in (outputs, outputs + shifts))
    assert all(b <= a for a, b in zip(before, after, strict=True))
    assert sum(after) < sum(before)
    np.testing.assert_allclose(few().moved(shifts).outputs(digits().X), outputs + shifts, atol=1e-9)


def test_errors_are_counted_digit_by_digit_and_all_together() -> None:
    outputs = np.full((3, 10), -1.0)
    outputs[0, 3], outputs[1, 3], outputs[1, 5], outputs[2, 7] = 1.0, 1.0, 2.0, -0.5
    y = np.array([3, 5, 8])
    assert burges1997.errors_of_each(outputs, y) == [0, 0, 0, 1, 0, 0, 0, 0, 1, 0]
    assert burges1997.error_percent(outputs, y) == pytest.approx(100 / 3)
    numbers = burges1997.measured(Result(System(few().machine, (12,)), outputs), y)
    assert numbers["digit 3"] == 1
    assert numbers["vectors"] == 12


def test_printed_numbers_add_up_as_the_paper_says() -> None:
    totals = {name: sum(vectors) for name, vectors in burges1997_printed.VECTORS.items()}
    assert totals == {"ORIG": 19_523, "VSV": 44_444, "RS": 890}
    assert round(totals["ORIG"] / totals["RS"]) == 22  # "a factor of 22 fewer multiply adds than ORIG"
    bayes = burges1997_printed.thresholds("Bayes")
    assert bayes["digit 1"] == (4.43154, 12)


def test_the_tables_have_the_papers_numbers_beside_ours() -> None:
    _, first, falls, second, third = small_tables()
    assert list(first.columns) == ["ORIG, paper", "ORIG", "ORIG, ours", "VSV, paper", "VSV", "VSV, ours"]
    assert list(falls.columns) == ["paper", "one by one", "then all together"]
    assert falls.columns["paper"]["mean of digits 0 to 4"] == 2.4
    assert first.columns["VSV, paper"]["digit 9"] == (40, 6348)
    assert list(second.columns) == ["VSV, paper", "Bayes, paper", "test, paper", "VSV", "Bayes", "test"]
    assert list(third.columns)[3:] == ["ORIG", "VSV", "ORIG, ours", "VSV, ours", "RS", "shared 10"]
    for table in (first, second, third):
        lines = {line["line"]: line for line in table.as_record()["lines"]}
        assert [f"digit {digit}" in lines for digit in burges1997_printed.DIGITS] == [True] * 10
        assert set(lines) >= {"error in %"}
    assert third.columns["RS"]["vectors"] == sum(SIZES)
    assert third.columns["shared 10"]["distinct vectors"] == 10
    assert third.columns["RS, paper"]["times fewer than ORIG"] == 22
    assert third.columns["ORIG"]["times fewer than ORIG"] == 1


def test_the_tables_agree_with_each_other() -> None:
    _, first, _, second, third = small_tables()
    for name in ("ORIG", "VSV", "ORIG, ours", "VSV, ours"):
        assert first.columns[name].items() <= third.columns[name].items()
    for digit in burges1997_printed.DIGITS:
        with_bayes, in_third = second.columns["Bayes"][f"digit {digit}"], third.columns["RS"][f"digit {digit}"]
        assert isinstance(with_bayes, tuple)
        assert isinstance(in_third, tuple)
        assert with_bayes[1] == in_third[0]
        best = second.columns["test"][f"digit {digit}"]
        assert isinstance(best, tuple)
        assert best[1] <= with_bayes[1]


@needs_data
def test_mnist_is_there_in_the_form_it_takes() -> None:
    some = Digits.load(100, 50, unit_length)
    assert some.X.shape == (100, 784)
    assert set(some.y) | set(some.y_test) <= set(burges1997_printed.DIGITS)
