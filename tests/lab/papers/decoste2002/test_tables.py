from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from dormie.lab.datasets.places import data_folder
from dormie.lab.papers.decoste2002 import deadlines
from dormie.lab.papers.decoste2002 import figures as decoste2002_figures
from dormie.lab.papers.decoste2002 import problems as decoste2002_problems
from dormie.lab.papers.decoste2002 import tables as decoste2002
from dormie.lab.papers.decoste2002.figures import Curves, curves, positive_probability
from dormie.lab.papers.decoste2002.walks import build, walk
from dormie.lab.papers.table import Table
from dormie.machine import Machine
from dormie.methods.geometry import Geometry
from dormie.numerics.evaluate import FullSum
from dormie.numerics.greedy_order import sgma, w_greedy
from tests.lab.papers.decoste2002.test_deadlines import small_trade
from tests.lab.papers.rows import small_problem, unsettled_problem

needs_data = pytest.mark.skipif(data_folder() is None, reason="no data: DORMIE_DATA is not set")


@cache
def machine() -> Machine:
    return small_problem().svm()[0]


def stage(first: bool = False) -> Geometry:
    landmarks = machine().points[w_greedy(machine(), machine().n_points)]
    return build(machine(), landmarks, small_problem().folded_weights() if first else None)


@cache
def small_table() -> Table:
    return decoste2002.table(small_problem(), seconds=0)


def test_k_is_the_first_landmark_at_which_the_interval_leaves_zero_behind() -> None:
    rows = small_problem().X[:20]
    found = walk([stage()], rows)
    for row, k in zip(rows, found.steps, strict=True):
        (low, high), (low_before, high_before) = (stage().interval(row[None], int(n)) for n in (k, k - 1))
        assert low > 0 or high < 0
        assert low_before <= 0 <= high_before


def test_every_answer_found_is_that_of_the_full_sum() -> None:
    rows = np.vstack([small_problem().X, small_problem(seed=1).X])
    found = walk([stage(), stage(first=True)], rows)
    full = machine().rule.answer(FullSum(machine()).outputs(rows))
    assert len(found.answers) == 2 * len(rows)
    assert (found.answers == np.tile(full, 2))[found.answers >= 0].all()
    assert np.mean(found.answers >= 0) > 0.9


def test_rows_that_all_landmarks_leave_open_are_counted_as_such() -> None:
    numbers = decoste2002.table(unsettled_problem(), seconds=0).columns["w-greedy"]
    share, most = numbers["share of rows left to the full sum"], numbers["training rows: k min, max"]
    assert isinstance(share, float)
    assert isinstance(most, tuple)
    assert 0 < share < 1
    assert most[1] == 2
    assert numbers["answers that differ from the full sum"] == 0


def test_dependent_landmarks_are_passed_over_and_later_ones_kept() -> None:
    landmarks = machine().points[sgma(machine(), 10)]
    doubled = np.repeat(landmarks, 2, axis=0)
    assert np.array_equal(build(machine(), doubled).span.points, landmarks)


def test_folded_weights_are_the_two_halves_of_the_linear_machine() -> None:
    from sklearn.svm import SVC

    problem = small_problem()
    positive, negative = problem.folded_weights()
    linear = SVC(kernel="linear", C=problem.C).fit(problem.X, problem.y)
    np.testing.assert_allclose(positive - negative, linear.coef_[0], atol=1e-9)
    assert (positive > 0).all()


def test_with_a_kernel_like_sonars_w_greedy_needs_no_more_landmarks_than_sgma() -> None:
    mean = {name: small_table().columns[name]["training rows: k mean, median"] for name in ("SGMA", "w-greedy")}
    assert isinstance(mean["SGMA"], tuple)
    assert isinstance(mean["w-greedy"], tuple)
    assert mean["w-greedy"][0] <= mean["SGMA"][0]


def test_the_table_has_the_papers_numbers_beside_ours_and_no_answer_differs() -> None:
    lines = {line["line"]: line for line in small_table().as_record()["lines"]}
    assert lines["features"] == {"line": "features", "paper": 60, "SGMA": 6, "w-greedy": 6, "radius-greedy": 6}
    assert lines["training rows: k mean, median"]["paper"] == (28.1, 23)
    for name in ("answers that differ from the full sum", "KFD: answers that differ from the full sum"):
        assert lines[name]["SGMA"] == lines[name]["w-greedy"] == lines[name]["radius-greedy"] == 0
    assert lines["rows, positive and negative"]["SGMA"] == (40, 40)


@pytest.mark.parametrize("printed", ["_SONAR", "_HABERMAN", "_MISR"])
def test_every_printed_number_has_one_of_ours_beside_it(printed: str) -> None:
    assert set(getattr(decoste2002_problems, printed)) <= set(small_table().columns["SGMA"])


def test_the_stand_in_says_what_it_is() -> None:
    problem = decoste2002_problems.misr_stand_in(training_rows=40, test_rows=10)
    assert problem.X.shape == (40, 222)
    assert "stand-in" in problem.title
    assert "STAND-IN" in problem.notes[0]


def test_guesses_by_sphere_caps_are_those_of_the_reduced_set_with_the_bias_as_it_is() -> None:
    found = curves(small_problem(), stage())
    caps = positive_probability(found.middles, found.radii) > 0.5
    assert np.array_equal(caps, found.middles > 0)
    assert not np.array_equal(found.reduced, found.middles)


def test_figures_curves_agree_with_the_counts_and_end_without_error() -> None:
    problem = small_problem()
    found = curves(problem, stage())
    assert found.steps.tolist() == walk([stage()], problem.X).steps.tolist()
    errors = list(found.errors().values())
    assert [wrong[-1] for wrong in errors] == [0, 0, 0]
    assert (np.diff(errors[0]) <= 0).all()
    assert (errors[1] <= errors[0]).all()
    assert errors[1][0] > 0


def test_a_row_that_is_never_certain_stands_at_the_last_landmark() -> None:
    ones = np.ones((3, 1))
    assert Curves(np.ones(1), ones, 2 * ones, ones).steps.tolist() == [3]


def test_figures_are_png_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib", reason='figures need the "plot" extra')
    monkeypatch.setattr(decoste2002_figures, "sonar", small_problem)
    monkeypatch.setattr(deadlines, "measured", lambda _: small_trade())
    drawn = decoste2002_figures.draw(tmp_path / "new")
    assert [path.name for path in drawn] == [f"decoste2002-{name}.png" for name in ("figure1", "figure2", "deadline")]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in drawn)


@needs_data
def test_on_sonar_both_orders_need_no_more_landmarks_than_the_paper() -> None:
    problem = decoste2002_problems.sonar()
    sonar, others = problem.svm()
    assert (sonar.n_points, len(others)) == (165, 43)
    for order in (sgma, w_greedy):
        found = walk([build(sonar, sonar.points[order(sonar, 165)], problem.folded_weights())], problem.X)
        assert found.steps.mean() <= 26.2
        assert (found.answers == sonar.rule.answer(FullSum(sonar).outputs(problem.X))).all()


@needs_data
@pytest.mark.parametrize("early", [False, True])
def test_on_haberman_the_papers_order_needs_no_more_landmarks_than_the_paper(early: bool) -> None:
    problem = decoste2002_problems.haberman(early)
    haberman, _ = problem.svm()
    found = walk([build(haberman, haberman.points[sgma(haberman, haberman.n_points)])], problem.X)
    assert found.steps.mean() <= 4.5
    assert (found.answers == haberman.rule.answer(FullSum(haberman).outputs(problem.X))).all()
