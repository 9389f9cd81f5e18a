"""Converts documents of earlier protocols to the current one, one protocol at a time, with defaults for new fields.

Protocol 2 added what decides rows within rounding of the decision boundary: how the model computes inner products and
scales rows, and the machine before it was rewritten. Plans of protocol 1 lack all of that: their machine counts as its
own source.
"""

from __future__ import annotations

from typing import Any

from dormie.errors import PlanFileError
from dormie.plan.file.document import PROTOCOL, Document


def upgrade(document: Document) -> Document:
    """The same plan in the current protocol. Malformed fields are kept: the audit refuses them."""
    schema = document.schema
    for number in range(1, PROTOCOL):
        if type(schema.get("protocol")) is int and schema["protocol"] == number:
            schema = _STEPS[number](schema)
    return Document(schema, document.arrays)


def _from_1(schema: dict[str, Any]) -> dict[str, Any]:
    machine = schema.get("machine")
    if "origin" in schema:
        raise _unknown("schema.json", "origin", 1)
    if isinstance(machine, dict):
        schema = schema | {"machine": _machine_from_1(machine)}
    return schema | {"protocol": 2, "origin": None}


def _machine_from_1(machine: dict[str, Any]) -> dict[str, Any]:
    input_map = machine.get("input_map")
    if "blas_products" in machine:
        raise _unknown("machine", "blas_products", 1)
    if isinstance(input_map, dict):
        if "steps" in input_map:
            raise _unknown("machine.input_map", "steps", 1)
        machine = machine | {"input_map": input_map | {"steps": []}}
    return machine | {"blas_products": False}


def _unknown(where: str, field: str, protocol: int) -> PlanFileError:
    return PlanFileError(f"{where} has a field {field!r}, which protocol {protocol} does not know")


_STEPS = {1: _from_1}
