from __future__ import annotations

import json

import pytest

from dormie.lab.papers.table import Table, text

TABLE = Table("t", {"paper": {"b": 2.5}, "here": {"a": 1, "b": (3, 0.25)}}, ("a note",))


def test_lines_follow_the_order_of_this_run_and_each_stands_beside_the_papers() -> None:
    record = json.loads(json.dumps(TABLE.as_record()))
    assert record["lines"] == [
        {"line": "a", "paper": None, "here": 1},
        {"line": "b", "paper": 2.5, "here": [3, 0.25]},
    ]
    assert record["notes"] == ["a note"]


@pytest.mark.parametrize(
    ("cell", "shown"),
    [(None, ""), (165, "165"), (10_000, "10,000"), (26.25, "26.2"), (4.066, "4.07"), ((3, 111), "3, 111"), (8.0, "8")],
)
def test_cells_read_as_in_the_papers(cell: float | tuple[float, ...] | None, shown: str) -> None:
    assert text(cell) == shown
