"""The features of a table that comes in pieces, of whatever library: blocks of the columns that a machine reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from dormie.machine import Machine
from dormie.machine.csr import is_sparse
from dormie.scale.tables import arrow
from dormie.scale.tables.block import Block
from dormie.scale.tables.needs import needs_pyarrow
from dormie.scale.tables.rows_file import RowsFile, nameless, require_columns, some_names

Choose = Callable[..., tuple[str, ...]]  # `_chosen` of a model


def feature_blocks(batches: Any, machine: Machine, columns: Sequence[str] | None) -> Iterator[Block]:
    """The blocks of a table, each with the columns that are the machine's features, in their order.

    columns: those asked for, or None for the machine's own names, or all columns
    """
    choose = partial(_chosen, machine, columns)
    if isinstance(batches, RowsFile):
        return iter(batches.select(choose(batches.columns, batches.path, batches.named)))
    if hasattr(batches, "get_fragments"):
        with needs_pyarrow("reading a dataset"):
            return _of_dataset(batches, choose)
    if hasattr(batches, "to_batches"):
        return _of_batches(batches.to_batches(), choose)
    if hasattr(batches, "shape") or isinstance(batches, str | bytes):
        raise TypeError(
            f"batches is a {type(batches).__name__}, not an iterable of pieces: pass [X], or open_rows(path)"
        )
    return _of_batches(batches, choose)


def _chosen(
    machine: Machine, columns: Sequence[str] | None, names: Sequence[str] | None, source: str, named: bool = True
) -> tuple[str, ...]:
    """The columns that are the features, of those that a source has: by name if it is named, or else by place."""
    features = machine.n_columns
    if columns is not None:
        if len(columns) != features:
            counted = "1 column was" if len(columns) == 1 else f"{len(columns)} columns were"
            raise ValueError(f"{counted} named, the model was trained with {features}")
        return tuple(columns)
    if names is None:
        return nameless(features)
    if named and machine.feature_names is not None:
        return machine.feature_names
    if len(names) != features:
        left_out = f"; a text model of LIBSVM whose last features are all zeros is read with n_features={len(names)}"
        raise ValueError(
            f"{source} has {len(names)} column{'' if len(names) == 1 else 's'}, the model was trained with {features}; "
            f"choose those that are its features (columns). There are {some_names(names)}"
            f"{'' if named or len(names) < features else left_out}"
        )
    return tuple(names)


def _of_dataset(dataset: Any, choose: Choose) -> Iterator[Block]:
    """The rows of a dataset, file after file: one may have another schema than the dataset says."""
    columns = arrow.Columns(choose(dataset.schema.names, "the dataset"))
    for number, fragment in enumerate(dataset.get_fragments()):
        source = getattr(fragment, "path", None) or f"part {number}"
        columns.check(fragment.physical_schema, source)
        row = 0
        for batch in fragment.to_batches(columns=list(columns.names), batch_readahead=1, fragment_readahead=1):
            yield columns.block(batch, row, source)
            row += batch.num_rows


def _of_batches(batches: Iterable[Any], choose: Choose) -> Iterator[Block]:
    columns = None
    for number, batch in enumerate(batches):
        source = f"batch {number}"
        if hasattr(batch, "schema") and hasattr(batch, "num_rows"):
            columns = columns or arrow.Columns(choose(batch.schema.names, source))
            yield columns.block(batch, 0, source)
        elif hasattr(batch, "columns"):
            yield _of_frame(batch, choose, source)
        else:
            yield Block(batch if is_sparse(batch) else np.asarray(batch), None, 0, source)


def _of_frame(frame: Any, choose: Choose, source: str) -> Block:
    """A chunk of a data frame. Its types may change: pandas guesses them anew for every chunk that it reads."""
    names = [str(name) for name in frame.columns]
    columns = choose(names, source)
    if columns == tuple(names):
        return Block(frame, columns, 0, source)
    require_columns(columns, names, source)
    return Block(frame[list(columns)], columns, 0, source)
