"""Plans with a risk are calibrated on rows that are not predicted."""

from __future__ import annotations

import numpy as np
import pytest

from dormie.lab.bench import cases
from dormie.lab.bench.risk import with_risk
from tests.lab.bench.models import MODELS, TRAIN, X


def test_a_risk_plan_is_calibrated_on_rows_that_are_not_predicted() -> None:
    made, rows = MODELS["two classes"], X[300:700] / 16
    case, more = with_risk(cases.Case("made up", made, rows, ("a note",), TRAIN), 0.1)
    [(name, predict)] = more.items()
    assert name == "dormie, risk 0.1"
    judged = np.unique(case.rows, axis=0)
    assert {row.tobytes() for row in judged} < {row.tobytes() for row in rows}
    assert len(judged) == 400 - 5 * 400 // 6
    assert case.rows.shape[0] > 15_000
    assert case.notes[0] == "a note"
    assert "calibrated on 333 of the rows" in case.notes[1]
    assert case.notes[2] == "the other 67 are predicted, 238 times to fill a batch"
    assert (predict(judged) == made.predict(judged)).mean() >= 0.8


def test_a_case_with_too_few_rows_to_calibrate_on_says_so() -> None:
    with pytest.raises(
        ValueError, match=r"made up has 100 rows to predict, and a risk of 0\.1 needs 234 held-out rows"
    ):
        with_risk(cases.Case("made up", MODELS["two classes"], X[300:400] / 16), 0.1)
