"""The table over strings, on made-up strings: it counts what a certified plan takes, and no label differs."""

from __future__ import annotations

import numpy as np
import pytest

from dormie.lab import datasets
from dormie.lab.papers.decoste2002 import splice


def test_a_plan_over_strings_is_certified_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    y = np.where(np.arange(160) % 2, 1, -1)
    strings = ["".join(rng.choice([*"ACGT"], p=[0.4, 0.2, 0.2, 0.2] if label > 0 else None, size=30)) for label in y]
    X = np.array(strings, dtype=object)
    monkeypatch.setattr(datasets, "load", lambda name: datasets.Dataset(name, "made up", X, y))
    found = splice.table(100, (1, 2))
    assert [*found.columns] == ["1 letters", "2 letters"]
    for letters, numbers in enumerate(found.columns.values(), start=1):
        evaluations, points = numbers["mean evaluations"], numbers["support vectors"]
        assert isinstance(evaluations, float)
        assert isinstance(points, int)
        assert numbers["labels that differ"] == 0
        assert 1 <= evaluations <= 4**letters  # so many words there are
        assert numbers["times fewer"] == points / evaluations
        assert numbers["settled before the full sum, %"] == 100
