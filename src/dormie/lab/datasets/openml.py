"""Sets that OpenML serves, through scikit-learn's fetcher, which keeps what it downloads in dormie's cache folder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dormie.lab.datasets.parse import Floats, Labels
from dormie.planner.cache_folder import cache_folder


@dataclass(frozen=True)
class OpenML:
    """A set of OpenML: its name and version, the label that becomes +1 (the other is -1), and columns left out."""

    name: str
    version: int
    positive: str
    leave_out: tuple[str, ...] = ()

    def fetch(self) -> tuple[Floats, Labels]:
        """Features and labels; an `ImportError` if scikit-learn or pandas is missing."""
        from sklearn.datasets import fetch_openml  # optional

        folder = str(cache_folder() / "openml")
        found = fetch_openml(self.name, version=self.version, as_frame=True, data_home=folder)
        frame = found.data.drop(columns=list(self.leave_out))
        return _floats(frame), np.where(np.asarray(found.target, dtype=str) == self.positive, 1, -1).astype(np.int64)


def _floats(frame: Any) -> Floats:
    """All columns as numbers, those too whose values are words like '-1'."""
    return np.column_stack([np.asarray(frame[name], dtype=object).astype(np.float64) for name in frame.columns])
