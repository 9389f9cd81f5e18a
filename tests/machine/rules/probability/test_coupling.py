"""LIBSVM's pairwise coupling, against its C code and against a row-by-row version straight from that code."""

from __future__ import annotations

from ctypes import c_double
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from libsvm.svm import gen_svm_nodearray, libsvm
from libsvm.svmutil import svm_load_model, svm_save_model, svm_train
from threadpoolctl import threadpool_limits

import dormie
from dormie.convert.libsvm.reader import read_libsvm
from dormie.errors import UnreadableModelError
from dormie.machine import Floats
from dormie.machine.rules.probability import Coupled
from dormie.machine.rules.probability.coupling import couple

RNG = np.random.default_rng(5)
X = np.round(RNG.normal(size=(80, 4)), 3)
NEW = 2 * RNG.normal(size=(100, 4))
FOUR = np.array([30, 10, 40, 20])[(2 * (X[:, 0] > 0) + (X[:, 1] > 0) + 2) % 4]
TWO = np.where(X[:, 0] + X[:, 3] ** 2 > 0.7, 5, -2)


def coupled_by_hand(r: list[list[float]]) -> list[float]:
    """`multiclass_probability` of LIBSVM for one row, in plain Python."""
    k = len(r)
    p, q = [1.0 / k] * k, [[0.0] * k for _ in range(k)]
    for t in range(k):
        for j in range(k):
            if j != t:
                q[t][t] += r[j][t] * r[j][t]
                q[t][j] = -r[j][t] * r[t][j]
    for _ in range(max(100, k)):
        qp = [0.0] * k
        total = 0.0
        for t in range(k):
            for j in range(k):
                qp[t] += q[t][j] * p[j]
            total += p[t] * qp[t]
        if max(abs(each - total) for each in qp) < 0.005 / k:
            break
        for t in range(k):
            change = (-qp[t] + total) / q[t][t]
            p[t] += change
            total = (total + change * (change * q[t][t] + 2 * qp[t])) / (1 + change) / (1 + change)
            for j in range(k):
                qp[j] = (qp[j] + change * q[t][j]) / (1 + change)
                p[j] /= 1 + change
    return p


@given(k=st.integers(2, 6), seed=st.integers(0, 10**6), sure=st.sampled_from([0.1, 1.0, 10.0, 100.0]))
@settings(max_examples=100)
def test_every_row_is_coupled_as_alone(k: int, seed: int, sure: float) -> None:
    rng = np.random.default_rng(seed)
    pairs = np.zeros((4, k, k))
    first, second = np.triu_indices(k, 1)
    chances = np.clip(1 / (1 + np.exp(sure * rng.normal(size=(4, len(first))))), 1e-7, 1 - 1e-7)
    pairs[:, first, second], pairs[:, second, first] = chances, 1 - chances
    expected = np.array([coupled_by_hand(row.tolist()) for row in pairs])
    np.testing.assert_array_equal(couple(pairs), expected)


def trained(folder: Path, labels: Any, options: str) -> tuple[Any, Path]:
    path = folder / "libsvm.model"
    with threadpool_limits(1):  # many threads for a few rows only get in each other's way
        svm_save_model(str(path), svm_train(labels, X, f"-b 1 -q {options}"))
    return svm_load_model(str(path)), path


def probabilities(model: Any, rows: Floats) -> Floats:
    """LIBSVM's own, from its C function, in the order of the labels of the file."""
    found, buffer = [], (c_double * model.get_nr_class())()
    with threadpool_limits(1):
        for row in rows:
            libsvm.svm_predict_probability(model, gen_svm_nodearray(row)[0], buffer)
            found.append(list(buffer))
    return np.array(found)


@pytest.mark.parametrize("labels", [TWO, FOUR], ids=["two", "four"])
@pytest.mark.parametrize("options", ["-s 0 -g 0.3", "-s 1 -n 0.3 -g 1", "-t 0", "-t 1 -d 2 -r 1", "-t 3 -g 0.05"])
def test_a_libsvm_model_has_libsvm_s_probabilities(tmp_path: Path, labels: Any, options: str) -> None:
    model, path = trained(tmp_path, labels, options)
    fast = dormie.compile(read_libsvm(path), methods=[])
    rule: Any = fast.plan.machine.rule
    order = [model.get_labels().index(label) for label in rule.classes]
    np.testing.assert_allclose(fast.predict_proba(NEW), probabilities(model, NEW)[:, order], rtol=0, atol=1e-9)
    fast.save(tmp_path / "plan")
    np.testing.assert_array_equal(dormie.load(tmp_path / "plan").predict_proba(NEW), fast.predict_proba(NEW))


def test_a_file_lacks_one_half_of_the_sigmoids(tmp_path: Path) -> None:
    _, path = trained(tmp_path, FOUR, "")
    lines = [line for line in path.read_bytes().splitlines() if not line.startswith(b"probB")]
    path.write_bytes(b"\n".join(lines))
    with pytest.raises(UnreadableModelError, match="the header probB is missing"):
        read_libsvm(path)


def test_a_regressor_s_error_estimate_gives_no_probabilities(tmp_path: Path) -> None:
    path = trained(tmp_path, X[:, 0], "-s 3")[1]
    assert b"probA" in path.read_bytes()
    assert read_libsvm(path).probability is None


def test_two_classes_by_either_version() -> None:
    """The iteration stops up to 0.004 from where it goes; new versions of LIBSVM take the sigmoid itself."""
    outputs = np.linspace(-4, 4, 81)[:, None]
    direct = Coupled(np.array([-1.3]), np.array([0.2]), (0, 1)).values(outputs)
    iterated = Coupled(np.array([-1.3]), np.array([0.2]), (0, 1), two_by_iteration=True).values(outputs)
    np.testing.assert_allclose(direct[:, 0], 1 / (1 + np.exp(-1.3 * outputs[:, 0] + 0.2)), rtol=1e-12)
    assert 1e-4 < np.abs(direct - iterated).max() < 0.01


def test_many_rows_are_coupled_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    found = Coupled(np.linspace(-2, -1, 3), np.zeros(3), (2, 0, 1))
    outputs = RNG.normal(size=(50, 3))
    whole = found.values(outputs)
    monkeypatch.setattr("dormie.machine.rules.probability.coupling._VALUES_AT_ONCE", 9 * 7)
    np.testing.assert_array_equal(found.values(outputs), whole)
