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
    if "origin" in schema or not isinstance(machine, dict) or "blas_products" in machine:
        raise PlanFileError("a field that protocol 1 does not know")
    machine = machine | {"blas_products": False}
    if isinstance(machine.get("input_map"), dict):
        machine["input_map"] = {"steps": []} | machine["input_map"]
    return schema | {"protocol": 2, "origin": None, "machine": machine}


_STEPS = {1: _from_1}
