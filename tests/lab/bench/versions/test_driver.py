"""Two copies of one version take turns on a tiny case."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.svm import SVC

from dormie.lab.bench.versions import measure
from dormie.lab.bench.versions.driver import CLOCKS
from tests import ROOT
from tests.lab.bench.models import MODELS, TEST

HERE = Path(sys.executable)
SOURCE = str(ROOT / "src")


def test_two_copies_of_one_version_answer_alike_and_take_time() -> None:
    found = measure([HERE, HERE], MODELS["two classes"], TEST, rounds=2, path=SOURCE)
    assert len(found) == 2
    assert len({each.labels for each in found}) == 1
    for each in found:
        for part in (each.compiled, each.batch, each.single):
            assert set(part) == set(CLOCKS)
            assert min(part.values()) > 0


def test_other_labels_have_another_checksum() -> None:
    turned = SVC().fit(np.arange(8.0).reshape(-1, 1), [0, 0, 0, 0, 1, 1, 1, 1])
    rows = np.arange(8.0).reshape(-1, 1)
    sums = {measure([HERE], turned, part, rounds=1, path=SOURCE)[0].labels for part in (rows, rows[::-1])}
    assert len(sums) == 2


def test_a_worker_that_ends_early_is_named(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(RuntimeError, match=r"a worker ended early, with status 1: .*worker\.py"):
        measure([HERE], "no model", TEST, rounds=1, path=SOURCE)
    assert "Traceback" in capfd.readouterr().err
