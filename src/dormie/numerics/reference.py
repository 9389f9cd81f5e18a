"""The full sum and its rounding bounds in plain NumPy: tests compare with it, and it serves where there is no compiler.

Rows here are what `dormie.machine.rows.check_rows` returns: a two-dimensional float array, a CSR array, or, with a
`Custom` kernel, any sequence that the kernel accepts. The NumPy twin of each method's stage (`reference.py` in its
folder) is built from these functions.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dormie.machine import Floats, Machine, joined_widths, members_of
from dormie.machine.csr import is_sparse
from dormie.machine.kernels import Kernel, Normalized, OfDifferences, Radial
from dormie.machine.rows import mapped, mapped_norms, require_finite_vectors
from dormie.machine.rules import Rule
from dormie.machine.typing import Integers
from dormie.numerics.rounding import UNIT, feature_lengths, kernel_value_error, margin, margin_of, source_margin

_BLOCK_VALUES = 1 << 22  # kernel values held at once: 32 MiB


def blocks(machine: Machine, rows: Any) -> Iterator[tuple[slice, Any]]:
    """Blocks of rows, mapped and in float64, each with a kernel matrix of limited size."""
    width = max(machine.n_points, machine.n_columns) if machine.has_sparse_points else machine.n_points
    size = max(1, _BLOCK_VALUES // max(width, 1))
    n = rows.shape[0] if hasattr(rows, "shape") else len(rows)
    for start in range(0, n, size):
        block = slice(start, min(start + size, n))
        part = rows[block]
        if machine.of_vectors:
            yield block, mapped(machine, part)
        else:
            yield block, part.toarray() if hasattr(part, "toarray") else part


class Dense:
    """The twin of the native core's `Dense`: the full sum of a machine, in float64."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self.roundings = machine.n_points + 2  # the most of one term of the sum

    def prepare(self) -> None:
        """Nothing: the points lie as they are used."""

    def outputs(self, rows: Any, threads: int = 0) -> tuple[Floats, Integers | None]:  # noqa: ARG002 - the twin has one
        """G(x) of every row, and None: a row whose value overflows has a value all the same."""
        require_finite_vectors(rows, self._machine)
        return outputs(self._machine, rows), None

    def interval64(self, rows: Any) -> tuple[Floats, Floats]:
        """G(x) of every row, and a bound on its distance from the real-number value."""
        require_finite_vectors(rows, self._machine)
        return interval(self._machine, rows)

    def decide(self, rows: Any) -> tuple[Any, int, Integers | None]:
        """Answers, kernel evaluations per row, and the rows that rounding leaves open (None: no such row)."""
        middle, radius = self.interval64(rows)
        with np.errstate(over="ignore", invalid="ignore"):
            settled = settled_between(self._machine, rows, middle - radius, middle + radius)
            answers = self._machine.rule.answer(middle)
        open_rows = np.flatnonzero(~settled).astype(np.int64)
        return answers, self._machine.n_points, open_rows if len(open_rows) else None


