from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import settings
from sklearn.datasets import make_moons
from sklearn.svm import SVC

from dormie.machine import Floats

# A busy computer is no failure, and a failure must come back when the test is run again.
settings.register_profile("dormie", deadline=None, derandomize=True)
settings.load_profile("dormie")


@pytest.fixture(scope="session")
def moons() -> tuple[SVC, Floats]:
    """A model of some hundred support vectors, and a thousand rows that it was not trained on."""
    X, y = make_moons(3000, noise=0.3, random_state=0)
    return SVC(gamma=0.5).fit(X[:2000], y[:2000]), X[2000:]


def pytest_make_parametrize_id(config: pytest.Config, val: Any, argname: str) -> str | None:  # noqa: ARG001 - the hook's
    """Values with an address in their words without it: all workers must know a test by the same name."""
    words = repr(val)
    return re.sub(r" at 0x[0-9a-f]+", "", words) if " at 0x" in words else None
