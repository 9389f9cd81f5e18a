"""What is done to rows before the input map, in a plan file: a list of steps, each with its numbers and arrays."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from dormie.errors import PlanFileError
from dormie.machine.input_map import MAP_STEPS
from dormie.machine.preparation import (
    Arithmetic,
    Binarize,
    Clip,
    Columns,
    Impute,
    Normalize,
    Preparation,
    Projection,
    Step,
)
from dormie.plan.file.require import Kinds, require_entry, require_fields, shown

MOST_STEPS = 1024
MOST_COLUMNS = 1 << 24
_VECTOR, _NUMBERS, _MATRIX = ("<f8", 1), ("<i8", 1), ("<f8", 2)
_BY_COLUMN = 17  # bytes: what is worked out of the columns that may be NaN
_PADDED = 8  # doubles: a row of a matrix is filled up to whole vectors
_Array = npt.NDArray[Any]


@dataclass(frozen=True)
class _Form:
    """The parameters of a step, and of each of its arrays the type and the number of dimensions."""

    build: Callable[..., Step]
    parameters: dict[str, Any] = field(default_factory=dict)
    arrays: dict[str, tuple[str, int]] = field(default_factory=dict)


_FORMS: dict[str, _Form] = {
    **{name: _Form(Arithmetic, {}, {"values": _VECTOR}) for name in MAP_STEPS},
    "columns": _Form(Columns, {"width": int}, {"which": _NUMBERS}),
    "projection": _Form(Projection, {}, {"matrix": _MATRIX}),
    "impute": _Form(Impute, {"missing": (float, type(None))}, {"values": _VECTOR}),
    "clip": _Form(Clip, {"low": float, "high": float, "width": int}),
    "normalize": _Form(Normalize, {"norm": str, "width": int}),
    "binarize": _Form(Binarize, {"threshold": float, "width": int}),
}


def describe_preparation(preparation: Preparation, add: Callable[[str, _Array], str], folder: str) -> dict[str, Any]:
    """The fields of a preparation. add: see `describe`."""
    steps = [_described(step, add, f"{folder}/preparation/{number}") for number, step in enumerate(preparation.steps)]
    return {"columns": int(preparation.columns), "steps": steps}


def _described(step: Step, add: Callable[[str, _Array], str], name: str) -> dict[str, Any]:
    form = _FORMS[step.kind]
    arrays = {part: add(f"{name}/{part}", getattr(step, part)) for part in form.arrays}
    numbers = {part: _plain(getattr(step, part)) for part in form.parameters}
    return {"name": step.kind, "at": int(step.at), **numbers, **arrays}


def _plain(value: Any) -> Any:
    """NaN, which stands for missing values as a rule, is null."""
    return None if isinstance(value, float) and math.isnan(value) else value


def audit_preparation(described: Any, where: str, schema: dict[str, Any]) -> list[str]:
    """Check a preparation, and return the names of its arrays."""
    require_fields(described, where, {"columns": int, "steps": list})
    if not 1 <= described["columns"] <= MOST_COLUMNS:
        raise PlanFileError(f"{where}.columns must be from 1 to {MOST_COLUMNS:,}, found {described['columns']:,}")
    if len(described["steps"]) > MOST_STEPS:
        raise PlanFileError(f"{where} has {len(described['steps']):,} steps, and may have {MOST_STEPS:,}")
    used: list[str] = []
    for number, step in enumerate(described["steps"]):
        used += _audit_step(step, f"{where}.steps[{number}]", schema)
    return used


def _audit_step(step: Any, where: str, schema: dict[str, Any]) -> list[str]:
    name = step.get("name") if isinstance(step, dict) else None
    if type(name) is not str or name not in _FORMS:
        raise PlanFileError(
            f"{where} is {shown(name)}, which this dormie does not know (it knows {', '.join(_FORMS)}). The file was "
            f"written by dormie {shown(schema['dormie'])}: upgrade if that is a later one"
        )
    form = _FORMS[name]
    fields: dict[str, Kinds] = {"name": str, "at": int, **form.parameters, **dict.fromkeys(form.arrays, str)}
    require_fields(step, where, fields)
    for part, (dtype, dimensions) in form.arrays.items():
        entry = require_entry(step[part], f"{where}.{part}", schema)
        if entry["dtype"] != dtype or len(entry["shape"]) != dimensions:
            raise PlanFileError(f"{where}.{part} must be {dtype} of {dimensions} dimensions")
    return [str(step[part]) for part in form.arrays]


def result_of(described: dict[str, Any], schema: dict[str, Any]) -> int:
    """How many columns an audited preparation makes, if its steps fit each other."""
    width: int = described["columns"]
    for step in described["steps"]:
        if step["name"] == "columns":
            width += schema["arrays"][step["which"]]["shape"][0] - step["width"]
        elif step["name"] == "projection":
            columns, result = schema["arrays"][step["matrix"]]["shape"]
            width += result - columns
    return width


def memory_of(described: dict[str, Any] | None, schema: dict[str, Any]) -> int:
    """Bytes that an audited preparation takes besides its arrays."""
    if described is None:
        return 0
    shapes = [schema["arrays"][step["matrix"]]["shape"] for step in described["steps"] if step["name"] == "projection"]
    padded: int = sum(8 * count * -(-result // _PADDED) * _PADDED for count, result in shapes)
    imputes = any(step["name"] == "impute" for step in described["steps"])
    columns: int = described["columns"]
    return padded + (_BY_COLUMN * columns if imputes else 0)


def construct_preparation(described: dict[str, Any] | None, array: Callable[[str], _Array]) -> Preparation | None:
    """The preparation that audited fields describe; array: the array of a name."""
    if described is None:
        return None
    return Preparation(described["columns"], [_step(step, array) for step in described["steps"]])


def _step(step: dict[str, Any], array: Callable[[str], _Array]) -> Step:
    form = _FORMS[step["name"]]
    parameters = {name: step[name] for name in form.parameters} | {name: array(step[name]) for name in form.arrays}
    if "missing" in parameters and parameters["missing"] is None:
        parameters["missing"] = np.nan
    if form.build is Arithmetic:
        parameters["operation"] = step["name"]
    return form.build(**parameters, at=step["at"])
