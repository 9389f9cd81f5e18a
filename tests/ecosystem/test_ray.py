"""The Ray recipe of docs/scale.md on a local Ray: the answers of one process."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dormie
from tests.ecosystem import recipes

# Ray itself leaves files and sockets to the garbage collector.
pytestmark = [
    pytest.mark.ecosystem,
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def ray() -> Iterator[Any]:
    os.environ |= {
        "RAY_AUTH_MODE": "disabled",
        "RAY_USAGE_STATS_ENABLED": "0",
    }  # no file at home, no network
    import ray
    import ray.data

    ray.init(
        num_cpus=2,
        include_dashboard=False,
        object_store_memory=200_000_000,
        log_to_driver=False,
        _node_ip_address="127.0.0.1",
    )
    yield ray
    ray.shutdown()


def test_the_recipe_gives_the_answers_of_one_process(
    ray: Any, fast: dormie.Predictor, path: str, table: pd.DataFrame
) -> None:
    rows = ray.data.from_pandas([table[:9000], table[9000:]])
    found = recipes.run("Ray", {"ray": ray, "rows": rows, "path": path})["answered"].to_pandas().sort_values("number")
    assert found["number"].tolist() == table["number"].tolist()
    expected = fast.predict(table[["x", "y"]].to_numpy())
    np.testing.assert_array_equal(found["kind"].to_numpy().astype(expected.dtype), expected)
