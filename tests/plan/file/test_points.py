"""Sparse points in plan files: saved and loaded to the bit, and refused where they are not canonical or do not fit."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import dormie
from dormie.errors import PlanFileError
from dormie.machine.kernels import RBF, Linear
from dormie.methods.dense import Dense
from dormie.plan.cascade import Cascade
from dormie.plan.file import archive, load, npy
from dormie.plan.file.describe import describe
from dormie.plan.file.document import Document
from dormie.plan.file.parse import unparse
from dormie.plan.guarantee import Exact
from dormie.plan.plan import Plan, Source
from tests.plan.file.plans import written
from tests.properties.strategies import by_hand

VALUES, COLUMNS, STARTS = (f"machine/points/{part}.npy" for part in ("values", "columns", "starts"))


def plan(points: Any) -> Plan:
    count = points.shape[0]
    machine = by_hand(RBF(0.5), points, np.linspace(-1, 1, count), 0.1)
    return Plan(machine, Cascade.of(Dense(machine)), Exact(), Source("by hand", count))


def points() -> Any:
    return scipy.sparse.csr_array([[0.0, 1.5, 0.0, -2.0], [0.0, 0.0, 0.0, 0.0], [3.0, 0.0, 1e-300, 0.0]])


def crafted(change: Callable[[dict[str, Any], dict[str, Any]], object]) -> bytes:
    """A plan file whose schema and arrays were changed, and all else made good again."""
    document = describe(plan(points()))
    arrays = {
        name: npy.unpack(document.arrays[name], entry["dtype"], tuple(entry["shape"]))
        for name, entry in document.schema["arrays"].items()
    }
    change(document.schema, arrays)
    raw = {}
    for name in sorted(arrays):
        dtype, raw[name] = npy.pack(arrays[name])
        entry = {"dtype": dtype, "shape": list(arrays[name].shape), "bytes": len(raw[name])}
        document.schema["arrays"][name] = entry | {"sha256": hashlib.sha256(raw[name]).hexdigest()}
    return b"".join(archive.encode(unparse(Document(document.schema, dict(raw)))))


def changed(name: str, values: Any, dtype: str | None = None) -> Callable[[dict[str, Any], dict[str, Any]], object]:
    def change(_: dict[str, Any], arrays: dict[str, Any]) -> None:
        arrays[name] = np.array(values, dtype=dtype or arrays[name].dtype)

    return change


def described(**fields: Any) -> Callable[[dict[str, Any], dict[str, Any]], object]:
    return lambda schema, _: schema["machine"]["points"].update(fields)


def test_they_come_back_to_the_bit(tmp_path: Path) -> None:
    fast = dormie.Predictor(plan(points()))
    fast.save(tmp_path / "plan.dormie")
    loaded = load(tmp_path / "plan.dormie").machine.points
    assert (loaded != points()).nnz == 0
    assert loaded.shape == (3, 4)
    assert not loaded.data.flags.writeable
    again = dormie.load(tmp_path / "plan.dormie")
    again.save(tmp_path / "again.dormie")
    assert (tmp_path / "again.dormie").read_bytes() == (tmp_path / "plan.dormie").read_bytes()
    rows = np.random.default_rng(0).normal(size=(20, 4))
    np.testing.assert_array_equal(again.predict(rows), fast.predict(rows))


def test_an_origin_with_sparse_points_comes_back(tmp_path: Path) -> None:
    machine = by_hand(Linear(), points(), [1.0, 2.0, -1.0], 0.1)
    fast = dormie.compile(machine)
    fast.save(tmp_path / "plan.dormie")
    origin = dormie.load(tmp_path / "plan.dormie").plan.machine.origin
    assert origin is not None
    assert (origin.machine.points != points()).nnz == 0


def test_a_file_nobody_changed_is_accepted(tmp_path: Path) -> None:
    load(written(tmp_path, crafted(lambda *_: None)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (changed(COLUMNS, [1, 1, 0, 2]), "not in canonical form"),
        (changed(COLUMNS, [3, 1, 0, 2]), "not in canonical form"),
        (changed(COLUMNS, [1, 4, 0, 2]), "not in canonical form"),
        (changed(COLUMNS, [-1, 3, 0, 2]), "not in canonical form"),
        (changed(COLUMNS, [1, 3, 0]), "not in canonical form"),
        (changed(COLUMNS, [1, 3, 0, 2], "<i8"), "columns must be <i4"),
        (changed(COLUMNS, [[1, 3], [0, 2]]), "columns must have 1 dimensions"),
        (changed(VALUES, [1.0, 0.0, 1.0, 1.0]), "not in canonical form"),
        (changed(VALUES, [1.0, np.nan, 1.0, 1.0]), "values that are not finite"),
        (changed(VALUES, [1.0, 1.0, 1.0, 1.0], "<f4"), "values must be <f8"),
        (changed(STARTS, [1, 2, 2, 4]), "not in canonical form"),
        (changed(STARTS, [0, 2, 2, 5]), "not in canonical form"),
        (changed(STARTS, [0, 2, 1, 4]), "not in canonical form"),
        (changed(STARTS, [0, 9, 2, 4]), "not in canonical form"),
        (changed(STARTS, [0, -1, 2, 4]), "not in canonical form"),
        (changed(STARTS, []), "not in canonical form"),
        (changed(STARTS, [0, 2, 4]), "must be <f8 of shape"),
        (described(features=3), "not in canonical form"),
        (described(features=0), "must be from 1 to"),
        (described(features=2**31), "must be from 1 to"),
        (described(features=4.0), "must be a whole number"),
        (described(values="elsewhere"), "which is not there"),
        (described(values=STARTS), "values must be <f8"),
        (described(more=1), "does not know"),
        (lambda schema, _: schema["machine"]["points"].pop("starts"), "lacks starts"),
        (lambda schema, _: schema["machine"].update(points=VALUES), "must have 2 dimensions"),
        (lambda schema, _: schema["machine"].update(blas_products=True), "BLAS computes inner products of dense"),
    ],
)
def test_what_is_not_canonical_or_does_not_fit_is_refused(change: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(PlanFileError, match=message):
        load(written(tmp_path, crafted(change)))


def test_a_stage_over_dense_points_is_refused(tmp_path: Path) -> None:
    def change(schema: dict[str, Any], _: dict[str, Any]) -> None:
        stage = {"name": "fast_stopping", "certified": True, "caution": 1.0, "numbers": {}, "arrays": {}}
        schema["stages"].insert(0, stage)

    with pytest.raises(PlanFileError, match="fast_stopping does not serve sparse points"):
        load(written(tmp_path, crafted(change)))


def test_more_features_do_not_take_more_memory(tmp_path: Path) -> None:
    wide = load(written(tmp_path, crafted(described(features=2**31 - 1)))).machine
    assert wide.n_features == 2**31 - 1
