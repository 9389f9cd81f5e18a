"""Burges and Schölkopf 1997, *Improving the Accuracy and Speed of Support Vector Machines*: Tables 1 to 3.

Ten machines of degree 5 on MNIST gain accuracy from virtual support vectors and speed from reduced sets. Beside the
paper's systems, trained in the paper's way, there are the same trained in ours, and reduced sets that all ten outputs
share (see `systems.py`). Two more tables show how far rho^2 falls, and choices on held-out digits. Labels of test
digits serve only to count errors, except in the column of Table 2 that says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from dormie.lab.papers.burges1997 import printed
from dormie.lab.papers.burges1997.choices import choices
from dormie.lab.papers.burges1997.printed import DIGITS
from dormie.lab.papers.burges1997.systems import (
    OURS,
    PAPER,
    Digits,
    Labels,
    Reduced,
    Rows,
    System,
    bayes_shifts,
    original,
    reduced,
    shared,
    train,
    virtual,
)
from dormie.lab.papers.machines import microseconds, predictor
from dormie.lab.papers.table import Numbers, Table
from dormie.machine import Floats

_TITLE = "Burges & Schölkopf 1997, Table"
_TIMED_ROWS = 2000  # the largest system takes some seconds for them


@dataclass(frozen=True)
class Extent:
    """Numbers of MNIST digits, of vectors for each digit, of vectors in each shared set, and of digits for choices."""

    training_rows: int
    test_rows: int
    sizes: tuple[int, ...]
    shared: tuple[int, ...]
    choices: int


FULL = Extent(60_000, 10_000, printed.VECTORS["RS"], (890, 439), 10_000)
SMALL = Extent(5_000, 2_000, tuple(size // 10 for size in printed.VECTORS["RS"]), (40,), 1_000)


@dataclass(frozen=True, eq=False)
class Result:
    """A system and its outputs on the test digits."""

    system: System
    outputs: Floats

    @classmethod
    def of(cls, system: System, digits: Digits) -> Result:
        return cls(system, system.outputs(digits.X_test))


def tables(seconds: float) -> Iterator[Table]:
    """The tables for all of MNIST: an hour or more."""
    return tables_of(FULL, seconds)


def small_tables(seconds: float) -> Iterator[Table]:
    """The tables for 5,000 digits and a tenth of the vectors: a minute or two."""
    return tables_of(SMALL, seconds)


def tables_of(extent: Extent, seconds: float) -> Iterator[Table]:
    """Each table as soon as its systems are trained."""
    yield choices(extent.choices)
    digits, ours = (Digits.load(extent.training_rows, extent.test_rows, way.scaled) for way in (PAPER, OURS))
    model, our_model = train(digits, PAPER), train(ours, OURS)
    results = {
        "ORIG": Result.of(original(model), digits),
        "VSV": Result.of(virtual(model), digits),
        "ORIG, ours": Result.of(original(our_model), ours),
        "VSV, ours": Result.of(virtual(our_model), ours),
    }
    yield table_1(results, digits.y_test)
    sets = reduced(model, extent.sizes)
    yield table_of_falls(sets)
    shifts = bayes_shifts(sets.system.outputs(digits.X), digits.y)
    yield table_2(Result.of(sets.system, digits), shifts, digits.y_test)
    results["RS"] = Result.of(sets.system.moved(shifts), digits)
    rows = ours.to_fit_on()
    for size in extent.shared:
        results[f"shared {size}"] = Result.of(shared(results["VSV, ours"].system, size, rows), ours)
    yield table_3(results, digits.y_test, _times(results, digits.X_test, seconds))


def table_1(results: Mapping[str, Result], y_test: Labels) -> Table:
    """The accuracy that virtual support vectors gain, and the vectors they cost."""
    columns: dict[str, Numbers] = {}
    for name in ("ORIG", "VSV"):
        columns[f"{name}, paper"] = printed.errors_and_vectors(name)
        for ours in (name, f"{name}, ours"):
            columns[ours] = measured(results[ours], y_test)
    notes = (
        "of each digit: errors of its own machine on the test digits, and its vectors",
        "kernel (x.y)^5 on pixels in [-1, 1], C = 10 with the sum of the slacks squared, VSV without the originals",
        "ours: on digits of unit length, the sum of the slacks not squared, VSV trained on the support vectors too",
    )
    return Table(f"{_TITLE} 1: virtual support vectors", columns, notes)


def table_of_falls(sets: Reduced) -> Table:
    """How far rho^2 falls, which the paper tells of the first five digits together."""
    here = {"one by one": sets.one_by_one, "then all together": sets.together}
    columns: dict[str, Numbers] = {"paper": {"mean of digits 0 to 4": printed.FALL}}
    for name, falls in here.items():
        each: Numbers = {f"digit {digit}": falls[digit] for digit in DIGITS}
        columns[name] = {**each, "mean of digits 0 to 4": float(np.mean(falls[:5]))}
    return Table("Burges & Schölkopf 1997, section 5: |w|^2 / rho^2 of the reduced sets", columns)


def measured(result: Result, y_test: Labels) -> Numbers:
    """Errors on test digits, of each digit's own output and of all ten together; vectors and multiply-adds."""
    errors, vectors = errors_of_each(result.outputs, y_test), result.system.vectors
    own = vectors if len(vectors) == len(errors) else None
    return {
        **{f"digit {digit}": (errors[digit], own[digit]) if own else errors[digit] for digit in DIGITS},
        "error in %": error_percent(result.outputs, y_test),
        "vectors": sum(vectors),
        "distinct vectors": result.system.machine.n_points,
        "multiply-adds": result.system.multiply_adds,
    }


