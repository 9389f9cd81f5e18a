"""Two worker processes: the bits of one process, the plan sent once to each, and a worker that dies changes nothing."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_moons
from sklearn.svm import SVC

import dormie
from dormie.machine import Floats

pytestmark = [pytest.mark.ecosystem, pytest.mark.timeout(200)]

BLOCKS, SIZE = 40, 5000


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    from distributed import Client, LocalCluster

    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 3}),
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, memory_limit="2GiB") as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def fast() -> dormie.Predictor:
    X, y = make_moons(1500, noise=0.3, random_state=0)
    return dormie.compile(SVC(gamma=2.0).fit(X, y), methods=["fast_stopping"])


def _block(number: int) -> Floats:
    """The rows of a block, wherever it is made."""
    return np.random.default_rng(number).normal(size=(SIZE, 2)) * 1.5


def _made(block_id: tuple[int, ...]) -> Floats:
    return _block(block_id[0])


def _rows() -> Any:
    return da.map_blocks(_made, chunks=((SIZE,) * BLOCKS, (2,)), dtype=np.float64, meta=np.empty((0, 2)))


def _whole() -> Floats:
    return np.concatenate([_block(number) for number in range(BLOCKS)])


@pytest.mark.parametrize("method", ["predict", "decision_function"])
def test_answers_are_those_of_one_process_bit_for_bit(client: Any, fast: dormie.Predictor, method: str) -> None:
    found = getattr(dormie.dask, method)(fast, _rows()).compute()
    expected = getattr(fast, method)(_whole())
    assert found.dtype == expected.dtype
    assert found.tobytes() == expected.tobytes()
    assert len(client.scheduler_info()["workers"]) == 2


def test_frames_keep_their_index(client: Any, fast: dormie.Predictor) -> None:  # noqa: ARG001 - what computes
    frame = pd.DataFrame(_whole(), index=np.arange(BLOCKS * SIZE) * 3)
    found = dormie.dask.predict(fast, dd.from_pandas(frame, npartitions=9)).compute()
    assert found.index.equals(frame.index)
    assert found.to_numpy().tobytes() == fast.predict(frame).tobytes()


def _unpackings() -> int:
    """How often this worker process has unpacked a plan, counted from the first call."""
    room: Any = import_module("dormie.scale.dask")
    if not hasattr(room, "counted"):
        room.counted, unpacked = [], room._Parcel.unpacked
        room._Parcel.unpacked = lambda parcel: room.counted.append(parcel.digest) or unpacked(parcel)
        room._unpacked = room._Unpacked()
    return len(room.counted)


def test_a_worker_unpacks_the_plan_once(client: Any, fast: dormie.Predictor) -> None:
    client.run(_unpackings)
    for _ in range(2):
        dormie.dask.predict(fast, _rows()).compute()
    assert set(client.run(_unpackings).values()) <= {0, 1}
    assert 1 in client.run(_unpackings).values()


def _slowly(rows: Floats) -> Floats:
    time.sleep(0.1)
    return rows


def test_a_worker_killed_half_way_changes_no_answer(client: Any, fast: dormie.Predictor) -> None:
    labels = dormie.dask.predict(fast, _rows().map_blocks(_slowly, meta=np.empty((0, 2))))
    process = next(iter(client.run(os.getpid).values()))
    future = client.compute(labels)
    time.sleep(0.1 * BLOCKS / 4)
    assert not future.done()
    os.kill(process, signal.SIGKILL)
    assert future.result(timeout=100).tobytes() == fast.predict(_whole()).tobytes()
    client.wait_for_workers(2, timeout=60)
    assert process not in client.run(os.getpid).values()


def _spoilt(rows: Floats, block_id: tuple[int, ...]) -> Floats:
    return np.where(np.arange(SIZE)[:, None] == 7, np.nan, rows) if block_id[0] == 11 else rows


def test_a_corrupt_block_is_named(client: Any, fast: dormie.Predictor) -> None:  # noqa: ARG001 - what computes
    spoilt = _rows().map_blocks(_spoilt, dtype=np.float64, meta=np.empty((0, 2)))
    with pytest.raises(ValueError, match=r"^block 11 of X: row 7, column 0 is NaN"):
        dormie.dask.predict(fast, spoilt).compute()
