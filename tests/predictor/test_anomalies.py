"""The most anomalous rows are those that sorting all scores of the model gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.svm import SVC, OneClassSVM

import dormie
from dormie.predictor import anomalies

_RANDOM = np.random.default_rng(0)
_X = _RANDOM.normal(size=(600, 4)).round(1)  # some rows are equal
_MODEL = OneClassSVM(nu=0.2).fit(_X[:200])
_FAST = dormie.compile(_MODEL)


def _expected(X: Any, k: int) -> Any:
    return np.argsort(_MODEL.score_samples(X), kind="stable")[:k]


@settings(deadline=None)
@given(st.lists(st.integers(0, 599), max_size=200), st.data())
def test_they_are_the_first_of_all_scores(places: list[int], data: Any) -> None:
    X, k = _X[places], data.draw(st.integers(0, len(places)))
    found = _FAST.most_anomalous(X, k)
    expected = _expected(X, k) if places else []
    assert found.rows.tolist() == list(expected)
    if k:
        assert np.array_equal(found.scores, _MODEL.score_samples(X)[found.rows])


@pytest.mark.parametrize("methods", [[], ["fast_stopping"], ["geometry"], ["reduced_set"]])
def test_any_stage_and_any_blocks_give_the_same(methods: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(anomalies, "_BLOCK", 64)
    fast = dormie.compile(_MODEL, methods=methods)
    assert fast.most_anomalous(_X, 40).rows.tolist() == _expected(_X, 40).tolist()


def test_sparse_rows_and_memory_maps_serve(tmp_path: Path) -> None:
    np.save(tmp_path / "rows.npy", _X)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    assert _FAST.most_anomalous(mapped, 9).rows.tolist() == _expected(_X, 9).tolist()
    sparse = _FAST.most_anomalous(csr_array(_X), 9).scores
    np.testing.assert_allclose(sparse, _FAST.most_anomalous(_X, 9).scores, rtol=1e-12)


def test_few_rows_are_evaluated_in_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(anomalies, "_FEWEST_FIRST", 40)
    fast = dormie.compile(OneClassSVM(nu=0.2, gamma=0.02).fit(_X[:200]), methods=["geometry"])
    seen = []
    whole = type(fast._dense).rungs

    def rungs(stage: Any, caution: float) -> Any:
        rough, exact = whole(stage, caution)

        def counting(rows: Any) -> Any:
            seen.append(rows.shape[0])
            return rough.interval(rows)

        return [rough._replace(interval=counting), exact]

    monkeypatch.setattr(type(fast._dense), "rungs", rungs)
    fast.most_anomalous(_X, 3)
    assert sum(seen) < len(_X) / 2


def test_wrong_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="between 0 and the number of rows, 600; got 601"):
        _FAST.most_anomalous(_X, 601)
    with pytest.raises(TypeError):
        _FAST.most_anomalous(_X, 1.5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="row 1, column 2"):
        _FAST.most_anomalous([[0, 0, 0, 0], [0, 0, np.nan, 0]], 1)


def test_only_one_class_machines_have_scores() -> None:
    fast = dormie.compile(SVC().fit(_X[:200], _X[:200, 0] > 0))
    assert not hasattr(fast, "score_samples")
    assert not hasattr(fast, "most_anomalous")
    np.testing.assert_allclose(_FAST.score_samples(_X), _MODEL.score_samples(_X), rtol=1e-12)
