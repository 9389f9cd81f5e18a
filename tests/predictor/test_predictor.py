"""The predictor: the model's own answers in its own labels, through stages, files, processes, threads and Ctrl-C."""

from __future__ import annotations

import copy
import io
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC, SVR, OneClassSVM

import dormie
from dormie.machine import Floats, Machine
from dormie.machine.kernels import RBF, Custom
from dormie.machine.rules import Sign
from dormie.methods.dense import Dense
from dormie.plan.cascade import Cascade
from dormie.plan.guarantee import Exact
from dormie.plan.plan import Plan, Source
from tests.properties.strategies import machine

RNG = np.random.default_rng(11)
X = RNG.normal(size=(120, 3))
ROWS = RNG.normal(size=(400, 3)) * 1.5
KIND = (X[:, 0] > 0).astype(int) + (X[:, 1] * X[:, 2] > 0)
MODELS: dict[str, Any] = {
    "two classes, text": SVC().fit(X, np.array(["no", "yes"])[(X[:, 0] > 0).astype(int)]),
    "two classes, booleans": SVC(kernel="poly").fit(X, X[:, 0] > 0.2),
    "three classes, text": SVC(C=10).fit(X, np.array(["ash", "elm", "oak tree"])[KIND]),
    "three classes, integers, ties broken": SVC(break_ties=True).fit(X, KIND * 10 - 7),
    "three classes, pairs": SVC(decision_function_shape="ovo", kernel="sigmoid").fit(X, KIND),
    "largest of three": OneVsRestClassifier(SVC(gamma=0.7)).fit(X, KIND),
    "one class": OneClassSVM(nu=0.3).fit(X),
    "one value": SVR(C=3).fit(X, X[:, 0] * X[:, 1]),
    "two values": KernelRidge(kernel="rbf", alpha=0.1).fit(X, X[:, :2] * X[:, 1:]),
}
every_model = pytest.mark.parametrize("name", MODELS)
FAST = {name: dormie.compile(model) for name, model in MODELS.items()}


def _assert_same_answers(found: Any, expected: Any) -> None:
    assert found.shape == expected.shape
    if expected.dtype.kind == "f":
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    else:
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


@every_model
def test_predict_is_the_models_own(name: str) -> None:
    _assert_same_answers(FAST[name].predict(ROWS), MODELS[name].predict(ROWS))
    _assert_same_answers(FAST[name].predict(X[:1]), MODELS[name].predict(X[:1]))


@every_model
def test_decision_function_is_the_models_own(name: str) -> None:
    model = MODELS[name]
    expected = model.decision_function(ROWS) if hasattr(model, "decision_function") else model.predict(ROWS)
    np.testing.assert_allclose(FAST[name].decision_function(ROWS), expected, rtol=1e-9, atol=1e-9)


@every_model
def test_labels_and_decision_values_come_in_one_pass(name: str) -> None:
    labels, decision = FAST[name].predict_with_decision(ROWS)
    _assert_same_answers(labels, MODELS[name].predict(ROWS))
    np.testing.assert_array_equal(decision, FAST[name].decision_function(ROWS))


def test_labels_with_decision_values_on_the_decision_boundary_are_the_models_own() -> None:
    model = SVC(kernel="linear").fit([[0.0], [1.0], [2.0], [3.0]], ["a", "b", "a", "b"])
    rows = np.arange(-50, 50)[:, None] / 8
    labels, _ = dormie.compile(model).predict_with_decision(rows)
    np.testing.assert_array_equal(labels, model.predict(rows))


@every_model
def test_trace_tells_where_each_row_was_settled_and_what_it_cost(name: str) -> None:
    made = FAST[name].plan.machine
    trace, points = _dense_only(made).trace(ROWS), made.n_points
    assert trace.stage.tolist() == ["dense"] * len(ROWS)
    assert trace.evaluations.shape == (len(ROWS),)
    assert set(trace.evaluations.tolist()) <= {points, 2 * points}


def test_repr_tells_what_the_machine_is_and_what_is_promised() -> None:
    fast = FAST["three classes, text"]
    text = repr(fast)
    assert "SVC(C=10)" in text
    assert "RBF(gamma=" in text
    assert f"{fast.plan.machine.n_points} points of 3 features, 3 outputs" in text
    assert f"stages: {' -> '.join(stage.name for stage in fast.plan.stages)}" in text
    assert "guarantee: exact" in text


def _copies(fast: dormie.Predictor, folder: Path) -> dict[str, dormie.Predictor]:
    fast.save(folder / "plan.dormie")
    buffer = io.BytesIO()
    joblib.dump(fast, buffer)
    buffer.seek(0)
    return {
        "pickle": pickle.loads(pickle.dumps(fast)),
        "joblib": joblib.load(buffer),
        "deepcopy": copy.deepcopy(fast),
        "file": dormie.load(folder / "plan.dormie"),
    }


@every_model
def test_copies_and_files_give_the_very_same_values(name: str, tmp_path: Path) -> None:
    fast = FAST[name]
    for way, again in _copies(fast, tmp_path).items():
        np.testing.assert_array_equal(again.decision_function(ROWS), fast.decision_function(ROWS), err_msg=way)
        _assert_same_answers(again.predict(ROWS), fast.predict(ROWS))
        assert repr(again) == repr(fast)


