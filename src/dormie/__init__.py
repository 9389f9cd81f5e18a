"""dormie compiles a trained kernel machine into a predictor that stops as soon as the answer is settled.

    import dormie
    fast = dormie.compile(svc)      # the same answers, faster
    fast.predict(X)

`compile` reads a model as a `Machine` (the normal form), simplifies it exactly, chooses the stages of its cascade, and
returns a `Predictor`. `Predictor.save` and `load` keep plans in files that hold nothing executable. `reduce`
approximates a machine of many support vectors by one of few.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import IO, TYPE_CHECKING, Any

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
from dormie.machine import Affine, Machine, MachineSum, kernels, rules
from dormie.machine import preparation as steps
from dormie.methods import tree
from dormie.methods.reduced_set.reduce import Reduction, reduce
from dormie.numerics import backend
from dormie.numerics.threads import default_threads
from dormie.plan import Cascade, Evidence, Exact, Plan, Risk, Tolerance
from dormie.plan import file as plan_file
from dormie.planner import Profile, compile
from dormie.predictor import Answers, AuditedPredictor, Predictor, Status, Step, Trace, merge_audits

if TYPE_CHECKING:
    from dormie import estimators as estimators
    from dormie.scale import dask as dask

__all__ = [
    "Affine",
    "Answers",
    "AuditedPredictor",
    "BrokenPromiseWarning",
    "Cascade",
    "Evidence",
    "Exact",
    "Machine",
    "MachineSum",
    "MissingClassWarning",
    "Plan",
    "PlanFileError",
    "Predictor",
    "Profile",
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
    "merge_audits",
    "read",
    "reduce",
    "rules",
    "steps",
    "tree",
]

_aliases.install()

_WHEN_ASKED_FOR = {"dask": "dormie.scale.dask", "estimators": "dormie.estimators"}  # they import Dask, scikit-learn

if not TYPE_CHECKING:  # for type checkers it would stand for any name

    def __getattr__(name: str) -> Any:
        if name not in _WHEN_ASKED_FOR:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return import_module(_WHEN_ASKED_FOR[name])


def __dir__() -> list[str]:
    return sorted({*globals(), *_WHEN_ASKED_FOR})


def load(path: str | os.PathLike[str] | IO[bytes]) -> Predictor:
    """
    Load a predictor from a plan file.

    Nothing in the file is executed, and scikit-learn is not needed.

    Parameters
    ----------
    path : str, path-like or binary file object
        A file that `Predictor.save` wrote. A file that is open for reading in binary mode is read to its end.

    Returns
    -------
    Predictor
        The predictor, with the same answers as the one that was saved.

    Raises
    ------
    PlanFileError
        If the file is damaged, of another protocol, or not a plan file.
    FileNotFoundError
        If there is no such file.
    TypeError
        If the file object is open as text.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import dormie
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import SVC
    >>> X, y = load_iris(return_X_y=True)
    >>> fast = dormie.compile(SVC().fit(X, y))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     fast.save(Path(folder) / "iris.dormie")
    ...     loaded = dormie.load(Path(folder) / "iris.dormie")
    >>> bool((loaded.predict(X) == fast.predict(X)).all())
    True
    """
    return Predictor(plan_file.load(path))


def build_info() -> dict[str, Any]:
    """
    Describe this installation of dormie.

    Returns
    -------
    dict
        The version, whether the native core is installed ("native"), its compiler and instruction set, and the number
        of threads in use.

    Examples
    --------
    >>> import dormie
    >>> info = dormie.build_info()
    >>> info["version"] == dormie.__version__
    True
    >>> info["threads"] >= 1
    True
    """
    return {"version": __version__, **backend.info(), "threads": default_threads()}
