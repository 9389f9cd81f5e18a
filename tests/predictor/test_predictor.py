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
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
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
from dormie.methods.base import Decisions
from dormie.methods.dense import Dense
from dormie.plan.guarantee import Count, Evidence, Exact, Risk
from dormie.plan.plan import Plan, Source
from tests.methods.stages import StageByHand
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
    assert "promise: exact" in text


def test_explain_tells_what_a_risk_is_and_what_it_rests_on() -> None:
    evidence = Evidence(5000, 1, 0.0403, 17.0, 7, "2024-12-31", 3, {"dormie": "0.1", "numpy": "2.0"})
    plan = replace(FAST["three classes, text"].plan, guarantee=Risk(1e-3, 0.95, evidence))
    text = dormie.Predictor(plan).explain()
    promise = "risk: at most 0.1 % of the rows get another answer than the full sum's, with 95 % confidence"
    for part in (
        f"Promise: {promise}.",
        "disagreement on 1 of 5,000 rows that nothing was fitted on",
        "p-value 0.04",
        "7 plans were tested, from the most cautious on, in an order fixed before; this is the last that passed",
        "2024-12-31, seed 3, dormie 0.1, numpy 2.0",
        "it holds for rows exchangeable with those",
    ):
        assert part in text
    assert f"promise: {promise}" in repr(dormie.Predictor(plan))
    classes = (Count("ash", 4500, 0), Count("elm", 500, 1))
    text = dormie.Predictor(replace(plan, guarantee=Risk(0.1, 0.95, replace(evidence, classes=classes)))).explain()
    assert "at most 10 % of the rows of each class (ash, elm) get another answer" in text
    assert "class ash: on 0 of 4,500\n" in text
    assert "class elm: on 1 of 500\n" in text
    assert "of the classes listed" in text


def _risk_of_classes(*labels: str) -> Risk:
    counts = tuple(Count(label, 500, 0) for label in labels)
    return Risk(0.1, 0.9, Evidence(500 * len(labels), 0, 1e-20, 1.0, 1, "2024-12-31", 0, classes=counts))


def test_a_promise_for_each_class_names_the_classes() -> None:
    assert "the rows of each class (0, 1, 2, 3) get" in str(_risk_of_classes(*"0123"))
    assert "the rows of each class (0, 1, 2 and 7 more) get" in str(_risk_of_classes(*"0123456789"))


@pytest.mark.parametrize(
    ("confidence", "words"),
    [(0.95, "with 95 %"), (0.07, "with 7 %"), (1 - 1e-9, "with 99.9999999 %"), (1 - 1e-14, "with 99.999999999999 %")],
)
def test_no_confidence_is_shown_as_certainty(confidence: float, words: str) -> None:
    risk = Risk(0.1, confidence, Evidence(10_000, 0, 1e-300, 1.0, 1, "2024-12-31", 0))
    assert f"{words} confidence" in str(risk)


def test_a_promise_needs_rows_that_carry_it() -> None:
    with pytest.raises(ValueError, match=r"p-value of 0\.1\d* does not carry a confidence of 0\.95"):
        Risk(1e-3, 0.95, Evidence(3500, 1, 0.0136, 1.0, 1, "2024-12-31", 0))


def test_explain_tells_what_the_full_sum_of_a_risk_plan_is() -> None:
    plan = FAST["three classes, text"].plan
    rounded = replace(plan, stages=(Dense(plan.machine).rounded(),), guarantee=_risk_of_classes("ash"))
    assert "dense(float32): the full sum, in float32\n" in dormie.Predictor(rounded).explain()


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
    return dormie.Predictor(Plan(made, (Dense(made),), Exact(), Source("the dense stage alone", made.n_points)))


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


_ENDLESS = """
import sys
import numpy as np
import dormie
from dormie.kernels import RBF
from dormie.plan import Exact, Plan, Source
from dormie.rules import Sign
from dormie.methods.dense import Dense

rng = np.random.default_rng(0)
machine = dormie.Machine(RBF(0.01), rng.normal(size=(20_000, 100)), rng.normal(size=20_000), 0.0, Sign([0, 1]))
fast = dormie.Predictor(Plan(machine, (Dense(machine),), Exact(), Source("a large machine", 20_000)))
rows = np.broadcast_to(rng.normal(size=100), (5_000_000, 100))
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


class _Halves(StageByHand):
    """Settles the rows whose first feature is above a level, and remembers the rows it saw."""

    name = "halves"
    words = "the upper rows"

    def __init__(self, level: float, answer: int) -> None:
        self.level, self.answer, self.seen = level, answer, np.zeros((0, 1))

    def decide(self, rows: Any) -> Decisions:
        self.seen = rows
        answers = np.full(len(rows), self.answer)
        return Decisions(answers, rows[:, 0] > self.level, np.full(len(rows), 3, dtype=np.int64))


def _staged(*levels: float) -> tuple[dormie.Predictor, list[_Halves]]:
    made = Machine(RBF(1.0), np.zeros((2, 1)), np.zeros((2, 1)), np.full(1, -1.0), Sign(np.array(["out", "in"])))
    stages = [_Halves(level, 1) for level in levels]
    plan = Plan(made, (*stages, Dense(made)), Exact(), Source("stages made by hand", 2))
    return dormie.Predictor(plan), stages


def test_rows_go_on_to_later_stages_only_while_unsettled() -> None:
    fast, (first, second) = _staged(10.0, 5.0)
    rows = np.array([[11.0], [1.0], [7.0], [2.0], [12.0]])
    assert fast.predict(rows).tolist() == ["in", "out", "in", "out", "in"]
    assert first.seen.ravel().tolist() == [11, 1, 7, 2, 12]
    assert second.seen.ravel().tolist() == [1, 7, 2]
    trace = fast.trace(rows)
    assert trace.stage.tolist() == ["halves", "dense", "halves", "dense", "halves"]
    assert trace.evaluations.tolist() == [3, 8, 6, 8, 3]


def test_later_stages_are_left_out_once_all_rows_are_settled() -> None:
    fast, (first, second) = _staged(0.0, 0.0)
    assert fast.predict(np.array([[1.0], [2.0]])).tolist() == ["in", "in"]
    assert len(first.seen) == 2
    assert len(second.seen) == 0
    assert fast.predict(np.zeros((0, 1))).shape == (0,)


def test_a_plan_must_end_in_the_dense_stage() -> None:
    fast, (stage,) = _staged(0.0)
    for stages in ((), (stage,), (Dense(fast.plan.machine), stage)):
        with pytest.raises(ValueError, match="must end in the dense stage"):
            dormie.Predictor(Plan(fast.plan.machine, stages, Exact(), Source("nothing", 0)))


def test_a_kernel_that_is_a_python_function_may_take_any_objects() -> None:
    def shared_letters(a: list[str], b: list[str]) -> list[list[int]]:
        return [[len(set(u) & set(v)) for v in b] for u in a]

    points = np.array(["ash", "elm"], dtype=object)
    made = Machine(Custom(shared_letters), points, np.array([[1.0], [-1.0]]), np.zeros(1), Sign(np.array(["e", "a"])))
    fast = dormie.compile(made)
    assert fast.predict(["lash", "elms", "oak"]).tolist() == ["a", "e", "a"]
    assert fast.decision_function(["lash", "melt"]).tolist() == [2.0, -3.0]
