"""The benchmark of values: what it measures, on small models."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_classification
from typer.testing import CliRunner

from dormie.cli.app import app
from dormie.cli.failures import Exit
from dormie.lab import datasets
from dormie.lab.bench import values
from dormie.lab.bench.values import VALUE_CASES, ValueStanding, anomalies, probabilities
from dormie.lab.datasets import Dataset


def test_anomalies_are_those_of_the_model() -> None:
    found = anomalies(count=12_000, k=10)
    assert found.largest < 1e-9
    assert (found.off, found.compared) == (0, 10)
    assert found.model > 0
    assert found.compiled > 0


def test_probabilities_are_those_of_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = make_classification(2000, 4, n_informative=4, n_redundant=0, random_state=0)
    parts = Dataset("toy", "a toy", X[:600], y[:600], X[600:], y[600:])
    monkeypatch.setattr(datasets, "load", lambda _: parts)
    monkeypatch.setattr(values, "_RISK", 0.05)
    found = probabilities("toy", 300)
    assert found.title == "probabilities on toy, 300 training rows, within 0.01"
    assert found.compared == 850
    assert found.off <= 0.1 * found.compared
    assert min(found.model, found.compiled) > 0


def test_errors_beyond_the_tolerance_are_counted() -> None:
    rows = np.arange(10.0)[:, None]
    found = values._standing("case", "dense", lambda X: X[:, 0], lambda X: X[:, 0] + (X[:, 0] > 7), rows, 0.5)
    assert (found.off, found.largest, found.compared) == (2, 1.0, 10)


def test_the_command_prints_a_line_for_each_case(monkeypatch: pytest.MonkeyPatch) -> None:
    standing = ValueStanding("a case", "reduced_set(8) -> dense", 150.0, 2.5, 0.004, 1, 2000)
    monkeypatch.setitem(VALUE_CASES, "svr-1", lambda: standing)
    result = CliRunner().invoke(app, ["bench-values", "svr-1"])
    assert result.exit_code == 0
    assert "a case: 150 us a row, compiled 2.5: 60 times; 1 of 2,000 rows off by too much" in result.output
    assert CliRunner().invoke(app, ["bench-values", "nothing"]).exit_code == Exit.USAGE
