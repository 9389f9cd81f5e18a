"""What the paper leaves open or proposes, tried on training digits that no machine here is trained on.

Open: how pixels are scaled, and how slacks are squared. Proposed in its discussion: rotations, the thickness of lines,
and keeping only the virtual support vectors that tell something new. Those are here the copies inside the first
machine's margin; the others it has right already.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dormie.lab import datasets
from dormie.lab.papers.burges1997.printed import DIGITS
from dormie.lab.papers.burges1997.systems import KERNEL, C, Labels, Rows, minus_to_plus, unit_length
from dormie.lab.papers.table import Numbers, Table
from dormie.machine import Floats
from dormie.progress import Progress


def zero_to_one(pixels: Floats) -> Rows:
    """Pixels in [0, 1] as they are, divided by the typical length of a digit."""
    return np.asarray(pixels / 10, dtype=np.float32)


@dataclass(frozen=True)
class First:
    """How ORIG is trained."""

    scaling: str
    scaled: Callable[[Floats], Rows]
    penalty: str


@dataclass(frozen=True)
class Second:
    """How VSV is trained: on which copies, with the support vectors themselves or not, only on copies in the margin."""

    moves: tuple[str, ...]
    keep_originals: bool = True
    informative: bool = False

    @property
    def name(self) -> str:
        kept = " inside the margin" if self.informative else ""
        return f"{', '.join(self.moves)}{kept}{'' if self.keep_originals else ' only'}"


UNIT = First("unit length", unit_length, "sum")
MINUS_TO_PLUS = First("[-1, 1]", minus_to_plus, "sum")
TRIED: tuple[tuple[First, tuple[Second, ...]], ...] = (
    (
        UNIT,
        (
            Second(("shifts",)),
            Second(("shifts",), keep_originals=False),
            Second(("shifts",), informative=True),
            Second(("shifts", "rotations")),
            Second(("shifts", "thickness")),
            Second(("shifts", "rotations", "thickness")),
        ),
    ),
    (MINUS_TO_PLUS, (Second(("shifts",)), Second(("shifts",), keep_originals=False))),
    (First("[-1, 1]", minus_to_plus, "sum, squared"), ()),
    (First("[-1, 1]", minus_to_plus, "squares, summed"), ()),
    (First("[0, 1]", zero_to_one, "sum"), ()),
)


@dataclass(frozen=True, eq=False)
class Tally:
    """What ten machines come to: support vectors, rows trained on, and their outputs on the held-out digits."""

    vectors: int
    rows: int
    outputs: Floats


def choices(count: int) -> Table:
    """The first `count` training digits train, and the last `count` judge."""
    data = datasets.load("mnist")
    pixels, y = data.X[:count], data.y[:count]
    held_out, truth = data.X[-count:], data.y[-count:]
    columns: dict[str, dict[str, Any]] = {"error in %": {}, "vectors": {}, "trained on": {}}
    with Progress() as progress:
        for first, seconds in TRIED:
            for name, tally in _tallies(pixels, y, held_out, first, seconds, progress):
                wrong = float(np.mean(tally.outputs.argmax(axis=1) != truth))
                for column, value in zip(columns.values(), (100 * wrong, tally.vectors, tally.rows), strict=True):
                    column[name] = value
    here: dict[str, Numbers] = dict(columns)
    notes = (
        f"trained on the first {count:,} training digits, judged on the last {count:,}; C = {C:g}",
        "trained on: rows, of all ten machines; shifts of a pixel, rotations of 10 degrees, thickness by half",
    )
    return Table("Burges & Schölkopf 1997, what it leaves open and proposes, on held-out digits", here, notes)


def _tallies(
    pixels: Floats, y: Labels, held_out: Floats, first: First, seconds: Sequence[Second], progress: Progress
) -> Iterator[tuple[str, Tally]]:
    """ORIG, and each VSV that starts from its support vectors."""
    way = f"{first.scaling}, {first.penalty}"
    progress.say(f"{way}: ORIG")
    rows, judged = first.scaled(pixels), first.scaled(held_out)
    machines = [_Two.trained(rows, np.where(y == digit, 1.0, -1.0), first.penalty) for digit in DIGITS]
    yield f"{way}: ORIG", _tally(machines, judged)
    for second in seconds:
        progress.say(f"{way}: {second.name}")
        again = [_again(machine, pixels, first, second) for machine in machines]
        yield f"{way}: VSV, {second.name}", _tally(again, judged)


@dataclass(frozen=True, eq=False)
class _Two:
    """A machine of two classes, and the rows it was trained on."""

    rows: Rows
    signs: Floats
    estimator: Any

    @classmethod
    def trained(cls, rows: Rows, signs: Floats, penalty: str) -> _Two:
        from dormie.lab.papers.burges1997.training import ChunkedSVC  # here: scikit-learn is optional

        return cls(rows, signs, ChunkedSVC(KERNEL, C, penalty).fit(rows, signs))


def _tally(machines: Sequence[_Two], judged: Rows) -> Tally:
    vectors = sum(len(machine.estimator.support_) for machine in machines)
    outputs = np.column_stack([machine.estimator.decision_function(judged) for machine in machines])
    return Tally(vectors, sum(len(machine.rows) for machine in machines), outputs)


def _again(machine: _Two, pixels: Floats, first: First, second: Second) -> _Two:
    """The machine trained again on copies of its support vectors, which are moved as pixels and then scaled."""
    support = machine.estimator.support_
    copies = [first.scaled(copy) for copy in _copies(second.moves, pixels[support])]
    rows, signs = np.concatenate(copies), np.tile(machine.signs[support], len(copies))
    if second.informative:
        inside = signs * machine.estimator.decision_function(rows) < 1
        rows, signs = rows[inside], signs[inside]
    if second.keep_originals:
        rows = np.concatenate([machine.rows[support], rows])
        signs = np.concatenate([machine.signs[support], signs])
    return _Two.trained(rows, signs, first.penalty)


def _copies(moves: Sequence[str], pixels: Floats) -> list[Any]:
    from dormie.estimators.invariances import Rotations, Shifts, Thickness  # here: scikit-learn is optional

    known: dict[str, Callable[[Any], list[Any]]] = {
        "shifts": Shifts(),
        "rotations": Rotations(),
        "thickness": Thickness(),
    }
    return [copy for move in moves for copy in known[move](pixels)]
