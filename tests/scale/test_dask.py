"""Dask collections: the same bits as in one piece, lazily, one key for the plan, and errors that name the block."""

from __future__ import annotations

import pickle
from typing import Any

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_blobs
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import SVC, SVR, OneClassSVM

import dormie
from dormie.machine import Floats
from dormie.machine.kernels import Custom
from dormie.scale import dask as room
from tests.fresh_process import printed

X, _y = make_blobs(400, n_features=5, centers=4, cluster_std=3.0, random_state=0)
KINDS = np.array(["ash", "elm", "oak", "yew"])[_y]
NAMES = list("abcde")
MODELS: dict[str, Any] = {
    "two classes": SVC(C=10.0).fit(X, _y > 1),
    "four names": SVC().fit(X, KINDS),
    "every pair": SVC(decision_function_shape="ovo").fit(X, KINDS),
    "regressor": SVR().fit(X, X[:, 0]),
    "two values": KernelRidge(kernel="rbf").fit(X, X[:, :2]),
    "outliers": OneClassSVM().fit(X),
    "probabilities": CalibratedClassifierCV(SVC(), ensemble=False).fit(X, KINDS),
}
METHODS = ["predict", "predict_proba", "decision_function"]
ASKED = [
    (name, method)
    for name in MODELS
    for method in METHODS
    if hasattr(dormie.compile(MODELS[name], methods=["dense"]), method)
]


def _compiled(name: str) -> dormie.Predictor:
    return dormie.compile(MODELS[name], methods=["dense"])


def _ask(method: str, fast: dormie.Predictor, rows: Any) -> Any:
    return getattr(dormie.dask, method)(fast, rows)


def _same_bits(found: Any, expected: Any) -> None:
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize(("name", "method"), ASKED)
def test_arrays_get_the_bits_of_one_piece_in_the_types_foretold(name: str, method: str) -> None:
    fast = _compiled(name)
    lazy = _ask(method, fast, da.from_array(X, chunks=((1, 0, 150, 249), (2, 2, 1))))
    expected = getattr(fast, method)(X)
    assert lazy.dtype == lazy._meta.dtype == expected.dtype
    assert lazy.shape == expected.shape
    assert lazy.chunks[0] == (1, 0, 150, 249)
    for scheduler in ("synchronous", "threads"):
        _same_bits(lazy.compute(scheduler=scheduler), expected)


@pytest.mark.parametrize(("name", "method"), ASKED)
def test_data_frames_keep_their_index(name: str, method: str) -> None:
    fast = _compiled(name)
    frame = pd.DataFrame(X, columns=NAMES, index=np.arange(400)[::-1].copy())
    lazy = _ask(method, fast, dd.from_pandas(frame, npartitions=7, sort=False))
    found, expected = lazy.compute(scheduler="synchronous"), getattr(fast, method)(X)
    assert type(found) is type(lazy._meta)
    assert found.index.equals(frame.index)
    np.testing.assert_array_equal(found.to_numpy(), expected)
    if expected.ndim == 1:
        assert found.dtype == lazy.dtype
    else:
        assert (found.dtypes == lazy.dtypes).all()
        has_a_value_for_each = len(getattr(fast, "classes_", ())) == expected.shape[1]
        assert list(found.columns) == ([*fast.classes_] if has_a_value_for_each else [*range(expected.shape[1])])


def test_answers_can_become_a_column() -> None:
    rows = dd.from_pandas(pd.DataFrame(X, columns=NAMES), npartitions=3)
    fast = _compiled("four names")
    found = rows.assign(kind=dormie.dask.predict(fast, rows)).compute(scheduler="synchronous")
    assert found["kind"].tolist() == fast.predict(X).tolist()


def test_numbers_of_rows_may_be_unknown() -> None:
    rows = da.from_array(X, chunks=(90, 2))
    some = rows[rows[:, 0] > 0]
    fast = _compiled("four names")
    for method in ("predict", "decision_function"):
        found = _ask(method, fast, some).compute(scheduler="synchronous")
        _same_bits(found, getattr(fast, method)(X[X[:, 0] > 0]))


def test_blocks_may_be_sparse() -> None:
    rows = da.from_array(X, chunks=(90, 5)).map_blocks(scipy.sparse.csr_array, dtype=X.dtype)
    fast = _compiled("four names")
    _same_bits(dormie.dask.predict(fast, rows).compute(scheduler="synchronous"), fast.predict(X))


