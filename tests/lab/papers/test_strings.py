"""The spectrum kernel against its definition, and the splits of the splice set on made-up strings."""

from __future__ import annotations

import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dormie.lab import datasets
from dormie.lab.papers.machines import train_svm
from dormie.lab.papers.strings import Spectrum, spectrum_kernel, splice

STRINGS = st.text("ACG", max_size=12)


def shared(u: str, v: str, letters: int) -> int:
    """The pairs of places, one in each string, at which the same word begins."""
    starts = [range(len(string) - letters + 1) for string in (u, v)]
    return sum(u[i : i + letters] == v[j : j + letters] for i in starts[0] for j in starts[1])


@given(st.lists(STRINGS, min_size=1, max_size=4), st.lists(STRINGS, min_size=1, max_size=4), st.integers(1, 4))
def test_a_value_is_the_share_of_words_in_common(a: list[str], b: list[str], letters: int) -> None:
    values = Spectrum(letters)(a, b)
    assert values.shape == (len(a), len(b))
    for (i, j), value in np.ndenumerate(values):
        squares = shared(a[i], a[i], letters) * shared(b[j], b[j], letters)
        product = shared(a[i], b[j], letters)
        if not squares:
            assert value == 0
            continue
        square = Fraction(value) ** 2 * squares  # of the real value: product^2
        assert abs(square - product**2) <= Fraction(5, 2**53) * product**2  # two roundings, twice because squared
        assert value == Spectrum(letters)([a[i]], [b[j]])[0, 0]
        assert a[i] != b[j] or value == 1


def test_words_overlap_and_count_as_often_as_they_occur() -> None:
    assert Spectrum(2)(["AAA"], ["AAC"])[0, 0] == pytest.approx(2 / math.sqrt(4 * 2))  # 2 AA; AA, AC
    assert Spectrum(3)(["AC"], ["AC"]).tolist() == [[0]]  # too short for a word
    assert Spectrum(1)([], ["AC", "C"]).shape == (0, 2)


def test_the_kernel_can_be_pickled_and_compared() -> None:
    kernel = spectrum_kernel(3)
    assert pickle.loads(pickle.dumps(kernel)) == kernel == spectrum_kernel(3) != spectrum_kernel(4)
    assert kernel.positive_semidefinite
    assert kernel.nonnegative
    assert kernel.diagonal(["ACGT"]).tolist() == [1.0]


def test_splice_is_split_by_seed_and_trained_on(monkeypatch: pytest.MonkeyPatch) -> None:
    letters = np.random.default_rng(0).choice([*"ACGT"], size=(60, 12))
    strings = np.array(["".join(row) for row in letters], dtype=object)
    y = np.where(np.arange(60) % 2, 1, -1)
    monkeypatch.setattr(datasets, "load", lambda name: datasets.Dataset(name, "made up", strings, y))
    split = splice(40)
    assert sorted([*split.X, *split.X_test]) == sorted(strings)
    labels = dict(zip(strings, y, strict=True))
    assert [labels[row] for row in split.X] == split.y.tolist()
    assert [labels[row] for row in split.X_test] == split.y_test.tolist()
    assert split.X.tolist() == splice(40).X.tolist() != splice(40, seed=1).X.tolist()
    machine, support = train_svm(spectrum_kernel(2), split.X, split.y, 1.0)
    assert list(machine.points) == split.X[support].tolist()
