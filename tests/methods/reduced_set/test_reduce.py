"""dormie.reduce: honest figures, ways out, and every degenerate request."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from libsvm.svm import gen_svm_nodearray, libsvm
from libsvm.svmutil import svm_load_model
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, OneClassSVM

import dormie
from dormie.machine import Affine, Floats, Machine
from dormie.machine.kernels import RBF, Custom, Linear, Polynomial, Sigmoid
from dormie.machine.rules import OneVsOneVote, Sign, Value
from dormie.numerics.evaluate import FullSum
from tests.oracles import reduced_set as naive_reduction
from tests.properties.strategies import by_hand

RNG = np.random.default_rng(4)
POINTS, WEIGHTS, ROWS = RNG.normal(size=(60, 3)), RNG.normal(size=60), RNG.normal(size=(300, 3))
MACHINE = by_hand(RBF(0.3), POINTS, WEIGHTS, 0.1)
X, Y = load_iris(return_X_y=True)


def _outputs(machine: Machine, rows: Floats = ROWS) -> Floats:
    return FullSum(machine).outputs(rows)


def _labels(machine: Machine, rows: Floats) -> Any:
    return machine.rule.labels(machine.rule.answer(_outputs(machine, rows)))


@pytest.fixture(scope="module")
def reduction() -> dormie.Reduction:
    return dormie.reduce(MACHINE, 6, ROWS)


def test_it_gives_a_machine_of_the_size_asked_for_with_the_same_rule(reduction: dormie.Reduction) -> None:
    assert reduction.machine.n_points == 6
    assert reduction.machine.rule is MACHINE.rule
    assert reduction.original is MACHINE
    assert not reduction.exact
    with pytest.raises(FrozenInstanceError):
        reduction.exact = True  # type: ignore[misc]


def test_the_distance_is_that_in_feature_space(reduction: dormie.Reduction) -> None:
    small = reduction.machine
    expected = np.sqrt(naive_reduction.squared_distance(MACHINE, small.points, small.weights))
    norm = np.sqrt(naive_reduction.squared_distance(MACHINE, POINTS[:0], np.zeros((0, 1))))
    assert reduction.distance is not None
    np.testing.assert_allclose(reduction.distance.distance, expected, rtol=1e-6)
    np.testing.assert_allclose(reduction.distance.norm, norm, rtol=1e-9)
    np.testing.assert_allclose(reduction.distance.relative, expected / norm, rtol=1e-6)


def test_errors_are_measured_on_rows_held_out_from_fitting(reduction: dormie.Reduction) -> None:
    held_out = np.isin(_outputs(MACHINE)[:, 0], reduction.errors.before)
    assert held_out.sum() == 60
    assert "60 of the rows given, held out from fitting" in str(reduction)
    before, after = _outputs(MACHINE, ROWS[held_out]), _outputs(reduction.machine, ROWS[held_out])
    np.testing.assert_allclose(reduction.errors.rms, np.sqrt(np.mean((after - before) ** 2, axis=0)))
    np.testing.assert_allclose(reduction.errors.largest, np.abs(after - before).max(axis=0))
    same = MACHINE.rule.answer(before) == MACHINE.rule.answer(after)
    assert reduction.errors.agreement == same.mean()
    assert reduction.errors.differing == (~same).sum()


@pytest.mark.parametrize("which", ["held out", "fitted"])
def test_only_rows_that_are_not_held_out_move_the_vectors(reduction: dormie.Reduction, which: str) -> None:
    held_out = np.isin(_outputs(MACHINE)[:, 0], reduction.errors.before)
    others = np.where((held_out == (which == "held out"))[:, None], -ROWS, ROWS)
    again = dormie.reduce(MACHINE, 6, others)
    assert np.array_equal(again.machine.points, reduction.machine.points) == (which == "held out")


def test_few_rows_are_all_fitted_and_the_report_says_that_this_flatters() -> None:
    assert "the 30 rows it was fitted on, which flatters it" in str(dormie.reduce(MACHINE, 4, ROWS[:30]))
    assert "the 1 row it was fitted on, which flatters it" in str(dormie.reduce(MACHINE, 4, ROWS[:1]))


@pytest.mark.parametrize("count", [1, 30, 300])
@pytest.mark.parametrize(("machine", "n"), [(MACHINE, 60), (by_hand(Linear(), POINTS, WEIGHTS, 0.1), 1)], ids=str)
def test_where_nothing_is_lost_nothing_is_said_to_be_fitted(machine: Machine, n: int, count: int) -> None:
    reduction = dormie.reduce(machine, n, ROWS[:count])
    assert reduction.exact
    assert f"Measured on {count} of the rows given, none of which was fitted on." in str(reduction)
    assert len(reduction.errors.before) == count


def test_without_rows_they_are_synthetic_and_the_report_says_so() -> None:
    assert "2,048 synthetic rows, drawn from the support vectors" in str(dormie.reduce(MACHINE, 4))


def test_rows_are_not_fitted_on_for_the_distance_and_all_serve_to_measure() -> None:
    by_distance = dormie.reduce(MACHINE, 4, ROWS, objective="norm")
    assert "300 of the rows given, none of which was fitted on" in str(by_distance)
    np.testing.assert_array_equal(by_distance.machine.points, dormie.reduce(MACHINE, 4).machine.points)
    one_by_one = dormie.reduce(MACHINE, 4, ROWS, method="one_by_one")
    assert "none of which was fitted on" in str(one_by_one)


def test_the_report_tells_sizes_distance_errors_and_labels(reduction: dormie.Reduction) -> None:
    lines = reduction.report().splitlines()
    assert lines[0].startswith("Reduced from 60 vectors to 6, approximately: 10 times less work. Machine(RBF")
    assert lines[1].startswith("Distance in feature space: |w - w'| is ")
    assert lines[3].startswith("Outputs: root mean square error ")
    assert reduction.errors.differing is not None
    assert lines[4].startswith(f"Labels: {60 - reduction.errors.differing} of 60 the same (")
    assert str(reduction) == reduction.report()


def test_a_regressor_has_outputs_but_no_labels() -> None:
    reduction = dormie.reduce(SVR().fit(X, X[:, 0]), 10, X)
    assert reduction.errors.agreement is reduction.errors.differing is None
    assert "Labels" not in str(reduction)
    assert reduction.errors.rms[0] < 0.1 * reduction.errors.spread[0]


@pytest.mark.parametrize("n", [60, 61, 10**9])
def test_a_machine_that_is_no_larger_comes_back_as_it_is(n: int) -> None:
    reduction = dormie.reduce(MACHINE, n, ROWS)
    assert reduction.machine is MACHINE
    assert reduction.exact
    assert str(reduction).startswith("Not reduced: it has no more vectors than were asked for")
    assert reduction.errors.largest.tolist() == [0.0]
    assert reduction.distance is not None
    assert reduction.distance.distance.tolist() == [0.0]


@pytest.mark.parametrize(
    ("machine", "n"),
    [
        (by_hand(Linear(), POINTS, WEIGHTS, 0.1), 1),
        (by_hand(Polynomial(0.5, 1.0, 2), POINTS, WEIGHTS, 0.1), 4),
        (by_hand(RBF(0.3), np.repeat(POINTS[:6], 10, axis=0), WEIGHTS, 0.1), 6),
        (by_hand(Sigmoid(0.3), np.repeat(POINTS[:6], 10, axis=0), WEIGHTS, 0.1), 6),
        (by_hand(RBF(0.3), np.repeat(POINTS[:1], 60, axis=0), WEIGHTS, 0.1), 1),
        (replace(by_hand(Linear(), POINTS, WEIGHTS, 0.1), input_map=Affine(np.ones(3), np.full(3, 2.0))), 1),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_algebra_can_do_is_done_exactly(machine: Machine, n: int) -> None:
    reduction = dormie.reduce(machine, n, ROWS)
    assert reduction.exact
    assert reduction.machine.n_points == n
    assert "exactly, by algebra" in str(reduction)
    np.testing.assert_allclose(_outputs(reduction.machine), _outputs(machine), rtol=1e-10, atol=1e-10)
    assert not dormie.reduce(replace(machine, kernel=RBF(0.3), points=POINTS), n, ROWS).exact


def test_far_from_the_origin_it_is_as_good_and_stays_in_the_users_coordinates() -> None:
    far = replace(MACHINE, points=POINTS + 1000)
    reduction = dormie.reduce(far, 6, ROWS + 1000)
    assert reduction.machine.input_map is None
    np.testing.assert_allclose(
        reduction.machine.points - 1000, dormie.reduce(MACHINE, 6, ROWS).machine.points, atol=0.2
    )
    scaled = replace(far, input_map=Affine(np.full(3, 7.0), np.array([2.0, 0.5, 1.0])))
    assert scaled.input_map is not None
    again = dormie.reduce(scaled, 6, scaled.input_map.inverse(ROWS + 1000))
    assert again.machine.input_map is scaled.input_map
    np.testing.assert_allclose(again.machine.points, reduction.machine.points, atol=0.2)


def test_names_of_columns_stay_with_the_machine() -> None:
    frame = pd.DataFrame(X, columns=list("abcd"))
    reduction = dormie.reduce(SVC(C=100).fit(frame, Y), 5, frame)
    assert reduction.machine.feature_names == ("a", "b", "c", "d")
    with pytest.raises(ValueError, match="another order than in training"):
        dormie.reduce(SVC(C=100).fit(frame, Y), 5, frame[["b", "a", "c", "d"]])


@pytest.mark.parametrize(
    "form",
    [
        scipy.sparse.csr_array,
        scipy.sparse.coo_array,
        lambda rows: pd.DataFrame(rows, columns=list("abc")),
        lambda rows: pl.DataFrame(rows, schema=list("abc")),
        np.asfortranarray,
        lambda rows: rows.tolist(),
    ],
    ids=["csr", "coo", "pandas", "polars", "fortran", "list"],
)
def test_rows_of_any_form_give_the_same_machine(reduction: dormie.Reduction, form: Any) -> None:
    again = dormie.reduce(MACHINE, 6, form(ROWS))
    np.testing.assert_array_equal(again.machine.points, reduction.machine.points)
    np.testing.assert_array_equal(again.errors.after, reduction.errors.after)


def test_float32_rows_serve(reduction: dormie.Reduction) -> None:
    again = dormie.reduce(MACHINE, 6, ROWS.astype(np.float32))
    assert again.errors.rms == pytest.approx(reduction.errors.rms, rel=0.2)


@pytest.mark.parametrize(
    ("n", "error", "message"),
    [
        (0, ValueError, "n must be at least 1 vector, got 0"),
        (-3, ValueError, "n must be at least 1 vector, got -3"),
        (2.5, TypeError, "n must be a whole number of vectors, such as 40, got 2.5"),
        (40.0, TypeError, "whole number"),
        ("40", TypeError, "whole number"),
        (None, TypeError, "whole number"),
        ([4], TypeError, "whole number"),
        (True, TypeError, "whole number of vectors, such as 40, got True"),
    ],
)
def test_sizes_that_cannot_be_are_refused(n: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        dormie.reduce(MACHINE, n, ROWS)


def test_a_numpy_integer_is_a_size() -> None:
    assert dormie.reduce(MACHINE, np.int64(3), ROWS).machine.n_points == 3  # type: ignore[arg-type]


def test_a_machine_of_one_answer_comes_back_as_that() -> None:
    for rows in (ROWS, None):
        constant = dormie.reduce(replace(MACHINE, weights=WEIGHTS * 0), 5, rows)
        assert constant.machine.n_points == 0
        assert _outputs(constant.machine).tolist() == [[0.1]] * 300
        assert constant.errors.agreement == 1
    empty = Machine(RBF(0.3), np.zeros((0, 3)), np.zeros((0, 1)), np.full(1, 0.1), MACHINE.rule)
    for rows in (ROWS, None):
        assert dormie.reduce(empty, 5, rows).machine is empty


def test_an_output_without_weights_stays_without() -> None:
    weights = np.c_[WEIGHTS, 0 * WEIGHTS, -WEIGHTS]
    machine = by_hand(RBF(0.3), POINTS, weights, 0.1, OneVsOneVote(np.arange(3)))
    for rows in (ROWS, None):
        reduction = dormie.reduce(machine, 6, rows)
        assert reduction.distance is not None
        assert np.abs(_outputs(reduction.machine)[:, 1] - 0.1).max() < 1e-9
        assert reduction.distance.relative[1] == 0


def test_rows_that_are_all_the_same_fewer_than_vectors_or_none() -> None:
    same = dormie.reduce(MACHINE, 5, np.repeat(ROWS[:1], 300, axis=0))
    np.testing.assert_allclose(_outputs(same.machine, ROWS[:1]), _outputs(MACHINE, ROWS[:1]), rtol=1e-4)
    assert dormie.reduce(MACHINE, 20, ROWS[:2]).machine.n_points == 20
    with pytest.raises(ValueError, match="there are no rows in what was passed as rows: pass some, or leave rows out"):
        dormie.reduce(MACHINE, 5, ROWS[:0])


def test_rows_that_cannot_be_are_named() -> None:
    rows = ROWS.copy()
    rows[217, 1] = np.nan
    with pytest.raises(ValueError, match="row 217, column 1 is NaN"):
        dormie.reduce(MACHINE, 5, rows)
    with pytest.raises(ValueError, match="row 217, column 1 is NaN"):
        dormie.reduce(MACHINE, 5, scipy.sparse.csr_array(rows))
    with pytest.raises(ValueError, match="X has 2 columns, the machine was trained with 3"):
        dormie.reduce(MACHINE, 5, ROWS[:, :2])


def test_kernels_of_which_less_is_known() -> None:
    sigmoid = replace(MACHINE, kernel=Sigmoid(0.3, 0.1))
    reduction = dormie.reduce(sigmoid, 8, ROWS)
    assert reduction.distance is None
    assert "there is none for this kernel" in str(reduction)
    assert reduction.errors.agreement is not None
    assert reduction.errors.agreement > 0.9
    with pytest.raises(ValueError, match=r"Sigmoid.* is not positive semi-definite.*pass rows"):
        dormie.reduce(sigmoid, 5)
    with pytest.raises(ValueError, match="a Python function does not have"):
        dormie.reduce(replace(MACHINE, kernel=Custom(np.dot)), 5, ROWS)


def test_what_is_no_model_is_refused() -> None:
    with pytest.raises(dormie.UnreadableModelError, match="cannot read an object of type dict"):
        dormie.reduce({}, 5)


def test_refitting_the_threshold_has_the_fewest_errors_and_keeps_the_vectors(reduction: dormie.Reduction) -> None:
    labels = (ROWS[:, 0] > 0.3).astype(int)  # not what the machine says
    rule = Sign(np.array([0, 1]))
    start = replace(reduction, machine=replace(reduction.machine, rule=rule))
    moved = start.refit_threshold(ROWS, labels)
    outputs = _outputs(start.machine)[:, 0]
    best = naive_reduction.fewest_errors(outputs, labels == 1)
    assert ((_outputs(moved.machine)[:, 0] > 0) != (labels == 1)).sum() == best
    assert best < ((outputs > 0) != (labels == 1)).sum()
    np.testing.assert_array_equal(moved.machine.points, start.machine.points)
    np.testing.assert_array_equal(moved.machine.weights, start.machine.weights)
    shift = moved.machine.bias - start.machine.bias
    np.testing.assert_allclose(moved.errors.after, start.errors.after + shift)
    before = ((outputs > 0) != (labels == 1)).sum()
    assert f"refitted on 300 labelled rows; errors fell from {before} to {best}." in str(moved)
    assert start.threshold is None


def test_one_labelled_row_is_one_row(reduction: dormie.Reduction) -> None:
    [right] = _labels(reduction.machine, ROWS[:1])
    refitted = reduction.refit_threshold(ROWS[:1], [right])
    assert "Threshold: refitted on 1 labelled row; errors stayed at 0." in str(refitted)


def test_refitting_a_vote_takes_labels_as_the_model_was_given_them() -> None:
    names = np.array(["ash", "elm", "oak"])[Y]
    reduction = dormie.reduce(SVC().fit(X, names), 2, X)
    moved = reduction.refit_threshold(pd.DataFrame(X), names.tolist())
    answers = (_labels(each.machine, X) for each in (reduction, moved))
    wrong = [int((found != names).sum()) for found in answers]
    assert f"errors fell from {wrong[0]} to {wrong[1]}." in str(moved)
    with pytest.raises(ValueError, match=r"y\[0\] is .*0.*, which is none of the classes \('ash', 'elm', 'oak'\)"):
        reduction.refit_threshold(X, Y)


def test_a_threshold_is_not_refitted_on_no_rows(reduction: dormie.Reduction) -> None:
    with pytest.raises(ValueError, match="there are no rows in X to refit the threshold on: pass some"):
        reduction.refit_threshold(ROWS[:0], [])


def test_a_regressor_has_no_threshold() -> None:
    with pytest.raises(ValueError, match="a regressor has no threshold"):
        dormie.reduce(replace(MACHINE, rule=Value()), 3, ROWS).refit_threshold(ROWS, ROWS[:, 0])


def test_written_for_libsvm_it_answers_alike_there(tmp_path: Path) -> None:
    path = tmp_path / "small.model"
    for labels in (Y, Y == 1):
        reduction = dormie.reduce(SVC().fit(X, labels), 5, X)
        reduction.write_libsvm(path)
        model = svm_load_model(str(path))
        answers = [libsvm.svm_predict(model, gen_svm_nodearray(row)[0]) for row in X]
        np.testing.assert_array_equal(_labels(reduction.machine, X), answers)


def test_scaled_input_cannot_be_written_for_libsvm(tmp_path: Path) -> None:
    reduction = dormie.reduce(make_pipeline(StandardScaler(), SVC()).fit(X, Y), 5, X)
    with pytest.raises(ValueError, match="no place for scaled input: reduce the final step itself on scaled rows"):
        reduction.write_libsvm(tmp_path / "never.model")


def test_as_a_scikit_learn_model_it_answers_alike_and_is_read_again() -> None:
    reduction = dormie.reduce(make_pipeline(StandardScaler(), SVC()).fit(X, Y), 5, X)
    small, expected = reduction.to_sklearn(), _labels(reduction.machine, X)
    np.testing.assert_array_equal(small.predict(X), expected)
    np.testing.assert_array_equal(dormie.compile(small).predict(X), expected)


def test_one_class_machines_stay_such_in_scikit_learn() -> None:
    reduction = dormie.reduce(OneClassSVM(nu=0.3).fit(X), 5, X)
    small = reduction.to_sklearn()
    assert isinstance(small, OneClassSVM)
    np.testing.assert_allclose(small.decision_function(X), _outputs(reduction.machine, X)[:, 0], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(small.score_samples(X) - small.offset_, small.decision_function(X), atol=1e-12)


def test_a_seed_gives_the_same_machine_every_time() -> None:
    one, two, other = (dormie.reduce(MACHINE, 4, ROWS, seed=seed).machine.points for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, two)
    assert not np.array_equal(one, other)


@pytest.mark.parametrize("size", [1e200, 1e-200])
def test_huge_and_tiny_weights_are_measured_without_overflow(size: float) -> None:
    plain, scaled = (dormie.reduce(replace(MACHINE, weights=WEIGHTS * s, bias=np.zeros(1)), 60) for s in (1.0, size))
    rows = np.arange(8.0).reshape(-1, 1)
    for each, unit in ((plain, 1.0), (scaled, size)):
        errors = replace(each.errors, before=rows * unit, after=rows[::-1] * unit)
        assert errors.rms / unit == pytest.approx(np.sqrt(21.0))
        assert errors.spread / unit == pytest.approx(rows.std())
        assert "(200 % of their standard deviation), largest " in str(replace(each, errors=errors))


def test_the_report_says_that_the_distance_carries_no_rounding(reduction: dormie.Reduction) -> None:
    assert "Times sqrt(K(x, x)) it bounds the error of any row x, up to rounding." in str(reduction)


def test_rows_that_leave_nothing_to_fit_are_an_error_of_the_caller() -> None:
    with pytest.raises(ValueError, match=r"5 rows have values of up to .* leave them out"):
        dormie.reduce(MACHINE, 5, np.vstack([ROWS[:50], 1e12 * ROWS[:5]]))
