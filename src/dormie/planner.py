"""From a model to a plan: read, simplify exactly, choose the stages."""

from __future__ import annotations

import sys
from typing import Any

from dormie.plan import Exact, Plan, Source
from dormie.predictor import Predictor
from dormie.readers import read
from dormie.simplify import simplify
from dormie.stages import Dense

_LONGEST_DESCRIPTION = 200


def compile(model: Any) -> Predictor:
    """A predictor that gives the same answers as `model`, sooner.

    model: a fitted scikit-learn model, the path of a LIBSVM model file, or a `Machine`; see `dormie.read`.
    """
    machine = read(model)
    source = Source(_describe(model), machine.n_points, _versions())
    machine, rewrites = simplify(machine)
    return Predictor(Plan(machine, (Dense(machine),), Exact(), source, rewrites))


def _describe(model: Any) -> str:
    text = " ".join((repr(model) if not isinstance(model, str) else f"LIBSVM model {model}").split())
    return text if len(text) <= _LONGEST_DESCRIPTION else text[: _LONGEST_DESCRIPTION - 3] + "..."


def _versions() -> dict[str, str]:
    """Versions of what had a hand in the plan; scikit-learn only where it was in use."""
    import importlib.metadata  # here: it would be a quarter of the time `import dormie` takes

    packages = {"dormie": "dormie", "numpy": "numpy", "scipy": "scipy", "sklearn": "scikit-learn"}
    return {
        package: importlib.metadata.version(package) for module, package in packages.items() if module in sys.modules
    }
