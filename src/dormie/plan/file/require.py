"""Checks of JSON types for the audit, and how an untrusted value is shown in an error message."""

from __future__ import annotations

import math
from typing import Any

from dormie.errors import PlanFileError

Kinds = type | tuple[type, ...]

_WORDS = {
    int: "a whole number",
    float: "a number with a decimal point",
    bool: "true or false",
    str: "text",
    list: "a list",
    dict: "an object",
    type(None): "null",
}


def shown(value: Any) -> str:
    """The value for an error message, short and printable; of a list or object, which may be deep, only the type."""
    if type(value) in (list, dict):
        return _WORDS[type(value)]
    text = ascii(value)
    return text if len(text) <= 60 else f"{text[:60]}..."


def require_fields(
    value: Any, where: str, expected: dict[str, Kinds], optional: dict[str, Kinds] | None = None
) -> None:
    """Require an object with exactly these fields, each of its type; optional fields may be missing."""
    require_kind(value, where, dict)
    missing = sorted(expected.keys() - value.keys())
    expected = expected | {name: kinds for name, kinds in (optional or {}).items() if name in value}
    unknown = sorted(value.keys() - expected.keys())
    if missing:
        raise PlanFileError(f"{where} lacks {', '.join(missing)}")
    if unknown:
        raise PlanFileError(f"{where} has a field {shown(unknown[0])}, which the protocol does not know")
    for name, kinds in expected.items():
        require_kind(value[name], f"{where}.{name}", kinds)


def require_kind(value: Any, where: str, kinds: Kinds) -> None:
    """Require a value of exactly one of these types (true is not an integer), finite and within 64 bits."""
    kinds = kinds if isinstance(kinds, tuple) else (kinds,)
    if type(value) not in kinds:
        raise PlanFileError(f"{where} must be {' or '.join(_WORDS[kind] for kind in kinds)}, found {shown(value)}")
    if type(value) is float and not math.isfinite(value):
        raise PlanFileError(f"{where} must be finite, found {value}")
    if type(value) is int and not -(2**63) <= value < 2**63:
        raise PlanFileError(f"{where} is a whole number beyond 64 bits")


def require_entry(reference: Any, where: str, schema: dict[str, Any]) -> dict[str, Any]:
    """The schema's entry for an array."""
    require_kind(reference, where, str)
    if reference not in schema["arrays"]:
        raise PlanFileError(f"{where} refers to an array {shown(reference)}, which is not there")
    entry: dict[str, Any] = schema["arrays"][reference]
    return entry


def require_shape(reference: str, where: str, schema: dict[str, Any], dimensions: int) -> list[int]:
    """The shape of an array of so many dimensions."""
    shape: list[int] = require_entry(reference, where, schema)["shape"]
    if len(shape) != dimensions:
        raise PlanFileError(f"{where} must have {dimensions} dimensions, {reference} has shape {shape}")
    return shape


def require_floats(reference: str, shape: tuple[int, ...], schema: dict[str, Any]) -> None:
    """Require an array of the machine, of this shape."""
    entry = require_entry(reference, "machine", schema)
    if entry["dtype"] != "<f8" or tuple(entry["shape"]) != shape:
        raise PlanFileError(f"{reference} must be <f8 of shape {shape} to fit the machine")
