"""Machines and rows to try things on: everyday ones, and ones made to break a certificate.

Shapes and styles come from hypothesis, which shrinks them; the numbers inside come from a seeded generator.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st
from scipy.sparse import csr_array

from dormie.machine import Affine, Floats, Machine
from dormie.machine.kernels import (
    RBF,
    AdditiveChi2,
    Chi2,
    Custom,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Normalized,
    Polynomial,
    RationalQuadratic,
    Sigmoid,
)
from dormie.machine.preparation import Arithmetic, Clip, Columns, Normalize, Preparation, Projection, Step
from dormie.machine.rules import Argmax, OneVsOneVote, Rule, Sign, Value

KERNELS: tuple[Kernel, ...] = (
    Linear(),
    Polynomial(gamma=0.5, coef0=1.0, degree=3),
    Polynomial(gamma=0.1, coef0=-0.5, degree=2),
    RBF(gamma=0.2),
    Sigmoid(gamma=0.3, coef0=-0.2),
    Normalized(Linear()),
    Normalized(Polynomial(gamma=0.7, coef0=0.0, degree=2)),
    Normalized(Polynomial(gamma=0.7, coef0=0.5, degree=4)),
    Normalized(RBF(gamma=0.2)),
    Matern(1.5, 1.5),
    Matern(2.5, 2.0),
    RationalQuadratic(0.7, 1.5),
)
# These are worked out from differences of coordinates, by fewer methods.
BY_DIFFERENCES: tuple[Kernel, ...] = (Matern(0.5, 2.0), Laplacian(0.2), Chi2(0.3), AdditiveChi2())

# None of these is surely an inner product, so that geometric bounds do not hold, or are not known to.
UNCERTIFIABLE: dict[str, Kernel] = {
    "sigmoid": Sigmoid(0.1, 0.2),
    "negative coef0": Polynomial(0.5, -0.1, 2),
    "custom": Custom(lambda a, b: a @ b.T),
}

Generator = np.random.Generator
Style = Callable[[Generator, tuple[int, int]], Floats]


def by_hand(kernel: Kernel, points: Any, weights: Any, bias: Any = 0.0, rule: Rule | None = None) -> Machine:
    """A machine of lists and numbers; the sign of its one output is its answer unless a rule says otherwise."""
    return Machine(kernel, points, weights, bias, rule or Sign(np.array([-1, 1])))


def rule_for(outputs: int, seed: int = 0) -> Rule:
    """A class rule that reads that many outputs, with the variants of each in turn."""
    if outputs == 1:
        return Sign(np.array([-1, 1]), zero=seed % 2)
    classes = next((k for k in range(3, 12) if k * (k - 1) // 2 == outputs), None)
    if classes is None or seed % 3 == 0:
        return Argmax(np.arange(outputs), last_of_equal=bool(seed % 2))
    return OneVsOneVote(np.arange(classes), break_ties=bool(seed % 2))


def sparse_weights(rng: Generator, count: int, outputs: int) -> Floats:
    """As a one-vs-one machine has them: every point serves some outputs, in runs of points."""
    weights = rng.normal(size=(count, outputs))
    if outputs > 2:
        group = np.sort(rng.integers(0, outputs, size=count))
        weights[np.abs(group[:, None] - np.arange(outputs)) > outputs // 3] = 0
    return weights


def machine(kernel: Kernel, count: int, features: int, outputs: int = 1, seed: int = 0) -> tuple[Machine, Floats]:
    """An everyday machine and 9 rows for it, with zeros, a zero point and a zero row among them."""
    rng = np.random.default_rng([count, features, outputs, seed])
    points = rng.normal(size=(count, features)) / np.sqrt(features) * 2
    rows = rng.normal(size=(9, features)) / np.sqrt(features) * 2
    rows[3:6][rng.random((3, features)) < 0.8] = 0
    rows[8] = 0
    if count > 2:
        points[1] = 0
        rows[0] = points[2]
    weights = sparse_weights(rng, count, outputs)
    if takes_shares(kernel):
        points, rows = np.abs(points), np.abs(rows)
    return Machine(kernel, points, weights, rng.normal(size=outputs), rule_for(outputs, seed)), rows


def takes_shares(kernel: Kernel) -> bool:
    """Whether the kernel is defined for vectors without negative coordinates alone."""
    return isinstance(kernel, Chi2 | AdditiveChi2)


@st.composite
def machines(draw: st.DrawFn) -> tuple[Machine, Floats]:
    """Everyday machines of all shapes and rules, with and without an input map."""
    count = draw(st.sampled_from([0, 1, 2, 7, 31, 32, 33, 100, 255, 256, 257, 300]))
    features = draw(st.sampled_from([1, 2, 3, 17, 63, 64, 65, 130, 200]))
    outputs = draw(st.sampled_from([1, 1, 3, 6, 10, 45]))
    made, rows = machine(
        draw(st.sampled_from(KERNELS + BY_DIFFERENCES)), count, features, outputs, draw(st.integers(0, 1000))
    )
    if draw(st.booleans()):
        rng = np.random.default_rng(features)
        input_map = Affine(rng.normal(size=features), rng.uniform(0.5, 2, size=features))
        made = Machine(made.kernel, made.points, made.weights, made.bias, made.rule, input_map)
    return without_negatives(made, rows) if draw(st.booleans()) or takes_shares(made.kernel) else (made, rows)


def prepared(made: Machine, rows: Floats, rng: Generator) -> tuple[Machine, Floats]:
    """The machine behind a few steps of random numbers, and rows that are prepared to about these."""
    d = made.n_features
    wider = d + int(rng.integers(0, 4))
    steps: list[Step] = [
        Arithmetic("subtract", rng.normal(size=wider)),
        Arithmetic("divide", rng.uniform(0.5, 2, size=wider)),
        Columns(rng.permutation(wider)[:d], wider),
    ]
    if rng.random() < 0.7:
        steps.append(Projection(rng.normal(size=(d, d)) / np.sqrt(d)))
    if rng.random() < 0.3:
        steps.append(Clip(-3.0, 3.0, d))
    if rng.random() < 0.3:
        steps.append(Normalize("l2", d))
    preparation = Preparation(wider, steps)
    before = preparation.inverse(rows if made.input_map is None else made.input_map.inverse(rows))
    return made.behind(preparation), np.asarray(np.clip(np.nan_to_num(before), -1e300, 1e300))


@st.composite
def prepared_machines(draw: st.DrawFn, cases: st.SearchStrategy[tuple[Machine, Floats]]) -> tuple[Machine, Floats]:
    """Such machines behind a preparation, but none whose kernel takes shares: prepared rows have any sign."""
    made, rows = draw(cases.filter(lambda case: not takes_shares(case[0].kernel)))
    return prepared(made, rows, np.random.default_rng(draw(st.integers(0, 1000))))


@st.composite
def sparse_machines(draw: st.DrawFn, cases: st.SearchStrategy[tuple[Machine, Floats]]) -> tuple[Machine, Floats]:
    """Such machines with sparse points: most coordinates are 0, of rows too, and no input map moves zeros."""
    made, rows = draw(cases.filter(lambda case: case[0].kernel.of_inner_products))
    rng, share = np.random.default_rng(draw(st.integers(0, 1000))), draw(st.sampled_from([0.02, 0.2, 0.7, 1.0]))
    points = np.where(rng.random(made.points.shape) < share, made.points, 0.0)
    rows = np.where(rng.random(rows.shape) < max(share, 0.2), rows, 0.0)
    scale = None if made.input_map is None else made.input_map.scale
    input_map = None if scale is None else Affine(np.zeros(made.n_features), scale)
    return Machine(made.kernel, csr_array(points), made.weights, made.bias, made.rule, input_map), rows


def without_negatives(made: Machine, rows: Floats) -> tuple[Machine, Floats]:
    """The machine without negative coordinates of points, and mapped rows of which only the first may have some."""
    center, scale = (0.0, 1.0) if made.input_map is None else (made.input_map.center, made.input_map.scale)
    folded = center + np.abs(rows - center) * np.sign(scale)
    if not takes_shares(made.kernel):
        folded[:1] = rows[:1]
    return replace(made, points=np.abs(made.points)), folded


def _log_uniform(rng: Generator, shape: Any, low: float, high: float) -> Floats:
    return np.asarray(10.0 ** rng.uniform(low, high, size=shape) * rng.choice([-1.0, 1.0], size=shape))


def _near_duplicates(rng: Generator, shape: tuple[int, int]) -> Floats:
    return np.asarray(rng.normal(size=shape[1]) * (1 + rng.normal(size=shape) * 1e-9))


def _alternating(rng: Generator, shape: tuple[int, int]) -> Floats:
    """Huge weights of turning sign, and small ones beside them: nearly all of a sum cancels."""
    huge = 10.0 ** rng.uniform(0, 30)
    return np.asarray(np.where(np.arange(shape[0]) % 2, -1.0, 1.0)[:, None] * huge + rng.normal(size=shape))


def _two_clusters(rng: Generator, shape: tuple[int, int]) -> Floats:
    """Ordinary points, half of them so far off that squares of their distance leave no digits for what is near."""
    points = rng.normal(size=shape)
    points[: shape[0] // 2, 0] += 10.0 ** rng.uniform(4, 12)
    return np.asarray(points)


def _timestamps(rng: Generator, shape: tuple[int, int]) -> Floats:
    """Milliseconds of a year in the first column, ordinary numbers beside them."""
    points = rng.normal(size=shape)
    points[:, 0] = np.round(1.6e12 + rng.uniform(0, 3.15e10, size=shape[0]))
    return np.asarray(points)


POINTS: dict[str, Style] = {
    "ordinary": lambda rng, shape: rng.normal(size=shape),
    "whole": lambda rng, shape: rng.integers(-3, 4, size=shape).astype(np.float64),
    "far off": lambda rng, shape: rng.normal(size=shape) + 10.0 ** rng.uniform(1, 6),
    "near duplicates": _near_duplicates,
    "two clusters": _two_clusters,
    "timestamps": _timestamps,
    "mixed sizes": lambda rng, shape: _log_uniform(rng, shape, -6, 6),
    "any size": lambda rng, shape: _log_uniform(rng, shape, -300, 300),
    "tiny": lambda rng, shape: _log_uniform(rng, shape, -50, -35),
    "subnormal": lambda rng, shape: _log_uniform(rng, shape, -323, -140),
    "zero": lambda _, shape: np.zeros(shape),
}
WEIGHTS: dict[str, Style] = {
    "ordinary": lambda rng, shape: rng.normal(size=shape),
    "one sign": lambda rng, shape: rng.uniform(0.5, 1, size=shape),
    "alternating": _alternating,
    "mixed sizes": lambda rng, shape: _log_uniform(rng, shape, -30, 30),
    "any size": lambda rng, shape: _log_uniform(rng, shape, -300, 300),
    "near the top of float": lambda rng, shape: _log_uniform(rng, shape, 30, 38.5),
    "near the bottom of float": lambda rng, shape: _log_uniform(rng, shape, -46, -36),
    "many zeros": lambda rng, shape: rng.normal(size=shape) * rng.choice([0.0, 1.0], size=shape),
}


def _around(rng: Generator, points: Floats, count: int) -> Floats:
    """Rows at points, beside them, between them, and a little or very far outside."""
    if not len(points):
        return np.asarray(_log_uniform(rng, (count, points.shape[1]), -300, 300))
    a, b = points[rng.integers(0, len(points), size=(2, count))]
    share = rng.choice([0.0, 0.0, 1e-7, 1e-3, 0.5, -1.0, 1e3, 1e12, 1e40], size=(count, 1))
    toward = np.where(rng.random(points.shape[1]) < 0.5, b, a)
    with np.errstate(over="ignore"):
        rows = a + share * (toward - a)
    return np.asarray(np.clip(rows, -1e300, 1e300))


@st.composite
def adversarial_kernels(draw: st.DrawFn) -> Kernel:
    gamma = 10.0 ** draw(st.floats(-6, 6))
    coef0 = draw(st.sampled_from([0.0, 1.0, 1e-3, 1e3, 1e-30, 1e20, 1e77, 1e80]))
    degree = draw(st.integers(1, 9))
    length_scale, alpha = gamma**-0.5, 10.0 ** draw(st.floats(-3, 5))
    return draw(
        st.sampled_from(
            [
                Linear(),
                Polynomial(gamma, coef0, degree),
                Polynomial(gamma, -coef0, degree),
                RBF(gamma),
                Sigmoid(gamma, coef0),
                Sigmoid(-gamma, coef0),
                Normalized(Linear()),
                Normalized(Polynomial(gamma, coef0, degree)),
                Normalized(RBF(gamma)),
                Matern(0.5, length_scale),
                Matern(1.5, length_scale),
                Matern(2.5, length_scale),
                RationalQuadratic(alpha, length_scale),
                Laplacian(gamma),
                Chi2(gamma),
                AdditiveChi2(),
            ]
        )
    )


@st.composite
def adversarial_machines(draw: st.DrawFn) -> tuple[Machine, Floats]:
    """Small machines at the edges of floating point, and rows that go further."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    count, features = draw(st.integers(0, 12)), draw(st.integers(1, 4))
    outputs = draw(st.sampled_from([1, 1, 3]))
    points = POINTS[draw(st.sampled_from(sorted(POINTS)))](rng, (count, features))
    weights = WEIGHTS[draw(st.sampled_from(sorted(WEIGHTS)))](rng, (count, outputs))
    bias = rng.normal(size=outputs) * draw(st.sampled_from([0.0, 1.0, 1e-30, 1e10]))
    tolerance = draw(st.sampled_from([None, None, None, 0.0, 1e-5, 1.0]))
    rule = rule_for(outputs, draw(st.integers(0, 5))) if tolerance is None else Value(tolerance, flat=False)
    input_map, rows = None, _around(rng, points, 5)
    if draw(st.integers(0, 3)) == 0:
        input_map = Affine(_log_uniform(rng, features, -3, 6), _log_uniform(rng, features, -3, 3))
        rows = np.clip(rows, -1e290, 1e290) * input_map.scale + input_map.center
    kernel = draw(adversarial_kernels())
    made = Machine(kernel, np.abs(points) if takes_shares(kernel) else points, weights, bias, rule, input_map)
    return without_negatives(made, rows) if draw(st.booleans()) or takes_shares(kernel) else (made, rows)


def pixels(
    kernel: Kernel, count: int, features: int, outputs: int, unit: float, seed: int = 0
) -> tuple[Machine, Floats]:
    """Points that are multiples of a unit, 0 to 255 times, most of them 0; and rows of all kinds, points among them."""
    rng = np.random.default_rng([seed, count, features])

    def drawn(n: int) -> Floats:
        return np.asarray(unit * (rng.integers(0, 256, (n, features)) * (rng.random((n, features)) < 0.2)))

    points = drawn(count)
    made, _ = machine(kernel, count, features, outputs, seed)
    size = float(np.linalg.norm(points, axis=1).max())
    anywhere = rng.normal(size=(6, features)) * size / np.sqrt(features)
    near = points[:3] + 1e-6 * size * rng.normal(size=(min(count, 3), features))
    rows = np.vstack([drawn(6), anywhere, points[:3], near, np.zeros((1, features)), 30 * anywhere[:2]])
    return replace(made, points=points), rows
