"""What all displays share: without rows there is nothing to draw."""

from __future__ import annotations

from typing import Any

import pytest

from dormie import show
from tests.show.plans import X, bold


@pytest.mark.parametrize("name", [name for name in show.__all__ if name.endswith("Display")])
def test_no_rows_are_refused(name: str) -> None:
    display: Any = getattr(show, name)
    with pytest.raises(ValueError, match="X has no rows"):
        display.from_predictor(bold(), X[:0])
