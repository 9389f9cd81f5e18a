"""OpenML through scikit-learn's fetcher, which is replaced: the frame it returns becomes the arrays."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
import sklearn.datasets

from dormie.lab.datasets.openml import OpenML


def test_columns_of_numbers_and_of_words_become_features(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: dict[str, Any] = {}

    def fetch(name: str, **options: Any) -> SimpleNamespace:
        asked.update(options, name=name)
        day, kind = pd.Categorical(["2", "3"]), pd.Categorical(["-1", "0"])
        data = pd.DataFrame({"date": [0.1, 0.2], "day": day, "price": [0.5, 0.25], "kind": kind})
        return SimpleNamespace(data=data, target=pd.Series(pd.Categorical(["UP", "DOWN"])))

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    X, y = OpenML("electricity", 1, "UP", ("date", "day")).fetch()
    assert X.tolist() == [[0.5, -1.0], [0.25, 0.0]]
    assert y.tolist() == [1, -1]
    assert (asked["name"], asked["version"], asked["as_frame"]) == ("electricity", 1, True)
    assert asked["data_home"] == str(tmp_path / "dormie" / "openml")
