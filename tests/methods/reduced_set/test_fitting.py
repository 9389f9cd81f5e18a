"""Reduced sets as they are fitted: nested, reproducible, invariant, silent, and good."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits, make_classification
from sklearn.svm import SVC

from dormie.convert import read
from dormie.machine import Affine, Floats, Machine
from dormie.machine.kernels import RBF, Custom, Kernel, Linear, Normalized, Polynomial, Sigmoid
from dormie.machine.rules import Sign, Value
from dormie.methods.fitting import CannotFit
from dormie.methods.reduced_set import Reduced, fit
from dormie.methods.reduced_set.initial_vectors import k_means_vectors, w_greedy_vectors
from dormie.methods.reduced_set.rescaling import power_of_two, rescaled
from dormie.numerics.evaluate import FullSum
from dormie.numerics.feature_space import FeatureVector
from dormie.numerics.greedy_order import w_greedy_order
from tests.properties.strategies import KERNELS, by_hand

RNG = np.random.default_rng(8)
POINTS, WEIGHTS, ROWS, UNSEEN = RNG.normal(size=(80, 3)), RNG.normal(size=80), *RNG.normal(size=(2, 600, 3))
MACHINE = by_hand(RBF(0.3), POINTS, WEIGHTS, 0.1)


def _error(machine: Machine, reduced: Machine, rows: Floats = UNSEEN) -> float:
    """Root mean square of what outputs are off by, as a share of their deviation."""
    before, after = FullSum(machine).outputs(rows), FullSum(reduced).outputs(rows)
    return float(np.sqrt(np.mean((after - before) ** 2)) / before.std())


@pytest.fixture(scope="module")
def digits() -> tuple[Machine, Floats, Floats]:
    """A machine of some hundred vectors and 45 outputs, its training rows and rows it never saw."""
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    X, y = X[order] / 16, y[order]
    return read(SVC(C=10, gamma=0.05).fit(X[:1300], y[:1300])), X[:1300], X[1300:]


def _agreement(machine: Machine, reduced: Machine, rows: Floats) -> float:
    one, other = (machine.rule.answer(FullSum(each).outputs(rows)) for each in (machine, reduced))
    return float((one == other).mean())


def test_forty_vectors_agree_with_hundreds_on_nearly_all_unseen_digits(digits: Any) -> None:
    machine, rows, unseen = digits
    assert machine.n_points > 400
    assert _agreement(machine, fit(machine, 40, rows).machine(), unseen) >= 0.975


def test_without_rows_the_distance_is_made_small_and_digits_still_agree(digits: Any) -> None:
    machine, _, unseen = digits
    assert _agreement(machine, fit(machine, 40).machine(), unseen) >= 0.96


def test_nested_sizes_are_prefixes_and_hardly_worse_than_each_fitted_alone() -> None:
    reduced = fit(MACHINE, [12, 4, 4], ROWS)
    assert reduced.sizes == (4, 12)
    errors = []
    for size in reduced.sizes:
        small = reduced.machine(size)
        np.testing.assert_array_equal(small.points, reduced.machine().points[:size])
        errors.append(_error(MACHINE, small))
        assert errors[-1] <= 2 * _error(MACHINE, fit(MACHINE, size, ROWS).machine()) + 0.02
    assert errors[0] > errors[1]


def test_nested_sizes_by_distance_are_prefixes_and_hardly_worse_than_each_fitted_alone() -> None:
    reduced = fit(MACHINE, [4, 8])
    for size in (4, 8):
        alone = _error(MACHINE, fit(MACHINE, size).machine())
        assert _error(MACHINE, reduced.machine(size)) <= 2 * alone + 0.02


def test_only_fitted_sizes_can_be_had() -> None:
    with pytest.raises(ValueError, match="fitted sizes are 3, 5, not 4"):
        fit(MACHINE, [3, 5], ROWS).machine(4)


@pytest.mark.parametrize("rows", [ROWS, None], ids=["outputs", "norm"])
def test_a_seed_gives_the_same_vectors_every_time(rows: Floats | None) -> None:
    one, two, other = (fit(MACHINE, 3, rows, seed=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(one.points, two.points)
    np.testing.assert_array_equal(one.weights[0], two.weights[0])
    assert not np.array_equal(one.points, other.points)


@pytest.mark.parametrize("unit", [2.0**-80, 2.0**90])
@pytest.mark.parametrize("rows", [ROWS, None], ids=["outputs", "norm"])
@pytest.mark.parametrize("kernel", [RBF(0.3), Polynomial(0.5, 1.0, 3)], ids=str)
@pytest.mark.parametrize("normalized", [False, True])
def test_features_in_another_unit_give_the_same_vectors_in_that_unit(
    kernel: RBF | Polynomial, normalized: bool, rows: Floats | None, unit: float
) -> None:
    def fitted(unit: float) -> Reduced:
        other = replace(kernel, gamma=kernel.gamma / unit / unit)
        machine = by_hand(Normalized(other) if normalized else other, POINTS * unit, WEIGHTS, 0.1)
        return fit(machine, 3, None if rows is None else rows[:100] * unit)

    one, two = fitted(1.0), fitted(unit)
    np.testing.assert_allclose(two.points, one.points * unit, rtol=1e-9, atol=1e-12 * unit)
    np.testing.assert_allclose(two.weights[0], one.weights[0], rtol=1e-6)


@pytest.mark.parametrize("size", [2.0**-90, 2.0**100])
def test_outputs_in_another_unit_give_the_same_vectors(size: float) -> None:
    one, two = fit(MACHINE, 4, ROWS), fit(by_hand(RBF(0.3), POINTS, WEIGHTS * size, 0.1 * size), 4, ROWS)
    np.testing.assert_allclose(two.points, one.points, rtol=1e-9)
    np.testing.assert_allclose(two.weights[0], one.weights[0] * size, rtol=1e-9)


@pytest.mark.parametrize("size", [1e-12, 1e-3, 1e3, 1e12])
@pytest.mark.parametrize("rows", [True, False], ids=["outputs", "norm"])
def test_polynomials_of_huge_and_tiny_values_are_fitted_well(size: float, rows: bool) -> None:
    machine = by_hand(Polynomial(0.5, 0.0, 3), POINTS * size, WEIGHTS)
    reduced = fit(machine, 12, ROWS * size if rows else None)  # 10 monomials
    assert _error(machine, reduced.machine(), UNSEEN * size) < 0.05


@pytest.mark.parametrize("kernel", [k for k in KERNELS if not isinstance(k, Linear)], ids=str)
def test_every_kernel_is_fitted_on_rows(kernel: Kernel) -> None:
    machine = by_hand(kernel, POINTS, WEIGHTS, 0.1)
    assert _error(machine, fit(machine, 12, ROWS).machine()) < 0.1


def test_rows_come_in_the_users_coordinates_and_the_input_map_stays() -> None:
    mapped = replace(MACHINE, input_map=Affine(np.array([5.0, -3.0, 0.5]), np.array([2.0, 0.1, 1.0])))
    assert mapped.input_map is not None
    rows = mapped.input_map.inverse(ROWS)
    reduced = fit(mapped, 6, rows).machine()
    assert reduced.input_map is mapped.input_map
    np.testing.assert_allclose(reduced.points, fit(MACHINE, 6, ROWS).machine().points, atol=0.05)


def test_few_rows_are_joined_by_the_support_vectors() -> None:
    reduced = fit(MACHINE, 20, ROWS[:3]).machine()
    assert _error(MACHINE, reduced) < 0.1


def test_rows_are_fitted_better_than_by_distance_and_distance_better_than_by_rows() -> None:
    on_rows, near = fit(MACHINE, 6, ROWS).machine(), fit(MACHINE, 6).machine()
    far_off = UNSEEN * 4
    assert _error(MACHINE, on_rows) < _error(MACHINE, near)
    assert _error(MACHINE, near, far_off) < _error(MACHINE, on_rows, far_off) + 0.05


@pytest.mark.parametrize(
    ("sizes", "error", "message"),
    [
        (0, ValueError, "at least 1 vector, 0 were asked for"),
        (-2, ValueError, "at least 1 vector, -2 were asked for"),
        (81, ValueError, "81 vectors is larger than the machine, which has 80"),
        ([], TypeError, "a number of vectors or a list of such"),
        (2.5, TypeError, "float"),
        ([2.5], TypeError, r"a list of such, got \[2.5\]"),
    ],
)
def test_sizes_that_cannot_be_are_refused(sizes: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        fit(MACHINE, sizes, ROWS)


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"objective": "label"}, "objective must be one of 'outputs', 'norm', got 'label'"),
        ({"method": "greedy"}, "method must be one of 'together', 'one_by_one', got 'greedy'"),
        ({"start": "random"}, "start must be one of 'middles', 'w_greedy', 'one_by_one', got 'random'"),
        ({"objective": "outputs"}, "needs rows to fit the outputs on; training rows serve"),
        ({"objective": "outputs", "method": "one_by_one", "rows": ROWS}, "'one_by_one' is for objective='norm'"),
    ],
)
def test_choices_that_cannot_be_are_refused(choices: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fit(MACHINE, 3, **choices)


def test_kernels_without_geometry_are_fitted_on_rows_only() -> None:
    machine = by_hand(Sigmoid(0.3, 0.1), POINTS, WEIGHTS)
    with pytest.raises(ValueError, match=r"Sigmoid.* is not positive semi-definite.*pass rows"):
        fit(machine, 3)
    for start in ("w_greedy", "one_by_one"):
        with pytest.raises(ValueError, match=rf"start='{start}' needs a kernel that is an inner product"):
            fit(machine, 3, ROWS, start=start)
    with pytest.raises(ValueError, match="a Python function does not have"):
        fit(by_hand(Custom(lambda a, b: a @ b.T), POINTS, WEIGHTS), 3, ROWS)


def test_a_machine_without_weights_has_nothing_to_fit() -> None:
    reduced = fit(by_hand(RBF(0.3), POINTS, WEIGHTS * 0, 0.1), [2, 4], ROWS)
    assert reduced.machine(2).weights.tolist() == [[0.0]] * 2
    assert FullSum(reduced.machine()).outputs(ROWS[:3]).tolist() == [[0.1]] * 3


def test_rows_with_nan_are_named() -> None:
    rows = ROWS.copy()
    rows[17, 2] = np.nan
    with pytest.raises(ValueError, match="row 17, column 2 is NaN"):
        fit(MACHINE, 3, rows)


@pytest.mark.parametrize("start", [k_means_vectors, w_greedy_vectors])
@pytest.mark.parametrize("n", [1, 7, 79, 80])
def test_starts_have_as_many_vectors_as_asked_for_among_the_points(start: Any, n: int) -> None:
    doubled = by_hand(RBF(0.3), np.vstack([POINTS[:40], POINTS[:40]]), WEIGHTS)
    for machine in (MACHINE, doubled):
        vectors = start(machine, n, 0)
        assert vectors.shape == (n, 3)
        assert (vectors >= POINTS.min(axis=0) - 1e-12).all()
        assert (vectors <= POINTS.max(axis=0) + 1e-12).all()


def test_middles_go_to_classes_by_weight() -> None:
    """Two clumps that the machine tells apart, one with nine times the weight."""
    points = np.vstack([RNG.normal(size=(50, 2)) - 10, RNG.normal(size=(50, 2)) + 10])
    machine = Machine(RBF(0.01), points, np.repeat([0.9, -0.1], 50), np.zeros(1), Sign(np.array([0, 1])))
    vectors = k_means_vectors(machine, 10, 0)
    assert (vectors[:, 0] < 0).sum() == 9
    values = replace(machine, rule=Value())
    assert (k_means_vectors(values, 10, 0)[:, 0] < 0).sum() == 9


def test_the_w_greedy_order_of_any_vectors_puts_the_most_telling_first() -> None:
    telling = POINTS[np.abs(WEIGHTS).argmax()]
    vectors = np.vstack([np.full((2, 3), 50.0), telling])  # nobody is near the first two, and one is the other
    order = w_greedy_order(vectors, FeatureVector.of(MACHINE))
    assert order[0] == 2
    assert sorted(order.tolist()) == [0, 1, 2]


@pytest.mark.parametrize("exponent", [-300, -20, 0, 3, 290])
def test_a_unit_is_the_power_of_two_that_values_are_about_as_large_as(exponent: int) -> None:
    values = RNG.normal(size=500) * 10.0**exponent
    unit = power_of_two(values)
    assert np.frexp(unit)[0] == 0.5
    assert 0.7 <= np.sqrt(np.mean((values / unit) ** 2)) <= 1.5


def test_what_is_all_zero_has_the_unit_one() -> None:
    assert power_of_two(np.zeros(3)) == power_of_two(np.empty(0)) == 1.0


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_a_machine_in_other_units_has_the_same_outputs(kernel: Kernel) -> None:
    machine = by_hand(kernel, POINTS * 50, WEIGHTS)
    other, unit = rescaled(machine)
    assert unit == 64
    expected = FullSum(machine).outputs(ROWS * 50)
    np.testing.assert_allclose(
        FullSum(other).outputs(ROWS * 50 / unit), expected, rtol=1e-9, atol=1e-9 * expected.std()
    )


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_sees_what_is_being_done_and_a_clean_line_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = _Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    fit(MACHINE, 3, ROWS)
    assert "moving 3 vectors, step 50" in terminal.getvalue()
    assert "solving for the weights" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\x1b[2K")


def test_elsewhere_nothing_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    fit(MACHINE, 3, ROWS)
    fit(MACHINE, 3, method="one_by_one")
    captured = capsys.readouterr()
    assert captured.out == captured.err == ""


@pytest.mark.parametrize(("C", "gamma"), [(1e4, 1e-3), (1e4, 1e-6), (1.0, 1e-7)])
def test_a_kernel_whose_values_hardly_differ_is_fitted_all_the_same(C: float, gamma: float) -> None:
    X, y = make_classification(300, 6, n_informative=4, random_state=0)
    machine = read(SVC(C=C, gamma=gamma).fit(X, y))
    outputs = FullSum(machine).outputs(X)
    off = FullSum(fit(machine, 20, X).machine()).outputs(X) - outputs
    assert np.sqrt(np.mean(off**2)) < 0.05 * outputs.std()


def test_rows_that_no_point_reaches_do_not_spoil_the_fit() -> None:
    rng = np.random.default_rng(0)
    machine = Machine(RBF(1.0), rng.normal(size=(60, 2)), rng.normal(size=60), np.zeros(1), Sign(np.array([0, 1])))
    near, far = rng.normal(size=(100, 2)), rng.normal(size=(150, 2)) + 100
    small = fit(machine, 20, np.vstack([near, far])).machine()
    answers = [machine.rule.answer(FullSum(each).outputs(near)) for each in (machine, small)]
    assert np.mean(answers[0] == answers[1]) > 0.9


def test_rows_too_large_for_float32_are_explained() -> None:
    X, y = make_classification(300, 6, n_informative=4, random_state=0)
    machine = read(SVC(kernel="poly", degree=3).fit(X, y))
    with pytest.raises(CannotFit, match=r"30 rows have values of up to .* leave them out"):
        fit(machine, 6, np.vstack([X, 1e7 * X[:30]]))


def test_of_very_many_rows_some_are_drawn() -> None:
    X, y = make_classification(300, 6, n_informative=4, random_state=0)
    machine = read(SVC().fit(X, y))
    one, other, third = (fit(machine, 5, X, seed=seed, most_rows=200).points for seed in (0, 0, 1))
    assert (one == other).all()
    assert (one != third).any()
    assert (fit(machine, 5, X[:200]).points != one).any()
