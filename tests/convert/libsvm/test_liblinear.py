"""LIBLINEAR models, in files and in memory: the answers of LIBLINEAR itself, for every solver."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

liblinear = pytest.importorskip("liblinear.liblinearutil", reason="liblinear-official is not installed")

import dormie  # noqa: E402
from dormie.errors import UnreadableModelError  # noqa: E402
from dormie.machine.rules import OneClassSign  # noqa: E402

RNG = np.random.default_rng(11)
X = RNG.normal(size=(80, 5))
NEW = RNG.normal(size=(300, 5)) * 2
TWO = np.where(X[:, 0] + X[:, 1] > 0.3, -2, 7)
FOUR = np.array([30, 10, 40, 20])[2 * (X[:, 0] > 0) + (X[:, 1] > 0)]
VALUES = X @ [1.0, -2.0, 0.5, 0.0, 3.0] + 0.1 * RNG.normal(size=80)
CASES = [(solver, labels, bias) for solver in range(8) for labels in (TWO, FOUR) for bias in (-1, 1, 2.5)]
CASES += [(solver, VALUES, bias) for solver in (11, 12, 13) for bias in (-1, 2.5)] + [(21, np.ones(80), -1)]


def trained(solver: int, targets: Any, bias: float, folder: Path) -> tuple[Any, Path]:
    model = liblinear.train(targets, X, f"-s {solver} -B {bias} -q")
    liblinear.save_model(str(folder / "model"), model)
    return liblinear.load_model(str(folder / "model")), folder / "model"


@pytest.mark.parametrize(("solver", "targets", "bias"), CASES)
def test_every_solver_answers_as_liblinear_does(solver: int, targets: Any, bias: float, tmp_path: Path) -> None:
    model, path = trained(solver, targets, bias, tmp_path)
    expected, _, values = liblinear.predict([], NEW, model, "-q")
    for machine in (dormie.read(path), dormie.read(model)):
        fast = dormie.compile(machine)
        values_here = fast.decision_function(NEW).reshape(len(NEW), -1)
        np.testing.assert_allclose(values_here, np.array(values)[:, : values_here.shape[1]], rtol=1e-9, atol=1e-12)
        if solver in (11, 12, 13):
            np.testing.assert_allclose(fast.predict(NEW), expected, rtol=1e-9, atol=1e-12)
        else:
            np.testing.assert_array_equal(fast.predict(NEW), expected)
            assert isinstance(machine.rule, OneClassSign) == (solver == 21)
        fast.save(tmp_path / "plan")
        np.testing.assert_array_equal(dormie.load(tmp_path / "plan").predict(NEW), fast.predict(NEW))


@pytest.mark.parametrize("labels", [TWO, FOUR])
@pytest.mark.parametrize("solver", [0, 6, 7])
def test_logistic_regression_has_probabilities(solver: int, labels: Any, tmp_path: Path) -> None:
    model, path = trained(solver, labels, 1, tmp_path)
    _, _, expected = liblinear.predict([], NEW, model, "-q -b 1")
    fast = dormie.compile(path)
    order = [fast.classes_.tolist().index(label) for label in model.get_labels()]
    np.testing.assert_allclose(fast.predict_proba(NEW)[:, order], expected, rtol=1e-9)
    certified = dormie.compile(path, tolerance=0.01)
    assert np.abs(certified.predict_proba(NEW)[:, order] - expected).max() <= 0.01


def test_rows_may_have_features_that_the_model_does_not_know(tmp_path: Path) -> None:
    model, path = trained(1, FOUR, 1, tmp_path)
    wider = np.hstack([NEW, RNG.normal(size=(len(NEW), 2))])
    np.testing.assert_array_equal(
        dormie.compile(dormie.read(path, n_features=7)).predict(wider), liblinear.predict([], NEW, model, "-q")[0]
    )
    with pytest.raises(UnreadableModelError, match="nr_feature is 5, more than n_features=4"):
        dormie.read(path, n_features=4)


GOOD = "solver_type L2R_LR\nnr_class 2\nlabel 1 -1\nnr_feature 2\nbias 1\nw\n0.5 \n-1 \n0.25 \n"
DAMAGED = [
    (("L2R_LR", "L9"), "line 1: solver_type 'L9' is none of L2R_LR, .*ONECLASS_SVM"),
    (("nr_class 2", "nr_class 1"), "line 2: nr_class is 1"),
    (("label 1 -1", "label 1"), "line 3: expected 2 values, found 1"),
    (("label 1 -1", "label 1 1"), "line 3: a label appears twice"),
    (
        ("nr_feature 2", "nr_feature 7"),
        "line 4: nr_feature is 7, but 3 lines follow the w line, one of them for the",
    ),
    (("bias 1", "bias -1"), "line 4: nr_feature is 2, but 3 lines follow the w line$"),
    (("0.5 \n", "0.5 1\n"), "line 7: expected 1 weights, found 2 fields"),
    (("0.25", "inf"), "line 9: 'inf' is not a finite number"),
    (("label 1 -1\n", ""), "the header label is missing"),
    (("w\n0.5 \n-1 \n0.25 \n", ""), "before its w line: it is cut short"),
    (("nr_class 2\nlabel 1 -1\n", "nr_class 2\nrhox 3\n"), "line 3: 'rhox' is not a header of a LIBLINEAR text model"),
    (("L2R_LR\nnr_class 2", "L2R_L2LOSS_SVR\nnr_class 3"), "line 2: L2R_L2LOSS_SVR has one output, which"),
]


@pytest.mark.parametrize(("change", "message"), DAMAGED)
def test_damaged_files_are_refused_by_line(change: tuple[str, str], message: str, tmp_path: Path) -> None:
    path = tmp_path / "model"
    path.write_text(GOOD)
    assert dormie.compile(path).predict([[1.0, 0.0], [0.0, 1.0]]).tolist() == [1, -1]
    assert change[0] in GOOD
    path.write_text(GOOD.replace(*change))
    with pytest.raises(UnreadableModelError, match=message):
        dormie.read(path)
