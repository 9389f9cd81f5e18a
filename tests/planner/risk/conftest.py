"""A harder problem than the usual one, so that plans with a risk pay."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.datasets import make_moons
from sklearn.svm import SVC


@pytest.fixture(scope="session")
def moons() -> tuple[SVC, Any, Any]:
    """A model of many support vectors, 2,000 held-out rows, and 4,000 that nothing else sees."""
    X, y = make_moons(9000, noise=0.25, random_state=0)
    return SVC(gamma=20.0, C=10.0).fit(X[:3000], y[:3000]), X[3000:5000], X[5000:]
