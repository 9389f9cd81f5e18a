"""Every peer gives the labels of scikit-learn, or says what it cannot do."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.sparse import csr_array
from sklearn.svm import SVC, NuSVC, OneClassSVM

from dormie.lab.bench import PEERS, PeerUnavailableError
from dormie.lab.bench.peers.base import Predict
from dormie.machine import Machine
from dormie.machine.kernels import RBF, Normalized
from dormie.machine.rules import Sign
from tests.lab.bench.models import MODELS, TEN, TEST, TRAIN, TWO


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
