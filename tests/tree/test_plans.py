"""Trees in plans with a stated risk."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.svm import SVC

import dormie
from dormie.kernels import Custom
from dormie.machine import Floats, Machine
from dormie.plan import Risk
from dormie.rules import Sign
from dormie.stages import TreeWalk


def moons(n: int, seed: int) -> tuple[Floats, Any]:
    random = np.random.default_rng(seed)
    angle, of_class = random.uniform(0, np.pi, n), random.integers(2, size=n)
    x = np.column_stack([np.cos(angle), np.sin(angle)]) * np.where(of_class, 1, -1)[:, None]
    return x + np.where(of_class, 0, 1)[:, None] * [1.0, 0.5] + random.normal(scale=0.25, size=(n, 2)), of_class


@cache
def trained() -> SVC:
    return SVC(gamma=2.0, C=1.0).fit(*moons(1500, 0))


def words(n: int, seed: int) -> list[str]:
    random = np.random.default_rng(seed)
    return ["".join("abcd"[i] for i in random.integers(4, size=random.integers(4, 12))) for _ in range(n)]


def shared_pairs(a: Any, b: Any) -> Floats:
    """How many pairs of letters two words share, over how many they might: word by word, and slow."""
    pairs = [[{word[i : i + 2] for i in range(len(word) - 1)} for word in some] for some in (a, b)]
    return np.array([[len(u & v) / np.sqrt(len(u) * len(v)) for v in pairs[1]] for u in pairs[0]])


@cache
def of_words() -> Machine:
    random = np.random.default_rng(1)
    return Machine(Custom(shared_pairs), words(160, 0), random.normal(size=160), np.zeros(1), Sign(np.array([0, 1])))


def test_a_tree_by_name_keeps_its_risk_and_survives_saving(tmp_path: Path) -> None:
    fit_rows, rows, unseen = (moons(n, seed)[0] for n, seed in ((1500, 0), (2500, 1), (4000, 2)))
    fast = dormie.compile(trained(), rows, fit_rows=fit_rows, risk=0.02, methods=["tree"])
    assert isinstance(fast.plan.guarantee, Risk)
    assert isinstance(fast.plan.stages[0], TreeWalk)
    assert np.mean(fast.predict(unseen) != trained().predict(unseen)) < 0.02
    assert np.mean(fast.trace(unseen).evaluations) < 0.5 * len(trained().support_)
    fast.save(tmp_path / "plan.dormie")
    np.testing.assert_array_equal(dormie.load(tmp_path / "plan.dormie").predict(unseen), fast.predict(unseen))
    assert "Ukkonen 2010" in fast.explain()


def test_without_a_risk_a_tree_is_refused() -> None:
    with pytest.raises(ValueError, match="tree is right on nearly all rows, not on all"):
        dormie.compile(trained(), methods=["tree"])


@pytest.mark.parametrize("kind", [list, np.array], ids=["list", "array"])
def test_words_get_a_plan_with_a_risk(kind: Any) -> None:
    machine, unseen = of_words(), kind(words(400, 3))
    fast = dormie.compile(machine, kind(words(700, 1)), fit_rows=kind(words(600, 2)), risk=0.1)
    right = dormie.compile(machine).predict(unseen)
    assert isinstance(fast.plan.guarantee, Risk)
    assert isinstance(fast.plan.stages[0], TreeWalk)
    assert np.mean(fast.predict(unseen) != right) < 0.1
    assert np.mean(fast.trace(unseen).evaluations) < 0.7 * machine.n_points


def test_stages_of_vectors_are_refused_for_words() -> None:
    with pytest.raises(ValueError, match="reduced_set needs rows that are vectors"):
        dormie.compile(of_words(), methods=["reduced_set"])
    with pytest.raises(ValueError, match="linear_filter needs rows that are vectors"):
        dormie.compile(of_words(), words(300, 1), risk=0.1, methods=["linear_filter"])


def test_no_rows_of_words_are_said() -> None:
    with pytest.raises(ValueError, match="there are no rows in rows"):
        dormie.compile(of_words(), [], risk=0.1)
