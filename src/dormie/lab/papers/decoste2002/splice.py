"""Certified intervals over strings: DeCoste's bound with a Python kernel, where nothing but its values is known.

An SVM tells stretches of DNA with a splice site in them from others, by the normalised spectrum kernel. Landmarks are
support vectors. The plan is chosen on training strings, and counted on strings that were not trained with.
"""

from __future__ import annotations

import numpy as np

from dormie.lab.papers.machines import train_svm
from dormie.lab.papers.strings import Strings, spectrum_kernel, splice
from dormie.lab.papers.table import Numbers, Table
from dormie.machine.kernel_memory import remembering
from dormie.planner import compile

_TRAINING = 1500
_LETTERS = (3, 4, 5)


def table(training: int = _TRAINING, letters: tuple[int, ...] = _LETTERS) -> Table:
    """A column for each length of words."""
    data = splice(training)
    columns = {f"{count} letters": _numbers(data, count) for count in letters}
    return Table(f"certified intervals over strings: splice, {training:,} training strings, C = 1", columns)


def _numbers(data: Strings, letters: int) -> Numbers:
    kernel = spectrum_kernel(letters)
    machine, _ = train_svm(kernel, data.X, data.y, 1.0)
    with remembering(kernel):  # the race then counts evaluations
        exact = compile(machine, data.X)
    full = compile(machine, methods=[]).predict(data.X_test)
    labels, trace = exact.predict(data.X_test), exact.trace(data.X_test)
    early = trace.stage != "dense"
    return {
        "support vectors": machine.n_points,
        "test accuracy, %": 100 * float(np.mean(full == data.y_test)),
        "mean evaluations": float(trace.evaluations.mean()),
        "times fewer": machine.n_points / float(trace.evaluations.mean()),
        "most evaluations": int(trace.evaluations.max()),
        "settled before the full sum, %": 100 * float(early.mean()),
        "labels that differ": int(np.count_nonzero(labels != full)),
    }
