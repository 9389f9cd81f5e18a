"""Scaling files: rows and targets as LIBSVM saw them, of svm-scale and of R's e1071 (whose files are in from_r/)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from libsvm.svmutil import svm_load_model, svm_predict, svm_save_model, svm_train

import dormie
from dormie.convert.libsvm.writer import write_libsvm
from dormie.errors import UnreadableModelError

FROM_R = Path(__file__).parent / "from_r"
ROWS = np.loadtxt(FROM_R / "rows.txt")
DIGITS = 1e-6  # R writes support vectors with eight digits


def of_r(name: str) -> tuple[Any, Any]:
    """A predictor of a model that R wrote, and what R predicts: answers, then decision values, then probabilities."""
    y_scale = FROM_R / f"{name}.yscale"
    machine = dormie.read(
        FROM_R / f"{name}.svm", scale=FROM_R / f"{name}.scale", y_scale=y_scale if y_scale.exists() else None
    )
    return dormie.compile(machine), np.loadtxt(FROM_R / f"{name}.txt")


@pytest.mark.parametrize("name", ["three", "two"])
def test_classifiers_of_r_answer_with_the_number_of_the_level(name: str) -> None:
    fast, predicted = of_r(name)
    np.testing.assert_array_equal(fast.predict(ROWS), predicted[:, 0])
    values = fast.decision_function(ROWS).reshape(len(ROWS), -1)
    np.testing.assert_allclose(values, predicted[:, 1 : 1 + values.shape[1]], atol=DIGITS)


def test_probabilities_of_r() -> None:
    fast, predicted = of_r("two")
    order = np.argsort(fast.classes_)
    np.testing.assert_allclose(fast.predict_proba(ROWS)[:, order], predicted[:, 2:], atol=DIGITS)


@pytest.mark.parametrize("name", ["value", "unscaled"])
def test_regressors_of_r_give_values_as_they_are(name: str) -> None:
    fast, predicted = of_r(name)
    np.testing.assert_allclose(fast.predict(ROWS), predicted[:, 0], rtol=DIGITS)


def test_one_class_machines_of_r() -> None:
    fast, predicted = of_r("inside")
    np.testing.assert_array_equal(fast.predict(ROWS) == 1, predicted[:, 0] == 1)
    np.testing.assert_allclose(fast.decision_function(ROWS), predicted[:, 1], atol=DIGITS)


def scaled(value: float, least: float, most: float, lower: float, upper: float) -> float:
    """A number as svm-scale's formula scales it."""
    if least == most:
        return 0.0
    return lower + (upper - lower) * (value - least) / (most - least)


def range_lines(rows: Any, lower: float, upper: float) -> list[str]:
    """A range file as svm-scale writes it."""
    ends = [(min(column), max(column)) for column in rows.T.tolist()]
    lines = [f"{place} {least!r} {most!r}" for place, (least, most) in enumerate(ends, 1) if least != most]
    return ["x", f"{lower!r} {upper!r}", *lines]


def scaled_rows(rows: Any, training: Any, lower: float, upper: float) -> Any:
    ends = [(min(column), max(column)) for column in training.T.tolist()]
    return np.array(
        [[scaled(v, *end, lower, upper) for v, end in zip(row, ends, strict=True)] for row in rows.tolist()]
    )


@settings(max_examples=20, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    limits=st.sampled_from([(-1.0, 1.0), (0.0, 1.0), (-2.0, 5.0)]),
    kernel=st.integers(0, 3),
    d=st.integers(2, 5),
    classes=st.integers(2, 3),
)
def test_range_files_scale_as_svm_scale_does(
    tmp_path_factory: pytest.TempPathFactory, seed: int, limits: tuple[float, float], kernel: int, d: int, classes: int
) -> None:
    folder, rng = tmp_path_factory.mktemp("range"), np.random.default_rng(seed)
    spread = 10.0 ** rng.integers(-3, 4, size=d)
    training, new = (rng.normal(size=(n, d)) * spread + 3 * spread for n in (40, 60))
    labels = np.arange(40) % classes
    model = svm_train(labels, scaled_rows(training, training, *limits), f"-t {kernel} -g 0.3 -q")
    svm_save_model(str(folder / "model"), model)
    (folder / "range").write_text("\n".join(range_lines(training, *limits)) + "\n")
    fast = dormie.compile(dormie.read(folder / "model", scale=folder / "range"))
    expected, _, values = svm_predict(
        [], scaled_rows(new, training, *limits), svm_load_model(str(folder / "model")), "-q"
    )
    np.testing.assert_array_equal(fast.predict(new), expected)
    outputs = fast.decision_function(new)
    np.testing.assert_allclose(outputs, np.reshape(values, outputs.shape), rtol=1e-9, atol=1e-9)