def kernel_matrix(kernel: Kernel, rows: Any, points: Any) -> Floats:
    """The kernel matrix of rows and points; of sparse points, some are laid out at a time."""
    if not is_sparse(points):
        return kernel.matrix(rows, points)
    count, several = points.shape[0], max(1, _BLOCK_VALUES // points.shape[1])
    parts = [kernel.matrix(rows, points[start : start + several].toarray()) for start in range(0, count, several)]
    return np.hstack(parts) if parts else np.empty((len(rows), 0))


def outputs(machine: Machine, rows: Any) -> Floats:
    """G(x) of every row and output, in float64."""
    n = rows.shape[0] if hasattr(rows, "shape") else len(rows)
    result = np.empty((n, machine.n_outputs))
    if machine.kernel.is_python:
        return _outputs_of_python_kernel(machine, rows, result)
    for block, part in blocks(machine, rows):
        result[block] = kernel_matrix(machine.kernel, part, machine.points) @ machine.weights + machine.bias
    return result


def _outputs_of_python_kernel(machine: Machine, rows: Any, result: Floats) -> Floats:
    """The model's own sum, since the rounding of a Python kernel is unknown; equal points share one kernel value."""
    source = machine if machine.origin is None else machine.origin.machine
    places = None if machine.origin is None else _places(source.points, machine.points)
    points = source.points if places is None else machine.points
    for block, part in blocks(machine, rows):
        values = machine.kernel.matrix(part, points)
        result[block] = sum_in_order(source, values if places is None else values[:, places])
    return result


def _places(points: Floats, among: Floats) -> list[int] | None:
    """The position of each point among others, or None if one of them is missing there."""
    position = {point.tobytes(): place for place, point in enumerate(among)}
    places = [position.get(point.tobytes()) for point in points]
    return [place for place in places if place is not None] if None not in places else None


def sum_in_order(machine: Machine, values: Floats) -> Floats:
    """Add the terms of kernel values (rows x points) one after the other, the bias last."""
    sums = np.zeros((len(values), machine.n_outputs))
    for column, weights in zip(np.ascontiguousarray(values.T), machine.weights, strict=True):
        used = np.flatnonzero(weights)
        sums[:, used] += np.multiply.outer(column, weights[used])
    return sums + machine.bias


def absolute_sums(machine: Machine, rows: Any) -> Floats:
    """sum_i |beta_i| |K(x, s_i)| of every row and output, to which rounding errors are proportional."""
    result = np.empty((rows.shape[0], machine.n_outputs))
    for block, part in blocks(machine, rows):
        result[block] = np.abs(kernel_matrix(machine.kernel, part, machine.points)) @ np.abs(machine.weights)
    return result


def interval(machine: Machine, rows: Any) -> tuple[Floats, Floats]:
    """G(x) of every row and output in float64, and a bound on its distance from the real-number value.

    The values of a Python kernel that is not stated to be positive semi-definite count as exact.
    """
    if machine.kernel.is_python and machine.kernel.positive_semidefinite:
        lengths = [feature_lengths(machine.kernel, part) for _, part in blocks(machine, rows)]
        return outputs(machine, rows), source_margin(machine)(np.concatenate([np.empty(0), *lengths]))
    middle, radius = np.empty((2, len(rows) if isinstance(rows, list) else rows.shape[0], machine.n_outputs))
    for block, part in blocks(machine, rows):
        middle[block], radius[block] = partial_sum(machine, part, machine.n_points)
    return middle, radius


def settled_between(machine: Machine, rows: Any, low: Floats, high: Floats) -> Any:
    """Whether intervals settle the answers of rows, at the machine's margin from the decision boundary."""
    with np.errstate(over="ignore", invalid="ignore"):
        return machine.rule.settled(*widened(machine, rows, low, high))


def widened(machine: Machine, rows: Any, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Intervals of vectors, widened by the machine's margin from the decision boundary."""
    with np.errstate(over="ignore", invalid="ignore"):
        wider = margins(machine, rows)
        return low - wider, high + wider


def margins(machine: Machine, rows: Any) -> Floats:
    """How far from the decision boundary each output's interval must stay."""
    with np.errstate(over="ignore", invalid="ignore"):
        return joined_widths(machine, [_margins(member, machine.rule, rows) for member in members_of(machine)])


def _margins(member: Machine, rule: Rule, rows: Any) -> Floats:
    """The margins of a machine, or of a member of a sum under the rule of the sum."""
    found = margin_of(member, rule)
    if not found:
        return np.zeros((rows.shape[0], member.n_outputs))
    return found(mapped_norms(member, rows))


def settled_mapped(machine: Machine, norms: Floats, low: Floats, high: Floats) -> Any:
    """Like `settled_between`, for rows of these norms."""
    with np.errstate(over="ignore", invalid="ignore"):
        margins = margin(machine)(norms)
        return machine.rule.settled(low - margins, high + margins)


def partial_sum(machine: Machine, part: Any, budget: int) -> tuple[Floats, Floats]:
    """The sum of the bias and the first `budget` terms for mapped rows, and a bound on its rounding."""
    points, weights = machine.points[:budget], machine.weights[:budget]
    values = kernel_matrix(machine.kernel, part, points)
    sizes = np.abs(values) @ np.abs(weights) + np.abs(machine.bias)
    errors = np.array([row_value_error(machine, row, points) for row in part])
    rounding = (len(weights) + 8) * UNIT * sizes + np.outer(errors, np.abs(weights).sum(axis=0))
    return values @ weights + machine.bias, rounding


def row_value_error(machine: Machine, row: Floats, landmarks: Floats) -> float:
    """A bound on the errors of the kernel values of one mapped row, including those from rounding the mapped row.

    The values of a Python kernel count as exact: see `interval`.
    """
    if machine.kernel.is_python:
        return 0.0
    kernel = machine.kernel.kernel if isinstance(machine.kernel, Normalized) else machine.kernel
    mapped = 0.0
    if isinstance(kernel, Radial):
        mapped = 3 * UNIT * kernel.slope * float(np.linalg.norm(row))
    elif isinstance(kernel, OfDifferences):
        mapped = 3 * UNIT * kernel.slope * float(np.abs(row).sum())
    return kernel_value_error(machine.kernel, row[None], landmarks) + mapped
