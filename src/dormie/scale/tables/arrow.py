"""Arrow record batches as arrays: columns chosen by name, numbers taken as they are, nulls refused.

Columns of a batch lie apart, so they are copied once, into an array whose columns are contiguous: natively that is read
as fast as rows are, and copying into rows would take five times as long. A batch of one column, and a column of
fixed-size lists (an embedding), are not copied.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dormie.scale.tables.block import Block
from dormie.scale.tables.rows_file import require_columns

if TYPE_CHECKING:
    import pyarrow as pa

_SMALL = frozenset({"bool", "uint8", "int8", "uint16", "int16", "halffloat", "float"})  # exact in float32
_FLOATS = ({"float"}, {"double"})


class Columns:
    """
    Makes blocks of the columns that are the features; all batches must have them in the types that the first has.

    Parameters
    ----------
    names : sequence of str
        The columns, in the order of the features.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self._types: list[Any] | None = None
        self._first = ""
        self._seen: Any = None
        self._whole = False  # whether the schema seen has these columns and no others, in this order

    def check(self, schema: pa.Schema, source: str) -> None:
        """Raise an error that names the source and the column, unless the schema has the columns as the first had."""
        if self._seen is not None and schema.equals(self._seen):
            return
        require_columns(self.names, schema.names, source)
        types = [schema.field(name).type for name in self.names]
        if self._types is None:
            self._types, self._first = types, source
            self._kinds, self._in_lists = {str(kind) for kind in types}, len(types) == 1 and _is_list(types[0])
            self._require_numbers(source)
        for name, now, before in zip(self.names, types, self._types, strict=True):
            if now != before:
                raise ValueError(
                    f"{source}: column {name!r} has type {now}, and in {self._first} it had type {before}; "
                    "cast it to one type"
                )
        self._seen, self._whole = schema, tuple(schema.names) == self.names

    def _require_numbers(self, source: str) -> None:
        for name, kind in zip(self.names, self._types or (), strict=True):
            if not _is_numeric(kind.value_type if self._in_lists else kind):
                raise TypeError(f"{source}: column {name!r} has type {kind}; cast it to float64 first")

    def block(self, batch: pa.RecordBatch | pa.Table, first_row: int, source: str) -> Block:
        """The columns of a batch as a block."""
        import pyarrow as pa  # optional

        self.check(batch.schema, source)
        chosen = batch if self._whole else batch.select(list(self.names))
        try:
            values = self._values(chosen)
        except (pa.ArrowTypeError, _Null):
            raise ValueError(
                f"{self._first_null(chosen, first_row, source)} is null (missing); fill such values, or drop the rows"
            ) from None
        return Block(values, None if self._in_lists else self.names, first_row, source)

    def _values(self, batch: Any) -> npt.NDArray[Any]:
        if len(self.names) > 1 and self._kinds in _FLOATS and hasattr(batch, "to_tensor"):
            return np.asarray(batch.to_tensor(row_major=False))
        if len(self.names) == 1:
            return self._one_column(batch.column(0))
        by_column = np.empty((len(self.names), batch.num_rows), np.float32 if self._kinds <= _SMALL else np.float64)
        for column, array in zip(by_column, batch.columns, strict=True):
            column[:] = _numbers(array)
        return by_column.T

    def _one_column(self, array: Any) -> npt.NDArray[Any]:
        if not self._in_lists:
            return _numbers(array).reshape(-1, 1)
        if array.null_count:
            raise _Null
        return _numbers(_flat(array)).reshape(-1, array.type.list_size)

    def _first_null(self, batch: Any, first_row: int, source: str) -> str:
        """The place of a null, which there is."""
        place = Block(None, self.names, first_row, source).place
        for number, array in enumerate(batch.columns):
            if array.null_count:
                return place(_position_of_null(array), number)
        row, position = divmod(_position_of_null(_flat(batch.column(0))), batch.column(0).type.list_size)
        return f"{place(row, 0)}: place {position} of the list"


class _Null(Exception):
    """A column has a null."""


def _flat(lists: Any) -> Any:
    """The values of a column of lists, one list after the other."""
    return (lists.combine_chunks() if hasattr(lists, "chunks") else lists).flatten()


def _is_list(kind: Any) -> bool:
    return str(kind).startswith("fixed_size_list")


def _is_numeric(kind: Any) -> bool:
    import pyarrow as pa  # optional

    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind))


def _position_of_null(array: Any) -> int:
    import pyarrow.compute as pc  # optional

    return int(pc.index(pc.is_null(array), True).as_py())


def _numbers(array: Any) -> npt.NDArray[Any]:
    """The numbers of a column: a view where Arrow has them as NumPy would."""
    if array.null_count:
        raise _Null
    return np.asarray(array.to_numpy() if hasattr(array, "chunks") else array.to_numpy(zero_copy_only=False))
