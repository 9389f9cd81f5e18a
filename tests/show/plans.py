"""Plans that the displays are tried on, and rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.datasets import make_moons
from sklearn.svm import SVC, SVR

import dormie
from dormie import Cascade, Evidence, Plan, Risk
from dormie.methods.dense import Dense
from dormie.methods.reduced_set import CalibratedReducedSet, ReducedSet
from dormie.plan.plan import Source

X, y = make_moons(3000, noise=0.3, random_state=0)
MODEL = SVC(gamma=1.0).fit(X[:600], y[:600])


def exact() -> dormie.Predictor:
    return dormie.compile(MODEL, methods=["geometry"], effort="quick")


def regressor() -> dormie.Predictor:
    return dormie.compile(SVR().fit(X[:200], X[:200, 0]))


def bold() -> dormie.Predictor:
    """A plan with a risk that no race decides: its two stages are measured ones, of a few of the points."""
    machine = exact().plan.machine
    stages = [
        CalibratedReducedSet(
            machine, ReducedSet.project(machine, machine.points[:size], [size]).levels, np.array([[width]])
        )
        for size, width in ((6, 0.8), (15, 0.2))
    ]
    risk = Risk(0.1, 0.9, Evidence(100, 0, 0.01, 1, 1, "2024-12-31", 0))
    return dormie.Predictor(Plan(machine, Cascade.of(*stages, Dense(machine)), risk, Source("made by hand", 0)))


def texts(axes: Any) -> str:
    """All words on the axes."""
    parts = [text.get_text() for text in axes.texts] + [label.get_text() for label in axes.get_yticklabels()]
    legend = axes.get_legend()
    return " ".join(parts + ([] if legend is None else [text.get_text() for text in legend.get_texts()]))
