"""compile: the plan keeps every answer, uses what pays, and says what it did."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from sklearn.datasets import make_classification, make_moons, make_regression
from sklearn.kernel_ridge import KernelRidge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

import dormie
from dormie.machine import Affine, Machine
from dormie.machine.kernels import RBF, Custom, Polynomial
from dormie.machine.rules import Argmax, Rule, Sign, Value
from dormie.numerics.synthetic_rows import sample_rows
from dormie.plan.guarantee import Exact, Risk, Tolerance
from tests.oracles import long_double


@pytest.mark.parametrize("methods", [None, ["geometry"], ["fast_stopping"], ["dense"], ["geometry", "fast_stopping"]])
def test_every_choice_of_methods_keeps_the_labels(moons: tuple[SVC, Any], methods: list[str] | None) -> None:
    svc, X = moons
    fast = dormie.compile(svc, methods=methods)
    assert (fast.predict(X) == svc.predict(X)).all()
    assert fast.plan.stages[-1].name == "dense"


def test_a_smooth_machine_is_settled_by_a_few_landmarks(moons: tuple[SVC, Any]) -> None:
    svc, X = moons
    fast = dormie.compile(svc, X, methods=["geometry"])
    trace = fast.trace(X)
    assert (trace.stage == "geometry").mean() > 0.95
    assert trace.evaluations.mean() < len(svc.support_) / 10


def test_rows_inform_the_choice_and_nothing_else(moons: tuple[SVC, Any]) -> None:
    svc, X = moons
    with_rows, without = dormie.compile(svc, X[:100]), dormie.compile(svc)
    assert (with_rows.predict(X) == without.predict(X)).all()


def test_a_plan_comes_from_models_that_scale_their_input() -> None:
    X, y = make_classification(1500, 6, random_state=1)
    X = X * 100 + 1000
    model = make_pipeline(StandardScaler(), SVC(gamma=0.1)).fit(X[:1000], y[:1000])
    fast = dormie.compile(model, methods=["geometry"])
    assert (fast.predict(X[1000:]) == model.predict(X[1000:])).all()


def test_explain_says_what_was_tried_chosen_and_promised(moons: tuple[SVC, Any]) -> None:
    svc, X = moons
    fast = dormie.compile(svc, X)
    text = fast.explain()
    assert "SVC(gamma=0.5)" in text
    assert "us per row" in text
    assert text.count("<- chosen") == 1
    assert "exact" in text
    assert dormie.compile(svc, methods=["dense"]).explain().count("chosen") == 0


def test_the_plan_survives_a_file(moons: tuple[SVC, Any], tmp_path: Any) -> None:
    svc, X = moons
    fast = dormie.compile(svc, X, methods=["geometry"])
    fast.save(tmp_path / "moons.dormie")
    again = dormie.load(tmp_path / "moons.dormie")
    assert (again.predict(X) == fast.predict(X)).all()
    assert again.explain() == fast.explain()
    assert (again.trace(X).evaluations == fast.trace(X).evaluations).all()


def test_tolerance_is_kept_by_every_value() -> None:
    X, y = make_regression(1500, 3, noise=5.0, random_state=0)
    svr = SVR(gamma=0.3, C=10.0).fit(X[:1000], y[:1000])
    fast = dormie.compile(svr, tolerance=0.5, methods=["geometry"])
    assert fast.plan.guarantee == Tolerance(0.5)
    assert np.abs(fast.predict(X) - svr.predict(X)).max() <= 0.5
    assert (fast.trace(X).stage == "geometry").any()


def test_without_a_tolerance_values_are_those_of_the_model() -> None:
    X, y = make_regression(300, 3, noise=5.0, random_state=0)
    svr = SVR(gamma=0.3, C=10.0).fit(X, y)
    np.testing.assert_allclose(dormie.compile(svr).predict(X), svr.predict(X), rtol=1e-9)


def test_the_tolerance_of_a_rule_is_kept_and_promised() -> None:
    X, y = make_regression(600, 3, noise=5.0, random_state=0)
    svr = SVR(gamma=0.3, C=10.0).fit(X, y)
    tolerant = dormie.compile(svr, tolerance=50.0, methods=["geometry"]).plan.machine
    again = dormie.compile(tolerant, methods=["geometry"])
    assert again.plan.guarantee == Tolerance(50.0)
    assert dormie.compile(tolerant, tolerance=0.5).plan.guarantee == Tolerance(0.5)
    exact = dormie.compile(replace(tolerant, rule=Value()))
    assert exact.plan.guarantee == Exact()
    np.testing.assert_allclose(exact.predict(X), svr.predict(X), rtol=1e-9)


def test_wrong_requests_are_explained(moons: tuple[SVC, Any]) -> None:
    svc, X = moons
    with pytest.raises(ValueError, match=r"no method is called 'magic'.*geometry"):
        dormie.compile(svc, methods=["magic"])
    with pytest.raises(TypeError, match=r"\['geometry'\]"):
        dormie.compile(svc, methods="geometry")
    with pytest.raises(TypeError, match=r"methods must be a list of names, such as \['geometry'\]"):
        dormie.compile(svc, methods=5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="columns"):
        dormie.compile(svc, X[:, :1])
    with pytest.raises(ValueError, match=r"there are no rows .* leave rows out"):
        dormie.compile(svc, X[:0])
    regressor = SVR().fit(X, X[:, 0])
    with pytest.raises(ValueError, match=r"positive.* leave it out, here and in the rule of a Machine"):
        dormie.compile(regressor, tolerance=-1.0)
    with pytest.raises(ValueError, match="finite"):
        dormie.compile(regressor, tolerance=float("inf"))
    with pytest.raises(TypeError, match=r"tolerance must be a number, such as 0\.001, got '1e-3'"):
        dormie.compile(regressor, tolerance="1e-3")  # type: ignore[arg-type]


def test_values_that_are_not_finite_are_named_by_their_place_in_what_was_passed(moons: tuple[SVC, Any]) -> None:
    svc, X = moons
    for place in (17, 700):
        bad = X.copy()
        bad[place, 1] = np.nan
        for given in (bad, scipy.sparse.csr_array(bad)):
            with pytest.raises(ValueError, match=f"^rows: row {place}, column 1 is NaN"):
                dormie.compile(svc, given, risk=0.01)
            with pytest.raises(ValueError, match=f"^rows: row {place}, column 1 is NaN"):
                dormie.compile(svc, given)
            with pytest.raises(ValueError, match=f"^fit_rows: row {place}, column 1 is NaN"):
                dormie.compile(svc, X, fit_rows=given, risk=0.01)


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ({"fit_rows": [[0.0, 0.0]]}, ValueError, "fit_rows is used only with a risk"),
        ({"per_class": True}, ValueError, "per_class is used only with a risk"),
        ({"confidence": 0.99}, ValueError, "confidence is used only with a risk"),
        ({"seed": -1}, ValueError, "seed must be a whole number from 0"),
        ({"seed": 2**63}, ValueError, "seed must be a whole number from 0"),
        ({"seed": 1.5}, TypeError, "seed must be a whole number, such as 0, got 1.5"),
        ({"seed": None}, TypeError, "seed must be a whole number"),
        ({"risk": 0}, ValueError, "risk must lie between 0 and 1, got 0; leave it out for an exact plan"),
        ({"risk": 1e-17}, ValueError, r"risk must be at least 1e-12 and at most 1 - 1e-12, got 1e-17"),
        ({"risk": 1 - 1e-15}, ValueError, "risk must be at least 1e-12 and at most 1 - 1e-12"),
        ({"risk": [0.1]}, TypeError, "risk must be a number"),
        ({"risk": 0.1, "confidence": 1 - 1e-15}, ValueError, "confidence must be at least 1e-09 and at most 1 - 1e-09"),
        ({"risk": 0.1, "confidence": 1e-300}, ValueError, "confidence must be at least 1e-09"),
        ({"risk": 0.1, "confidence": "x"}, TypeError, "confidence must be a number"),
        ({"risk": 0.1, "per_class": "yes"}, TypeError, "per_class must be True or False, got 'yes'"),
        (
            {"risk": 0.1, "fit_rows": np.empty((0, 2))},
            ValueError,
            "no rows in fit_rows: pass some, or leave fit_rows out",
        ),
        ({"risk": 0.1, "fit_rows": [[0.0]]}, ValueError, "fit_rows: X has 1 columns"),
        ({"risk": 0.1, "fit_rows": [["a", "b"]]}, TypeError, "fit_rows: X has values of type"),
    ],
)
def test_wrong_requests_for_a_risk_are_explained(
    moons: tuple[SVC, Any], arguments: dict[str, Any], kind: type[Exception], message: str
) -> None:
    svc, X = moons
    with pytest.raises(kind, match=message):
        dormie.compile(svc, X, **arguments)


@pytest.mark.parametrize("points", [0, 100])
@pytest.mark.parametrize("rule", [Sign(np.array([0, 1])), Argmax(np.array([0, 1, 2]))])
def test_with_a_risk_too_a_machine_without_points_or_weights_has_nothing_to_plan(points: int, rule: Rule) -> None:
    outputs = 1 if isinstance(rule, Sign) else 3
    nothing = Machine(RBF(0.5), np.ones((points, 2)), np.zeros((points, outputs)), np.ones(outputs), rule)
    rows = np.random.default_rng(0).normal(size=(1000, 2))
    fast = dormie.compile(nothing, rows, risk=0.02)
    assert [str(stage) for stage in fast.plan.stages] == ["dense"]
    assert fast.plan.guarantee == Exact()


def test_a_python_function_of_few_points_is_summed_in_full_with_a_risk_too() -> None:
    def shared_letters(a: list[str], b: list[str]) -> list[list[int]]:
        return [[len(set(u) & set(v)) for v in b] for u in a]

    points = np.array(["ash", "elm"], dtype=object)
    made = Machine(Custom(shared_letters), points, np.array([[1.0], [-1.0]]), np.zeros(1), Sign(np.array(["e", "a"])))
    fast = dormie.compile(made, ["lash", "elms"] * 100, risk=0.1)
    assert fast.predict(["lash", "elms"]).tolist() == ["a", "e"]
    assert fast.plan.guarantee == Exact()
    with pytest.raises(ValueError, match=r"Custom\(function, positive_semidefinite=True\)"):
        dormie.compile(made, ["lash", "elms"], methods=["geometry"])
    with pytest.raises(ValueError, match="needs at least 29 held-out rows"):
        dormie.compile(made, ["lash", "elms"], risk=0.1)


def test_a_risk_that_was_allowed_and_not_taken_is_told(tmp_path: Any) -> None:
    X, y = make_moons(2000, noise=0.1, random_state=0)
    easy = SVC(gamma=1.0, C=100.0).fit(X[:300], y[:300])
    fast = dormie.compile(easy, X[300:], risk=0.01, methods=["geometry"])  # all of whose stages are certified
    assert fast.plan.guarantee == Exact()
    assert "a risk of 0.01 was allowed but not used" in fast.explain()
    fast.save(tmp_path / "easy.dormie")
    assert dormie.load(tmp_path / "easy.dormie").explain() == fast.explain()
    assert "was allowed" not in dormie.compile(easy, X[300:]).explain()


def test_the_time_that_compiling_took_is_kept_and_told(moons: tuple[SVC, Any]) -> None:
    seconds = (fast := dormie.compile(moons[0], methods=["dense"])).plan.source.seconds
    assert seconds is not None
    assert seconds > 0
    assert f"support vectors) in {seconds:.3g} s." in fast.explain()


def test_classes_without_certifying_rows_are_warned_of() -> None:
    rng = np.random.default_rng(0)
    centers = np.array([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]])
    place = np.repeat(np.arange(3), 1000)
    points = centers[place] + rng.normal(size=(3000, 2))
    machine = Machine(RBF(0.5), points, np.eye(3)[place], np.zeros(3), Argmax(np.array(["ash", "elm", "oak"])))

    def compiled(*classes: int) -> dormie.Predictor:
        """With rows of these classes, which a small tree tells as well as all 3,000 points."""
        rows = centers[rng.choice(classes, 500)] + rng.normal(size=(500, 2))
        return dormie.compile(machine, rows, risk=0.1, per_class=True, methods=["tree"], effort="quick")

    with pytest.warns(
        dormie.MissingClassWarning, match="classes elm, oak do not occur among the certifying rows"
    ) as caught:
        fast = compiled(0)
    assert caught[0].filename == __file__
    assert "the rows of each class (ash) get" in fast.explain()
    assert isinstance(compiled(0, 1, 2).plan.guarantee, Risk)  # a warning would be an error here


def test_a_sigmoid_machine_gets_no_geometric_stage() -> None:
    X, y = make_moons(300, noise=0.2, random_state=0)
    svc = SVC(kernel="sigmoid", gamma=0.5).fit(X, y)
    fast = dormie.compile(svc)
    assert [stage.name for stage in fast.plan.stages] == ["dense"]
    assert (fast.predict(X) == svc.predict(X)).all()
    for method in ("geometry", "fast_stopping"):
        with pytest.raises(ValueError, match="positive semi-definite"):
            dormie.compile(svc, methods=[method])


def test_made_up_rows_keep_each_features_values() -> None:
    rng = np.random.default_rng(0)
    points = rng.integers(0, 3, size=(40, 5)).astype(float)
    scaled = Affine(np.full(5, 10.0), np.full(5, 2.0))
    machine = Machine(RBF(1.0), points, rng.normal(size=40), np.zeros(1), Sign(np.array([0, 1])), scaled)
    rows = sample_rows(machine, None, 200, seed=3)
    mapped = scaled(rows)
    for j in range(5):
        assert set(np.unique(mapped[:, j])) <= set(np.unique(points[:, j]))
    assert (sample_rows(machine, None, 200, seed=3) == rows).all()


def test_sample_of_given_rows_has_no_repeats() -> None:
    machine = Machine(RBF(1.0), np.zeros((1, 1)), np.ones(1), np.zeros(1), Sign(np.array([0, 1])))
    rows = np.arange(1000.0)[:, None]
    drawn = sample_rows(machine, rows, 100, seed=0)
    assert len(np.unique(drawn)) == 100
    assert sample_rows(machine, rows[:50], 100, seed=0) is not None


def test_several_values_keep_their_tolerance() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    model = KernelRidge(kernel="rbf", gamma=0.5).fit(X, np.c_[np.sin(X[:, 0]), X[:, 1] ** 2])
    for methods in (None, ["geometry"], ["reduced_set"]):
        fast = dormie.compile(model, X, tolerance=0.01, methods=methods)
        assert np.abs(fast.predict(X) - model.predict(X)).max() <= 0.01


def test_a_machine_without_points_has_nothing_to_plan() -> None:
    constant = SVR().fit([[0, 0], [1, 1], [2, 0]], [1, 1, 1])
    fast = dormie.compile(constant, methods=["reduced_set"], tolerance=0.1)
    assert [stage.name for stage in fast.plan.stages] == ["dense"]


def test_outputs_too_small_to_tell_from_rounding_are_left_to_the_dense_stage() -> None:
    X, y = make_moons(300, noise=0.2, random_state=0)
    flat = SVC(gamma=1e-20).fit(X, y)
    assert (dormie.compile(flat, X).predict(X) == flat.predict(X)).all()


def test_a_reduced_set_does_not_fail_for_want_of_landmarks() -> None:
    X, y = make_classification(300, 6, n_informative=4, random_state=0)
    steep = SVC(kernel="poly", degree=25, gamma=0.1).fit(X, y)
    fast = dormie.compile(steep, X, methods=["reduced_set"])
    assert (fast.predict(X) == steep.predict(X)).all()


@pytest.mark.parametrize("tolerance", [1e-16, 1e-25, 5e-324])
def test_a_tolerance_that_arithmetic_cannot_keep_is_refused_with_one_that_it_can(tolerance: float) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    model = SVR(C=10).fit(X, X[:, 0] ** 2)
    with pytest.raises(ValueError, match="closer than float64 arithmetic can certify") as refused:
        dormie.compile(model, tolerance=tolerance)
    [within_reach] = re.findall(r"model: (\S+) is within reach", str(refused.value))
    assert 0 < float(within_reach) < 1e-9
    kept = dormie.compile(model, tolerance=1.1 * float(within_reach))
    real = long_double.outputs(kept.plan.machine, X)[:, 0]
    assert (np.abs(kept.predict(X) - real) <= 1.1 * float(within_reach)).all()


@pytest.mark.parametrize(("scale", "gamma"), [(1e-170, 0.5), (1e-30, 1e-300), (1e-200, "auto")])
def test_points_too_small_to_rescale_are_no_error(scale: float, gamma: Any) -> None:
    X = np.random.default_rng(0).normal(size=(600, 3))
    svc = SVC(gamma=gamma).fit(scale * X, X[:, 0] * X[:, 1] + 0.3 * X[:, 2] > 0)
    fast = dormie.compile(svc)
    assert (fast.predict(scale * X) == svc.predict(scale * X)).all()


def test_a_polynomial_of_high_degree_in_few_features_is_no_error() -> None:
    points = np.random.default_rng(0).normal(size=(260, 3)) / 4
    machine = Machine(Polynomial(1.0, 1.0, 40), points, np.ones(260), np.zeros(1), Sign(np.array([0, 1])))
    assert dormie.compile(machine).predict(points).shape == (260,)
