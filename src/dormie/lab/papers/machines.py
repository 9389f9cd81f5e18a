"""Machines for the experiments. scikit-learn trains them on the Gram matrix, so any of our kernels can be used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from dormie.lab.bench.timing import time_batches
from dormie.machine import Floats, Machine
from dormie.machine.kernels import Kernel
from dormie.machine.rules import Sign
from dormie.methods.base import Stage
from dormie.methods.dense import Dense
from dormie.numerics.evaluate import FullSum
from dormie.plan.cascade import Cascade
from dormie.plan.guarantee import Exact
from dormie.plan.plan import Plan, Source
from dormie.predictor.predictor import Predictor


def train_svm(
    kernel: Kernel, X: Floats, y: npt.NDArray[Any], C: float, tolerance: float = 1e-3
) -> tuple[Machine, npt.NDArray[np.intp]]:
    """A two-class SVM in normal form, and the positions of its support vectors among the rows."""
    from sklearn.svm import SVC  # optional

    svc = SVC(kernel="precomputed", C=C, tol=tolerance).fit(kernel.matrix(X, X), y)
    machine = Machine(kernel, X[svc.support_], svc.dual_coef_[0], svc.intercept_, Sign(svc.classes_))
    return machine, svc.support_.astype(np.intp)


def predictor(machine: Machine, *stages: Stage) -> Predictor:
    """A predictor with these stages, followed by the dense stage."""
    cascade = Cascade.of(*stages, Dense(machine))
    return Predictor(Plan(machine, cascade, Exact(), Source("a machine of an experiment", machine.n_points)))


def differences(machine: Machine, rows: Floats, answers: npt.NDArray[Any]) -> int:
    """The number of answers that differ from those of the full sum; -1 means no answer, and is not counted."""
    expected = machine.rule.answer(FullSum(machine).outputs(rows))
    return int(np.count_nonzero((answers >= 0) & (answers != expected)))


def microseconds(predictors: Mapping[str, Any], rows: Floats, seconds: float, batch: int = 50_000) -> dict[str, float]:
    """The best time per row of each predictor, in turns on the same rows, which are repeated to fill a batch."""
    filled = np.tile(rows, (max(1, batch // len(rows)), 1))
    return {name: timing.best for name, timing in time_batches(predictors, filled, seconds).items()}
