"""The profile of a computer: plain data, kept in a file, and measured where there is none."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from dormie import Profile, compile
from dormie.machine import Machine
from dormie.machine.kernels import RBF
from dormie.machine.rules import Sign
from dormie.planner import profile as module

COSTS = {
    "dense/batch/dense": {"row": 1e-7, "value": 1e-9, "product": 2e-11},
    "geometry/batch/dense": {"row": 1e-6},
    "entry/batch/dense": {"row": 1e-8, "feature": 1e-9},
}
MACHINE = Machine(RBF(1.0), np.eye(4), np.ones((4, 1)), np.zeros(1), Sign(np.array([0, 1])))


def test_a_profile_survives_a_file(tmp_path: Path) -> None:
    mine = Profile("mine", COSTS, python_value=1e-3)
    mine.save(tmp_path / "mine.json")
    again = Profile.load(tmp_path / "mine.json")
    assert (again.computer, again.costs, again.python_value) == (mine.computer, mine.costs, mine.python_value)


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"format": 1}', '{"format": 99, "computer": "", "costs": {}}', "\x00", "1"]
)
def test_a_file_that_is_no_profile_is_refused(content: str, tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text(content)
    with pytest.raises(ValueError, match=r"bad\.json is not a profile"):
        Profile.load(tmp_path / "bad.json")
    with pytest.raises(FileNotFoundError):
        Profile.load(tmp_path / "none.json")


def test_costs_that_cannot_be_are_refused() -> None:
    for cost in (-1.0, float("nan"), float("inf"), True, "1"):
        with pytest.raises(ValueError, match="the cost of a row must be a finite number"):
            Profile("", {"dense/batch/dense": {"row": cost}})  # type: ignore[dict-item]
    with pytest.raises(ValueError, match="no unit of work is called 'rows'"):
        Profile("", {"dense/batch/dense": {"rows": 1.0}})
    with pytest.raises(ValueError, match="needs the costs of the full sum"):
        Profile("", {"geometry/batch/dense": {"row": 1.0}})
    with pytest.raises(ValueError, match="python_value must be a positive number"):
        Profile("", COSTS, python_value=0.0)


def test_a_profile_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        Profile("", COSTS).costs["dense/batch/dense"]["row"] = 0.0  # type: ignore[index]


def test_this_computer_is_measured_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    measured: list[int] = []
    monkeypatch.setattr(module, "measured", lambda: measured.append(0) or COSTS)  # type: ignore[func-returns-value]
    first, second = Profile.of_this_computer(), Profile.of_this_computer()
    assert len(measured) == 1
    assert first.costs == second.costs == {name: dict(units) for name, units in COSTS.items()}
    [kept] = (tmp_path / "dormie").iterdir()
    assert json.loads(kept.read_text())["costs"] == COSTS
    assert compile(MACHINE, profile=True).plan.source.estimated
    assert compile(MACHINE, profile=kept).plan.source.estimated
    assert not compile(MACHINE, profile=False).plan.source.estimated
    assert len(measured) == 1


def test_what_is_no_profile_is_refused() -> None:
    with pytest.raises(TypeError, match="profile must be True, a Profile or the path of one, got 3"):
        compile(MACHINE, profile=3)  # type: ignore[arg-type]
