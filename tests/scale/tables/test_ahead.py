"""Items that are made ahead: the same ones, errors in their place, and no thread left when the caller stops."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from dormie.scale.tables.ahead import ahead


def _readers() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("dormie-reader")]


@pytest.mark.parametrize("count", [0, 1, 2, 50])
def test_the_items_are_the_same(count: int) -> None:
    assert list(ahead(iter(range(count)))) == list(range(count))
    assert _readers() == []


def test_the_next_item_is_made_while_one_is_at_work() -> None:
    made = threading.Event()

    def items() -> Iterator[int]:
        yield 0
        made.set()
        yield 1

    found = ahead(items())
    assert next(found) == 0
    assert made.wait(60)
    assert list(found) == [1]


def test_an_error_comes_in_its_place() -> None:
    def items() -> Iterator[int]:
        yield 0
        yield 1
        raise ValueError("the third")

    found = ahead(items())
    assert [next(found), next(found)] == [0, 1]
    with pytest.raises(ValueError, match="the third"):
        next(found)
    assert _readers() == []


def test_few_items_are_made_for_a_caller_who_stops() -> None:
    made = []

    def items() -> Iterator[int]:
        for item in range(1000):
            made.append(item)
            yield item

    found = ahead(items())
    assert next(found) == 0
    found.close()  # type: ignore[attr-defined] # it is a generator
    assert _readers() == []
    assert len(made) < 10
