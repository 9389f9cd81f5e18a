"""Tables that need not fit into memory: rows are read, answered and written in blocks.

    rows file ──open_rows──▶ blocks ──predict_batches──▶ answers ──write_answers──▶ file

`predict_batches` also takes what other libraries stream: Arrow record batches, Parquet datasets, chunks of data frames,
arrays. A block knows where its rows are, so that errors name the file, the row and the column.
"""

from __future__ import annotations

from dormie.scale.tables.answers import write_answers
from dormie.scale.tables.block import Block
from dormie.scale.tables.open import open_rows
from dormie.scale.tables.predict import predict_batches
from dormie.scale.tables.rows_file import RowsFile

__all__ = ["Block", "RowsFile", "open_rows", "predict_batches", "write_answers"]
