"""A plan with a risk as a further peer: some rows of the case calibrate it, and only the others are predicted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dormie.lab.bench.cases import Case
from dormie.lab.bench.peers import Predict
from dormie.machine.typing import Positions
from dormie.planner import compile
from dormie.planner.options import CONFIDENCE
from dormie.planner.risk.calibration import rows_needed

_HELD_OUT = 8000
_CHOOSING = 205  # choosing rows in addition to the certifying rows needed, if rows are few
_BATCH = 16_000  # rows to predict; fewer are repeated


def with_risk(case: Case, risk: float) -> tuple[Case, dict[str, Predict]]:
    """The case without the held-out rows, and the predictor with a risk by its name in the table."""
    rows = case.rows[: case.rows.shape[0] // case.copies]
    held_out, judging = _parts(rows.shape[0], risk, case.title)
    fast = compile(case.model, rows[held_out], fit_rows=case.training, risk=risk)
    copies = max(1, _BATCH // len(judging))
    notes = [
        f"{fast.plan.guarantee}; calibrated on {len(held_out):,} of the rows in {fast.plan.source.seconds:.0f} s",
        f"the other {len(judging):,} are predicted" + (f", {copies} times to fill a batch" if copies > 1 else ""),
    ]
    left = replace(case, rows=rows[np.tile(judging, copies)], notes=(*case.notes, *notes), copies=copies)
    left = replace(left, compiled_in=fast.plan.source.seconds)
    return left, {f"dormie, risk {risk:g}": fast.predict}


def _parts(count: int, risk: float, title: str) -> tuple[Positions, Positions]:
    """The positions of the held-out rows, and of the rows to predict."""
    held_out = max(rows_needed(risk, CONFIDENCE) + _CHOOSING, min(_HELD_OUT, 5 * count // 6))
    if held_out >= count:
        raise ValueError(
            f"{title} has {count:,} rows to predict, and a risk of {risk:g} needs {held_out:,} held-out rows and "
            "some to judge by: allow a higher risk"
        )
    order = np.random.default_rng(0).permutation(count)
    return np.sort(order[:held_out]), np.sort(order[held_out:])