def test_range_files_with_targets_scale_values_back(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    training, new = rng.normal(size=(50, 3)) * 7 + 2, rng.normal(size=(40, 3)) * 7 + 2
    values = 300 + 40 * np.sin(training[:, 0])
    targets = np.array([scaled(v, values.min(), values.max(), -1.0, 2.0) for v in values])
    model = svm_train(targets, scaled_rows(training, training, -1.0, 1.0), "-s 3 -q")
    svm_save_model(str(tmp_path / "model"), model)
    head = ["y", "-1 2", f"{float(values.min())!r} {float(values.max())!r}"]
    (tmp_path / "range").write_text("\n".join([*head, *range_lines(training, -1.0, 1.0)]) + "\n")
    fast = dormie.compile(dormie.read(tmp_path / "model", scale=tmp_path / "range"))
    loaded = svm_load_model(str(tmp_path / "model"))  # whose support vectors have the eight digits of the file
    expected, _, _ = svm_predict([], scaled_rows(new, training, -1.0, 1.0), loaded, "-q")
    back = values.min() + (np.array(expected) + 1.0) * (values.max() - values.min()) / 3.0
    np.testing.assert_allclose(fast.predict(new), back, rtol=1e-9)


DAMAGED = [
    ("x\n-1\n", "line 2: expected 2 numbers, found 1"),
    ("x\n", "ends after line 1: it is cut short"),
    ("x\n1 -1\n1 0 4\n", "line 2: the upper limit must be above the lower one"),
    ("x\n-1 1\n1 0\n", "line 3: expected 3 numbers, found 2"),
    ("x\n-1 1\n1 0 nan\n", "line 3: 'nan' is not a finite number"),
    ("x\n-1 1\n1 0 4\n1 0 4\n", "none occurs twice"),
    ("x\n-1 1\n0 0 4\n", "numbered from 1"),
    ("x\n-1 1\n9 0 4\n", "scales feature 9, which lies beyond n_features=2"),
    ("y\n-1 1\n0 4\n", "line 4 of this range file is not x"),
    ("y\n-1 1\n0 4\nx\n-1 1\n1 0 4\n2 -5 5\n", "leave y_scale out, or -y of svm-scale"),
    ("1.5 2\n", "has 1 lines, and the model 2 features.*by hand: dormie.read"),
    ("1.5 0\n-3 0.25\n", "line 1: a feature is divided by its standard deviation, which is 0"),
    ("1.5\n-3\n", "line 1: expected 2 numbers"),
]


def small_model(folder: Path) -> Path:
    write_libsvm(
        dormie.Machine(dormie.kernels.RBF(0.5), [[0.5, 0.2], [-0.1, 1.0]], [1.0, -1.0], 0.1, dormie.rules.Sign([0, 1])),
        folder / "model",
    )
    return folder / "model"


@pytest.mark.parametrize(("content", "message"), DAMAGED)
def test_scaling_files_that_do_not_fit_are_refused_by_line(content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "range").write_text(content)
    with pytest.raises(UnreadableModelError, match=message):
        dormie.read(small_model(tmp_path), n_features=2, scale=tmp_path / "range")


def test_the_advice_for_features_that_e1071_did_not_scale(tmp_path: Path) -> None:
    machine = dormie.read(small_model(tmp_path)).changed(input_map=dormie.Affine([1.5, 0.0], [2.0, 1.0]))
    rows = np.array([[1.0, 2.0], [3.0, 0.5]])
    expected = dormie.compile(dormie.read(small_model(tmp_path))).decision_function((rows - [1.5, 0]) / [2, 1])
    np.testing.assert_allclose(dormie.compile(machine).decision_function(rows), expected, rtol=1e-12)


def test_targets_are_scaled_once_and_of_regressors_only(tmp_path: Path) -> None:
    (tmp_path / "y").write_text("1.5 2\n")
    with pytest.raises(UnreadableModelError, match="the model is a classifier"):
        dormie.read(small_model(tmp_path), y_scale=tmp_path / "y")
    (tmp_path / "range").write_text("y\n-1 1\n0 4\nx\n-1 1\n1 0 4\n2 -5 5\n3 0 1\n")
    with pytest.raises(UnreadableModelError, match="leave y_scale out"):
        dormie.read(FROM_R / "value.svm", scale=tmp_path / "range", y_scale=tmp_path / "y")
    (tmp_path / "y").write_text("1.5 2\n1 1\n")
    with pytest.raises(UnreadableModelError, match="are one line, found 2"):
        dormie.read(FROM_R / "value.svm", y_scale=tmp_path / "y")


def test_a_range_file_widens_the_rows(tmp_path: Path) -> None:
    (tmp_path / "range").write_text("x\n-1 1\n1 0 4\n2 -5 5\n3 0 1\n")
    machine = dormie.read(small_model(tmp_path), scale=tmp_path / "range")
    assert machine.n_features == 3
    assert not machine.points[:, 2].any()
