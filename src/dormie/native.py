"""The way into the native core, and what happens where there is none.

`dense(machine)` gives the core for a machine, or None where the reference path must serve: a Python kernel, or an
install without a compiler, which is said once, as a warning.
"""

from __future__ import annotations

import importlib
import os
import warnings
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from dormie.kernels import RBF, Custom, Kernel, Linear, Normalized, Polynomial, Sigmoid
from dormie.machine import MAP_STEPS, Machine
from dormie.rounding import margin
from dormie.rules import Argmax, OneVsOneVote, Rule, Sign, Value

try:
    _native: Any = importlib.import_module("dormie._native")
except ImportError:
    _native = None

THREADS_PER_CORE = 2  # the most that DORMIE_THREADS may ask for

# In the order of KernelKind (ops.hpp) and RuleKind (rules.hpp).
_LINEAR, _POLYNOMIAL, _RBF, _SIGMOID = range(4)
_SIGN, _VOTE, _ARGMAX, _VALUE = range(4)

# The arrays of the geometry stage, in the order of Span (geometry.hpp).
SPAN = (
    "points",
    "factor",
    "coordinates",
    "norms",
    "rho",
    "coordinate_norms",
    "weight_norms",
    "misfit",
    "factor_error",
    "factor_norm",
)

# The arrays of the reduced_set stage, in the order of Vectors (reduced_set.hpp).
VECTORS = ("points", "sizes", "weights", "rho")

# The arrays of the linear_filter stage that the native core keeps; the thresholds come with each call.
LINEAR = ("vectors", "bias")

# Those of the nearest stage that it keeps, in the order of BoundNearest (native/python/nearest.cpp).
NEIGHBOURS = ("basis", "steps", "foresight", "centers", "orders")

# The arrays of a tree, in the order of Branches (tree.hpp).
BRANCHES = ("points", "thresholds", "children", "offsets", "weights", "constants")


def dense(machine: Machine) -> Any:
    """The native dense evaluation of a machine, or None."""
    kept = _machine(machine)
    return None if kept is None else _native.Dense(kept)


def source_sum(machine: Machine, ddot: Any) -> Any:
    """The native sum of a machine, operation by operation, or None; ddot: a capsule of BLAS's, or None."""
    kept = _machine(machine)
    if kept is None:
        return None
    steps = () if machine.input_map is None else machine.input_map.all_steps
    names = np.array([MAP_STEPS.index(name) for name, _ in steps], dtype=np.int64)
    values = np.array([values for _, values in steps], dtype=np.float64).reshape(-1, machine.n_features)
    return _native.SourceSum(kept, names, values, ddot)


def fast_stopping(machine: Machine) -> Any:
    """The native partial sums of a machine whose points are in order, or None."""
    kept = _machine(machine)
    return None if kept is None else _native.FastStopping(kept, machine.kernel.nonnegative)


def geometry(machine: Machine, arrays: Mapping[str, Any]) -> Any:
    """The native anytime intervals of a machine over landmarks, or None; arrays as `stages.geometry` makes them."""
    kept = _machine(machine)
    return None if kept is None else _native.Geometry(kept, *(np.ascontiguousarray(arrays[n]) for n in SPAN))


def reduced_set(machine: Machine, arrays: Mapping[str, Any]) -> Any:
    """The native intervals of a machine from a reduced set, or None; arrays as `stages.reduced_set` makes them."""
    kept = _machine(machine)
    return None if kept is None else _native.ReducedSet(kept, *(np.ascontiguousarray(arrays[n]) for n in VECTORS))


def linear_filter(machine: Machine, arrays: Mapping[str, Any]) -> Any:
    """The native linear filter of a machine, or None; arrays as `stages.linear_filter` makes them."""
    kept = _machine(machine)
    return None if kept is None else _native.LinearFilter(kept, *(np.ascontiguousarray(arrays[n]) for n in LINEAR))


def nearest(machine: Machine, arrays: Mapping[str, Any]) -> Any:
    """The native nearest support vectors of a machine, or None; arrays as `stages.nearest` makes them."""
    kept = _machine(machine)
    return None if kept is None else _native.Nearest(kept, *(np.ascontiguousarray(arrays[n]) for n in NEIGHBOURS))


def tree(machine: Machine, tree: Any) -> Any:
    """The native walk down a `dormie.tree.Tree` over a machine's kernel, or None."""
    kept = _machine(machine)
    return None if kept is None else _native.Tree(kept, *(getattr(tree, name) for name in BRANCHES))


