"""Predictors made by hand, every way to ask them, and rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

import dormie
from dormie.machine import Machine
from dormie.machine.kernels import RBF
from dormie.methods.dense import Dense
from dormie.plan.cascade import Cascade
from dormie.plan.guarantee import Exact
from dormie.plan.plan import Plan, Source
from tests.properties.strategies import machine


def predictor_of(made: Machine) -> dormie.Predictor:
    """The dense stage alone. (Hypothesis keeps modules such as this one to the end, so it holds no predictor.)"""
    return dormie.Predictor(
        Plan(made, Cascade.of(Dense(made)), Exact(), Source("a machine made by hand", made.n_points))
    )


MACHINE, _ = machine(RBF(0.2), 30, 4)
NAMED = replace(MACHINE, feature_names=("a", "b", "c", "d"))
WHOLE = np.array([[1, 0, 1, 1], [0, 1, 0, 0], [2, 3, 1, 0], [5, 1, 2, 4]])

# Every way in; some of these may answer before they have read a row.
METHODS: dict[str, Callable[[dormie.Predictor, Any], Any]] = {
    "predict": lambda fast, rows: fast.predict(rows),
    "decision_function": lambda fast, rows: fast.decision_function(rows),
    "trace": lambda fast, rows: fast.trace(rows),
    "interval": lambda fast, rows: fast.interval(rows),
    "interval of no budget": lambda fast, rows: fast.interval(rows, budget=0),
    "no time": lambda fast, rows: fast.predict(rows, deadline=0.0),
    "time": lambda fast, rows: fast.predict(rows, deadline=30.0),
}
