from __future__ import annotations

import os
import stat
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from dormie.errors import PlanFileError
from dormie.machine import Machine
from dormie.machine.kernels import RBF, Custom, Kernel, Linear, Normalized, Polynomial, Sigmoid
from dormie.machine.rules import Argmax, OneClassSign, OneVsOneVote, Rule, Sign, Value
from dormie.numerics import reference
from dormie.plan.cascade import Cascade
from dormie.plan.file import load, save
from dormie.plan.guarantee import Count, Evidence, Exact, Guarantee, Risk, Tolerance
from dormie.plan.plan import Plan, Source
from tests.plan.file.plans import assert_same_plan, plan_of

KERNELS = [
    Linear(),
    Polynomial(0.1, -0.3, 7),
    RBF(1 / 3),
    Sigmoid(-0.7, 0.2),
    Normalized(Linear()),
    Normalized(Polynomial(0.5, 1.0, 2)),
    Normalized(RBF(3)),
]
RULES = [
    Sign(np.array([-1, 1]), zero=0),
    Sign(np.array(["no", "yes"]), zero=1),
    OneVsOneVote(np.array([3, 1, 2], dtype=np.uint8), break_ties=True, shape="ovo"),
    Value(tolerance=0.1, flat=False),
]
LABELS = [
    *(np.array([0, 7], dtype=code) for code in ("b", "h", "i", "q", "B", "H", "I", "Q")),
    *(np.array([0.5, -0.0], dtype=code) for code in ("e", "f", "d")),
    np.array([False, True]),
    np.array(["", "naïve 😀 \ud800"]),
    np.array(["a", "much longer"], dtype=object),
    np.array([1, 2], dtype=">i4"),
]


EVIDENCE = Evidence(5000, 1, 0.0403, 15, 7, "2024-12-31", 2**62, {"dormie": "0.1", "numpy": "2.0"})
GUARANTEES = [
    Exact(),
    Tolerance(0.1),
    Risk(1e-3, 0.95, EVIDENCE),
    Risk(0.1, 0.9, replace(EVIDENCE, classes=(Count("", 4500, 0), Count("ülm\ud800", 500, 1)))),
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a plan.dormie"


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_kernels_come_back(kernel: Kernel, path: Path) -> None:
    plan = plan_of(kernel=kernel)
    save(plan, path)
    assert_same_plan(plan, load(path))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: type(rule).__name__)
def test_rules_come_back(rule: Rule, path: Path) -> None:
    plan = plan_of(rule)
    save(plan, path)
    loaded = load(path)
    assert type(loaded.machine.rule) is type(rule)
    assert_same_plan(plan, loaded)


@pytest.mark.parametrize("guarantee", GUARANTEES, ids=["exact", "tolerance", "risk", "risk of each class"])
def test_guarantees_come_back(guarantee: Guarantee, path: Path) -> None:
    rule = Value(guarantee.epsilon, flat=False) if isinstance(guarantee, Tolerance) else None
    save(replace(plan_of(rule), guarantee=guarantee), path)
    loaded = load(path).guarantee
    assert type(loaded) is type(guarantee)
    assert loaded == guarantee


def test_what_compiling_took_and_a_note_come_back_where_there_are_any(path: Path) -> None:
    source = replace(plan_of().source, seconds=np.float64(1.25))
    plan = replace(plan_of(), source=source, note="a risk was allowed, größer")
    save(plan, path)
    assert_same_plan(plan, load(path))
    save(plan_of(), path)
    assert load(path).source.seconds is None
    assert load(path).note == ""


def test_numbers_of_numpy_come_back_as_plain_ones(path: Path) -> None:
    evidence = Evidence(np.int64(100), np.int64(0), np.float64(0.01), 1, 1, "2024-12-31", 0)  # type: ignore[arg-type]
    save(replace(plan_of(), guarantee=Risk(np.float64(0.5), 0.9, evidence)), path)
    loaded = load(path).guarantee
    assert loaded == Risk(0.5, 0.9, Evidence(100, 0, 0.01, 1, 1, "2024-12-31", 0))
    assert isinstance(loaded, Risk)
    assert type(loaded.evidence.rank) is int


def test_argmax_comes_back(path: Path) -> None:
    rule = Argmax(np.array(["a", "b"]), last_of_equal=True)
    machine = replace(plan_of().machine, weights=np.ones((4, 2)), bias=np.zeros(2), rule=rule)
    save(replace(plan_of(), machine=machine), path)
    assert load(path).machine.rule == rule


def test_the_rule_of_outliers_comes_back_and_is_no_rule_of_two_classes(path: Path) -> None:
    for rule in (OneClassSign(), Sign(np.array([-1, 1]), zero=0)):
        save(plan_of(rule), path)
        assert type(load(path).machine.rule) is type(rule)
        assert load(path).machine.rule == rule


@pytest.mark.parametrize("labels", LABELS, ids=lambda labels: labels.dtype.str)
def test_labels_come_back_in_their_own_type(labels: npt.NDArray[Any], path: Path) -> None:
    save(plan_of(Sign(labels)), path)
    rule = load(path).machine.rule
    assert isinstance(rule, Sign)
    assert rule.classes.dtype == labels.dtype.newbyteorder("=")
    assert rule.classes.tolist() == labels.tolist()


