"""Writes what the C++ tests check: machines, fitted stages, rows, and the real numbers that their outputs are.

    python -m tests.cpp.write_cases FILE

Python fits, `mpmath` evaluates (tests/oracles); the C++ program (certified.cpp) has the native core alone, so it runs
where there is no Python, such as under an emulator of another processor. A case is lines of a name and numbers, from
`case` to `end`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any
from unittest.mock import patch

import mpmath
import numpy as np

from dormie.machine import Affine, Floats, Machine
from dormie.machine.kernels import RBF, Polynomial
from dormie.machine.rules import OneVsOneVote, Sign
from dormie.methods.champion import Champion
from dormie.methods.fast_stopping import FastStopping
from dormie.methods.fitting import CannotFit
from dormie.methods.geometry import Geometry
from dormie.methods.reduced_set import ReducedSet
from dormie.numerics import backend
from tests.oracles import full_sum as oracle
from tests.properties.strategies import (
    BY_DIFFERENCES,
    KERNELS,
    POINTS,
    WEIGHTS,
    by_hand,
    machine,
    takes_shares,
    without_negatives,
)

_SHAPES = [(100, 17, 1, 2), (70, 130, 3, 2), (40, 3, 6, 0), (257, 2, 1, 1)]  # points, features, outputs, seed
_LANDMARKS = 12


class _Recorder:
    """Stands in for the native module, and notes what each of its objects is made with."""

    def __init__(self) -> None:
        self._module = backend.extension
        self._made: dict[int, tuple[Any, tuple[Any, ...]]] = {}

    def __getattr__(self, name: str) -> Any:
        def make(*arguments: Any) -> Any:
            made = getattr(self._module, name)(*arguments)
            self._made[id(made)] = made, arguments
            return made

        return make

    def arguments(self, made: Any) -> tuple[Any, ...]:
        """Those of an object of the native module, a machine among them replaced by its own."""
        machine, *others = self._made[id(made)][1]
        return (self._made[id(machine)][1], *others)


def _machines() -> Iterator[tuple[Machine, Floats]]:
    """Everyday ones with every kernel, and small ones at the edges of floating point."""
    for kernel, (count, features, outputs, seed) in product(KERNELS + BY_DIFFERENCES, _SHAPES):
        made, rows = machine(kernel, count, features, outputs, seed)
        if outputs == 3:
            rng = np.random.default_rng(seed)
            map_ = Affine(rng.normal(size=features), rng.uniform(0.5, 2, size=features))
            made = Machine(made.kernel, made.points, made.weights, made.bias, made.rule, map_)
        yield without_negatives(made, rows) if takes_shares(kernel) else (made, rows)
    rng = np.random.default_rng(0)
    for kernel, points, weights in product((RBF(0.7), Polynomial(0.5, 1.0, 3)), POINTS.values(), WEIGHTS.values()):
        where = points(rng, (7, 3))
        yield by_hand(kernel, where, weights(rng, (7, 1))), np.vstack([where[:2], where[2:4] * 1.5, where[4:5] + 1])


def _stages(made: Machine) -> Iterator[tuple[str, Any]]:
    """The name of each certified stage that can be fitted, and its native object."""
    native: Any = backend.native_machine(made)
    yield "dense", backend.extension.Dense(native)
    few = made.points[: min(_LANDMARKS, made.n_points)]
    makers: dict[str, Callable[[], Any]] = {
        "fast_stopping": lambda: FastStopping(made),
        "geometry": lambda: Geometry.build(made, few),
        "reduced_set": lambda: ReducedSet.project(made, few, sorted({max(1, len(few) // 2), len(few)})),
        "champion": lambda: Champion(made, ReducedSet.project(made, few, [len(few)]).levels),
    }
    for name, make in makers.items():
        try:
            yield name, make()._core
        except (ValueError, CannotFit):  # it does not serve this machine
            continue


def _answer(made: Machine, outputs: list[Any]) -> int:
    """The number of the class that real outputs have."""
    match made.rule:
        case Sign(zero=zero):
            return oracle.sign(outputs, zero)
        case OneVsOneVote(classes=classes):
            return oracle.vote(outputs, len(classes))
    return oracle.argmax(outputs, made.rule.last_of_equal)  # type: ignore[attr-defined]


def _line(name: str, numbers: Any) -> str:
    return " ".join([name, *(float(number).hex() for number in np.ravel(numbers))]) + "\n"


def _case(name: str, arguments: tuple[Any, ...], rows: Floats, exact: list[list[Any]], answers: list[int]) -> str:
    (kernel, rule, points, weights, bias, center, scale, margin, preparation, rough), *rest = arguments
    assert preparation is None, "the C++ program knows no preparation"
    assert rough == 0, "nor rows that are prepared roughly"
    with mpmath.workdps(120):
        near = [[float(real) for real in row] for row in exact]
        pairs = zip(exact, near, strict=True)
        left = [[float(real - close) for real, close in zip(*pair, strict=True)] for pair in pairs]
    lines = {"kernel": list(kernel.values()), "rule": list(rule.values()), "points": points, "weights": weights}
    lines |= {"bias": bias, "center": [] if center is None else center, "scale": [] if scale is None else scale}
    lines |= {"margin": [margin["gain"], margin["start"], margin["degree"]]}
    lines |= {"constant": margin["constant"], "slope": margin["slope"]}
    lines |= {"rows": rows, "near": near, "left": left, "answers": answers}
    lines |= {f"argument{k}": argument for k, argument in enumerate(rest)}
    return f"case {name}\n" + "".join(_line(*line) for line in lines.items()) + "end\n"


def _exponentials() -> str:
    """Arguments of 2^x that are no more than 0, and the real numbers."""
    x = -np.concatenate([np.linspace(0, 130, 4001), 10.0 ** np.linspace(-30, 0, 200)]).astype(np.float32)
    with mpmath.workdps(60):
        real = [mpmath.power(2, mpmath.mpf(float(value))) for value in x]
        near = [float(value) for value in real]
        left = [float(value - close) for value, close in zip(real, near, strict=True)]
    return "case exp2\n" + _line("rows", x) + _line("near", near) + _line("left", left) + "end\n"


def cases() -> Iterator[str]:
    yield _exponentials()
    for made, rows in _machines():
        exact = oracle.exact_outputs(made, rows)
        answers = [_answer(made, outputs) for outputs in exact]
        recorder = _Recorder()
        with patch.object(backend, "extension", recorder):
            for name, native in _stages(made):
                yield _case(name, recorder.arguments(native), rows, exact, answers)


if __name__ == "__main__":
    with Path(sys.argv[1]).open("w") as out:
        out.writelines(cases())
