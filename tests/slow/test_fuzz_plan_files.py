"""The fuzzer of plan files: a few forged ones, and that it finds what it looks for."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

import dormie
from dormie.methods import METHODS
from dormie.plan.file import vocabulary
from tests.properties.strategies import BY_DIFFERENCES, KERNELS
from tests.slow import fuzz_plan_files
from tests.slow.forgery import RULES, genuine

FILES = 100


def test_forged_files_are_refused_or_work(tmp_path: Path) -> None:
    used = [fuzz_plan_files.check_seed(seed, tmp_path)[0] for seed in range(FILES)]
    assert FILES / 4 < sum(used) < FILES


def test_genuine_plans_are_of_every_kind() -> None:
    plans = [genuine(kernel, rule, bold).schema for kernel in (1, 3) for rule in range(len(RULES)) for bold in (0, 1)]
    assert {stage["name"] for plan in plans for stage in plan["stages"]} == set(METHODS)
    parts = [stage for plan in plans for stage in plan["stages"] if stage["name"] == "parts"]
    assert {(stage["certified"], stage["numbers"].get("0")) for stage in parts} == {
        (True, None),
        (True, "geometry"),
        (True, "reduced_set"),
        (True, "fast_stopping"),
        (False, "reduced_set"),
    }
    assert {plan["guarantee"]["name"] for plan in plans} == {"exact", "tolerance", "risk"}
    described = [plan["machine"]["rule"] for plan in plans if "rule" in plan["machine"]]
    described += [plan["values"]["rule"] for plan in plans if "values" in plan]
    assert {rule["name"] for rule in described} == set(vocabulary.RULES)
    assert {rule["of"]["name"] for rule in described if "of" in rule} == {"value", "score", "probability"}
    of_distances = {"Matern", "RationalQuadratic", "Laplacian", "Chi2", "AdditiveChi2"}
    known = {"Linear", "Polynomial", "RBF", "Sigmoid", "Normalized"} | of_distances
    assert {type(kernel).__name__ for kernel in KERNELS + BY_DIFFERENCES} == known


def test_an_error_on_use_is_found_with_its_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any, **__: Any) -> None:
        raise ValueError("no such thing")

    monkeypatch.setattr(dormie.Predictor, "trace", fails)
    *_, tally = fuzz_plan_files.fuzz(5, seed=0)
    assert tally.used + tally.refused + len(tally.findings) == 5
    assert all(finding.startswith("seed ") and "no such thing" in finding for finding in tally.findings)
    assert tally.findings


def test_a_crash_is_found_and_the_next_file_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    def crashes(seed: int, _: Path) -> tuple[bool, float]:
        if seed == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return True, 0.5

    monkeypatch.setattr(fuzz_plan_files, "check_seed", crashes)
    *_, tally = fuzz_plan_files.fuzz(5, seed=1)
    assert tally.findings == ["seed 3: the process ended with signal 9, or was killed after 120 s"]
    assert (tally.used, tally.largest) == (4, 0.5)


def test_a_hang_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def hangs(*_: object) -> tuple[bool, float]:
        signal.pause()
        return True, 0.5

    monkeypatch.setattr(fuzz_plan_files, "check_seed", hangs)
    monkeypatch.setattr(fuzz_plan_files, "LONGEST", 0.1)
    *_, tally = fuzz_plan_files.fuzz(1)
    assert tally.findings == ["seed 0: the process ended with signal 9, or was killed after 0.1 s"]


def test_too_much_memory_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not fuzz_plan_files._memory("VmHWM", reset=True):
        pytest.skip("this system does not say how much memory was in use at most")
    monkeypatch.setattr(fuzz_plan_files, "SPARE", 10_000_000)
    monkeypatch.setattr(dormie, "load", lambda _: bytearray(b"x" * 40_000_000))
    (tmp_path / "small").write_bytes(b"")
    with pytest.raises(fuzz_plan_files.Finding, match="bytes of memory for a file of 0"):
        fuzz_plan_files._loaded(tmp_path / "small")
