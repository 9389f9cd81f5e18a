"""No value of a Python kernel is evaluated twice while it is remembered, and none is mistaken for another."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dormie.machine import Floats, kernel_memory
from dormie.machine.kernel_memory import memory_of, remembering
from dormie.machine.kernels import Custom


class Counted:
    """How many letters of one word occur in another; counts how often it was asked for each pair."""

    def __init__(self) -> None:
        self.pairs: Counter[tuple[str, str]] = Counter()

    def __call__(self, a: Any, b: Any) -> Floats:
        self.pairs.update((str(u), str(v)) for u in a for v in b)
        return np.array([[self.value(str(u), str(v)) for v in b] for u in a]).reshape(len(a), len(b))

    def value(self, u: str, v: str) -> float:
        return sum(letter in v for letter in u) + len(u) / 100  # not symmetric


WORDS = [a + b for a in "abcd" for b in "abcdefg"]
requests = st.tuples(st.lists(st.sampled_from(WORDS), max_size=9), st.lists(st.sampled_from(WORDS), max_size=9))


@given(asked=st.lists(requests, max_size=8), as_array=st.booleans())
def test_values_are_right_and_evaluated_once(asked: list[tuple[list[str], list[str]]], as_array: bool) -> None:
    kernel = Custom(function := Counted())
    with remembering(kernel) as memory:
        for a, b in asked:
            found = kernel.matrix(np.array(a, dtype=object) if as_array else a, np.array(b) if as_array else b)
            assert found.tolist() == [[function.value(u, v) for v in b] for u in a]
            assert kernel.diagonal(a).tolist() == [function.value(u, u) for u in a]
        wanted = {(u, v) for a, b in asked for u in a for v in b} | {(u, u) for a, _ in asked for u in a}
        assert set(function.pairs) == wanted
        assert max(function.pairs.values(), default=1) <= 2  # K(u, u) as an entry, and as an own value
        assert memory.evaluations == function.pairs.total()
    assert memory_of(kernel) is None


def test_a_row_counts_what_it_took_itself() -> None:
    kernel = Custom(Counted())
    with remembering(kernel) as memory:
        kernel.matrix(["aa", "bb", "bb"], ["cc", "dd"])
        kernel.matrix(["aa"], ["dd", "ee"])
        kernel.diagonal(["bb"])
        assert memory.counts(["aa", "bb", "new"]).tolist() == [3, 3, 0]


def test_an_inner_block_counts_for_itself_and_evaluates_nothing_again() -> None:
    kernel = Custom(function := Counted())
    with remembering(kernel):
        kernel.matrix(WORDS[:5], WORDS[:4])
        before = function.pairs.total()
        with remembering(kernel) as inner:
            kernel.matrix(WORDS[:5], WORDS[:2])
            assert inner.counts(WORDS[:5]).tolist() == [2] * 5
        assert function.pairs.total() == before


def test_other_kernels_and_later_calls_are_not_remembered() -> None:
    kernel, other = Custom(first := Counted()), Custom(second := Counted())
    with remembering(kernel):
        for _ in range(2):
            kernel.matrix(["aa"], ["bb"])
            other.matrix(["aa"], ["bb"])
    kernel.matrix(["aa"], ["bb"])
    assert (first.pairs.total(), second.pairs.total()) == (2, 2)


def test_symmetric_matrices_take_half_of_the_evaluations() -> None:
    gram = np.arange(10_000.0).reshape(100, 100)
    gram += gram.T
    calls: list[int] = []

    def look_up(a: Any, b: Any) -> Floats:
        calls.append(len(a) * len(b))
        return gram[np.ix_(a, b)]

    kernel = Custom(look_up)
    with remembering(kernel) as memory:
        memory.fill_symmetric(np.arange(100))
        assert sum(calls) < 0.6 * gram.size
        calls.clear()
        assert (kernel.matrix(np.arange(100), np.arange(100)) == gram).all()
        assert (kernel.diagonal(np.arange(100)) == np.diagonal(gram)).all()
        assert not calls


def test_what_does_not_fit_is_evaluated_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_memory, "MOST_VALUES", 40)
    kernel = Custom(function := Counted())
    with remembering(kernel):
        for _ in range(2):
            found = kernel.matrix(WORDS, WORDS[:8])
            assert found.tolist() == [[function.value(u, v) for v in WORDS[:8]] for u in WORDS]
    assert 1.5 * len(WORDS) * 8 < function.pairs.total() < 2 * len(WORDS) * 8


def test_objects_are_told_apart_by_what_they_are() -> None:
    """Numbers of different types, vectors by their values, and all else by identity."""
    calls = []

    def one(a: Any, b: Any) -> Floats:
        calls.append(len(a))
        return np.ones((len(a), len(b)))

    kernel, pair = Custom(one), [{"edge": 1}, {"edge": 1}]
    objects = np.empty(6, dtype=object)
    objects[:] = [1, 1.0, True, "1", *pair]
    with remembering(kernel):
        kernel.matrix(objects, ["point"])
        kernel.matrix(objects, ["point"])
        kernel.matrix(np.array([[1.0, 2.0], [1.0, 2.0], [2.0, 1.0]]), ["point"])
        for _ in range(2):
            kernel.matrix(objects.reshape(3, 2), ["point"])
    assert calls == [6, 2, 3]


def test_progress_says_how_many_values_there_are() -> None:
    said: list[str] = []
    kernel = Custom(Counted())
    with remembering(kernel, said.append):
        kernel.matrix(WORDS, WORDS)
    assert said[-1].startswith(f"{len(WORDS) ** 2:,} kernel values, ")
    assert len(said) > 1


class _Tagged(str):
    """Text with something more to it, which a kernel may read."""

    tag: float


class _TaggedArray(np.ndarray[Any, Any]):
    tag: float


def _tagged(kind: Any, tag: float) -> Any:
    thing = kind("a") if kind is _Tagged else np.zeros(2).view(kind)
    thing.tag = tag
    return thing


@pytest.mark.parametrize("kind", [_Tagged, _TaggedArray])
def test_objects_that_look_alike_are_not_taken_for_one_another(kind: Any) -> None:
    kernel = Custom(lambda a, b: [[u.tag * v.tag for v in b] for u in a])
    things = [_tagged(kind, tag) for tag in (1.0, 2.0, 3.0)]
    with remembering(kernel) as memory:
        np.testing.assert_array_equal(kernel.matrix(things, things), np.outer([1, 2, 3], [1, 2, 3]))
        kernel.matrix(things, things)
        assert memory.evaluations == 9


@pytest.mark.parametrize("rows", [[0.0, -0.0], [np.float64(0.0), np.float64(-0.0)], [1, True], [1.0, np.float64(1.0)]])
def test_numbers_of_other_bits_or_types_are_not_taken_for_one_another(rows: list[Any]) -> None:
    kernel = Custom(lambda a, b: np.ones((len(a), len(b))))
    with remembering(kernel) as memory:
        kernel.matrix(rows, rows)
        assert memory.evaluations == 4


def test_rows_of_a_structured_array_are_remembered() -> None:
    rows = np.array([(1.0, 2), (3.0, 4), (1.0, 2)], dtype=[("x", float), ("n", int)])
    kernel = Custom(lambda a, b: [[u["x"] * v["x"] for v in b] for u in a])
    with remembering(kernel) as memory:
        np.testing.assert_array_equal(kernel.matrix(rows, rows), np.outer([1, 3, 1], [1, 3, 1]))
        assert memory.evaluations == 4
