"""The bench: every peer gives scikit-learn's labels, and the table says who was left out and why."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from rich.console import Console
from scipy.sparse import csr_array
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, NuSVC, OneClassSVM

from dormie.convert import read
from dormie.lab import datasets
from dormie.lab.bench import CASES, PEERS, Comparison, PeerUnavailableError, Standing, cases, compare, make_case, timing
from dormie.lab.bench.compare import as_record
from dormie.lab.bench.peers.base import Peer, Predict
from dormie.lab.bench.risk import with_risk
from dormie.lab.bench.table import print_comparison
from dormie.lab.bench.timing import ROUNDS, Timing, interleave
from dormie.lab.datasets import Dataset
from dormie.machine import Machine
from dormie.machine.kernels import RBF, Normalized
from dormie.machine.rules import Sign

X, DIGIT = load_digits(return_X_y=True)
TRAIN, TEST = X[:300] / 16, X[300:420] / 16
TEN, TWO = DIGIT[:300], DIGIT[:300] % 2

MODELS = {
    "two classes": SVC().fit(TRAIN, TWO),
    "ten classes": SVC().fit(TRAIN, TEN),
    "ovo": SVC(decision_function_shape="ovo").fit(TRAIN, TEN),
    "ovo, two classes": SVC(decision_function_shape="ovo").fit(TRAIN, TWO),
    "strings": SVC(C=5).fit(TRAIN, TEN.astype(str)),
    "polynomial": SVC(kernel="poly", degree=3, coef0=1).fit(TRAIN, TEN),
    "linear": SVC(kernel="linear").fit(TRAIN, TEN),
    "sigmoid": SVC(kernel="sigmoid", gamma=0.01).fit(TRAIN, TWO),
    "weighted classes": SVC(class_weight={1: 3.0}).fit(TRAIN, TWO),
    "pipeline": make_pipeline(StandardScaler(), SVC()).fit(TRAIN, TEN),
    "search": GridSearchCV(SVC(), {"C": [1, 2]}, cv=2).fit(TRAIN, TWO),
    "nu": NuSVC(nu=0.1).fit(TRAIN, TWO),
}


def _predict(peer: str, model: Any) -> Predict:
    if reason := PEERS[peer].missing():
        pytest.skip(reason)
    return PEERS[peer].prepare(model)


@pytest.mark.parametrize("peer", PEERS)
@pytest.mark.parametrize("kind", MODELS)
def test_every_peer_gives_the_labels_of_scikit_learn(peer: str, kind: str) -> None:
    model = MODELS[kind]
    labels = _predict(peer, model)(TEST)
    assert labels.shape == (len(TEST),)
    assert np.array_equal(labels, model.predict(TEST))


@pytest.mark.parametrize("peer", PEERS)
@pytest.mark.parametrize("target", [TWO, TEN])
def test_every_peer_takes_sparse_rows_and_single_rows(peer: str, target: npt.NDArray[Any]) -> None:
    rows = csr_array(TEST)
    model = SVC().fit(csr_array(TRAIN), target)
    predict = _predict(peer, model)
    assert np.array_equal(predict(rows), model.predict(rows))
    assert [predict(rows[i : i + 1])[0] for i in range(5)] == model.predict(rows[:5]).tolist()


@pytest.mark.parametrize("kind", ["two classes", "ten classes", "ovo", "ovo, two classes"])
def test_intelex_runs_on_onedal_and_never_falls_back(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = MODELS[kind]
    expected = model.predict(TEST)
    predict = _predict("scikit-learn-intelex", model)

    def fallen_back(*_: Any) -> None:
        raise AssertionError("scikit-learn was asked")

    monkeypatch.setattr(SVC, "predict", fallen_back)
    with pytest.raises(AssertionError, match="scikit-learn was asked"):
        model.predict(TEST)
    assert np.array_equal(predict(TEST), expected)
    assert predict(TEST[:1])[0] == expected[0]


def test_intelex_refuses_what_it_cannot_carry_over() -> None:
    with pytest.raises(PeerUnavailableError, match="no classifier OneClassSVM"):
        _predict("scikit-learn-intelex", OneClassSVM().fit(TRAIN))
    with pytest.raises(PeerUnavailableError, match="trained NuSVC of more than two classes"):
        _predict("scikit-learn-intelex", NuSVC(nu=0.1).fit(TRAIN, TEN))


def test_gemm_refuses_a_kernel_it_does_not_know() -> None:
    machine = Machine(Normalized(RBF(1.0)), TRAIN[:3], np.ones(3), np.zeros(1), Sign(np.array([0, 1])))
    with pytest.raises(PeerUnavailableError, match="not Normalized"):
        _predict("numpy-float32", machine)


def test_every_round_runs_all_tasks_until_each_has_its_rounds_and_seconds() -> None:
    order: list[str] = []
    times = interleave({"a": lambda: order.append("a"), "b": lambda: order.append("b")}, seconds=0)
    assert order == ["a", "b"] * ROUNDS
    assert {name: len(spent) for name, spent in times.items()} == {"a": ROUNDS, "b": ROUNDS}
    assert sum(interleave({"c": lambda: time.sleep(0.001)}, seconds=0.01)["c"]) >= 0.01


@pytest.mark.parametrize("busy", [0, 5])
def test_a_peer_sized_in_a_busy_moment_is_timed_again_on_a_full_batch(
    monkeypatch: pytest.MonkeyPatch, busy: int
) -> None:
    """A pretended clock: a row takes 1 ms, and a hundred times that in the first `busy` calls."""
    calls: list[int] = []

    def predict(rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
        calls.append(len(rows))
        return np.zeros(len(rows))

    def pretended(task: Callable[[], object]) -> float:
        task()
        return calls[-1] * (0.1 if len(calls) <= busy else 0.001)

    monkeypatch.setattr(timing, "seconds_of", pretended)
    monkeypatch.setattr(time, "sleep", lambda _: None)
    found = timing.time_batches({"peer": predict}, np.zeros((500, 2)), seconds=1.0)["peer"]
    assert found.rows == 250
    assert found.best == pytest.approx(1000)


def test_labels_are_compared_on_all_rows_when_asked() -> None:
    comparison = compare(MODELS["ten classes"], TEST, seconds=0, full=True, peers=["scikit-learn", "numpy-float32"])
    assert [(s.peer, s.compared, s.differences) for s in comparison.standings] == [
        ("scikit-learn", len(TEST), 0),
        ("numpy-float32", len(TEST), 0),
    ]
    assert all(s.batch.rounds >= ROUNDS and s.single.rounds >= ROUNDS for s in comparison.standings)


class _Contrary(Peer):
    """Gives the wrong one of two labels on every row."""

    name = "contrary"

    def prepare(self, model: Any) -> Predict:
        return lambda rows: np.asarray(1 - model.predict(rows))


class _Absent(_Contrary):
    name = "absent"
    needs = ("json", "no_such_package_at_all")


def test_wrong_labels_are_counted_and_absent_peers_are_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PEERS, "contrary", _Contrary())
    monkeypatch.setitem(PEERS, "absent", _Absent())
    model = MODELS["two classes"]
    comparison = compare(model, TEST, seconds=0, full=True, peers=["scikit-learn", "contrary", "absent"])
    contrary = comparison.of("contrary")
    assert contrary is not None
    assert (contrary.compared, contrary.differences) == (len(TEST), len(TEST))
    assert comparison.left_out == {"absent": "not installed: no_such_package_at_all"}
    assert comparison.of("absent") is None


def test_a_machine_without_an_estimator_is_measured_against_numpy() -> None:
    comparison = compare(read(MODELS["two classes"]), TEST, seconds=0, peers=list(PEERS))
    assert comparison.reference.peer == "numpy-float64"
    assert comparison.left_out["scikit-learn"] == "needs a scikit-learn model, this is a Machine"
    assert {"numpy-float32", "dormie"} <= {standing.peer for standing in comparison.standings}


def test_table_and_record_tell_every_peer_once() -> None:
    comparison = compare(MODELS["two classes"], TEST, seconds=0, full=True, title="a [small] case", notes=("a note",))
    page = io.StringIO()
    print_comparison(comparison, Console(file=page, width=200))
    text = page.getvalue()
    assert "a [small] case" in text
    assert "a note" in text
    assert all(peer in text for peer in PEERS)
    record = json.loads(json.dumps(as_record(comparison)))
    told = [peer["peer"] for peer in record["peers"]]
    assert sorted([*told, *record["left_out"]]) == sorted(PEERS)
    reference, ours = record["peers"][0], record["peers"][told.index("dormie")]
    assert reference["times_reference_batch"] == 1.0
    assert ours["dormie_times_single"] == 1.0
    assert reference["dormie_times_batch"] == pytest.approx(ours["times_reference_batch"])


@pytest.mark.parametrize(("median", "told"), [(1.4, False), (3.0, True)])
def test_the_table_tells_when_the_machine_was_busy(median: float, told: bool) -> None:
    times = Timing(best=1.0, median=median, rounds=3, rows=10)
    comparison = Comparison("t", "m", 10, (Standing("dormie", times, times, 10, 0),), {})
    page = io.StringIO()
    print_comparison(comparison, Console(file=page, width=200))
    assert ("busy: the median batch round of dormie took 3.0 times" in page.getvalue()) == told


def test_what_cannot_be_compared_is_refused() -> None:
    model = MODELS["two classes"]
    with pytest.raises(ValueError, match="gives values; take a classifier"):
        compare(SVR().fit(TRAIN, TEN), TEST)
    with pytest.raises(ValueError, match="two-dimensional, got 1"):
        compare(model, TEST[0])
    with pytest.raises(ValueError, match="no rows"):
        compare(model, TEST[:0])
    with pytest.raises(ValueError, match="unknown peer 'numpi'; there are scikit-learn"):
        compare(model, TEST, peers=["numpi"])
    with pytest.raises(ValueError, match="no peer can take part: scikit-learn: needs a scikit-learn model"):
        compare(read(model), TEST, peers=["scikit-learn"])
    with pytest.raises(ValueError, match="unknown case 'cifar'; there are digits, mnist"):
        make_case("cifar")


def test_the_digits_case_needs_no_data_and_tells_of_its_copies() -> None:
    case = make_case("digits")
    assert case.rows.shape == (16 * 797, 64)
    assert np.array_equal(case.rows[:797], case.rows[-797:])
    assert "repeated 16 times" in case.notes[0]


def test_standardising_leaves_constant_columns_finite() -> None:
    train, test = cases._standardised(np.array([[1.0, 5.0], [3.0, 5.0]]), np.array([[2.0, 6.0]]))
    assert train.tolist() == [[-1.0, 0.0], [1.0, 0.0]]
    assert test.tolist() == [[0.0, 1.0]]


@pytest.mark.parametrize("official", [True, False])
def test_cases_train_on_some_rows_and_predict_others(monkeypatch: pytest.MonkeyPatch, official: bool) -> None:
    parts = (TEST, DIGIT[300:420]) if official else (None, None)
    data = Dataset("toy", "a toy", TRAIN, TEN, *parts)
    monkeypatch.setattr(datasets, "load", lambda _: data)
    case = CASES["covtype"]()
    assert case.model.classes_.tolist() == [-1, 1]
    assert case.model.shape_fit_[0] == (300 if official else 200)
    assert case.rows.shape[0] == (120 if official else 100)
    if not official:
        assert {*map(bytes, case.rows)}.isdisjoint(map(bytes, case.model.support_vectors_))


def test_the_stored_mnist_machine_is_found_beside_the_data_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    trained = SVC(C=10, gamma=0.02).fit(TRAIN, TEN)
    (tmp_path / "models").mkdir()
    np.savez(
        tmp_path / "models" / "mnist_rbf_c10_g002.npz",
        support=trained.support_,
        dual_coef=trained.dual_coef_,
        intercept=trained.intercept_,
        n_support=trained.n_support_,
    )
    monkeypatch.setattr(datasets, "load", lambda _: Dataset("mnist", "", TRAIN, TEN, TEST, DIGIT[300:420]))
    monkeypatch.setenv("DORMIE_DATA", str(tmp_path / "data"))
    stored = cases.mnist()
    monkeypatch.delenv("DORMIE_DATA")
    afresh = cases.mnist()
    assert np.array_equal(stored.model.decision_function(TEST), trained.decision_function(TEST))
    assert np.array_equal(afresh.model.predict(TEST), trained.predict(TEST))
    assert "earlier" in stored.notes[0]
    assert "minutes" in afresh.notes[0]


def test_a_risk_plan_is_calibrated_on_rows_that_are_not_predicted() -> None:
    made, rows = MODELS["two classes"], X[300:700] / 16
    case, more = with_risk(cases.Case("made up", made, rows, ("a note",), TRAIN), 0.1)
    [(name, predict)] = more.items()
    assert name == "dormie, risk 0.1"
    judged = np.unique(case.rows, axis=0)
    assert {row.tobytes() for row in judged} < {row.tobytes() for row in rows}
    assert len(judged) == 400 - 5 * 400 // 6
    assert case.rows.shape[0] > 15_000
    assert case.notes[0] == "a note"
    assert "calibrated on 333 of the rows" in case.notes[1]
    assert case.notes[2] == "the other 67 are predicted, 238 times to fill a batch"
    assert (predict(judged) == made.predict(judged)).mean() >= 0.8


def test_a_case_with_too_few_rows_to_calibrate_on_says_so() -> None:
    with pytest.raises(
        ValueError, match=r"made up has 100 rows to predict, and a risk of 0\.1 needs 234 to calibrate on"
    ):
        with_risk(cases.Case("made up", MODELS["two classes"], X[300:400] / 16), 0.1)
