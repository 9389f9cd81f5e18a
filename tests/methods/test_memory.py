"""Bounds on memory that are computed from sizes alone."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dormie.methods.memory import Size, packed, packed_apart


@given(st.lists(st.integers(0, 600), min_size=1, max_size=40))
def test_groups_packed_apart_take_no_more_than_stated(groups: list[int]) -> None:
    """Also where some are just above a whole number of tiles."""
    apart = sum(packed(Size(points, 5, 1), 4) for points in groups)
    assert apart <= packed_apart(Size(sum(groups), 5, 1), len(groups), 4)