@pytest.mark.parametrize("names", [None, ("", "größe\n\ud800")])
@pytest.mark.parametrize("mapped", [False, True])
def test_feature_names_and_input_map_come_back(names: tuple[str, ...] | None, mapped: bool, path: Path) -> None:
    plan = plan_of(names=names, mapped=mapped)
    save(plan, path)
    assert_same_plan(plan, load(path))


def test_a_machine_without_points_comes_back(path: Path) -> None:
    machine = Machine(RBF(1.0), np.empty((0, 2)), np.empty((0, 1)), np.array([0.5]), Value())
    save(replace(plan_of(), machine=machine), path)
    assert load(path).machine.points.shape == (0, 2)


def test_a_plan_with_the_dense_stage_comes_back_and_computes_the_same(path: Path) -> None:
    from dormie.methods.dense import Dense

    machine = plan_of().machine
    plan = Plan(machine, Cascade.of(Dense(machine)), Exact(), Source("by hand", 4))
    save(plan, str(path))
    loaded = load(str(path))
    assert_same_plan(plan, loaded)
    assert isinstance(loaded.stages[0], Dense)
    rows = np.random.default_rng(0).normal(size=(5, 2))
    assert np.array_equal(reference.outputs(loaded.machine, rows), reference.outputs(machine, rows))


def test_equal_plans_give_equal_bytes(tmp_path: Path) -> None:
    plan = plan_of()
    other = replace(plan_of(), source=Source("SVC(C=1.0)", 5, {"numpy": "2.0", "scikit-learn": "1.5"}))
    save(plan, tmp_path / "a")
    save(other, tmp_path / "b")
    save(load(tmp_path / "a"), tmp_path / "c")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes() == (tmp_path / "c").read_bytes()


def test_zip_programs_and_numpy_can_open_the_file(path: Path) -> None:
    plan = plan_of()
    save(plan, path)
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        assert archive.namelist()[0] == "schema.json"
        with archive.open("machine/points.npy") as member:
            assert np.array_equal(np.load(member, allow_pickle=False), plan.machine.points)
        with archive.open("stages/0/T.npy") as member:
            assert np.load(member, allow_pickle=False).tolist() == [[0, 1], [2, 3], [4, 5]]


def test_saving_replaces_a_file_whole_and_leaves_nothing_else(path: Path) -> None:
    path.write_bytes(b"what was there before")
    save(plan_of(), path)
    assert_same_plan(plan_of(), load(path))
    assert os.listdir(path.parent) == [path.name]


def test_a_save_that_fails_leaves_the_old_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(plan_of(), path)
    before = path.read_bytes()

    def fails(*_: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(os, "fsync", fails)
    with pytest.raises(OSError, match="no space"):
        save(plan_of(kernel=Linear()), path)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


def test_a_link_keeps_pointing_to_the_file_written(path: Path) -> None:
    link = path.with_name("link")
    link.symlink_to(path)
    save(plan_of(), link)
    assert link.is_symlink()
    assert_same_plan(plan_of(), load(path))


def test_the_file_can_be_read_by_whom_new_files_can_be(path: Path) -> None:
    ordinary = path.with_name("ordinary")
    ordinary.write_bytes(b"")
    save(plan_of(), path)
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(ordinary.stat().st_mode)


@pytest.mark.parametrize(
    "labels",
    [
        np.array([1, 2], dtype=object),
        np.array(["a", None], dtype=object),
        np.array(["a\0", "b"], dtype=object),
        np.array([b"a", b"b"]),
        np.array(["2020-01-01", "2020-01-02"], dtype="M8[D]"),
        np.array([1j, 2j]),
        np.array([np.nan, 1.0]),
    ],
    ids=lambda labels: labels.dtype.str,
)
def test_other_labels_are_refused_when_saving(labels: npt.NDArray[Any], path: Path) -> None:
    with pytest.raises(ValueError, match="str or int labels"):
        save(plan_of(Sign(labels)), path)
    assert not path.exists()


def test_a_custom_kernel_is_refused_when_saving(path: Path) -> None:
    with pytest.raises(ValueError, match="Custom kernel cannot be saved: its kernel is a Python function"):
        save(plan_of(kernel=Custom(lambda a, b: a @ b.T)), path)
    assert not path.exists()


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no folder .*absent to save plan\.dormie in"):
        save(plan_of(), tmp_path / "absent" / "plan.dormie")


class _OwnKernel(RBF):
    """A subclass, which may compute anything."""


def test_what_could_not_be_loaded_is_not_saved(path: Path) -> None:
    with pytest.raises(ValueError, match="no word for _OwnKernel"):
        save(plan_of(kernel=_OwnKernel(1.0)), path)
    with pytest.raises(PlanFileError, match=r"source\.seconds must be finite"):
        save(replace(plan_of(), source=replace(plan_of().source, seconds=np.inf)), path)
    with pytest.raises(PlanFileError, match="shorten the feature names"):
        save(plan_of(names=("x" * (9 << 20), "y")), path)
    assert not path.exists()
