"""What must hold of any machine and rows, whatever the instruction set: shared by the tests, run in each of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from dormie.machine import Floats, Machine
from dormie.machine.kernels import (
    RBF,
    AdditiveChi2,
    Kernel,
    Linear,
    Normalized,
    OfDifferences,
    Polynomial,
    Radial,
    Sigmoid,
)
from dormie.machine.rules import Value
from dormie.methods.dense import Dense
from dormie.numerics import backend as native
from dormie.numerics import reference, source_reference
from dormie.numerics.evaluate import FullSum, NativeSum
from dormie.numerics.source_sum import SourceSum
from tests.oracles import full_sum as naive
from tests.oracles import source_sum as naive_source

EXP2_ERROR = 4.0  # exp2_error_units, as native/simd/ops.hpp states it
LOG2_ERROR = 10.0  # log2_error_units, likewise


def core(machine: Machine) -> NativeSum:
    """The native core of a machine's full sum; its methods take rows and a number of threads."""
    found = FullSum(machine).native_core
    assert found is not None
    return found


def csr(rows: Any, index: type = np.int32) -> Any:
    """The rows as a CSR array with indices of a type."""
    matrix = scipy.sparse.csr_array(rows)
    matrix.indices, matrix.indptr = matrix.indices.astype(index), matrix.indptr.astype(index)
    return matrix


def term_sizes(kernel: Kernel, rows: Floats, points: Floats) -> Floats:
    """The size that rounding a kernel value in float64 is relative to."""
    match kernel:
        case Linear():
            return np.asarray(np.abs(rows) @ np.abs(points).T)
        case Polynomial(gamma, coef0, degree):
            return np.asarray((gamma * np.abs(rows) @ np.abs(points).T + abs(coef0)) ** degree * degree)
        case Sigmoid(gamma, coef0):
            return np.asarray(abs(gamma) * np.abs(rows) @ np.abs(points).T + abs(coef0) + 1)
        case Radial():
            reach = np.linalg.norm(rows, axis=1)[:, None] + np.linalg.norm(points, axis=1)
            lost = (
                kernel.gamma * reach**2 if kernel.log_fall is None else kernel.log_fall * (1 + kernel.gamma * reach**2)
            )
            return np.asarray(kernel.matrix(rows, points) * (1 + lost))
        case AdditiveChi2():
            return np.asarray(np.abs(rows).sum(axis=1)[:, None] + np.abs(points).sum(axis=1))
        case OfDifferences():
            return np.asarray(np.ones((len(rows), len(points))))
        case Normalized(RBF()):
            return term_sizes(kernel.kernel, rows, points)
        case Normalized(inner):
            return np.asarray(kernel.scale(rows)[:, None] * term_sizes(inner, rows, points) * kernel.scale(points))
    raise TypeError(kernel)


def sizes(machine: Machine, rows: Any) -> Floats:
    """What the error of a float64 output is measured against."""
    x = np.asarray(rows, dtype=np.float64)
    x = x if machine.input_map is None else machine.input_map(x)
    terms = term_sizes(machine.kernel, x, np.array(naive.points_of(machine)).reshape(-1, machine.n_features))
    return np.asarray(terms @ np.abs(machine.weights) + np.abs(machine.bias))


def outputs_agree(machine: Machine, rows: Any, within: float = 1e-13) -> None:
    """Native, NumPy and the definition give the same float64 outputs, up to rounding."""
    found, allowed = core(machine).outputs(rows, 1)[0], within * sizes(machine, rows)
    assert (np.abs(found - naive.outputs(machine, rows)) <= allowed).all()
    assert (np.abs(reference.outputs(machine, rows) - naive.outputs(machine, rows)) <= allowed).all()


def outputs_do_not_depend_on_company(machine: Machine, rows: Floats) -> None:
    """The bits of a row's outputs and radii are its own: not its batch's, its order's, its form's or the threads'."""
    native_core = core(machine)
    for method in (lambda *a: (native_core.outputs(*a)[0],), native_core.interval):
        alone = [np.concatenate(parts) for parts in zip(*(method(row[None], 1) for row in rows), strict=True)]
        many = np.resize(rows, (300, rows.shape[1]))
        forms = {
            "batch": method(rows, 1),
            "reversed": [part[::-1] for part in method(rows[::-1], 1)],
            "beside dense rows": [part[: len(rows)] for part in method(np.vstack([rows, many + 1]), 1)],
            "beside zeros": [part[: len(rows)] for part in method(np.vstack([rows, many * 0]), 1)],
            "csr": method(csr(rows), 1),
            "csr, long indices": method(csr(rows, np.int64), 3),
            "two rows, four threads": [part[:2] for part in method(rows[:2], 4)],
            "many, three threads": [part[: len(rows)] for part in method(many, 3)],
        }
        for form, found in forms.items():
            for mine, theirs in zip(alone, found, strict=True):
                np.testing.assert_array_equal(mine[: len(theirs)], theirs, err_msg=form)


