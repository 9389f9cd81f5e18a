from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits

from dormie.lab.datasets import Dataset
from dormie.lab.papers.burges1997 import choices as module
from dormie.lab.papers.burges1997.choices import MINUS_TO_PLUS, UNIT, Second, choices
from dormie.lab.papers.burges1997.systems import KERNEL, unit_length
from dormie.lab.papers.burges1997.training import ChunkedSVC
from dormie.machine import Floats

X, Y = load_digits(return_X_y=True)
SHIFTS = Second(("shifts",))


def _small_mnist(name: str) -> Dataset:
    return Dataset(name, "8 x 8 digits", X[:1000] / 16, Y[:1000], X[1000:] / 16, Y[1000:])


def test_every_choice_is_counted_on_digits_that_no_machine_saw(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dormie.datasets.load", _small_mnist)
    kept = (SHIFTS, Second(("shifts",), keep_originals=False), Second(("shifts",), informative=True))
    monkeypatch.setattr(module, "TRIED", ((UNIT, kept), (MINUS_TO_PLUS, ())))
    table = choices(200)
    names = [
        "unit length, sum: ORIG",
        "unit length, sum: VSV, shifts",
        "unit length, sum: VSV, shifts only",
        "unit length, sum: VSV, shifts inside the margin",
        "[-1, 1], sum: ORIG",
    ]
    assert table.lines == names
    vectors, rows = (dict[str, Any](table.columns[column]) for column in ("vectors", "trained on"))
    first, every, only, inside, _ = names
    assert rows[first] == 2000
    assert vectors[first] * 5 == rows[every]
    assert vectors[first] * 4 == rows[only]
    assert vectors[first] <= rows[inside] < rows[every]

    wrong = np.column_stack([_outputs(digit) for digit in range(10)]).argmax(axis=1) != Y[800:1000]
    assert table.columns["error in %"][first] == pytest.approx(100 * wrong.mean())


def _outputs(digit: int) -> Floats:
    rows, judged = (unit_length(X[part] / 16) for part in (slice(200), slice(800, 1000)))
    return ChunkedSVC(KERNEL, 10.0).fit(rows, Y[:200] == digit).decision_function(judged)


def test_names_say_what_is_trained_on() -> None:
    assert SHIFTS.name == "shifts"
    assert Second(("shifts", "rotations"), keep_originals=False).name == "shifts, rotations only"
