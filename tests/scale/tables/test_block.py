"""A block names the place of its rows in errors."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from dormie.scale.tables.block import Block, naming_errors, rows_in_a_block


@pytest.mark.parametrize("make", [np.asarray, csr_array, lambda X: pd.DataFrame(X, columns=["a", "b"])])
@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_errors_about_values_name_file_row_and_column(make: type, wrong: float) -> None:
    X = np.ones((4, 2))
    X[2, 1] = wrong
    with pytest.raises(ValueError, match=r"x\.csv: row 1,002, column 'b' is NaN or infinite"):  # noqa: SIM117
        with naming_errors(Block(make(X), ("a", "b"), 1000, "x.csv")):
            raise ValueError("row 2, column 1 is NaN")


def test_other_errors_name_the_source_and_keep_their_type() -> None:
    with pytest.raises(TypeError, match="batch 3: wrong type"), naming_errors(Block(np.ones(2), None, 0, "batch 3")):
        raise TypeError("wrong type")


def test_blocks_are_of_many_rows_but_not_of_many_bytes() -> None:
    assert rows_in_a_block(1) == 1 << 17
    assert rows_in_a_block(1 << 10) == 1 << 10
    assert rows_in_a_block(1 << 30) == rows_in_a_block(0) // (1 << 17) == 1
