"""Documents made on purpose: each keeps to the protocol but for one thing, and is refused for that."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dormie.errors import PlanFileError
from dormie.plan.file import archive, load, npy
from dormie.plan.file.describe import describe
from dormie.plan.file.document import SCHEMA, Document
from dormie.plan.file.parse import unparse
from dormie.plan.guarantee import Risk
from dormie.plan.plan import Plan
from tests.plan.file.plans import FakeStage, assert_same_plan, crafted, plan_of, written


def _assert_refused(folder: Path, data: bytes, message: str) -> None:
    with pytest.raises(PlanFileError, match=message):
        load(written(folder, data))


def _set(*path: str | int, to: Any) -> Callable[[Document], None]:
    def change(document: Document) -> None:
        place: Any = document.schema
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = to

    return change


def _delete(*path: str) -> Callable[[Document], None]:
    def change(document: Document) -> None:
        place: Any = document.schema
        for key in path[:-1]:
            place = place[key]
        del place[path[-1]]

    return change


def _replace_array(name: str, array: np.ndarray[Any, Any]) -> Callable[[Document], None]:
    def change(document: Document) -> None:
        dtype, raw = npy.pack(array)
        document.arrays[name] = raw
        document.schema["arrays"][name] = {
            "dtype": dtype,
            "shape": list(array.shape),
            "bytes": len(raw),
            "sha256": "",
        }

    return change


def _replace_payload(name: str, payload: bytes) -> Callable[[Document], None]:
    """Other bytes behind the header of an array."""

    def change(document: Document) -> None:
        raw = bytes(document.arrays[name])
        document.arrays[name] = raw[: len(raw) - len(payload)] + payload

    return change


def _risk(**change: Any) -> Callable[[Document], None]:
    """A risk in each of two classes, with a change to it or to its evidence."""
    evidence: dict[str, Any] = {
        "rows": 900,
        "disagreements": 1,
        "p_value": 0.01,
        "rank": 2,
        "tested": 3,
        "date": "2024-12-31",
        "seed": 0,
        "versions": {"dormie": "0.1"},
        "classes": [
            {"label": "ash", "rows": 300, "disagreements": 0},
            {"label": "elm", "rows": 600, "disagreements": 1},
        ],
    }
    risk = {"name": "risk", "alpha": 0.05, "confidence": 0.95, "evidence": evidence}
    for name, value in change.items():
        (risk if name in risk else evidence)[name] = value
    return _set("guarantee", to=risk)


def test_a_risk_as_it_should_be_is_accepted(tmp_path: Path) -> None:
    guarantee = load(written(tmp_path, crafted(_risk()))).guarantee
    assert isinstance(guarantee, Risk)
    assert guarantee.per_class


def test_a_document_left_alone_is_accepted(tmp_path: Path) -> None:
    assert_same_plan(plan_of(names=("a", "b")), load(written(tmp_path, crafted(lambda _: None))))


def _values(tolerance: float, guarantee: dict[str, Any]) -> Callable[[Document], None]:
    """A rule of values with a tolerance, and a promise that may be another one."""

    def change(document: Document) -> None:
        del document.schema["arrays"][CLASSES], document.arrays[CLASSES]
        _set("machine", "rule", to={"name": "value", "tolerance": tolerance, "flat": False})(document)
        _set("guarantee", to=guarantee)(document)

    return change


def _tolerance(epsilon: float) -> dict[str, Any]:
    return {"name": "tolerance", "epsilon": epsilon}


def _polynomial(degree: int) -> Callable[[Document], None]:
    return _set("machine", "kernel", to={"name": "polynomial", "gamma": 1.0, "coef0": 0.0, "degree": degree})


POINTS, CLASSES = "machine/points.npy", "machine/classes.npy"
CHANGES: dict[str, tuple[Callable[[Document], None], str]] = {
    "newer protocol": (_set("protocol", to=5), "protocol 5 by dormie .* upgrade to dormie"),
    "older protocol": (_set("protocol", to=0), "protocol 0 by dormie .* use dormie"),
    "protocol as text": (_set("protocol", to="1"), "does not say which protocol"),
    "protocol as truth": (_set("protocol", to=True), "does not say which protocol"),
    "no version": (_delete("dormie"), "does not say which protocol"),
    "field missing": (_delete("rewrites"), "schema.json lacks rewrites"),
    "field unknown": (_set("extra", to=1), "field 'extra'"),
    "machine no object": (_set("machine", to=[]), "machine must be an object"),
    "kernel unknown": (_set("machine", "kernel", to={"name": "laplace", "gamma": 1.0}), "'laplace'.*upgrade if"),
    "kernel nameless": (_set("machine", "kernel", to={}), "machine.kernel is None"),
    "kernel named by a list": (_set("machine", "kernel", "name", to=["rbf"]), "machine.kernel is a list"),
    "gamma text": (_set("machine", "kernel", "gamma", to="1"), "gamma must be a number with a decimal point"),
    "gamma whole": (_set("machine", "kernel", "gamma", to=1), "gamma must be a number with a decimal point"),
    "gamma negative": (_set("machine", "kernel", "gamma", to=-1.0), "gamma must be positive"),
    "parameter unknown": (_set("machine", "kernel", "degree", to=2), "field 'degree'"),
    "kernel nested twice": (
        _set(
            "machine",
            "kernel",
            to={"name": "normalized", "kernel": {"name": "normalized", "kernel": {"name": "linear"}}},
        ),
        "machine.kernel.kernel is 'normalized'",
    ),
    "inner kernel unfit": (
        _set(
            "machine",
            "kernel",
            to={"name": "normalized", "kernel": {"name": "sigmoid", "gamma": 1.0, "coef0": 0.0}},
        ),
        "do not fit together: Normalized needs",
    ),
    "rule unknown": (_set("machine", "rule", "name", to="median"), "machine.rule is 'median'"),
    "rule does not fit": (_set("machine", "rule", to={"name": "value", "tolerance": 0.0, "flat": True}), "just once"),
    "rule parameter": (_set("machine", "rule", "break_ties", to=0), "break_ties must be true or false"),
    "rule shape": (_set("machine", "rule", "shape", to="circle"), "shape must be 'ovr' or 'ovo'"),
    "classes elsewhere": (_set("machine", "rule", "classes", "array", to="x"), "array 'x', which is not there"),
    "objects of numbers": (
        lambda document: (
            _replace_array(CLASSES, np.arange(3))(document),
            _set("machine", "rule", "classes", "objects", to=True)(document),
        )[0],
        "only text is held as objects",
    ),
    "classes too few": (_replace_array(CLASSES, np.arange(2)), "do not fit together: OneVsOneVote of 2"),
    "array elsewhere": (_set("machine", "points", to="/etc/passwd"), "'/etc/passwd', which is not there"),
    "one array twice": (_set("machine", "input_map", "center", to="machine/scale.npy"), "just once"),
    "array unused": (_set("machine", "input_map", to=None), "just once"),
    "names too few": (_set("machine", "feature_names", to=["a"]), "1 feature names for 2 features"),
    "names no text": (_set("machine", "feature_names", to=["a", 1]), r"feature_names\[1\] must be text"),
    "no stages": (_set("stages", to=[]), "stages is empty"),
    "stages without end": (
        lambda document: document.schema["stages"].extend(document.schema["stages"][1:] * 15),
        "there are 17 stages, and a plan has at most 16",
    ),
    "stage unknown": (_set("stages", 0, "name", to="os.system"), r"stages\[0\] is 'os.system'"),
    "stage no object": (_set("stages", 0, to="dense"), r"stages\[0\] must be an object"),
    "stage number a list": (_set("stages", 0, "numbers", "size", to=[1]), "numbers.*found a list"),
    "stage array missing": (_delete("stages", 0, "arrays", "T"), "just once"),  # type: ignore[arg-type]
    "stage does not fit": (_replace_array("stages/0/T.npy", np.zeros((2, 5))), "T must fit the machine"),
    "stage array flat": (_replace_array("stages/0/T.npy", np.zeros(6)), "do not fit together"),
    "guarantee unknown": (_set("guarantee", "name", to="always right"), "guarantee is 'always right'"),
    "exact with a tolerance": (_values(5.0, {"name": "exact"}), "which has a tolerance of 5"),
    "another tolerance than the rule's": (_values(5.0, _tolerance(1.0)), "which has a tolerance of 5"),
    "tolerance of nothing": (_values(0.0, _tolerance(0.0)), "must be positive and finite, got 0"),
    "tolerance negative": (_values(0.0, _tolerance(-1.0)), "must be positive and finite, got -1"),
    "tolerance of classes": (_set("guarantee", to=_tolerance(1.0)), "a tolerance is promised of values"),
    "risk of values": (
        lambda document: (_risk()(document), _values(0.0, document.schema["guarantee"])(document))[0],
        "a risk of values needs a tolerance",
    ),
    "degree beyond an int": (_polynomial(2**40), "degree must be a whole number from 1 to 1,000,000"),
    "degree at the end of an int": (_polynomial(2**31 - 1), "degree must be a whole number from 1 to 1,000,000"),
    "degree of nothing": (_polynomial(0), "degree must be a whole number from 1 to 1,000,000"),
    "risk of nothing": (_risk(alpha=0.0), "alpha must lie between 0 and 1"),
    "risk of all": (_risk(alpha=1.0), "alpha must lie between 0 and 1"),
    "risk whole": (_risk(alpha=1), "alpha must be a number with a decimal point"),
    "confidence beyond 1": (_risk(confidence=1.5), "confidence must lie between 0 and 1"),
    "confidence not borne out": (_risk(p_value=0.06), r"p-value of 0\.06 does not carry a confidence of 0\.95"),
    "rows that do not bear it out": (_risk(alpha=0.001), r"p-value of 0\.878\d+ does not carry a confidence of 0\.95"),
    "one class that does not bear it out": (
        _risk(
            classes=[{"label": "ash", "rows": 5, "disagreements": 0}, {"label": "elm", "rows": 895, "disagreements": 1}]
        ),
        r"p-value of 0\.77\d+ does not carry",
    ),
    "class without rows": (
        _risk(
            classes=[{"label": "ash", "rows": 0, "disagreements": 0}, {"label": "elm", "rows": 900, "disagreements": 1}]
        ),
        "p-value of 1 does not carry",
    ),
    "p-value negative": (_risk(p_value=-0.1), "evidence out of range"),
    "evidence missing": (_set("guarantee", to={"name": "risk", "alpha": 0.1, "confidence": 0.9}), "lacks evidence"),
    "evidence no object": (_risk(evidence=[]), "guarantee.evidence must be an object"),
    "evidence empty": (_risk(evidence={}), "guarantee.evidence lacks classes"),
    "evidence with more": (_risk(code="1"), "guarantee.evidence has a field 'code'"),
    "evidence of an exact plan": (_set("guarantee", to={"name": "exact", "evidence": {}}), "field 'evidence'"),
    "disagreements too many": (_risk(rows=1, disagreements=2, classes=[]), "2 disagreements on 1 rows"),
    "disagreements negative": (_risk(disagreements=-1), "-1 disagreements"),
    "rows with a fraction": (_risk(rows=900.0), "rows must be a whole number"),
    "rank 0": (_risk(rank=0), "evidence out of range"),
    "rank with a fraction": (_risk(rank=1.0), "rank must be a whole number"),
    "nothing tested": (_risk(tested=0), "evidence out of range"),
    "seed negative": (_risk(seed=-1), "evidence out of range"),
    "seed huge": (_risk(seed=2**63), "beyond 64 bits"),
    "date in words": (_risk(date="yesterday"), "do not fit together"),
    "date by weeks": (_risk(date="2024-W01-1"), "must read like 2024-12-31"),
    "date a number": (_risk(date=20241231), "date must be text"),
    "evidence versions": (_risk(versions={"numpy": 2}), r"evidence.versions\['numpy'\] must be text"),
    "class no object": (_risk(classes=["ash"]), r"classes\[0\] must be an object"),
    "class without a label": (_risk(classes=[{"rows": 900, "disagreements": 1}]), "lacks label"),
    "class of a number": (_risk(classes=[{"label": 1, "rows": 900, "disagreements": 1}]), "label must be text"),
    "classes that do not add up": (
        _risk(classes=[{"label": "ash", "rows": 899, "disagreements": 1}]),
        "do not add up",
    ),
    "note no text": (_set("note", to=1), "schema.json.note must be text"),
    "fast at another thing": (_set("source", "fast_at", to="batch"), 'source.fast_at must be "row"'),
    "not estimated": (_set("source", "estimated", to=False), "source.estimated true"),
    "seconds whole": (_set("source", "seconds", to=1), "source.seconds must be a number with a decimal point"),
    "stages reversed": (lambda document: document.schema["stages"].reverse(), "must end in the dense stage"),
    "full sum missing": (lambda document: document.schema["stages"].pop(), "must end in the dense stage"),
    "exact with a full sum in float32": (_set("stages", 1, "certified", to=False), "only promise a risk"),
    "source": (_set("source", "versions", to={"numpy": 2}), "versions.*must be text"),
    "rewrites": (_set("rewrites", to=[None]), r"rewrites\[0\] must be text"),
    "integer too large": (_set("source", "points", to=10**19), "beyond 64 bits"),
    "array listed, not there": (
        _set("arrays", "x.npy", to={"dtype": "<f8", "shape": [], "bytes": 8, "sha256": ""}),
        "'x.npy' is in the schema but not in the file",
    ),
    "array there, not listed": (
        lambda document: document.arrays.update({"x.npy": b""}),
        "'x.npy' is in the file but not in the schema",
    ),
    "dtype object": (_set("arrays", POINTS, "dtype", to="|O"), r"type '\|O', which plan files do not hold"),
    "dtype structure": (_set("arrays", POINTS, "dtype", to="<f8,<f8"), "which plan files do not hold"),
    "dtype big-endian": (_set("arrays", POINTS, "dtype", to=">f8"), "which plan files do not hold"),
    "dtype no text": (_set("arrays", POINTS, "dtype", to=8), "dtype must be text"),
    "shape negative": (_set("arrays", POINTS, "shape", to=[-4, -2]), "whole numbers from 0 on"),
    "shape of truths": (_set("arrays", POINTS, "shape", to=[True, 8]), "whole numbers from 0 on"),
    "shape deep": (_set("arrays", POINTS, "shape", to=[[4], 2]), "whole numbers from 0 on"),
    "shape of many dimensions": (_set("arrays", POINTS, "shape", to=[1] * 99), "at most 8 whole numbers"),
    "shape huge": (_set("arrays", POINTS, "shape", to=[2**62, 2**62]), "larger than a plan file"),
    "shape huge but empty": (_set("arrays", POINTS, "shape", to=[0, 2**40]), "larger than a plan file"),
    "shape too large": (_set("arrays", POINTS, "shape", to=[4, 3]), r"shape \(4, 3\) takes"),
    "shape exchanged": (_set("arrays", POINTS, "shape", to=[2, 4]), "does not start with the header"),
    "size wrong": (_set("arrays", POINTS, "bytes", to=1), "should have 1"),
    "points too few": (_replace_array(POINTS, np.zeros((3, 2))), r"weights.npy must be <f8 of shape \(3, 3\)"),
    "points of one dimension": (_replace_array(POINTS, np.zeros(4)), "must have 2 dimensions"),
    "points of float32": (_replace_array(POINTS, np.zeros((4, 2), np.float32)), "must be <f8 of shape"),
    "scale zero": (_replace_array("machine/scale.npy", np.zeros(2)), "scale of feature 0 is 0"),
    "NaN": (_replace_array(POINTS, np.full((4, 2), np.nan)), "points.npy has values that are not finite"),
    "infinity in a stage": (_replace_array("stages/0/T.npy", np.full((3, 2), -np.inf)), "not finite"),
    "no character": (_replace_payload(CLASSES, b"\xff\xff\xff\xff"), "classes.npy has values that are not text"),
    "no boolean": (_replace_payload("stages/0/kept.npy", b"\2"), "neither true nor false"),
}


@pytest.mark.parametrize(("change", "message"), CHANGES.values(), ids=CHANGES.keys())
def test_a_document_off_the_protocol_is_refused(
    change: Callable[[Document], None], message: str, tmp_path: Path
) -> None:
    _assert_refused(tmp_path, crafted(change), message)


@pytest.mark.parametrize("error", [RuntimeError, AttributeError, OverflowError, AssertionError, KeyError, TypeError])
def test_whatever_goes_wrong_in_building_a_stage_is_the_files_fault(
    error: type[Exception], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise error("std::bad_cast \x1b[2J")

    monkeypatch.setattr(FakeStage, "restore", fails)
    _assert_refused(tmp_path, crafted(lambda _: None), r"do not fit together: .*std::bad_cast .*x1b\[2J")


def test_too_little_memory_is_not_the_files_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(FakeStage, "restore", fails)
    with pytest.raises(MemoryError):
        load(written(tmp_path, crafted(lambda _: None)))


def test_an_array_with_another_checksum_is_refused(tmp_path: Path) -> None:
    document = describe(plan_of())
    document.arrays[POINTS] = bytes(document.arrays[POINTS])[:-1] + b"\1"
    data = b"".join(archive.encode(unparse(document)))
    _assert_refused(tmp_path, data, r"points\.npy is damaged: its checksum")


def _with_schema(text: str | bytes) -> bytes:
    raw = text.encode() if isinstance(text, str) else text
    return b"".join(archive.encode({SCHEMA: raw}))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "cannot be read"),
        ("[1]", "must hold an object"),
        ("{", "cannot be read"),
        (b"\xff\xfe", "cannot be read"),
        ('{"protocol": 1, "protocol": 1}', "comes twice"),
        ('{"a": {"b": 1, "b": 2}}', "comes twice"),
        ('{"protocol": NaN}', "not finite: NaN"),
        ('{"protocol": -Infinity}', "not finite: -Infinity"),
        ('{"protocol": 1e999, "dormie": "1"}', "cannot be read"),
        ('{"protocol":1}', "not laid out as dormie writes it"),
        ('{\n "dormie": "é"\n}', "not laid out as dormie writes it"),
        ('{\n "protocol": 1,\n "dormie": "1"\n}', "not laid out as dormie writes it"),
        ('{"protocol": ' + "9" * 100_000 + "}", "whole number of 100000 digits"),
        ('{"protocol": ' + "[" * 100_000 + "]" * 100_000 + "}", "cannot be read"),
        ('{"a": ' * 100_000 + "1" + "}" * 100_000, "cannot be read"),
        ('{"a": "' + "x" * (9 << 20) + '"}', "at most 4,194,304 are read"),
    ],
    ids=range(16),
)
def test_a_schema_that_is_not_plain_json_is_refused(text: str | bytes, message: str, tmp_path: Path) -> None:
    _assert_refused(tmp_path, _with_schema(text), message)


@pytest.mark.parametrize("depth", range(100, 1000, 50))
@pytest.mark.parametrize("place", [("machine",), ("machine", "kernel", "gamma"), ("arrays", POINTS, "shape", 0)])
def test_deep_nesting_anywhere_is_refused(place: tuple[str | int, ...], depth: int, tmp_path: Path) -> None:
    deep: Any = []
    for _ in range(depth):
        deep = [deep]
    try:
        data = crafted(_set(*place, to=deep))
    except RecursionError:
        pytest.skip("too deep to be written here")
    _assert_refused(tmp_path, data, "must be|cannot be read")


SCALARS = st.none() | st.booleans() | st.integers(-(10**25), 10**25) | st.floats() | st.text(max_size=8)
JSON = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner))


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Every spot in a JSON value: what holds it, and its key there."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else []
    return [place for key in keys for place in [(value, key), *_places(value[key])]]


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_whatever_stands_in_the_schema_nothing_but_a_plan_or_a_refusal_comes_of_it(
    tmp_path: Path, data: st.DataObject
) -> None:
    def change(document: Document) -> None:
        if data.draw(st.booleans()):
            _risk()(document)
        places = _places(document.schema)
        holder, key = places[data.draw(st.integers(0, len(places) - 1))]
        other, other_key = places[data.draw(st.integers(0, len(places) - 1))]
        holder[key] = data.draw(JSON | st.just(other[other_key]))

    try:
        raw = crafted(change)
    except (ValueError, AttributeError, RecursionError):  # NaN, or no longer to be written as JSON
        return
    with contextlib.suppress(PlanFileError):
        assert isinstance(load(written(tmp_path, raw)), Plan)
