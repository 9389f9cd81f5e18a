"""The obvious NumPy version of every native routine: the oracle in tests, and the fallback without a compiler.

Rows here are what `dormie.rows.check_rows` returns: a two-dimensional float array, a CSR array, or, with a
`Custom` kernel, any sequence the kernel understands.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dormie.kernels import RBF, Custom, Linear, Normalized, Polynomial, Sigmoid
from dormie.machine import Floats, Machine
from dormie.margin import LOST_LENGTH
from dormie.rounding import UNIT, inner_degree, kernel_value_error, margin
from dormie.rules import Value
from dormie.sketch import foreseen, scores, tug_of_war
from dormie.thresholds import crossed
from dormie.tree.structure import Tree, Walk
from dormie.triangular import solve_lower

Arrays = Mapping[str, Any]

_BLOCK_VALUES = 1 << 22  # kernel values held at once: 32 MiB
LOST_SQUARE = 1e-290  # more than sums of squares lose below the normal range


def _blocks(machine: Machine, rows: Any) -> Iterator[tuple[slice, Any]]:
    """Mapped float64 blocks of rows, small enough that their kernel matrix stays small."""
    size = max(1, _BLOCK_VALUES // max(machine.n_points, 1))
    n = rows.shape[0] if hasattr(rows, "shape") else len(rows)
    for start in range(0, n, size):
        block = slice(start, min(start + size, n))
        part = rows[block]
        if hasattr(part, "toarray"):
            part = part.toarray()
        if machine.of_vectors:
            part = np.asarray(part, dtype=np.float64)
        yield block, part if machine.input_map is None else machine.input_map(part)


def outputs(machine: Machine, rows: Any) -> Floats:
    """G(x) of every row and output, in float64."""
    n = rows.shape[0] if hasattr(rows, "shape") else len(rows)
    result = np.empty((n, machine.n_outputs))
    if isinstance(machine.kernel, Custom):
        return _outputs_of_python_kernel(machine, rows, result)
    for block, part in _blocks(machine, rows):
        result[block] = machine.kernel.matrix(part, machine.points) @ machine.weights + machine.bias
    return result


def _outputs_of_python_kernel(machine: Machine, rows: Any, result: Floats) -> Floats:
    """The model's own sum at once: nobody knows how a Python kernel rounds. Equal points share a kernel value."""
    source = machine if machine.origin is None else machine.origin.machine
    places = None if machine.origin is None else _places(source.points, machine.points)
    points = source.points if places is None else machine.points
    for block, part in _blocks(machine, rows):
        values = machine.kernel.matrix(part, points)
        result[block] = _sum_in_order(source, values if places is None else values[:, places])
    return result


def _places(points: Floats, among: Floats) -> list[int] | None:
    """Where each of the points is among others, or None where one is not."""
    position = {point.tobytes(): place for place, point in enumerate(among)}
    places = [position.get(point.tobytes()) for point in points]
    return [place for place in places if place is not None] if None not in places else None


def _sum_in_order(machine: Machine, values: Floats) -> Floats:
    """The terms of kernel values (rows x points) added one after the other, and then the bias."""
    sums = np.zeros((len(values), machine.n_outputs))
    for column, weights in zip(np.ascontiguousarray(values.T), machine.weights, strict=True):
        used = np.flatnonzero(weights)
        sums[:, used] += np.multiply.outer(column, weights[used])
    return sums + machine.bias


def source_outputs(machine: Machine, rows: Any) -> Floats:
    """The machine's own sum, operation by operation: see `dormie.source_sum`."""
    if isinstance(machine.kernel, Custom):
        return outputs(machine, rows)
    sparse = hasattr(rows, "toarray")
    x = np.array(rows.toarray() if sparse else rows, dtype=np.float64)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        for name, values in () if machine.input_map is None else machine.input_map.all_steps:
            x = _map_step(name, values, x, sparse)
        values = np.array([_source_values(machine, row) for row in x]).reshape(len(x), machine.n_points)
        return _sum_in_order(machine, values)


def _map_step(name: str, values: Floats, x: Floats, sparse: bool) -> Floats:
    match name:
        case "subtract":
            return x - values
        case "add":
            return x + values
        case "multiply":
            return x * values
    return np.where(x == 0, x, x * (1 / values)) if sparse else x / values  # of sparse rows zeros are not stored


