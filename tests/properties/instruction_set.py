"""The checks that every instruction set must pass, for a process that runs under one of them (DORMIE_ISA)."""

from __future__ import annotations

import numpy as np

from dormie.numerics import backend as native
from tests.properties import checks
from tests.properties.strategies import KERNELS, machine

EXP2_ERROR = 4.0  # exp2_error_units, as ops.hpp states it


def check_all() -> None:
    """Raise at the first thing that is wrong; else print the name of the instruction set that was checked."""
    check_exp2(200_000)
    for kernel in KERNELS:
        for count, features, outputs in [(1, 1, 1), (33, 65, 3), (257, 5, 10), (70, 130, 1)]:
            made, rows = machine(kernel, count, features, outputs)
            checks.outputs_agree(made, rows)
            checks.answers_agree(made, rows)
            checks.outputs_do_not_depend_on_company(made, rows)
        checks.intervals_hold(*machine(kernel, 35, 3, 3))
    print(native.info()["instruction_set"])


def check_exp2(samples: int) -> None:
    """The stated error over the whole range, at its ends, beside whole numbers and halves, and near 0."""
    rng = np.random.default_rng(5)
    for dtype, least in ((np.float32, -126.0), (np.float64, -1022.0)):
        halves = np.arange(2 * least, 1) / 2
        near_zero = -(10.0 ** rng.uniform(-30, 0, size=samples // 10))
        x = np.concatenate([rng.uniform(least, 0, size=samples), halves, near_zero]).astype(dtype)
        beside = np.concatenate([np.nextafter(x, dtype(0)), np.nextafter(x, dtype(least))])
        assert checks.exp2_error(np.concatenate([x, beside])) <= EXP2_ERROR
        outside = np.array(
            [np.nextafter(dtype(least), dtype(-2000)), -1e4, -np.inf, np.nan, 0.0, 1.0, np.inf], dtype=dtype
        )
        assert checks.exp2(outside).tolist() == [0, 0, 0, 0, 1, 1, 1]
