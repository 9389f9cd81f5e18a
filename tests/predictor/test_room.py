"""Answers written to the caller's own array."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dormie
from dormie.machine import Machine
from dormie.machine.kernels import RBF
from dormie.machine.rules import Argmax, OneVsOneVote, Rule, SeveralLabels, Sign, Value
from dormie.numerics import backend
from tests.properties.strategies import by_hand

ROWS = np.random.default_rng(0).normal(size=(200, 3))


def _machine(rule: Rule, outputs: int = 1) -> Machine:
    rng = np.random.default_rng(1)
    return by_hand(RBF(0.5), rng.normal(size=(20, 3)), rng.normal(size=(20, outputs)), 0.1, rule)


def _predictor(rule: Rule, outputs: int = 1) -> dormie.Predictor:
    return dormie.compile(_machine(rule, outputs), methods=[])


LABELS: dict[str, Any] = {
    "int64": [3, 7, 9],
    "uint8": [0, 1, 255],
    "float32": [0.5, 1.5, 2.5],
    "text": ["a", "bc", "defg"],
    "long text": ["x" * 300, "y", "z"],
    "bytes": [b"a", b"b", b"cc"],
    "dates": np.array(["2020-01-01", "2021-01-01", "2022-01-01"], dtype="M8[D]"),
    "objects": np.array([None, ("a", 1), "b"], dtype=object),
    "complex": [1j, 2.0, 3.0],
}


@pytest.mark.parametrize("labels", LABELS)
def test_labels_of_any_type_are_the_models_own(labels: str) -> None:
    classes = np.array(LABELS[labels]) if not isinstance(LABELS[labels], np.ndarray) else LABELS[labels]
    fast = _predictor(Argmax(classes), 3)
    expected = classes[fast.plan.machine.rule.answer(fast._dense.full_sum.outputs(ROWS))]
    found = fast.predict(ROWS)
    assert found.dtype == classes.dtype
    np.testing.assert_array_equal(found, expected)
    out = np.empty(len(ROWS), dtype=classes.dtype)
    assert fast.predict(ROWS, out=out) is out
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "float16", "float64", "bool", "U2", "O"])
def test_a_small_type_that_holds_the_labels_will_do(dtype: str) -> None:
    fast = _predictor(Sign(np.array(["0", "1"]) if dtype == "U2" else np.array([0, 1])))
    out = np.empty(len(ROWS), dtype=dtype)
    assert fast.predict(ROWS, out=out) is out
    np.testing.assert_array_equal(out, fast.predict(ROWS))
    with backend.numpy_only():
        slow = dormie.compile(fast.plan.machine, methods=[])
        np.testing.assert_array_equal(slow.predict(ROWS, out=np.empty_like(out)), out)


@pytest.mark.parametrize(
    ("classes", "dtype"), [([0, 256], "uint8"), ([-1, 1], "uint8"), ([0.5, 1.0], "int8"), (["ab", "abc"], "U2"),
                           ([1, 2], "U1"), (["x", "y"], "int8"), ([2**53, 2**53 + 1], "float64")]
)  # fmt: skip
def test_a_type_that_cannot_hold_a_label_is_refused(classes: list[Any], dtype: str) -> None:
    fast = _predictor(Sign(np.array(classes)))
    with pytest.raises(ValueError, match=r"out is of type .*, which cannot hold all labels"):
        fast.predict(ROWS, out=np.empty(len(ROWS), dtype=dtype))


@pytest.mark.parametrize("flat", [True, False])
def test_values_are_written_where_they_are_wanted(flat: bool) -> None:
    fast = _predictor(Value(flat=flat), 1 if flat else 2)
    expected = fast.predict(ROWS)
    out = np.empty_like(expected)
    assert fast.predict(ROWS, out=out) is out
    np.testing.assert_array_equal(out, expected)
    with pytest.raises(ValueError, match="out must be float64, as the values are; it is float32"):
        fast.predict(ROWS, out=out.astype(np.float32))


def test_an_array_that_does_not_fit_is_refused_and_left_alone() -> None:
    fast = _predictor(OneVsOneVote(np.arange(3)), 3)
    frozen = np.zeros(200, dtype=np.int64)
    frozen.setflags(write=False)
    wrong: list[tuple[Any, type[Exception], str]] = [
        (np.zeros(199, dtype=np.int64), ValueError, r"shape \(200,\); it is of shape \(199,\)"),
        (np.zeros((200, 1), dtype=np.int64), ValueError, r"shape \(200,\)"),
        (np.zeros(400, dtype=np.int64)[::2], ValueError, "contiguous"),
        (frozen, ValueError, "read-only"),
        ([0] * 200, TypeError, "numpy array of shape .* got list"),
        (np.ma.zeros(200), TypeError, "MaskedArray"),
    ]
    for out, error, message in wrong:
        with pytest.raises(error, match=message):
            fast.predict(ROWS, out=out)
    bad = ROWS.copy()
    bad[150, 1] = np.nan
    with pytest.raises(ValueError, match="row 150, column 1 is NaN"):
        fast.predict(bad, out=np.zeros(200, dtype=np.int64))
    with pytest.raises(ValueError, match="cannot be given with a deadline"):
        fast.predict(ROWS, 1.0, out=np.zeros(200, dtype=np.int64))  # type: ignore[call-overload]


def test_the_native_core_checks_the_array_for_itself() -> None:
    fast = _predictor(Sign(np.array([3, 4])))
    native, table = fast.plan.cascade.native, np.array([3, 4])
    assert native is not None
    for labels, out in (
        (table, np.empty(199, dtype=np.int64)),
        (table, np.empty(200, dtype=np.int32)),
        (table[:1], np.empty(200, dtype=np.int64)),
        (None, np.empty(200, dtype=np.int64)),
        (table, [0] * 200),
    ):
        with pytest.raises(ValueError, match="the array for the answers does not fit"):
            native.predict(ROWS, labels, out)


def test_audited_answers_are_written_too() -> None:
    fast = _predictor(Sign(np.array([3, 4]))).audited()
    out = np.empty(200, dtype=np.uint8)
    assert fast.predict(ROWS, out=out) is out
    np.testing.assert_array_equal(out, fast.predict(ROWS))


@pytest.mark.parametrize("classes", [([3, 4], ["a", "b", "c"]), ([3, 4], [0.5, 1.0, 2.0]), ([3, 4], [5, 6, 127])])
def test_several_labels_fill_a_matrix(classes: Any) -> None:
    rule = SeveralLabels([Sign(classes[0]), Argmax(classes[1])], [1, 3])
    fast = _predictor(rule, 4)
    labels = fast.predict(ROWS)
    assert labels.shape == (200, 2)
    np.testing.assert_array_equal(labels, rule.labels(rule.answer(fast.plan.full_sum.outputs(ROWS))))
    out = np.zeros((200, 2), dtype=labels.dtype)
    for each in (fast, fast.audited()):
        assert each.predict(ROWS, out=out) is out
        np.testing.assert_array_equal(out, labels)
        out[:] = 0
    with pytest.raises(ValueError, match=r"of shape \(200, 2\); it is of shape \(200,\)"):
        fast.predict(ROWS, out=np.zeros(200, dtype=labels.dtype))
    small = np.zeros((200, 2), dtype=np.int8)
    if labels.dtype == np.int64:
        np.testing.assert_array_equal(fast.predict(ROWS, out=small), labels)
    else:
        with pytest.raises(ValueError, match="out is of type int8, which cannot hold all labels"):
            fast.predict(ROWS, out=small)
