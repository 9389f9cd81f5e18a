"""Plans for the tests of plan files, a stage with a state of its own, and files that `save` would never write."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dormie.machine import Affine, Floats, Machine
from dormie.machine.kernels import RBF, Kernel
from dormie.machine.rules import OneVsOneVote, Rule, Value
from dormie.methods.base import Decisions, Method, Stage, Usable
from dormie.methods.dense import Dense
from dormie.methods.memory import Shapes, Size
from dormie.plan.cascade import Cascade
from dormie.plan.file import archive, npy
from dormie.plan.file.describe import describe
from dormie.plan.file.document import Document
from dormie.plan.file.parse import unparse
from dormie.plan.guarantee import Exact, Tolerance
from dormie.plan.plan import Plan, Source


class FakeStage(Stage):
    """A stage with numbers and arrays of every sort, and no work to do."""

    name = "fake"
    words = "nothing"
    certified = True

    def __init__(self, machine: Machine, numbers: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> None:
        if set(arrays) != {"T", "order", "kept"} or arrays["T"].shape[1] != machine.n_features:
            raise ValueError("the fake stage needs T, order and kept, and T must fit the machine")
        self.machine, self.numbers, self.arrays = machine, numbers, arrays

    def decide(self, rows: Any, caution: float = 1.0) -> Decisions:
        raise NotImplementedError

    def estimate(self, rows: Any) -> Floats:
        raise NotImplementedError

    def state(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        return self.numbers, self.arrays

    @classmethod
    def memory(cls, machine: Size, shapes: Shapes) -> int:  # noqa: ARG003 - it lays nothing out
        return 0

    @classmethod
    def restore(cls, machine: Machine, numbers: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> Stage:
        return cls(machine, numbers, arrays)


class FakeMethod(Method):
    stages = (FakeStage,)

    def is_usable_for(self, machine: Machine) -> Usable:  # noqa: ARG002 - whatever it is
        return Usable()


_KERNEL = RBF(0.1)


def plan_of(
    rule: Rule | None = None, kernel: Kernel = _KERNEL, names: tuple[str, ...] | None = None, mapped: bool = True
) -> Plan:
    """A small plan with numbers that take all of their 53 bits."""
    rng = np.random.default_rng(7)
    rule = rule or OneVsOneVote(np.array(["ash", "ülm", ""]), break_ties=True, shape="ovo")
    c = 2 if isinstance(rule, Value) else 3 if isinstance(rule, OneVsOneVote) else 1
    input_map = Affine(rng.normal(size=2), rng.uniform(1, 2, size=2)) if mapped else None
    points, weights, bias = rng.normal(size=(4, 2)), rng.normal(size=(4, c)), rng.normal(size=c)
    machine = Machine(kernel, points, weights, bias, rule, input_map, names)
    source = Source("SVC(C=1.0)", 5, {"scikit-learn": "1.5", "numpy": "2.0"})
    tolerance = rule.tolerance if isinstance(rule, Value) else 0.0
    guarantee = Tolerance(tolerance) if tolerance else Exact()
    return Plan(machine, Cascade.of(_stage(machine), Dense(machine)), guarantee, source, ("merge_duplicates", "center"))


def _stage(machine: Machine) -> FakeStage:
    numbers = {"size": np.int64(3), "rate": np.float64(0.1), "eager": True, "norm": "l2", "seed": 2**63 - 1}
    arrays = {
        "T": np.asfortranarray(np.arange(6, dtype=np.float32).reshape(3, 2)),
        "order": np.array([2, 0, 1], dtype=">i4"),
        "kept": np.array([[True, False]]),
    }
    return FakeStage(machine, numbers, arrays)


def assert_same_plan(one: Plan, other: Plan) -> None:
    """Every field equal, every array to the last bit."""
    _assert_same_machine(one.machine, other.machine)
    assert (one.guarantee, one.source, one.rewrites) == (other.guarantee, other.source, other.rewrites)
    assert (one.trials, one.note) == (other.trials, other.note)
    assert one.cascade.cautions == other.cascade.cautions
    for mine, theirs in zip(one.stages, other.stages, strict=True):
        assert type(mine) is type(theirs)
        (numbers, arrays), (their_numbers, their_arrays) = mine.state(), theirs.state()
        assert numbers == their_numbers
        assert {k: type(v) for k, v in their_numbers.items()} == {
            k: type(v.item() if isinstance(v, np.generic) else v) for k, v in numbers.items()
        }
        assert arrays.keys() == their_arrays.keys()
        for name in arrays:
            assert_same_array(arrays[name], their_arrays[name])


def _assert_same_machine(one: Machine, other: Machine) -> None:
    assert (one.kernel, one.rule, one.feature_names) == (other.kernel, other.rule, other.feature_names)
    assert (one.input_map is None) == (other.input_map is None)
    if one.input_map is not None and other.input_map is not None:
        assert_same_array(one.input_map.center, other.input_map.center)
        assert_same_array(one.input_map.scale, other.input_map.scale)
    for name in ("points", "weights", "bias"):
        assert_same_array(getattr(one, name), getattr(other, name))


def assert_same_array(one: npt.NDArray[Any], other: npt.NDArray[Any]) -> None:
    assert one.shape == other.shape
    assert one.dtype.newbyteorder("=") == other.dtype
    assert other.flags.aligned
    assert one.astype(other.dtype).tobytes() == other.tobytes()


def crafted(change: Callable[[Document], object]) -> bytes:
    """A plan file with a change to its document, and everything around the change made good again."""
    document = describe(plan_of(names=("a", "b")))
    change(document)
    for name, entry in document.schema["arrays"].items():
        if isinstance(entry, dict) and name in document.arrays and "sha256" in entry:
            entry["sha256"] = hashlib.sha256(document.arrays[name]).hexdigest()
    return b"".join(archive.encode(unparse(document)))


def with_stage_arrays(plan: Plan, arrays: dict[str, Any], numbers: dict[str, Any] | None = None) -> bytes:
    """A plan file with other arrays or numbers in its first stage, and everything around them made good again."""
    document = describe(plan)
    described, entries = document.schema["stages"][0], document.schema["arrays"]
    described["numbers"] |= numbers or {}
    for reference in described["arrays"].values():
        del document.arrays[reference], entries[reference]
    described["arrays"] = {name: f"stages/0/{name}.npy" for name in arrays}
    for name, array in arrays.items():
        dtype, raw = npy.pack(array)
        document.arrays[f"stages/0/{name}.npy"] = raw
        sha = hashlib.sha256(raw).hexdigest()
        shape = list(array.shape)
        entries[f"stages/0/{name}.npy"] = {"dtype": dtype, "shape": shape, "bytes": len(raw), "sha256": sha}
    whole = Document(document.schema, dict(sorted(document.arrays.items())))
    return b"".join(archive.encode(unparse(whole)))


def written(folder: Path, data: bytes) -> Path:
    path = folder / "crafted.dormie"
    path.write_bytes(data)
    return path
