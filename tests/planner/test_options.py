"""What a caller of `compile` asks for: methods that cannot serve the model are errors that say why."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.multioutput import MultiOutputClassifier
from sklearn.svm import SVC, SVR

import dormie
from dormie.machine import MachineSum
from dormie.machine.rules import Value
from dormie.methods import METHODS
from dormie.methods.fitting import EFFORTS
from dormie.planner.options import CONFIDENCE, Options, RiskRequest

X, y = make_moons(400, noise=0.3, random_state=0)


def _python_kernel(a: Any, b: Any) -> Any:
    return a @ b.T


@pytest.mark.parametrize(
    ("model", "name", "why"),
    [
        (
            SVC(kernel="sigmoid", gamma=0.1).fit(X, y),
            "geometry",
            "geometry needs a kernel known to be positive semi-de",
        ),
        (SVC(kernel="sigmoid", gamma=0.1).fit(X, y), "fast_stopping", "fast_stopping needs a kernel known to be posit"),
        (
            SVC(kernel=_python_kernel).fit(X, y),
            "reduced_set",
            "reduced_set makes vectors of its own, for which it must",
        ),
        (
            SVC(kernel=_python_kernel).fit(X, y),
            "geometry",
            "positive semi-definite; if the function is, say so: Custom",
        ),
        (SVC(kernel=_python_kernel).fit(X, y), "linear_filter", "linear_filter needs rows that are vectors"),
        (SVR().fit(X, y), "linear_filter", "linear_filter serves classifiers only"),
        (SVR().fit(X, y), "tree", "tree needs a risk, which regressors do not have; dormie.estimators.SupportVectorTr"),
        (SVR().fit(X, y), "geometry", "geometry stops once an interval is narrow enough: give tolerance="),
    ],
)
def test_a_method_asked_for_that_cannot_serve_is_an_error_that_says_why(model: Any, name: str, why: str) -> None:
    assert why in METHODS[name].is_usable_for(dormie.read(model)).why_not
    with pytest.raises(ValueError, match=why):
        dormie.compile(model, methods=[name])
    if not isinstance(model, SVR):
        with pytest.raises(ValueError, match=why):
            dormie.compile(model, X, risk=0.05, methods=[name])


def test_a_tolerance_makes_certified_methods_usable_for_values() -> None:
    svr = SVR().fit(X, y)
    plan = dormie.compile(svr, tolerance=0.1, methods=["fast_stopping"]).plan
    assert [stage.name for stage in plan.stages] == ["fast_stopping", "dense"]
    with pytest.raises(ValueError, match="tree needs a risk, which regressors do not have"):
        dormie.compile(svr, tolerance=0.1, methods=["tree"])


def test_usable_methods_have_no_reason_against_them() -> None:
    machine = dormie.read(SVC().fit(X, y + 2 * (X[:, 0] > np.median(X[:, 0]))))  # three classes or more: champion too
    values = dormie.read(SVR().fit(X, y)).changed(rule=Value(0.1))
    others = {"refinement": values, "parts": MachineSum([machine, machine], machine.rule, factors=(0.5, 0.5))}
    for method in METHODS.values():
        served = others.get(method.name, machine)
        assert method.is_usable_for(served)
        assert not method.is_usable_for(served).why_not


def test_a_machine_that_simplifies_to_few_points_is_asked_about_again() -> None:
    """A linear model is read with all of its support vectors, and needs only one vector."""
    model = SVC(kernel="linear").fit(X, y)
    assert METHODS["tree"].is_usable_for(dormie.read(model))
    with pytest.raises(ValueError, match="tree needs at least 32 points to save anything, and the machine has 1"):
        dormie.compile(model, X[:300] + 0.01, risk=0.05, methods=["tree"])


def test_options_hold_what_was_asked_for() -> None:
    risk = RiskRequest.checked(np.float32(0.5), 0.9, np.True_)
    assert risk == RiskRequest(0.5, 0.9, True)
    asked = Options.checked(["geometry", "dense"], "quick", np.int64(3), risk)
    assert asked == Options(("geometry",), EFFORTS["quick"], 3, risk)
    assert asked.named
    assert type(asked.seed) is int


def test_options_have_defaults_that_name_nothing() -> None:
    assert RiskRequest.checked(None, CONFIDENCE, False) is None
    asked = Options.checked(None, "normal", 0, None)
    assert asked == Options()
    assert not asked.named
    assert Options.checked(["dense"], "normal", 0, None).named  # no methods at all is a choice, too


def test_what_several_labels_do_not_have_is_refused() -> None:
    model = MultiOutputClassifier(SVC()).fit(X, np.c_[y, X[:, 0] > 0])
    with pytest.raises(ValueError, match="a model of several labels a row has none"):
        dormie.compile(model, tolerance=0.1)
    with pytest.raises(ValueError, match="per_class is for one label a row"):
        dormie.compile(model, X, risk=0.05, per_class=True)
    with pytest.raises(ValueError, match="threshold is for classifiers of two classes"):
        dormie.compile(model, threshold=0.3)
