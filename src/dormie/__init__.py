"""dormie compiles a trained kernel machine into a predictor that stops as soon as the answer is settled.

    import dormie
    fast = dormie.compile(svc)      # the same answers, sooner
    fast.predict(X)

`compile` reads a model into a `Machine` (the normal form), simplifies it exactly, plans its stages, and returns a
`Predictor`. `Predictor.save` and `load` keep plans in files that hold nothing executable. `reduce` gives a machine of
few vectors that stands for one of many.
"""

from __future__ import annotations

import os
from typing import Any

from dormie import _aliases
from dormie._version import __version__
from dormie.convert import read
from dormie.errors import (
    BrokenPromiseWarning,
    MissingClassWarning,
    PlanFileError,
    TrainingRowsWarning,
    UnreadableModelError,
)
from dormie.machine import Affine, Machine, kernels, rules
from dormie.methods import tree
from dormie.methods.reduced_set.reduce import Reduction, reduce
from dormie.numerics import backend
from dormie.plan import Evidence, Exact, Plan, Risk, Tolerance
from dormie.plan import file as plan_file
from dormie.planner import compile
from dormie.predictor import Answers, AuditedPredictor, Predictor, Status, Step, Trace

__all__ = [
    "Affine",
    "Answers",
    "AuditedPredictor",
    "BrokenPromiseWarning",
    "Evidence",
    "Exact",
    "Machine",
    "MissingClassWarning",
    "Plan",
    "PlanFileError",
    "Predictor",
    "Reduction",
    "Risk",
    "Status",
    "Step",
    "Tolerance",
    "Trace",
    "TrainingRowsWarning",
    "UnreadableModelError",
    "__version__",
    "build_info",
    "compile",
    "kernels",
    "load",
    "read",
    "reduce",
    "rules",
    "tree",
]

_aliases.install()


def load(path: str | os.PathLike[str]) -> Predictor:
    """The predictor that `Predictor.save` wrote. Runs nothing from the file; needs no scikit-learn."""
    return Predictor(plan_file.load(path))


def build_info() -> dict[str, Any]:
    """Version, whether the native core is there, its compiler and instruction set, and the threads used."""
    return {"version": __version__, **backend.info(), "threads": backend.threads()}
