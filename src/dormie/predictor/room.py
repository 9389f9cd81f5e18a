"""Room for the answers of rows: arrays that labels or values are written to, new ones or the caller's."""

from __future__ import annotations

import reprlib
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dormie.machine import Machine
from dormie.machine.rules import ClassRule, SeveralLabels, ValueRule

_Array = npt.NDArray[Any]


class Room(NamedTuple):
    """An array for the answers of rows, and the labels of the classes in its type (None if answers are values).

    several: what turns answers into rows of labels, where each row has several
    """

    array: _Array
    table: _Array | None
    several: SeveralLabels | None = None

    def write(self, answers: _Array, places: Any = slice(None)) -> None:
        """Write the answers of some rows."""
        if self.several is not None:
            self.array[places] = self.several.labels(answers)
            return
        self.array[places] = answers if self.table is None else self.table[answers]


def _columns(machine: Machine) -> int:
    """The number of values or labels of a row; of outputs, for one label."""
    if isinstance(machine.rule, SeveralLabels):
        return len(machine.rule.rules)
    return machine.rule.n_values(machine.n_outputs) if isinstance(machine.rule, ValueRule) else machine.n_outputs


class Rooms:
    """Makes rooms for the answers of a machine."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._rule, self._columns = machine.rule, _columns(machine)
        self._several = machine.rule if isinstance(machine.rule, SeveralLabels) else None
        self._table = np.ascontiguousarray(machine.rule.classes) if isinstance(machine.rule, ClassRule) else None
        self._in_type = lru_cache(8)(self._cast)

    def __reduce__(self) -> tuple[type[Rooms], tuple[Machine]]:
        return Rooms, (self._machine,)

    def new(self, count: int) -> Room:
        """A new array for so many answers."""
        if self._several is not None:
            return Room(np.empty((count, self._columns), self._several.dtype), None, self._several)
        if self._table is None:
            return Room(np.empty((count, self._columns)), None)
        return Room(np.empty(count, self._table.dtype), self._table)

    def within(self, out: Any, count: int) -> Room:
        """The caller's array; raises TypeError or ValueError if it does not fit."""
        shape = (count,) if self._flat else (count, self._columns)
        if type(out) is not np.ndarray:
            raise TypeError(f"out must be a numpy array of shape {shape}, got {type(out).__name__}")
        if out.shape != shape or not out.flags.carray:
            raise ValueError(
                f"out must be contiguous, writeable and of shape {shape}; it is of shape {out.shape}"
                f"{'' if out.flags.writeable else ' and read-only'}"
            )
        if self._several is not None:
            for labels in self._several.classes:
                _cast(labels.astype(self._several.dtype), out.dtype)
            return Room(out, None, self._several)
        if self._table is not None:
            return Room(out, self._in_type(out.dtype))
        if out.dtype != np.float64:
            raise ValueError(f"out must be float64, as the values are; it is {out.dtype}")
        return Room(out.reshape(count, self._columns), None)

    @property
    def _flat(self) -> bool:
        """Whether answers are a vector."""
        if self._several is not None:
            return False
        return self._table is not None or self._rule.labels(np.empty((1, self._columns))).ndim == 1

    def returned(self, room: Room) -> _Array:
        """What `predict` returns of a new array."""
        return self._rule.labels(room.array) if room.table is None and room.several is None else room.array

    def _cast(self, dtype: np.dtype[Any]) -> _Array:
        """The labels in another type; raises ValueError if it cannot hold all of them."""
        assert self._table is not None
        return _cast(self._table, dtype)


def _cast(table: _Array, dtype: np.dtype[Any]) -> _Array:
    """Labels in another type; raises ValueError if it cannot hold all of them."""
    with np.errstate(invalid="ignore", over="ignore"):
        try:
            cast = table.astype(dtype)
        except (TypeError, ValueError):
            cast = None
    if cast is None or not (np.array_equal(cast, table) and np.array_equal(cast.astype(table.dtype), table)):
        raise ValueError(f"out is of type {dtype}, which cannot hold all labels: {reprlib.repr(table.tolist())}")
    return cast
