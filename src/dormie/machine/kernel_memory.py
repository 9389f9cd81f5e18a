"""Remembers the values of a Python kernel while a block of code runs, so that none is evaluated twice.

    with remembering(kernel) as memory:
        kernel.matrix(a, b)     # evaluates
        kernel.matrix(b, a[:3]) # evaluates
        kernel.matrix(a, b)     # looks up

A slow kernel is what all the time goes into, and the stages of a cascade, or the candidates of a planner, ask for the
same values again and again. They need not know that the values are remembered: `Custom.matrix` looks for the memory of
the present context. Blocks may be nested: the inner one counts what its code would evaluate on its own, and takes the
values from the outer one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, Protocol

import numpy as np

from dormie.machine.typing import Booleans, Floats, Integers, Positions

MOST_VALUES = 1 << 25  # held at once: 256 MiB; beyond that, values are evaluated again

_SECONDS_A_CALL = 0.5  # after which progress is shown
_SMALL = 16  # rows of a symmetric matrix below which both of its halves are evaluated

_PLAIN = {str, bytes, int, bool}
_SCALARS = {*np.sctypeDict.values()}

_ACTIVE: ContextVar[KernelMemory | None] = ContextVar("kernel_memory", default=None)


class _Kernel(Protocol):
    def matrix(self, a: Any, b: Any) -> Floats: ...

    def diagonal(self, a: Any) -> Floats: ...


class KernelMemory:
    """The values of one kernel that were evaluated so far; `remembering` makes it.

    evaluations, seconds: how many values were evaluated, and how long that took
    assumed_pace: the seconds of an evaluation, where no clock may decide anything
    """

    def __init__(
        self,
        kernel: _Kernel,
        outer: KernelMemory | None,
        say: Callable[[str], None] | None,
        assumed_pace: float | None = None,
    ) -> None:
        self.kernel = kernel
        self.evaluations, self.seconds = 0, 0.0
        self._outer, self._say, self._assumed_pace = outer, say, assumed_pace
        self._rows, self._columns = _Numbers(), _Numbers()
        self._table = np.empty((0, 0))  # rows x columns, NaN where not evaluated
        self._own = np.empty(0)  # K(x, x) of rows, NaN where not evaluated
        self._counts = np.empty(0, dtype=np.int64)  # evaluations of every row

    @property
    def pace(self) -> float:
        """Seconds per evaluation: those it took so far, unless they are assumed."""
        return self.seconds / max(self.evaluations, 1) if self._assumed_pace is None else self._assumed_pace

    def counts(self, rows: Any) -> Integers:
        """The evaluations that each of these rows took in this block of code."""
        numbers = self._rows.of(rows)
        self._make_room()
        return self._counts[numbers]

    def matrix(self, a: Any, b: Any) -> Floats:
        """The kernel matrix; evaluates what is not yet known."""
        (rows, of_a, again_a), (columns, of_b, again_b) = (
            np.unique(numbers.of(some), return_index=True, return_inverse=True)
            for numbers, some in ((self._rows, a), (self._columns, b))
        )
        self._make_room()
        values = self._known(rows, columns)
        missing = np.isnan(values)
        for which, wanted in _rectangles(missing):
            found = self._evaluated(_some(a, of_a[which]), _some(b, of_b[wanted]))
            values[np.ix_(which, wanted)] = found
        self._counts[rows] += missing.sum(axis=1)
        self._keep(rows, columns, values)
        return np.asarray(values[np.ix_(again_a, again_b)])

    def diagonal(self, a: Any) -> Floats:
        """K(x, x) of every row; evaluates what is not yet known."""
        rows, of_a, again = np.unique(self._rows.of(a), return_index=True, return_inverse=True)
        self._make_room()
        missing = np.flatnonzero(np.isnan(self._own[rows]))
        if len(missing):
            few = _some(a, of_a[missing])
            self._own[rows[missing]] = self._clocked(len(missing), partial(self.kernel.diagonal, few))
            self._counts[rows[missing]] += 1
        return np.asarray(self._own[rows][again])

    def fill_symmetric(self, a: Any) -> None:
        """Evaluate the kernel matrix of rows with themselves, one of K(u, v) and K(v, u) for most pairs."""
        half = len(a) // 2
        if len(a) <= _SMALL:
            values = self.matrix(a, a)
            self._own[self._rows.of(a)] = np.diagonal(values)
            return
        left, right = a[:half], a[half:]
        self.fill_symmetric(left)
        self.fill_symmetric(right)
        values = self.matrix(left, right)
        rows, columns = self._rows.of(right), self._columns.of(left)
        self._make_room()
        self._keep(rows, columns, values.T)

    def _known(self, rows: Positions, columns: Positions) -> Floats:
        values = np.full((len(rows), len(columns)), np.nan)
        held = rows < len(self._table)
        values[held] = self._table[np.ix_(rows[held], columns)]
        return values

    def _keep(self, rows: Positions, columns: Positions, values: Floats) -> None:
        held = rows < len(self._table)
        self._table[np.ix_(rows[held], columns)] = values[held]

    def _make_room(self) -> None:
        """Let the arrays grow to all numbers given out; at least twofold, and the table to so many values at most."""
        if len(self._counts) < len(self._rows):
            more = 2 * len(self._rows) - len(self._counts)
            self._counts = np.append(self._counts, np.zeros(more, dtype=np.int64))
            self._own = np.append(self._own, np.full(more, np.nan))
        rows, columns = self._table.shape
        if rows >= len(self._rows) and columns >= len(self._columns):
            return
        columns = columns if columns >= len(self._columns) else 2 * len(self._columns) - columns
        most = MOST_VALUES // max(columns, 1)
        if rows == most:
            return
        table = np.full((min(len(self._counts), most), columns), np.nan)
        kept = self._table[: len(table)]
        table[: len(kept), : kept.shape[1]] = kept
        self._table = table

    def _evaluated(self, a: Any, b: Any) -> Floats:
        """The kernel matrix, evaluated in parts of about `_SECONDS_A_CALL` if progress is shown."""
        values, done = np.empty((len(a), len(b))), 0
        while done < len(a):
            most = int(_SECONDS_A_CALL / (self.pace * len(b))) if self.pace else 1
            part = slice(done, len(a) if self._say is None else done + max(1, most))
            rows = a[part]
            values[part] = self._clocked(len(rows) * len(b), partial(self.kernel.matrix, rows, b))
            done += len(rows)
        return values

    def _clocked(self, evaluations: int, evaluate: Callable[[], Floats]) -> Floats:
        """What a function evaluates outside of this block."""
        token, began = _ACTIVE.set(self._outer), time.perf_counter()
        try:
            values = evaluate()
        finally:
            _ACTIVE.reset(token)
        self.seconds += time.perf_counter() - began
        self.evaluations += evaluations
        if self._say is not None:
            self._say(f"{self.evaluations:,} kernel values, {1e6 * self.pace:.3g} us each")
        return values


@contextmanager
def remembering(
    kernel: _Kernel, say: Callable[[str], None] | None = None, assumed_pace: float | None = None
) -> Iterator[KernelMemory]:
    """A block in which no value of a Python kernel is evaluated twice.

    say: shows progress; the kernel is then called with parts of the rows
    assumed_pace: the seconds that an evaluation is taken to cost, in place of those that it takes
    """
    memory = KernelMemory(kernel, memory_of(kernel), say, assumed_pace)
    token = _ACTIVE.set(memory)
    try:
        yield memory
    finally:
        _ACTIVE.reset(token)


def memory_of(kernel: _Kernel) -> KernelMemory | None:
    """The memory of a kernel in the present context, if there is one."""
    memory = _ACTIVE.get()
    return memory if memory is not None and memory.kernel is kernel else None


class _Numbers:
    """A number for every object, the same for equal ones: counted from 0 in the order in which they are met."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}
        self._alive: list[Any] = []  # what is told apart by its address must keep it

    def __len__(self) -> int:
        return len(self._numbers)

    def of(self, objects: Any) -> Positions:
        numbers = self._numbers
        return np.array([numbers.setdefault(self._key(each), len(numbers)) for each in objects], dtype=np.intp)

    def _key(self, thing: Any) -> Hashable:
        """Equal for equal text, numbers of one type, and arrays of such; of all else, for the same object only.

        An object of a subclass may have more to it than its value. Numbers are told apart by their bits: 0 is not -0.
        """
        kind = type(thing)
        if kind in _PLAIN:
            return kind, thing
        if kind is float:
            return kind, thing.hex()
        if kind is np.ndarray and thing.dtype == object:
            return kind, thing.shape, tuple(map(self._key, thing.flat))
        if (kind is np.ndarray or kind in _SCALARS) and not thing.dtype.hasobject:
            return kind, thing.dtype, thing.shape, thing.tobytes()
        key = id(thing)
        if key not in self._numbers:
            self._alive.append(thing)
        return key


def _some(rows: Any, which: Positions) -> Any:
    return [rows[i] for i in which.tolist()] if isinstance(rows, list | tuple) else rows[which]


def _rectangles(missing: Booleans) -> Iterator[tuple[Positions, Positions]]:
    """Rows and columns that cover the missing values, and no others: rows that miss the same columns share a pair."""
    patterns, of_row = np.unique(np.packbits(missing, axis=1), axis=0, return_inverse=True)
    for number in range(len(patterns)):
        which = np.flatnonzero(of_row == number)
        wanted = np.flatnonzero(missing[which[0]])
        if len(wanted):
            yield which, wanted
