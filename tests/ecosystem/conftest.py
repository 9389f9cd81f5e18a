"""A plan in a file, and a table of rows for it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_moons
from sklearn.svm import SVC

import dormie


@pytest.fixture(scope="session")
def fast() -> dormie.Predictor:
    X, y = make_moons(1500, noise=0.3, random_state=0)
    return dormie.compile(SVC(gamma=2.0).fit(X, np.array(["lower", "upper"])[y]), methods=["fast_stopping"])


@pytest.fixture(scope="session")
def path(fast: dormie.Predictor, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The path of a plan file."""
    found = tmp_path_factory.mktemp("plans") / "svc.dormie"
    fast.save(found)
    return str(found)


@pytest.fixture(scope="session")
def table() -> pd.DataFrame:
    rows = np.random.default_rng(0).normal(size=(20_000, 2)) * 1.5
    return pd.DataFrame({"number": np.arange(20_000), "x": rows[:, 0], "y": rows[:, 1]})
