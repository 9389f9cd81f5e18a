"""What rewriting moves the outputs by is within what it says, and no more than the rounding of a sum or so."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from dormie.machine import Affine, Floats, Machine
from dormie.machine.kernels import RBF, Kernel, Linear, Normalized, Polynomial
from dormie.machine.margin import Margin
from dormie.machine.rules import Value
from dormie.numerics.rounding import margin, remapped_margin, source_rounding
from dormie.simplify import REWRITES, simplify
from tests.oracles import long_double
from tests.properties.strategies import POINTS, adversarial_machines, by_hand

KERNELS: tuple[Kernel, ...] = (
    Linear(),
    Polynomial(0.5, 1.0, 2),
    Polynomial(0.5, 0.0, 2),
    Polynomial(0.3, -0.7, 3),
    Normalized(Polynomial(1.0, 1.0, 2)),
    Normalized(Linear()),
    RBF(0.7),
)


def _deviates_as_stated(made: Machine, rows: Floats) -> Machine:
    with np.errstate(all="ignore"):
        after, _ = simplify(made)
        before, now = long_double.outputs(made, rows), long_double.outputs(after, rows)
        if after.origin is None:
            np.testing.assert_array_equal(before, now)
            return after
        mapped: Any = np.asarray(rows, dtype=np.longdouble)
        if after.input_map is not None:
            mapped = (mapped - after.input_map.center) / after.input_map.scale.astype(np.longdouble)
        allowed = after.origin.deviation(np.sqrt((mapped**2).sum(axis=1)).astype(np.float64))
        oracle = source_rounding(made)(np.sqrt((mapped**2).sum(axis=1)).astype(np.float64)) * 2.0**-10
        compared = np.isfinite(before.astype(np.float64)) & np.isfinite(allowed)
        assert (np.abs(before - now) <= allowed + oracle)[compared].all()
    return after


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("style", ["ordinary", "whole", "far off", "near duplicates", "two clusters"])
@pytest.mark.parametrize("with_map", [False, True])
def test_outputs_move_no_further_than_stated(kernel: Kernel, style: str, with_map: bool) -> None:
    rng = np.random.default_rng([len(style), with_map])
    points, weights = POINTS[style](rng, (60, 3)), rng.normal(size=(60, 1))
    input_map = Affine(rng.normal(size=3) * 5, rng.uniform(0.2, 3, size=3)) if with_map else None
    made = replace(by_hand(kernel, points, weights, 0.3), input_map=input_map)
    rows = points[rng.integers(60, size=200)] + rng.normal(size=(200, 3)) * 10.0 ** rng.uniform(-6, 2, size=(200, 1))
    after = _deviates_as_stated(made, rows if input_map is None else input_map.inverse(rows))
    if after.origin is not None and style in ("ordinary", "whole"):
        norms = np.linalg.norm(rows, axis=1)
        assert (after.origin.deviation(norms) <= 40 * source_rounding(made)(norms) + 1e-12).all()


@settings(max_examples=200)
@given(adversarial_machines())
def test_outputs_of_extreme_machines_move_no_further_than_stated(case: tuple[Machine, Floats]) -> None:
    _deviates_as_stated(*case)


def test_dropping_zero_weights_keeps_the_sum_as_it_was() -> None:
    made = by_hand(RBF(1.0), [[0.0], [1.0], [2.0]], [1.0, 0.0, -1.0])
    after, applied = simplify(made)
    assert applied == ("drop_zero_weights",)
    assert after.origin is None


def test_margins_by_rows_under_another_map_hold() -> None:
    rng = np.random.default_rng(5)
    old, new = (Affine(rng.normal(size=4) * 3, rng.uniform(0.1, 5, size=4)) for _ in range(2))
    margin_of_old = Margin(np.array([0.1]), np.array([1.0]), 2.0, 0.3, 2)
    rows = rng.normal(size=(100, 4)) * 10
    before, after = (Machine(RBF(1.0), np.zeros((1, 4)), [1.0], 0.0, Value(), input_map) for input_map in (old, new))
    by_new = remapped_margin(margin_of_old, before, after)(np.linalg.norm(new(rows), axis=1))
    assert (by_new >= margin_of_old(np.linalg.norm(old(rows), axis=1))).all()


def test_values_have_no_decision_boundary() -> None:
    classes = by_hand(RBF(1.0), [[0.0], [1.0]], [1.0, -1.0])
    assert margin(classes)
    assert not margin(replace(classes, rule=Value()))


def test_every_rewrite_states_what_it_moves() -> None:
    assert all(callable(rewrite.deviation) for rewrite in REWRITES.values())
