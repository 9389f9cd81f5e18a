"""Ukkonen 2010: the time that few kernel evaluations save, on many rows of the banana set.

The paper counts only evaluations. Here `SVC.predict`, dormie's full sum and the trees take turns on the same rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dormie.convert import read
from dormie.lab.papers.machines import microseconds, predictor
from dormie.lab.papers.table import Numbers, Table
from dormie.lab.papers.ukkonen2010.classifiers import FITTED, GREEDY, MARGIN
from dormie.lab.papers.ukkonen2010.printed import TABLE_1
from dormie.lab.papers.ukkonen2010.problems import Split, Trainer
from dormie.machine import Machine
from dormie.machine.kernels import RBF
from dormie.methods.tree import Tree, fitted, greedy
from dormie.methods.tree.stage import TreeWalk

SET = "banana"
_ROWS = 100_000
_SVC, _DENSE = "SVC.predict", "dormie's full sum"


def walking(split: Split, trainer: Trainer, seconds: float) -> Table:
    """The time for the labels of 100,000 rows: by the SVC, by its full sum in dormie, and by trees."""
    from sklearn.svm import SVC  # optional

    assert isinstance(trainer.kernel, RBF)
    svc = SVC(C=trainer.C, gamma=trainer.kernel.gamma).fit(split.X, split.y)
    machine, evaluations = read(svc), TABLE_1[SET].evaluations
    predictors: dict[str, Callable[[Any], Any]] = {
        _SVC: svc.predict,
        _DENSE: predictor(machine).predict,
        GREEDY: _labels(machine, greedy(machine, split.X, evaluations=evaluations)),
        FITTED: _labels(machine, fitted(machine, split.X, evaluations=evaluations - MARGIN)),
    }
    times = microseconds(predictors, split.X_test, seconds / len(predictors), _ROWS)
    columns: dict[str, Numbers] = {
        "microseconds per row": times,
        "times as fast as SVC.predict": {name: times[_SVC] / time for name, time in times.items()},
    }
    notes = (
        f"{_ROWS:,} rows, the test rows repeated; an SVC of {machine.n_points} support vectors; best of several rounds",
    )
    return Table(f"Ukkonen 2010: seconds on {SET}", columns, notes)


def _labels(machine: Machine, tree: Tree) -> Callable[[Any], Any]:
    """A function from rows to labels, by a tree's estimates."""
    stage = TreeWalk.uncalibrated(machine, tree)
    return lambda rows: machine.rule.labels(machine.rule.answer(stage.estimate(rows)))