@pytest.mark.parametrize("method", METHODS)
def test_nothing_is_run_before_it_is_asked_for(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fast = _compiled("probabilities" if method == "predict_proba" else "four names")

    def asked(*_: Any) -> None:
        raise AssertionError("the graph needs types and shapes alone")

    for each in ("predict", "predict_proba", "decision_function"):
        monkeypatch.setattr(dormie.Predictor, each, asked)
    monkeypatch.setattr(room._Parcel, "unpacked", asked)
    _ask(method, fast, da.from_array(X, chunks=(90, 2)))
    _ask(method, fast, dd.from_pandas(pd.DataFrame(X), npartitions=3))


def _large(points: int) -> dormie.Predictor:
    """A plan of so many points."""
    random = np.random.default_rng(0)
    rule = dormie.rules.Sign([False, True])
    machine = dormie.Machine(
        dormie.kernels.RBF(0.1), random.normal(size=(points, 5)), random.normal(size=points), 0.0, rule
    )
    return dormie.compile(machine, methods=["dense"])


def _sizes(lazy: Any) -> list[int]:
    """The bytes of every task as a scheduler gets them, from the smallest."""
    [optimized] = dask.optimize(lazy)
    return sorted(len(pickle.dumps(task)) for task in dict(optimized.__dask_graph__()).values())


@pytest.mark.parametrize("kind", ["array", "frame"])
def test_the_graph_has_the_plan_once_however_many_blocks(kind: str) -> None:
    plans = {points: _large(points) for points in (100, 20_000)}

    def sizes(points: int, blocks: int) -> list[int]:
        rows = da.zeros((1000, 5), chunks=(1000 // blocks, 5))
        frame = dd.from_pandas(pd.DataFrame(np.zeros((1000, 5))), npartitions=blocks)
        return _sizes(dormie.dask.predict(plans[points], rows if kind == "array" else frame))

    small, large, more = sizes(100, 20), sizes(20_000, 20), sizes(20_000, 100)
    assert large[-1] > 800_000 > 100 * large[-2]  # the plan, and the next largest task
    assert small[:-1] == large[:-1]
    assert more[-1] == large[-1]
    assert sum(more[:-1]) / sum(large[:-1]) < 1.1 * (len(more) - 1) / (len(large) - 1)


def test_a_plan_is_one_key_in_all_graphs() -> None:
    fast = _compiled("four names")
    first, second = (dormie.dask.predict(fast, da.from_array(X, chunks=(90, 5))).__dask_graph__() for _ in range(2))
    plans = [{key for key in graph if str(key).startswith("dormie-plan-")} for graph in (first, second)]
    assert len(plans[0] | plans[1]) == 1


def test_a_plan_is_unpacked_once_in_a_process_and_tasks_have_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "_unpacked", room._Unpacked())
    found: list[dormie.Predictor] = []
    unpacked = room._Parcel.unpacked

    def kept(parcel: room._Parcel) -> dormie.Predictor:
        found.append(unpacked(parcel))
        return found[-1]

    monkeypatch.setattr(room._Parcel, "unpacked", kept)
    fast = _compiled("four names")
    rows = da.from_array(X, chunks=(10, 5))
    for _ in range(2):
        dask.compute(dormie.dask.predict(fast, rows), dormie.dask.decision_function(fast, rows), scheduler="threads")
    assert [predictor.threads for predictor in found] == [1]
    dormie.dask.predict(dormie.Predictor(fast.plan, threads=2), rows).compute(scheduler="threads")
    assert [predictor.threads for predictor in found] == [1, 2]


def test_a_process_keeps_a_few_plans_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "_unpacked", room._Unpacked())
    for points in range(20, 20 + room._KEPT + 3):
        dormie.dask.predict(_large(points), da.zeros((3, 5))).compute(scheduler="synchronous")
    assert len(room._unpacked._kept) == room._KEPT


def test_a_python_kernel_goes_along() -> None:
    stated = Custom(lambda a, b: np.asarray(a) @ np.asarray(b).T)
    fast = dormie.compile(SVC(kernel=stated).fit(X[:80], KINDS[:80]), methods=["dense"])
    found = dormie.dask.predict(fast, da.from_array(X[:40], chunks=(9, 5))).compute(scheduler="synchronous")
    assert found.tolist() == fast.predict(X[:40]).tolist()


def _spoilt(value: float) -> Floats:
    rows: Floats = X.copy()
    rows[217, 3] = value
    return rows


@pytest.mark.parametrize(("value", "words"), [(np.nan, "NaN"), (np.inf, "infinite")])
def test_a_value_that_is_no_number_is_named_with_its_block(value: float, words: str) -> None:
    fast = _compiled("four names")
    with pytest.raises(ValueError, match=rf"^block 2 of X: row 17, column 3 is {words}; .* drop such rows"):
        dormie.dask.predict(fast, da.from_array(_spoilt(value), chunks=(100, 2))).compute(scheduler="synchronous")
    frame = dd.from_pandas(pd.DataFrame(_spoilt(value)), npartitions=4)
    with pytest.raises(ValueError, match=rf"^partition 2 of X: row 17, column 3 is {words}"):
        dormie.dask.decision_function(fast, frame).compute(scheduler="synchronous")


def test_a_block_that_is_not_what_dask_was_told_is_named() -> None:
    fast = _compiled("four names")
    rows = da.from_array(X, chunks=(100, 5))
    narrow = rows.map_blocks(lambda block, block_id=None: block[:, : 5 - (block_id[0] == 3)], dtype=X.dtype, meta=X[:0])
    with pytest.raises(ValueError, match=r"^block 3 of X: X has 4 columns, the machine was trained with 5"):
        dormie.dask.predict(fast, narrow).compute(scheduler="synchronous")
    times = rows.map_blocks(lambda block: block.astype("M8[s]"), dtype=X.dtype, meta=X[:0])
    with pytest.raises(TypeError, match=r"^block \d of X: X has values of type datetime64"):
        dormie.dask.predict(fast, times).compute(scheduler="synchronous")


def test_what_can_be_known_beforehand_is_refused_at_once() -> None:
    fast = _compiled("four names")
    with pytest.raises(ValueError, match="X has 4 columns, the machine was trained with 5"):
        dormie.dask.predict(fast, da.zeros((10, 4)))
    with pytest.raises(ValueError, match="two dimensions"):
        dormie.dask.predict(fast, da.zeros(5))
    with pytest.raises(TypeError, match="datetime64"):
        dormie.dask.predict(fast, da.zeros((10, 5), dtype="M8[s]"))
    with pytest.raises(TypeError, match=r"X is a ndarray; .* For rows in memory call predict of the predictor itself"):
        dormie.dask.predict(fast, X)
    with pytest.raises(AttributeError, match="no probabilities"):
        dormie.dask.predict_proba(fast, da.zeros((10, 5)))
    with pytest.raises(TypeError, match=r"needs the Predictor that dormie.compile returns, got AuditedPredictor"):
        dormie.dask.predict(fast.audited(), da.zeros((10, 5)))
    strings = dormie.Machine(
        Custom(lambda a, b: np.ones((len(a), len(b)))), ["a", "b"], [1.0, -1.0], 0.0, dormie.rules.Sign([0, 1])
    )
    with pytest.raises(TypeError, match="objects of a Python kernel: put them in a Dask bag"):
        dormie.dask.predict(dormie.compile(strings), da.zeros((10, 5)))


def test_columns_of_a_frame_are_checked_at_once() -> None:
    fast = dormie.compile(SVC().fit(pd.DataFrame(X, columns=NAMES), KINDS), methods=["dense"])
    frame = dd.from_pandas(pd.DataFrame(X, columns=[*"abxde"]), npartitions=2)
    with pytest.raises(ValueError, match=r"missing \['c'\], unknown \['x'\]"):
        dormie.dask.predict(fast, frame)
    with pytest.raises(ValueError, match="another order"):
        dormie.dask.predict(fast, dd.from_pandas(pd.DataFrame(X, columns=[*"abdce"]), npartitions=2))


@pytest.mark.parametrize("method", ["predict", "predict_proba"])
def test_wrappers_of_estimators_take_a_predictor(method: str) -> None:
    """They put a method into map_blocks, and find out what it returns by trying it on no rows, or on one of zeros."""
    fast = _compiled("probabilities")

    def of(block: Any, estimator: Any) -> Any:
        return getattr(estimator, method)(block)

    metas = [of(np.zeros((count, 5)), fast) for count in (0, 1)]
    assert metas[0].dtype == metas[1].dtype
    rows = da.from_array(X, chunks=(90, 5))
    shape = {"drop_axis": 1} if method == "predict" else {"chunks": (rows.chunks[0], (4,))}
    lazy = rows.map_blocks(of, estimator=fast, dtype=metas[0].dtype, meta=metas[0], **shape)
    _same_bits(lazy.compute(scheduler="synchronous"), getattr(fast, method)(X))


def test_without_dask_the_error_says_what_to_install() -> None:
    code = """
import sys
sys.modules["dask"] = None
try:
    import dormie.dask
except ModuleNotFoundError as error:
    print(error)
"""
    assert printed(code).strip() == "dormie.dask needs Dask: pip install 'dormie[dask]'"


def test_it_is_there_when_it_is_asked_for() -> None:
    code = (
        "import sys, dormie; print('dask' in sys.modules, 'dask' in dir(dormie)); "
        "import dormie.dask as named; print(dormie.dask is named, named.__name__)"
    )
    assert printed(code).splitlines() == ["False True", "True dormie.scale.dask"]