def _dense_only(made: Machine) -> dormie.Predictor:
    return dormie.Predictor(
        Plan(made, Cascade.of(Dense(made)), Exact(), Source("the dense stage alone", made.n_points))
    )


def _large() -> tuple[dormie.Predictor, Floats]:
    """Large enough that a call starts threads of its own."""
    made, rows = machine(RBF(0.1), 5000, 50)
    return _dense_only(made), np.resize(rows, (600, 50))


_SHARED, _SHARED_ROWS = _large()


def _predict_in_child(rows: Floats) -> Any:
    return _SHARED.predict(rows)


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_a_process_pool_works_after_a_threaded_call() -> None:
    expected = _SHARED.predict(_SHARED_ROWS)
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("fork")) as pool:
        for found in pool.map(_predict_in_child, [_SHARED_ROWS] * 3, timeout=120):
            np.testing.assert_array_equal(found, expected)


def test_a_process_pool_takes_predictors_as_arguments() -> None:
    fast = FAST["three classes, text"]
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        np.testing.assert_array_equal(pool.submit(fast.predict, ROWS).result(timeout=120), fast.predict(ROWS))


def test_many_python_threads_may_call_at_once() -> None:
    fast, rows = _large()  # fresh: the first calls also race to lay out the points
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(fast.predict, [rows] * 12))
    assert all((found == answers[0]).all() for found in answers)
    np.testing.assert_array_equal(answers[0], _SHARED.predict(rows))


@pytest.mark.parametrize("name", ["three classes, text", "one value"])
@pytest.mark.parametrize("threads", [1, 2])
def test_threads_may_ask_a_shared_predictor_for_different_things(name: str, threads: int) -> None:
    """Each gets what it would have got alone, also where rows differ from thread to thread."""
    fast = FAST[name]
    asked: list[Callable[[Floats], Any]] = [
        lambda rows: fast.predict(rows, threads=threads),
        lambda rows: fast.predict(rows[:1], threads=threads),
        lambda rows: fast.predict(rows, deadline=60).labels,
        lambda rows: fast.interval(rows, budget=16),
        lambda rows: fast.trace(rows).evaluations,
        lambda rows: [step.low for step in fast.anytime(rows[0])][-1],
    ]
    jobs = [(ask, ROWS[start : start + 90]) for ask in asked for start in range(0, 300, 60)] * 4
    alone = [ask(rows) for ask, rows in jobs[: len(jobs) // 4]] * 4
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda job: job[0](job[1]), jobs))
    for found, expected in zip(together, alone, strict=True):
        np.testing.assert_array_equal(found, expected)


# A shell starts what runs in its background with SIGINT ignored, and children keep that: Ctrl-C is asked for here.
_ENDLESS = """
import signal
import numpy as np
import dormie
from dormie.kernels import RBF
from dormie.plan import Cascade, Exact, Plan, Source
from dormie.rules import Sign
from dormie.methods.dense import Dense

rng = np.random.default_rng(0)
machine = dormie.Machine(RBF(0.01), rng.normal(size=(20_000, 100)), rng.normal(size=20_000), 0.0, Sign([0, 1]))
fast = dormie.Predictor(Plan(machine, Cascade.of(Dense(machine)), Exact(), Source("a large machine", 20_000)))
rows = np.broadcast_to(rng.normal(size=100), (5_000_000, 100))
signal.signal(signal.SIGINT, signal.default_int_handler)
print("ready", flush=True)
try:
    fast.{method}(rows)
except KeyboardInterrupt:
    print("interrupted", flush=True)
    fast.{method}(rows[:10])
    print("works on", flush=True)
"""


@pytest.mark.parametrize("method", ["predict", "decision_function"])
@pytest.mark.parametrize("threads", ["1", "2"])
def test_ctrl_c_ends_a_long_call(method: str, threads: str) -> None:
    """The call would take minutes. The limit is generous, for a busy computer: the answer should come within 0.1 s."""
    child = subprocess.Popen(
        [sys.executable, "-c", _ENDLESS.format(method=method)],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"DORMIE_THREADS": threads},
    )
    assert child.stdout is not None
    with child:
        try:
            assert child.stdout.readline().strip() == "ready"
            time.sleep(0.5)
            child.send_signal(signal.SIGINT)
            out, _ = child.communicate(timeout=30)
        finally:
            child.kill()
    assert out.split("\n")[:2] == ["interrupted", "works on"]


def test_a_kernel_that_is_a_python_function_may_take_any_objects() -> None:
    def shared_letters(a: list[str], b: list[str]) -> list[list[int]]:
        return [[len(set(u) & set(v)) for v in b] for u in a]

    points = np.array(["ash", "elm"], dtype=object)
    made = Machine(Custom(shared_letters), points, np.array([[1.0], [-1.0]]), np.zeros(1), Sign(np.array(["e", "a"])))
    fast = dormie.compile(made)
    assert fast.predict(["lash", "elms", "oak"]).tolist() == ["a", "e", "a"]
    assert fast.decision_function(["lash", "melt"]).tolist() == [2.0, -3.0]
