"""Figures are drawn in memory, and closed after each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

pyplot = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def _in_memory() -> Iterator[None]:
    pyplot.switch_backend("agg")
    yield
    pyplot.close("all")
