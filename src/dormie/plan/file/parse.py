"""Turns the members of an archive into a `Document` and back: `schema.json` is decoded, arrays stay raw bytes."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from dormie.errors import PlanFileError
from dormie.plan.file.archive import Members
from dormie.plan.file.document import SCHEMA, Document, Raw

MOST_SCHEMA_BYTES = 4 << 20  # as Python objects it may take thirty times as much
_MOST_DIGITS = 20  # every 64-bit number fits


def parse(members: Members) -> Document:
    """The document in these members: the first is the schema, the others are arrays."""
    if next(iter(members), None) != SCHEMA:
        raise PlanFileError(f"not a plan file: its first member is not {SCHEMA}")
    arrays = {name: raw for name, raw in members.items() if name != SCHEMA}
    return Document(_schema(members[SCHEMA]), arrays)


def unparse(document: Document) -> Members:
    """The members of a document, the schema first."""
    raw = _encoded(document.schema)
    if len(raw) > MOST_SCHEMA_BYTES:
        raise PlanFileError(
            f"{SCHEMA} would take {len(raw):,} bytes, at most {MOST_SCHEMA_BYTES:,} are read again: shorten the "
            "feature names or the description of the source"
        )
    return {SCHEMA: raw, **document.arrays}


def _schema(raw: Raw) -> dict[str, Any]:
    if len(raw) > MOST_SCHEMA_BYTES:
        raise PlanFileError(f"{SCHEMA} has {len(raw):,} bytes; at most {MOST_SCHEMA_BYTES:,} are read")
    try:
        schema = json.loads(
            str(raw, "utf-8"), object_pairs_hook=_object, parse_int=_whole_number, parse_constant=_no_constant
        )
    except PlanFileError:
        raise
    except (ValueError, RecursionError) as error:
        raise PlanFileError(f"{SCHEMA} cannot be read: {error}") from error
    if not isinstance(schema, dict):
        raise PlanFileError(f"{SCHEMA} must hold an object")
    _require_own_encoding(schema, raw)
    return schema


def _encoded(schema: dict[str, Any]) -> bytes:
    """The one encoding of a schema: keys sorted, one per line, ASCII."""
    return json.dumps(schema, indent=1, sort_keys=True, allow_nan=False).encode("ascii")


def _require_own_encoding(schema: dict[str, Any], raw: Raw) -> None:
    """Raise PlanFileError unless the schema is encoded to the byte as `save` does: equal plans have equal files."""
    try:
        same = _encoded(schema) == raw
    except (ValueError, RecursionError) as error:
        raise PlanFileError(f"{SCHEMA} cannot be read: {error}") from error
    if not same:
        raise PlanFileError(f"{SCHEMA} is not laid out as dormie writes it: use the file as dormie saved it")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        raise PlanFileError(f"{SCHEMA} has an object with a key that comes twice")
    return result


def _whole_number(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise PlanFileError(f"{SCHEMA} has a whole number of {len(digits)} digits")
    return int(digits)


def _no_constant(constant: str) -> NoReturn:
    raise PlanFileError(f"{SCHEMA} has a number that is not finite: {constant}")
