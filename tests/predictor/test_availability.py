from __future__ import annotations

from typing import Any

import pytest

from dormie.predictor.availability import available


class Door:
    """Opens if it is not locked."""

    def __init__(self, locked: bool) -> None:
        self.locked = locked

    @available(lambda door: "it is locked" if door.locked else "")
    def open(self, far: bool = False) -> str:
        """Open it."""
        return "far" if far else "a little"


def test_it_is_a_method_where_there_is_no_reason_against_it() -> None:
    door = Door(locked=False)
    assert door.open(far=True) == "far"
    assert door.open.__name__ == "open"
    assert door.open.__doc__ == "Open it."


def test_elsewhere_it_is_missing_and_says_why() -> None:
    door = Door(locked=True)
    assert not hasattr(door, "open")
    with pytest.raises(AttributeError, match="it is locked"):
        door.open()


def test_the_class_shows_the_function_to_documentation_tools() -> None:
    function: Any = Door.open
    assert function.__doc__ == "Open it."
    assert function(Door(locked=False)) == "a little"
