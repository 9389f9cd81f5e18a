"""The choice between the native core and NumPy.

What computes has two forms with the same methods: a class of the native core, and its NumPy twin. `choose` makes one of
them for a machine, once. NumPy serves Python kernels, and installations without the native core, which are warned of
at import. The types of the native classes are those of `_native.pyi`, which is made from the extension.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from dormie.machine import Floats, Machine, MachineSum
from dormie.machine import preparation as preparing
from dormie.machine.kernels import (
    RBF,
    AdditiveChi2,
    Chi2,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Normalized,
    Polynomial,
    RationalQuadratic,
    Sigmoid,
)
from dormie.machine.preparation import (
    KINDS,
    NORMS,
    Arithmetic,
    Binarize,
    Clip,
    Columns,
    Impute,
    Normalize,
    Preparation,
    Projection,
)
from dormie.machine.rules import Argmax, OneVsOneVote, Rule, Sign, Value
from dormie.numerics.rough import most_rough_error
from dormie.numerics.rounding import margin

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

try:
    from dormie.numerics import _native  # optional: NumPy is used without it
except ImportError as missing:
    _native = None  # type: ignore[assignment]
    warnings.warn(
        f"dormie is installed without its native core ({missing}) and runs on NumPy, many times slower; install a "
        "C++20 compiler, and then dormie again: pip install --force-reinstall --no-deps dormie",
        RuntimeWarning,
        stacklevel=2,
    )
# The native module, None where it is not installed. Its type leaves None out, so that its classes have types; so use it
# only in the `native` of `choose`.
extension = _native
Native = TypeVar("Native")
Twin = TypeVar("Twin")
_numpy_only = False
_PREPARATIONS: WeakKeyDictionary[Preparation, extension.Preparation] = WeakKeyDictionary()
_NO_NUMBERS, _NO_COLUMNS = np.empty(0), np.empty(0, dtype=np.int64)

# In the order of KernelKind (native/simd/ops.hpp) and RuleKind (native/core/rules.hpp).
_LINEAR, _POLYNOMIAL, _RBF, _SIGMOID, _MATERN12, _MATERN32, _MATERN52 = range(7)
_RATIONAL_QUADRATIC, _LAPLACIAN, _CHI2, _ADDITIVE_CHI2 = range(7, 11)
_MATERN = {0.5: _MATERN12, 1.5: _MATERN32, 2.5: _MATERN52}
_SIGN, _VOTE, _ARGMAX, _VALUE = range(4)


def choose(
    machine: Machine,
    native: Callable[[extension.Machine], Native],
    numpy: Callable[[], Twin],
    by_products: bool = False,
) -> Native | Twin:
    """What `native` makes of the native form of a machine; what `numpy` makes where NumPy must be used.

    by_products: whether the native code works kernel values out from inner products alone.
    """
    core = native_machine(machine) if machine.kernel.of_inner_products or not by_products else None
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
        None if machine.preparation is None else _native_preparation(machine.preparation),
        most_rough_error(machine),
    )


def _native_preparation(preparation: Preparation) -> extension.Preparation:
    """The native form of a preparation, which all stages share: it has matrices of its own."""
    if preparation not in _PREPARATIONS:
        steps = preparation.steps
        numbers = [[KINDS.index(step.kind), step.at, step.columns, step.result, *_numbers_of(step)] for step in steps]
        values = [np.ravel(getattr(step, "matrix", getattr(step, "values", _NO_NUMBERS))) for step in steps]
        which = [step.which if isinstance(step, Columns) else _NO_COLUMNS for step in steps]
        allowed = preparation.may_be_nan
        _PREPARATIONS[preparation] = extension.Preparation(
            preparation.columns,
            np.array(numbers, dtype=np.float64).reshape(-1, 7),
            values,
            which,
            preparation.unit_error,
            None if allowed is None else allowed.astype(np.uint8),
        )
    return _PREPARATIONS[preparation]


def _numbers_of(step: preparing.Step) -> tuple[float, float, float]:
    """Two parameters of a step, and by how much it stretches a row."""
    match step:
        case Arithmetic() | Columns():
            return 0.0, 0.0, step.stretch
        case Projection():
            return 0.0, 0.0, step.size
        case Impute():
            return step.missing, 0.0, 1.0
        case Clip():
            return step.low, step.high, 1.0
        case Normalize():
            return float(NORMS.index(step.norm)), 0.0, 1.0
        case Binarize():
            return step.threshold, 0.0, 1.0
    raise TypeError(f"the native core has no {type(step).__name__} step")


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
    """Whether the native core serves the machine."""
    return not (machine.kernel.is_python or _numpy_only or extension is None)


def _map(machine: Machine) -> tuple[Floats | None, Floats | None]:
    """The center and the scale of the input map, or None for both."""
    return (None, None) if machine.input_map is None else (machine.input_map.center, machine.input_map.scale)


def info() -> dict[str, Any]:
    """How the native core was built and which instruction set it uses; {"native": False} without one."""
    return {"native": False} if extension is None else {"native": True, **extension.native_info()}


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
        case Matern(nu):
            return _MATERN[nu], kernel.gamma, 0.0, 1
        case RationalQuadratic(alpha):  # its exponent in the place of a constant term
            return _RATIONAL_QUADRATIC, kernel.gamma, alpha, 1
        case Laplacian(gamma):
            return _LAPLACIAN, gamma, 0.0, 1
        case Chi2(gamma):
            return _CHI2, gamma, 0.0, 1
        case AdditiveChi2():
            return _ADDITIVE_CHI2, 1.0, 0.0, 1
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