def _source_values(machine: Machine, x: Floats) -> list[float]:
    """Kernel values of a mapped row with every point, one at a time."""
    kernel, points, constants = machine.kernel, machine.points, np.zeros(machine.n_points)
    if isinstance(kernel, Normalized) and not isinstance(kernel.kernel, RBF):
        (x, own), *units = [_unit_vector(kernel.kernel, vector) for vector in (x, *points)]
        points, constants = [unit for unit, _ in units], np.array([constant for _, constant in units]) * own
        return [_power(_dot(machine, x, s) + c, inner_degree(kernel)) for s, c in zip(points, constants, strict=True)]
    kernel = kernel.kernel if isinstance(kernel, Normalized) else kernel
    match kernel:
        case RBF(gamma):
            return [math.exp(-gamma * _dot(machine, x - s, x - s)) for s in points]
        case Polynomial(gamma, coef0, degree):
            return [_power(gamma * _dot(machine, x, s) + coef0, degree) for s in points]
        case Sigmoid(gamma, coef0):
            return [math.tanh(gamma * _dot(machine, x, s) + coef0) for s in points]
    return [_dot(machine, x, s) for s in points]


def _dot(machine: Machine, a: Floats, b: Floats) -> float:
    """By BLAS, or one product after the other."""
    if machine.blas_products:
        from scipy.linalg.blas import ddot  # here: it takes long to import

        return float(ddot(a, b))
    return float(np.add.accumulate(a * b)[-1] + 0.0)


def _power(base: float, degree: int) -> float:
    result = 1.0
    while degree > 0:
        result, base, degree = result * base if degree % 2 else result, base * base, degree // 2
    return result


def _unit_vector(kernel: Linear | Polynomial, x: Floats) -> tuple[Floats, float]:
    """(sqrt(gamma) x, sqrt(coef0)) as a unit vector: x's part, and the other's; powers of two keep squares in range."""
    gamma, coef0 = (kernel.gamma, kernel.coef0) if isinstance(kernel, Polynomial) else (1.0, 0.0)
    largest = float(np.abs(x).max())
    (_, own), (root, own_root) = math.frexp(largest), math.frexp(math.sqrt(gamma))
    part, of_part = math.frexp(math.sqrt(coef0))
    exponents = [e for e, used in ((own + own_root, largest > 0), (of_part, part > 0)) if used]
    common = max(exponents, default=0)
    scaled = np.ldexp(np.ldexp(x, -own) * root, own + own_root - common)
    constant = math.ldexp(part, of_part - common)
    length = math.sqrt(float(np.add.accumulate(np.append(scaled, constant) ** 2)[-1]))
    return (np.zeros_like(x), 0.0) if length == 0 else (scaled / length, constant / length)  # NaN stays NaN


def absolute_sums(machine: Machine, rows: Any) -> Floats:
    """sum_i |beta_i| |K(x, s_i)| of every row and output: the scale that rounding errors are measured on."""
    result = np.empty((rows.shape[0], machine.n_outputs))
    for block, part in _blocks(machine, rows):
        result[block] = np.abs(machine.kernel.matrix(part, machine.points)) @ np.abs(machine.weights)
    return result


def interval(machine: Machine, rows: Any) -> tuple[Floats, Floats]:
    """G of every row and output in float64, and a radius that reaches the real value."""
    middle, radius = np.empty((2, len(rows) if isinstance(rows, list) else rows.shape[0], machine.n_outputs))
    for block, part in _blocks(machine, rows):
        middle[block], radius[block] = _head(machine, part, machine.n_points)
    return middle, radius


def dense_decide(machine: Machine, rows: Any) -> tuple[Any, int, Any]:
    """Answers, kernel evaluations a row, and the numbers of the rows that rounding leaves open, or None."""
    middle, radius = interval(machine, rows)
    with np.errstate(over="ignore", invalid="ignore"):
        settled = settled_between(machine, rows, middle - radius, middle + radius)
        answers = machine.rule.answer(middle)
    return answers, machine.n_points, None if settled.all() else np.flatnonzero(~settled)


def settled_between(machine: Machine, rows: Any, low: Floats, high: Floats) -> Any:
    """Whether intervals settle the answers of rows, clear of the border by the machine's margin."""
    settled = [_settled(machine, part, low[block], high[block]) for block, part in _blocks(machine, rows)]
    return np.concatenate([np.empty(0, dtype=bool), *settled])


def _settled(machine: Machine, part: Floats, low: Floats, high: Floats) -> Any:
    """The same of mapped rows."""
    with np.errstate(over="ignore", invalid="ignore"):
        margins = margin(machine)(np.linalg.norm(part, axis=1))
        return machine.rule.settled(low - margins, high + margins)


