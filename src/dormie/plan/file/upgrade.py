"""Converts documents of earlier protocols to the current one, one protocol at a time, with defaults for new fields.

Protocol 2 added what decides rows within rounding of the decision boundary: how the model computes inner products and
scales rows, and the machine before it was rewritten. Plans of protocol 1 lack all of that: their machine counts as its
own source.

Protocol 3 says of every stage whether it is certified, and its caution; before, some stages had these among their
numbers. Reduced sets stored their half-widths, as `rho`, multiplied by their caution: so the caution of these is 1 now.
The evidence has a whole `rank`, which was a float called `caution`.

Protocol 4 has plans for probabilities and risks with a tolerance, which no plan of protocol 3 has.
"""

from __future__ import annotations

import math
from typing import Any

from dormie.errors import PlanFileError
from dormie.plan.file.document import PROTOCOL, Document
from dormie.plan.file.require import shown


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


def _from_2(schema: dict[str, Any]) -> dict[str, Any]:
    stages, guarantee, source = schema.get("stages"), schema.get("guarantee"), schema.get("source")
    for field in sorted({"fast_at", "estimated"} & source.keys()) if isinstance(source, dict) else ():
        raise _unknown("source", field, 2)
    if "guess" in schema:
        raise _unknown("schema.json", "guess", 2)
    if isinstance(stages, list):
        schema = schema | {"stages": [_stage_from_2(stage, number) for number, stage in enumerate(stages)]}
    if isinstance(guarantee, dict) and isinstance(guarantee.get("evidence"), dict):
        schema = schema | {"guarantee": guarantee | {"evidence": _evidence_from_2(guarantee["evidence"])}}
    return schema | {"protocol": 3}


def _stage_from_2(stage: Any, number: int) -> Any:
    if not isinstance(stage, dict) or not isinstance(stage.get("numbers"), dict):
        return stage
    for field in sorted({"certified", "caution"} & stage.keys()):
        raise _unknown(f"stages[{number}]", field, 2)
    name, numbers = stage.get("name"), dict(stage["numbers"])
    now = {"certified": True, "caution": 1.0}
    if name in ("linear_filter", "nearest", "tree"):
        now = {"certified": False, "caution": float(_taken(numbers, "caution", (float, int), number))}
    elif name == "reduced_set":
        now["certified"] = _taken(numbers, "certified", (bool,), number)
        if not _taken(numbers, "caution", (float,), number) > 0:
            raise PlanFileError(f"stages[{number}].numbers.caution must be positive")
    elif name == "dense" and "certified" in numbers:
        now["certified"] = _taken(numbers, "certified", (bool,), number)
        if now["certified"]:
            raise PlanFileError(f"stages[{number}].numbers.certified must be false, or left out")
    return stage | now | {"numbers": numbers} | (_renamed(stage) if name == "reduced_set" else {})


def _taken(numbers: dict[str, Any], name: str, kinds: tuple[type, ...], number: int) -> Any:
    """A number of a stage, taken out of its numbers."""
    if type(value := numbers.pop(name, None)) not in kinds:
        raise PlanFileError(f"stages[{number}].numbers lacks {name}, or has one of another type")
    return value


def _renamed(stage: dict[str, Any]) -> dict[str, Any]:
    """The arrays of a reduced set, of which `rho` is called `half_widths` now."""
    arrays = stage.get("arrays")
    if not isinstance(arrays, dict):
        return {}
    if "half_widths" in arrays:
        raise _unknown("reduced_set", "half_widths", 2)
    return {"arrays": {"half_widths" if name == "rho" else name: member for name, member in arrays.items()}}


def _evidence_from_2(evidence: dict[str, Any]) -> dict[str, Any]:
    if "rank" in evidence:
        raise _unknown("guarantee.evidence", "rank", 2)
    rest = {name: value for name, value in evidence.items() if name != "caution"}
    caution = evidence.get("caution")
    if type(caution) is not float or not 0 <= caution < math.inf:
        raise PlanFileError(f"guarantee.evidence.caution must be a number of at least 0, found {shown(caution)}")
    return rest | {"rank": min(max(1, math.ceil(caution)), 2**63 - 1)}


def _unknown(where: str, field: str, protocol: int) -> PlanFileError:
    return PlanFileError(f"{where} has a field {field!r}, which protocol {protocol} does not know")


def _from_3(schema: dict[str, Any]) -> dict[str, Any]:
    if "values" in schema:
        raise _unknown("schema.json", "values", 3)
    guarantee = schema.get("guarantee")
    if isinstance(guarantee, dict) and guarantee.get("name") == "risk" and "tolerance" in guarantee:
        raise _unknown("guarantee", "tolerance", 3)
    return schema | {"protocol": 4}


_STEPS = {1: _from_1, 2: _from_2, 3: _from_3}
