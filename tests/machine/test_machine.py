"""The normal form checks what it is made of, and says what to pass instead."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dormie.machine import Affine, Machine
from dormie.machine.kernels import RBF, Custom
from dormie.machine.rules import Sign
from dormie.numerics.evaluate import FullSum

PARTS: dict[str, Any] = {
    "kernel": RBF(0.5),
    "points": np.ones((3, 2)),
    "weights": np.ones(3),
    "bias": 0.0,
    "rule": Sign(np.array([0, 1])),
    "input_map": Affine(np.zeros(2), np.ones(2)),
    "feature_names": ("a", "b"),
}


@pytest.mark.parametrize(
    ("part", "given", "message"),
    [
        ("kernel", "rbf", r"kernel must be one of dormie.kernels, such as RBF\(0.5\), got 'rbf'"),
        ("kernel", RBF, "kernel must be one of dormie.kernels"),
        ("kernel", np.dot, "kernel must be one of dormie.kernels"),
        ("rule", "sign", r"rule must be one of dormie.rules, such as Sign\(\[0, 1\]\), got 'sign'"),
        ("rule", None, "rule must be one of dormie.rules"),
        ("rule", Sign, "rule must be one of dormie.rules"),
        ("input_map", (0.0, 1.0), r"input_map must be dormie.Affine\(center, scale\) or None, got \(0.0, 1.0\)"),
        ("feature_names", "ab", r"feature_names must be column names, such as \('a', 'b'\), got 'ab'"),
        ("feature_names", (0, 1), "feature_names must be column names"),
        ("feature_names", 2, "feature_names must be column names"),
    ],
)
@pytest.mark.parametrize("kernel", [PARTS["kernel"], Custom(lambda a, b: a @ b.T)], ids=["rbf", "custom"])
def test_a_part_of_another_type_is_refused_by_name(kernel: Any, part: str, given: Any, message: str) -> None:
    with pytest.raises(TypeError, match=f"Machine: {message}"):
        Machine(**PARTS | {"kernel": kernel} | {part: given})


def test_names_may_come_in_any_sequence() -> None:
    for names in (["a", "b"], np.array(["a", "b"], dtype=object)):
        assert Machine(**PARTS | {"feature_names": names}).feature_names == ("a", "b")


@pytest.mark.parametrize(
    ("center", "scale", "words"),
    [
        ([1.0, 0.0], [1.0, 1.0], "centered input"),
        ([0.0, 0.0], [1.0, 2.0], "scaled input"),
        ([1.0, 0.0], [1.0, 2.0], "centered and scaled input"),
        ([0.0, 0.0], [1.0, 1.0], "mapped input"),
    ],
)
def test_the_representation_says_what_the_input_map_does(center: list[float], scale: list[float], words: str) -> None:
    machine = Machine(**PARTS | {"input_map": Affine(np.array(center), np.array(scale))})
    assert repr(machine) == f"Machine(RBF(gamma=0.5), 3 points of 2 features, 1 output, Sign, {words})"


def test_one_point_of_one_feature_is_told_in_the_singular() -> None:
    machine = Machine(RBF(0.5), np.ones((1, 1)), np.ones((1, 1)), np.zeros(1), Sign(np.array([0, 1])))
    assert repr(machine) == "Machine(RBF(gamma=0.5), 1 point of 1 feature, 1 output, Sign)"


@pytest.mark.parametrize("kind", [list, tuple, deque, pd.Series, np.array])
def test_points_of_a_python_kernel_are_the_machines_own(kind: Any) -> None:
    words = kind(["wolf", "golf", "par"])
    kernel = Custom(lambda a, b: [[float(len({*u} & {*v})) for v in b] for u in a])
    machine = Machine(kernel, words, np.array([1.0, -1.0, 0.5]), np.zeros(1), Sign(np.array([0, 1])))
    before = FullSum(machine).outputs(["flow", "tar"])
    if not isinstance(words, tuple):
        words[0] = "xyz"
    np.testing.assert_array_equal(FullSum(machine).outputs(["flow", "tar"]), before)