def _head(machine: Machine, part: Any, budget: int) -> tuple[Floats, Floats]:
    """The bias and the first `budget` terms of mapped rows, and what rounding may have done to their sum."""
    points, weights = machine.points[:budget], machine.weights[:budget]
    values = machine.kernel.matrix(part, points)
    sizes = np.abs(values) @ np.abs(weights) + np.abs(machine.bias)
    errors = np.array([_row_value_error(machine, row, points) for row in part])
    rounding = (len(points) + 8) * UNIT * sizes + np.outer(errors, np.abs(weights).sum(axis=0))
    return values @ weights + machine.bias, rounding


def fast_stopping_interval(machine: Machine, rows: Any, budget: int) -> tuple[Floats, Floats]:
    """Low and high of every output of every row after the first `budget` terms: see `stages.fast_stopping`."""
    weights = machine.weights[budget:]
    sizes = np.abs(weights) * np.sqrt(machine.kernel.diagonal(machine.points[budget:]))[:, None]
    one_sided = machine.kernel.nonnegative
    lowering = np.where((weights < 0) | (not one_sided), sizes, 0).sum(axis=0)
    raising = np.where((weights > 0) | (not one_sided), sizes, 0).sum(axis=0)
    low, high = np.empty((2, rows.shape[0], machine.n_outputs))
    for block, part in _blocks(machine, rows):
        middle, rounding = _head(machine, part, budget)
        root = np.sqrt(machine.kernel.diagonal(part))[:, None] * (1 + 1e-9)
        low[block], high[block] = middle - rounding - root * lowering, middle + rounding + root * raising
    return low, high


def geometry_interval(machine: Machine, arrays: Arrays, rows: Any, budget: int) -> tuple[Floats, Floats]:
    """Middle and radius of every output of every row after `budget` landmarks: see `stages.geometry`."""
    middle, radius = np.empty((2, rows.shape[0], machine.n_outputs))
    for block, part in _blocks(machine, rows):
        middle[block], radius[block] = next(_geometry_steps(machine, arrays, part, [budget]))
    return middle, radius


def geometry_walk(machine: Machine, arrays: Arrays, row: Floats) -> Iterator[tuple[Floats, Floats]]:
    """Middle and radius of one row's outputs after each landmark."""
    [(_, part)] = _blocks(machine, row[None])
    for middle, radius in _geometry_steps(machine, arrays, part, range(1, len(arrays["points"]) + 1)):
        yield middle[0], radius[0]


def geometry_decide(machine: Machine, arrays: Arrays, rows: Any, budget: int) -> tuple[Any, Any, Any]:
    """Answers, whether each is settled, and how many landmarks that took, asked after every 16."""
    n, rule = rows.shape[0], machine.rule
    answers: Any = np.empty((n, machine.n_outputs)) if isinstance(rule, Value) else np.full(n, -1, dtype=np.intp)
    settled, steps = np.zeros(n, dtype=bool), np.full(n, budget)
    counts = [*range(16, budget, 16), budget]
    for block, part in _blocks(machine, rows):
        for done, (middle, radius) in zip(counts, _geometry_steps(machine, arrays, part, counts), strict=True):
            now = _settled(machine, part, middle - radius, middle + radius) & ~settled[block]
            copied = ~settled[block] if isinstance(rule, Value) else now
            answers[block][copied] = rule.answer(middle)[copied]
            steps[block][now] = done
            settled[block] |= now
    return answers, settled, steps


def _geometry_steps(
    machine: Machine, arrays: Arrays, rows: Floats, counts: Sequence[int]
) -> Iterator[tuple[Floats, Floats]]:
    """The interval of geometry.cpp for mapped rows, after each number of landmarks."""
    landmarks, factor = arrays["points"][: counts[-1]], arrays["factor"][: counts[-1], : counts[-1]]
    with np.errstate(over="ignore", invalid="ignore"):
        values = machine.kernel.matrix(rows, landmarks)
        own = machine.kernel.diagonal(rows)
        errors = np.array([_row_value_error(machine, row, landmarks) for row in rows])
    usable = np.isfinite(values).all(axis=1)  # of the others nothing is known
    q = solve_lower(factor, np.where(usable, values.T, 0.0)).T
    degree, d = getattr(getattr(machine.kernel, "kernel", machine.kernel), "degree", 1), rows.shape[1]
    for done in counts:
        gamma, row, k = (done + 20) * UNIT, q[:, :done], done - 1
        square = (row**2).sum(axis=1)
        root = np.sqrt(square + LOST_SQUARE)
        size = np.abs(row) @ arrays["norms"][:done] * (1 + gamma)
        mistake = np.sqrt(done) * errors + gamma * arrays["factor_norm"][k] * root
        far2 = own * (1 + (degree + 1) * (d + 12) * UNIT) + LOST_SQUARE - square * (1 - gamma)
        far2 += 2 * size * mistake + size**2 * arrays["factor_error"][k]
        rounding = np.outer(size, arrays["misfit"][k] + arrays["weight_norms"][k] * arrays["factor_error"][k])
        rounding += np.outer(mistake, arrays["weight_norms"][k])
        rounding += gamma * np.outer(root, arrays["coordinate_norms"][k]) + 2 * UNIT * np.abs(machine.bias)
        radius = (np.outer(np.sqrt(np.maximum(far2, 0)), arrays["rho"][k]) + rounding) * (1 + 1e-12)
        radius[~usable] = np.inf
        yield row @ arrays["coordinates"][:done] + machine.bias, radius


