"""The numbers and arrays of the stages of a sum's members, as those of one stage.

The number "0" is the name of the first member's stage; "0/geometry/budget" is a number of that stage.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from dormie.machine.typing import Arrays
from dormie.methods.base import Stage

T = TypeVar("T")


def nested(stages: Sequence[Stage]) -> tuple[dict[str, Any], Arrays]:
    """The numbers and arrays of all stages."""
    numbers: dict[str, Any] = {}
    arrays: Arrays = {}
    for at, stage in enumerate(stages):
        mine = stage.state()
        numbers |= {str(at): stage.name, **_under(at, stage.name, mine[0])}
        arrays |= _under(at, stage.name, mine[1])
    return numbers, arrays


def own(at: int, name: str, values: Mapping[str, T]) -> dict[str, T]:
    """Those of one member's stage of this name."""
    start = _folder(at, name)
    return {key.removeprefix(start): value for key, value in values.items() if key.startswith(start)}


def _under(at: int, name: str, values: Mapping[str, T]) -> dict[str, T]:
    return {_folder(at, name) + key: value for key, value in values.items()}


def _folder(at: int, name: str) -> str:
    return f"{at}/{name}/"
