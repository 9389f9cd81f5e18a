"""The choice between the native core and NumPy.

What computes has two forms with the same methods: a class of the native core, and its NumPy twin. `choose` makes one of
them for a machine, once. NumPy serves Python kernels, and installations without the native core, which are warned of
once. The types of the native classes are those of `_native.pyi`, which is made from the extension.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from dormie.machine import Floats, Machine, MachineSum
from dormie.machine.kernels import RBF, Kernel, Linear, Normalized, Polynomial, Sigmoid
from dormie.machine.rules import Argmax, OneVsOneVote, Rule, Sign, Value
from dormie.numerics.rounding import margin

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

try:
    from dormie.numerics import _native  # optional: NumPy is used without it
except ImportError:
    _native = None  # type: ignore[assignment]
# The native module, None where it is not installed. Its type leaves None out, so that its classes have types; so use it
# only in the `native` of `choose`.
extension = _native
Native = TypeVar("Native")
Twin = TypeVar("Twin")
_numpy_only = False

# In the order of KernelKind (native/simd/ops.hpp) and RuleKind (native/core/rules.hpp).
_LINEAR, _POLYNOMIAL, _RBF, _SIGMOID = range(4)
_SIGN, _VOTE, _ARGMAX, _VALUE = range(4)


def choose(machine: Machine, native: Callable[[extension.Machine], Native], numpy: Callable[[], Twin]) -> Native | Twin:
    """What `native` makes of the native form of a machine; what `numpy` makes where NumPy must be used."""
    core = native_machine(machine)
    return numpy() if core is None else native(core)


def choose_sparse(
    machine: Machine, native: Callable[[extension.SparseMachine], Native], numpy: Callable[[], Twin]
) -> Native | Twin:
    """The same for a machine with sparse points, which has a native form of its own."""
    return native(_sparse_machine(machine)) if _serves(machine) else numpy()


def decides(machine: Machine) -> bool:
    """Whether the native core can decide by the machine's rule; otherwise NumPy decides, from native intervals."""
    return isinstance(machine.rule, Sign | OneVsOneVote | Argmax | Value) and not isinstance(machine, MachineSum)


def stage_of(core: object, *arguments: object) -> extension.Stage | None:
    """The stage of a native core, made with these arguments; None if the core is a twin in NumPy."""
    make = getattr(core, "stage", None)
    return None if make is None else make(*arguments)


def cascade_of(stages: Sequence[extension.Stage | None]) -> extension.Cascade | None:
    """A native cascade of stages; None if one of them is not native."""
    native = [stage for stage in stages if stage is not None]
    return extension.Cascade(native) if native and len(native) == len(stages) else None


def contiguous(parameters: DataclassInstance) -> tuple[npt.NDArray[Any], ...]:
    """The arrays of a stage's parameters as contiguous arrays, in the order of the native core's constructor."""
    return tuple(np.ascontiguousarray(getattr(parameters, field.name)) for field in fields(parameters))


@contextmanager
def numpy_only() -> Iterator[None]:
    """A context in which everything built uses NumPy, as if there were no native core; for comparing the two."""
    global _numpy_only
    before, _numpy_only = _numpy_only, True
    try:
        yield
    finally:
        _numpy_only = before


def native_machine(machine: Machine) -> extension.Machine | None:
    """The native form of a machine; None where NumPy must be used (a Python kernel, or no native core)."""
    if not _serves(machine):
        return None
    return extension.Machine(
        _kernel_numbers(machine.kernel),
        _rule_numbers(machine.rule),
        machine.points,
        machine.weights,
        machine.bias,
        *_map(machine),
        vars(margin(machine)),
    )


def _sparse_machine(machine: Machine) -> extension.SparseMachine:
    points = machine.points
    return extension.SparseMachine(
        _kernel_numbers(machine.kernel),
        _rule_numbers(machine.rule),
        (points.data, points.indices.astype(np.int32, copy=False), points.indptr.astype(np.int64, copy=False)),
        machine.n_features,
        machine.weights,
        machine.bias,
        *_map(machine),
        vars(margin(machine)),
    )


def _serves(machine: Machine) -> bool:
    """Whether the native core serves the machine; warns where there is none."""
    if machine.kernel.is_python or _numpy_only:
        return False
    if extension is None:
        _warn_once()
    return extension is not None


def _map(machine: Machine) -> tuple[Floats | None, Floats | None]:
    """The center and the scale of the input map, or None for both."""
    return (None, None) if machine.input_map is None else (machine.input_map.center, machine.input_map.scale)


def info() -> dict[str, Any]:
    """How the native core was built and which instruction set it uses; {"native": False} without one."""
    return {"native": False} if extension is None else {"native": True, **extension.native_info()}


@cache
def _warn_once() -> None:
    warnings.warn(
        "dormie was installed without its native core and runs on NumPy, many times slower; "
        "install a C++20 compiler and reinstall dormie",
        RuntimeWarning,
        stacklevel=2,
    )


def _kernel_numbers(kernel: Kernel) -> dict[str, object]:
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


def _rule_numbers(rule: Rule) -> dict[str, object]:
    numbers: dict[str, object] = {
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
    return numbers