def reduced_set_interval(machine: Machine, arrays: Arrays, rows: Any, level: int) -> tuple[Floats, Floats]:
    """Middle and radius of every output of every row at a level: see `stages.reduced_set`."""
    reduced, rho = _reduced_machines(machine, arrays)[level]
    middle, radius = np.empty((2, rows.shape[0], machine.n_outputs))
    for block, part in _blocks(reduced, rows):
        middle[block], radius[block] = _reduced_interval(reduced, rho, part)
    return middle, radius


def reduced_set_decide(machine: Machine, arrays: Arrays, rows: Any) -> tuple[Any, Any, Any]:
    """Answers, whether each is settled, and the vectors that took."""
    n, rule = rows.shape[0], machine.rule
    answers: Any = np.empty((n, machine.n_outputs)) if isinstance(rule, Value) else np.full(n, -1, dtype=np.intp)
    settled, evaluations = np.zeros(n, dtype=bool), np.zeros(n, dtype=np.int64)
    levels = _reduced_machines(machine, arrays)
    for block, part in _blocks(levels[-1][0], rows):
        for reduced, rho in levels:
            waiting = np.arange(n)[block][~settled[block]]
            left = part[~settled[block]]
            middle, radius = _reduced_interval(reduced, rho, left)
            with np.errstate(over="ignore"):
                now = _settled(machine, left, middle - radius, middle + radius)
            copied = slice(None) if isinstance(rule, Value) else now
            answers[waiting[copied]] = rule.answer(middle)[copied]
            evaluations[waiting], settled[waiting] = reduced.n_points, now
    return answers, settled, evaluations


def _reduced_machines(machine: Machine, arrays: Arrays) -> list[tuple[Machine, Floats]]:
    """The machine of each level, and its rho."""
    sizes = arrays["sizes"].tolist()
    weights = np.split(arrays["weights"], np.cumsum(sizes)[:-1])
    points = [arrays["points"][:size] for size in sizes]
    machines = [replace(machine, points=z, weights=gamma) for z, gamma in zip(points, weights, strict=True)]
    return list(zip(machines, arrays["rho"], strict=True))


def _reduced_interval(reduced: Machine, rho: Floats, rows: Floats) -> tuple[Floats, Floats]:
    with np.errstate(over="ignore", invalid="ignore"):
        middle, rounding = _head(reduced, rows, reduced.n_points)
        root = np.sqrt(reduced.kernel.diagonal(rows)) * (1 + 1e-9) + LOST_LENGTH
        radius = rounding + np.outer(root, rho)
    usable = np.isfinite(middle) & np.isfinite(radius)  # of the others nothing is known
    return np.where(usable, middle, 0.0), np.where(usable, radius, np.inf)