def answers_agree(machine: Machine, rows: Any) -> None:
    """Settled early or not, the answer is that of the machine's own sum; a value is within its tolerance."""
    found = Dense(machine).decide(np.asarray(rows))
    own = naive_source.outputs(machine, rows)
    np.testing.assert_array_equal(SourceSum(machine).outputs(np.asarray(rows)), own)
    np.testing.assert_array_equal(source_reference.source_outputs(machine, rows, sparse=False), own)
    if not isinstance(machine.rule, Value):
        with np.errstate(invalid="ignore", over="ignore"):
            np.testing.assert_array_equal(found.answers, machine.rule.answer(own))
        return
    real, reach = FullSum(machine).interval(np.asarray(rows))
    told = np.isfinite(reach)
    assert (np.abs(found.answers - real)[told] <= machine.rule.tolerance + reach[told]).all()


def source_sums_hold(machine: Machine, rows: Any) -> None:
    """The machine's own sum lies within r(x), its stated rounding, of the real value."""
    rows = np.asarray(rows, dtype=np.float64)
    held = naive.contained(*SourceSum(machine).interval(rows), naive.exact_outputs(machine, rows))
    assert held.all(), np.argwhere(~held)


def intervals_hold(machine: Machine, rows: Any) -> None:
    """Every interval contains the real value, those of float32 and those of float64."""
    rows, exact = np.asarray(rows), naive.exact_outputs(machine, rows)
    for method in (core(machine).interval, core(machine).interval64):
        middle, radius = method(rows, 1)
        assert not np.isnan(radius).any()
        held = naive.contained(middle, radius, exact)
        assert held.all(), (method, np.argwhere(~held), middle[~held], radius[~held])


def exp2(x: Any) -> Any:
    """The native 2^x for x <= 0, of the type of x."""
    return native.extension.exp2(x)


def exp2_error(x: np.ndarray[Any, Any]) -> float:
    """The largest relative error of the native exp2, in rounding units of its type."""
    unit = np.finfo(x.dtype).eps / 2
    exact = np.exp2(x.astype(np.float64 if x.dtype == np.float32 else np.longdouble))
    return float(np.max(np.abs(exp2(x).astype(exact.dtype) / exact - 1)) / unit)


def log2_keeps_to_its_error(samples: int) -> None:
    """The stated error from 1 on: near 1, beside powers of two and their middles, and far out."""
    assert native.extension is not None
    rng = np.random.default_rng(6)
    for dtype, most in ((np.float32, 126), (np.float64, 1022)):
        powers = 2.0 ** np.arange(most)
        near_one = 1 + 10.0 ** rng.uniform(-16, 0, size=samples // 4)
        x: Any = np.concatenate([2.0 ** rng.uniform(0, most, size=samples), near_one, powers, powers * 2**0.5]).astype(
            dtype
        )
        x = np.concatenate([x, np.nextafter(x, dtype(np.inf)), np.maximum(np.nextafter(x, dtype(0)), dtype(1))])
        found, exact = native.extension.log2(x).astype(np.longdouble), np.log2(x.astype(np.longdouble))
        assert (np.abs(found - exact) <= LOG2_ERROR * np.finfo(dtype).eps / 2 * exact).all()


def exp2_keeps_to_its_error(samples: int) -> None:
    """The stated error over the whole range, at its ends, beside whole numbers and halves, and near 0."""
    rng = np.random.default_rng(5)
    for dtype, least in ((np.float32, -126.0), (np.float64, -1022.0)):
        halves = np.arange(2 * least, 1) / 2
        near_zero = -(10.0 ** rng.uniform(-30, 0, size=samples // 10))
        x = np.concatenate([rng.uniform(least, 0, size=samples), halves, near_zero]).astype(dtype)
        beside = np.concatenate([np.nextafter(x, dtype(0)), np.nextafter(x, dtype(least))])
        assert exp2_error(np.concatenate([x, beside])) <= EXP2_ERROR
        outside = np.array(
            [np.nextafter(dtype(least), dtype(-2000)), -1e4, -np.inf, np.nan, 0.0, 1.0, np.inf], dtype=dtype
        )
        assert exp2(outside).tolist() == [0, 0, 0, 0, 1, 1, 1]
