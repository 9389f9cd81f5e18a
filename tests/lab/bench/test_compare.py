"""Comparisons count wrong labels and note absent peers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.svm import SVR

from dormie.convert import read
from dormie.lab.bench import PEERS, compare, make_case
from dormie.lab.bench.peers.base import Peer, Predict
from dormie.lab.bench.timing import ROUNDS
from tests.lab.bench.models import MODELS, TEN, TEST, TRAIN


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