def linear_filter_outputs(arrays: Arrays, rows: Any) -> Floats:
    """The linear machine's outputs: see `stages.linear_filter`."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(rows.astype(np.float64) @ arrays["vectors"].T + arrays["bias"])


def linear_filter_decide(machine: Machine, arrays: Arrays, rows: Any, low: Floats, high: Floats) -> tuple[Any, Any]:
    """Answers, and whether each is settled."""
    return crossed(machine.rule, linear_filter_outputs(arrays, rows), low, high)


def nearest_order(machine: Machine, arrays: Arrays, rows: Any) -> Any:
    """The points in the order that each row takes them, or -1: see `stages.nearest`."""
    count = int(arrays["steps"][-1])
    order = np.full((rows.shape[0], count), -1, dtype=np.int64)
    for block, part in _blocks(machine, rows):
        usable = _usable(part)
        if len(arrays["centers"]):
            found = arrays["orders"][nearest_cells(arrays["centers"], part[usable] @ arrays["basis"].T)]
        else:
            sizes = scores(machine, foreseen(machine, arrays["basis"], part[usable]))
            found = np.array([tug_of_war(machine, row, count) for row in sizes], dtype=np.int64).reshape(-1, count)
        order[block][usable] = found
    return order


def nearest_sums(machine: Machine, arrays: Arrays, rows: Any) -> tuple[Floats, Any]:
    """The partial sums after each step, rows x steps x outputs, NaN where numbers are too large, and the cells."""
    order, steps = nearest_order(machine, arrays, rows), arrays["steps"]
    sums, cells = np.full((rows.shape[0], len(steps), machine.n_outputs), np.nan), np.zeros(rows.shape[0], np.int64)
    for block, part in _blocks(machine, rows):
        before = _foreseen(machine, arrays, part)
        for i, x, known in zip(range(block.start, block.stop), part, before, strict=True):
            if order[i, 0] >= 0:
                values = machine.kernel.matrix(x[None], machine.points[order[i]])[0] - known[order[i]]
                first = machine.bias + known @ machine.weights
                sums[i] = np.cumsum(np.vstack([first, machine.weights[order[i]] * values[:, None]]), axis=0)[steps]
                if len(arrays["centers"]):
                    [cells[i]] = nearest_cells(arrays["centers"], x[None] @ arrays["basis"].T)
    return sums, cells


def _foreseen(machine: Machine, arrays: Arrays, rows: Floats) -> Floats:
    """What counts for the values of terms still to come, rows x points."""
    if not arrays["foresight"].any():
        return np.zeros((len(rows), machine.n_points))
    return np.asarray(arrays["foresight"] * foreseen(machine, arrays["basis"], rows))


def nearest_decide(machine: Machine, arrays: Arrays, rows: Any, low: Floats, high: Floats) -> tuple[Any, Any, Any]:
    """Answers, whether each is settled, and the terms that took; low and high: steps x cells x outputs."""
    sums, cells = nearest_sums(machine, arrays, rows)
    answers, settled = np.full(len(cells), -1, dtype=np.intp), np.zeros(len(cells), dtype=bool)
    terms = np.where(np.isnan(sums).all(axis=(1, 2)), 0, arrays["steps"][-1])
    for step, count in enumerate(arrays["steps"]):
        found, now = crossed(machine.rule, sums[:, step], low[step, cells], high[step, cells])
        now &= ~settled
        answers[now], terms[now] = found[now], count
        settled |= now
    return answers, settled, terms


def nearest_cells(centers: Floats, z: Floats) -> Any:
    """The cell whose centre each row is nearest to, in few coordinates."""
    return (z @ centers.T - np.einsum("ij,ij->i", centers, centers) / 2).argmax(axis=1)


def tree_walk(machine: Machine, tree: Tree, rows: Any) -> Walk:
    """Where rows come out of a tree."""
    with np.errstate(over="ignore", invalid="ignore"):
        walks = [tree.walk(machine.kernel, part) for _, part in _blocks(machine, rows)]
    nothing = Walk(np.empty((0, tree.n_outputs)), np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
    return Walk(*(np.concatenate(parts) for parts in zip(nothing, *walks, strict=True)))


def tree_decide(machine: Machine, tree: Tree, half_widths: Floats, rows: Any) -> tuple[Any, Any, Any]:
    """Answers, whether each is settled, and the kernel values that took; half_widths: terminals x outputs."""
    values, terminals, evaluations = tree_walk(machine, tree, rows)
    usable, radius = np.asarray(np.isfinite(values).all(axis=1)), half_widths[terminals]
    middle = np.where(usable[:, None], values, 0.0)
    settled = machine.rule.settled(middle - radius, middle + radius) & usable
    if isinstance(machine.rule, Value):
        return machine.rule.answer(values), settled, evaluations
    return np.where(settled, machine.rule.answer(middle), -1), settled, evaluations


def _usable(rows: Floats) -> Any:
    """Rows whose numbers the native core's floats have room for."""
    with np.errstate(over="ignore"):
        squares = np.einsum("ij,ij->i", rows, rows)
    return squares < 1e76


def _row_value_error(machine: Machine, row: Floats, landmarks: Floats) -> float:
    """A bound on the error of the kernel values of one mapped row, what rounding the map's result does included.

    The values of a Python function are taken as it gives them.
    """
    if isinstance(machine.kernel, Custom):
        return 0.0
    kernel = machine.kernel.kernel if isinstance(machine.kernel, Normalized) else machine.kernel
    mapped = 2 * UNIT * math.sqrt(kernel.gamma) * float(np.linalg.norm(row)) if isinstance(kernel, RBF) else 0.0
    return kernel_value_error(machine.kernel, row[None], landmarks) + mapped