def errors_of_each(outputs: Floats, y: Labels) -> list[int]:
    """How often the sign of each digit's output is wrong."""
    return [int(np.count_nonzero((outputs[:, digit] >= 0) != (y == digit))) for digit in DIGITS]


def error_percent(outputs: Floats, y: Labels) -> float:
    """The percentage of digits whose largest output is that of another digit."""
    return 100 * float(np.mean(outputs.argmax(axis=1) != y))


def table_2(plain: Result, shifts: Floats, y_test: Labels) -> Table:
    """The thresholds of the reduced sets: VSV's own, the best on training digits, and the best on test digits."""
    kinds = {"VSV": np.zeros(len(DIGITS)), "Bayes": shifts, "test": bayes_shifts(plain.outputs, y_test)}
    columns = {f"{kind}, paper": printed.thresholds(kind) for kind in kinds}
    for kind, moved in kinds.items():
        columns[kind] = _thresholds(plain.system.machine.bias + moved, plain.outputs + moved, y_test)
    notes = (
        "of each digit: the threshold of its reduced set, and its errors on the test digits",
        "VSV: as it was trained; Bayes: with the fewest errors on training digits; test: on the test digits themselves",
    )
    return Table(f"{_TITLE} 2: thresholds of the reduced sets", columns, notes)


def _thresholds(bias: Floats, outputs: Floats, y_test: Labels) -> Numbers:
    errors = errors_of_each(outputs, y_test)
    each = {f"digit {digit}": (float(-bias[digit]), errors[digit]) for digit in DIGITS}
    return {**each, "error in %": error_percent(outputs, y_test)}


def _times(results: Mapping[str, Result], rows: Rows, seconds: float) -> dict[str, float]:
    predictors = {name: predictor(result.system.machine).predict for name, result in results.items()}
    return microseconds(predictors, rows[:_TIMED_ROWS].astype(np.float64), seconds / len(predictors), batch=_TIMED_ROWS)


def table_3(results: Mapping[str, Result], y_test: Labels, times: Mapping[str, float]) -> Table:
    """All systems: errors, vectors, multiply-adds and time."""
    columns = {f"{name}, paper": printed.errors_and_vectors(name) for name in ("ORIG", "VSV", "RS")}
    whole = results["ORIG"].system.multiply_adds
    for name, result in results.items():
        fewer = whole / result.system.multiply_adds
        columns[name] = {**measured(result, y_test), printed.FEWER: fewer, "microseconds": times[name]}
    notes = (
        "RS: with the thresholds that have the fewest errors on training digits",
        "ours: see Table 1",
        "shared: one reduced set for all ten outputs of VSV, ours, fitted on training digits and shifted copies",
        "multiply-adds per row: for its scale, its product with every vector, and every weight",
        "microseconds per row: of the dense stage, which evaluates each distinct vector once",
    )
    return Table(f"{_TITLE} 3: reduced sets", columns, notes)
