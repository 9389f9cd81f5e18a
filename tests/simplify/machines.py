"""Random machines for the tests of rewrites, and what it means for two machines to agree."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import mpmath
import numpy as np
from hypothesis import strategies as st

from dormie.machine import Affine, Floats, Machine
from dormie.machine.kernels import RBF, Kernel, Linear, Normalized, Polynomial, Sigmoid
from dormie.machine.rules import Rule, Value
from dormie.numerics import reference
from dormie.simplify import Rewrite

KERNELS: tuple[Kernel, ...] = (
    Linear(),
    Polynomial(gamma=0.5, coef0=1.0, degree=3),
    RBF(gamma=0.3),
    Sigmoid(gamma=0.2, coef0=-0.1),
    Normalized(Polynomial(gamma=1.0, coef0=0.5, degree=2)),
)


def machine_of(
    kernel: Kernel,
    points: Any,
    weights: Any,
    bias: Any = 0.0,
    rule: Rule | None = None,
    input_map: Affine | None = None,
) -> Machine:
    """A machine of lists and numbers, whose outputs are its answers unless a rule says otherwise."""
    return Machine(kernel, points, weights, bias, rule or Value(flat=False), input_map)


def affine(center: Any, scale: Any) -> Affine:
    return Affine(center, scale)


@st.composite
def machines(draw: st.DrawFn, kernels: tuple[Kernel, ...] = KERNELS, least: int = 0) -> tuple[Machine, Floats]:
    """A machine with repeated points, some negative zeros and many zero weights, and rows for it."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    count, d, c = draw(st.integers(least, 12)), draw(st.integers(1, 5)), draw(st.integers(1, 4))
    points = rng.normal(size=(count, d)) + draw(st.sampled_from([0.0, 3.0]))
    if count:
        points = points[rng.integers(0, count, size=count)] * rng.choice([0.0, -0.0, 1.0], p=[0.1, 0.1, 0.8], size=d)
    weights = rng.normal(size=(count, c)) * rng.choice([0.0, 1.0], size=(count, 1))
    mapped = Affine(rng.normal(size=d), rng.uniform(0.5, 2.0, size=d) * rng.choice([-1.0, 1.0], size=d))
    input_map = draw(st.sampled_from([None, mapped]))
    machine = Machine(draw(st.sampled_from(kernels)), points, weights, rng.normal(size=c), Value(flat=False), input_map)
    return machine, rng.normal(size=(6, d)) * 2


def scale(machine: Machine, rows: Floats) -> Floats:
    """What rounding is measured against; a linear kernel rounds inside its dot products as well."""
    if isinstance(machine.kernel, Linear):
        mapped = rows if machine.input_map is None else machine.input_map(rows)
        sizes = np.abs(mapped) @ np.abs(machine.points).T @ np.abs(machine.weights)
    else:
        sizes = reference.absolute_sums(machine, rows)
    return np.asarray(sizes + np.abs(machine.bias))


def assert_same_outputs(before: Machine, after: Machine, rows: Floats, within: float = 1e-12) -> None:
    change = np.abs(reference.outputs(after, rows) - reference.outputs(before, rows))
    assert change.shape == (len(rows), before.n_outputs)
    assert (change <= within * scale(before, rows)).all(), change / scale(before, rows)


def assert_rest_unchanged(before: Machine, after: Machine, *changed: str) -> None:
    """Every field but the ones named is the very same."""
    for name in set(vars(before)) - set(changed):
        mine, theirs = getattr(before, name), getattr(after, name)
        assert mine is theirs or np.array_equal(mine, theirs), name


def assert_fewer_points(rewrite: Rewrite, before: Machine, rows: Floats) -> Machine:
    """What the rewrite makes of a machine: the same outputs from fewer points, and nothing more to do."""
    after = rewrite.apply(before)
    assert_same_outputs(before, after, rows)
    assert_rest_unchanged(before, after, "points", "weights")
    assert after.n_points < before.n_points
    assert not rewrite.accepts(after)
    return after


def random_machine(kernel: Kernel, count: int = 40, d: int = 3, c: int = 1, seed: int = 0) -> tuple[Machine, Floats]:
    """A machine without anything special, and 20 rows for it."""
    rng = np.random.default_rng(seed)
    machine = machine_of(kernel, rng.normal(size=(count, d)), rng.normal(size=(count, c)), rng.normal(size=c))
    return machine, rng.normal(size=(20, d)) * 2


def exact_outputs(machine: Machine, rows: Floats) -> list[list[Any]]:
    """The real-number outputs of a linear, RBF or polynomial machine, normalised or not, to 60 digits."""
    with mpmath.workdps(60):
        return [[_exact_output(machine, row, k) for k in range(machine.n_outputs)] for row in rows]


def exact_change(before: Machine, after: Machine, rows: Floats) -> Floats:
    """How far apart the real-number outputs of two machines are."""
    pairs = zip(exact_outputs(before, rows), exact_outputs(after, rows), strict=True)
    return np.array([[float(abs(a - b)) for a, b in zip(*pair, strict=True)] for pair in pairs])


def _exact_output(machine: Machine, row: Floats, output: int) -> Any:
    x = [mpmath.mpf(value) for value in row]
    if machine.input_map is not None:
        x = [(v - c) / a for v, c, a in zip(x, machine.input_map.center, machine.input_map.scale, strict=True)]
    terms = [
        mpmath.mpf(weight) * _exact_kernel(machine.kernel, x, point)
        for weight, point in zip(machine.weights[:, output], machine.points, strict=True)
    ]
    return mpmath.fsum(terms) + mpmath.mpf(machine.bias[output])


def _exact_kernel(kernel: Kernel, x: list[Any], point: Any) -> Any:
    if isinstance(kernel, RBF):
        squares = [(v - mpmath.mpf(s)) ** 2 for v, s in zip(x, point, strict=True)]
        return mpmath.exp(-mpmath.mpf(kernel.gamma) * mpmath.fsum(squares))
    if isinstance(kernel, Normalized):
        squares = [_exact_kernel(kernel.kernel, u, u) for u in (x, [mpmath.mpf(s) for s in point])]
        return _exact_kernel(kernel.kernel, x, point) / mpmath.sqrt(squares[0] * squares[1]) if all(squares) else 0
    product = mpmath.fsum(v * mpmath.mpf(s) for v, s in zip(x, point, strict=True))
    if isinstance(kernel, Polynomial):
        return (mpmath.mpf(kernel.gamma) * product + mpmath.mpf(kernel.coef0)) ** kernel.degree
    assert isinstance(kernel, Linear)
    return product


def with_names(machine: Machine) -> Machine:
    return replace(machine, feature_names=tuple(f"feature {j}" for j in range(machine.n_features)))