def walk(geometry: Any, row: Any) -> Any:
    """The native walk of one row over a geometry's landmarks."""
    return _native.Walk(geometry, np.ascontiguousarray(row, dtype=np.float64))


def _machine(machine: Machine) -> Any:
    if isinstance(machine.kernel, Custom):
        return None
    if _native is None:
        _warn_once()
        return None
    center, scale = (None, None) if machine.input_map is None else (machine.input_map.center, machine.input_map.scale)
    return _native.Machine(
        _kernel_numbers(machine.kernel),
        _rule_numbers(machine.rule),
        machine.points,
        machine.weights,
        machine.bias,
        center,
        scale,
        vars(margin(machine)),
    )


def arguments(rows: Any, *more: Any) -> tuple[Any, ...]:
    """Checked rows as the arguments that every method of the native core takes, its own between rows and threads."""
    if isinstance(rows, np.ndarray):
        return rows, *more, threads()
    return rows.data, rows.indices, rows.indptr, rows.shape[1], *more, threads()


def threads() -> int:
    """The threads that a call may use: DORMIE_THREADS as it was when dormie was imported, or one for each core."""
    return _THREADS


def threads_for(wish: str, cores: int) -> int:
    """The threads to use where DORMIE_THREADS is `wish`; one that cannot be met is warned of, not an error.

    More threads than cores gain nothing and cost their start in every call, so there is a limit to them.
    """
    if not wish:
        return cores
    try:
        wanted = int(wish)
    except ValueError:
        wanted = 0
    if wanted < 1:
        _warn(
            f"DORMIE_THREADS must be a whole number of at least 1, got {wish[:40]!r}; using {cores}, one for each core"
        )
        return cores
    most = THREADS_PER_CORE * cores
    if wanted > most:
        _warn(f"DORMIE_THREADS={wish[:40]} is more than {THREADS_PER_CORE} for each of {cores} cores; using {most}")
    return min(wanted, most)


def _warn(message: str) -> None:
    warnings.warn(message, RuntimeWarning, stacklevel=3)


def _cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


# Read now: a value that is no use should be heard of before the first prediction.
_THREADS = threads_for(os.environ.get("DORMIE_THREADS", ""), _cores())


def info() -> dict[str, Any]:
    """What the native core was built with and runs on; only {"native": False} without one."""
    return {"native": False} if _native is None else {"native": True, **_native.native_info()}


@cache
def _warn_once() -> None:
    warnings.warn(
        "dormie was installed without its native core and runs on NumPy, many times slower; "
        "install a C++20 compiler and reinstall dormie",
        RuntimeWarning,
        stacklevel=2,
    )


def _kernel_numbers(kernel: Kernel) -> dict[str, Any]:
    normalized = isinstance(kernel, Normalized)
    inner = kernel.kernel if isinstance(kernel, Normalized) else kernel
    kind, gamma, coef0, degree = _parameters(inner)
    if normalized and kind == _LINEAR:  # (u.v)^1 on unit vectors
        kind = _POLYNOMIAL
    return {"kind": kind, "gamma": gamma, "coef0": coef0, "degree": degree, "normalized": normalized}


def _parameters(kernel: Kernel) -> tuple[int, float, float, int]:
    match kernel:
        case Linear():
            return _LINEAR, 1.0, 0.0, 1
        case Polynomial(gamma, coef0, degree):
            return _POLYNOMIAL, gamma, coef0, degree
        case RBF(gamma):
            return _RBF, gamma, 0.0, 1
        case Sigmoid(gamma, coef0):
            return _SIGMOID, gamma, coef0, 1
    raise TypeError(f"the native core has no {type(kernel).__name__} kernel")


def _rule_numbers(rule: Rule) -> dict[str, Any]:
    numbers: dict[str, Any] = {
        "kind": _VALUE,
        "classes": 0,
        "zero": False,
        "break_ties": False,
        "last_of_equal": False,
        "tolerance": 0.0,
    }
    match rule:
        case Sign(zero=zero):
            numbers |= {"kind": _SIGN, "classes": 2, "zero": bool(zero)}
        case OneVsOneVote(classes=classes, break_ties=break_ties):
            numbers |= {"kind": _VOTE, "classes": len(classes), "break_ties": break_ties}
        case Argmax(classes=classes, last_of_equal=last_of_equal):
            numbers |= {"kind": _ARGMAX, "classes": len(classes), "last_of_equal": last_of_equal}
        case Value(tolerance=tolerance):
            numbers |= {"tolerance": tolerance}
        case _:
            raise TypeError(f"the native core has no {type(rule).__name__} rule")
    return numbers
