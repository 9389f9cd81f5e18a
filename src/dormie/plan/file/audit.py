"""Checks every part of a `Document` against the protocol before anything is constructed from it.

Arrays are checked in `audit_arrays`, the memory that the plan would take in `audit_memory`.
"""

from __future__ import annotations

from typing import Any

from dormie.errors import PlanFileError
from dormie.methods import METHODS
from dormie.plan.file.audit_arrays import audit_arrays
from dormie.plan.file.audit_memory import MOST_STAGES, audit_memory
from dormie.plan.file.document import PROTOCOL, Document
from dormie.plan.file.points import arrays_of_points
from dormie.plan.file.preparation import audit_preparation, result_of
from dormie.plan.file.probability import audit_map
from dormie.plan.file.require import (
    Kinds,
    require_entry,
    require_fields,
    require_floats,
    require_kind,
    require_shape,
    shown,
)
from dormie.plan.file.vocabulary import (
    CLASSES,
    COUNT,
    EVIDENCE,
    GUARANTEES,
    KERNELS,
    PLAIN_KERNELS,
    RULES,
    SCORES,
    TRIAL,
    VALUES,
    Form,
)

_SCHEMA: dict[str, Kinds] = {
    "protocol": int,
    "dormie": str,
    "machine": dict,
    "origin": (dict, type(None)),
    "stages": list,
    "guarantee": dict,
    "source": dict,
    "rewrites": list,
    "trials": list,
    "arrays": dict,
}
_OPTIONAL: dict[str, Kinds] = {"note": str, "guess": dict, "values": dict}
_VALUES: dict[str, Kinds] = {"rule": dict, "stages": list, "guarantee": dict, "trials": list}
_OF_ROWS: dict[str, Kinds] = {"rule": dict, "feature_names": (list, type(None))}
_FUNCTION: dict[str, Kinds] = {
    "kernel": dict,
    "points": (str, dict),
    "weights": str,
    "bias": str,
    "input_map": (dict, type(None)),
    "blas_products": bool,
}
_PREPARED: dict[str, Kinds] = {"preparation": dict}
_MOST_MEMBERS = 256  # of a sum of machines
_STAGE: dict[str, Kinds] = {"name": str, "certified": bool, "caution": float, "numbers": dict, "arrays": dict}
_Shapes = list[tuple[str, tuple[int, ...]]]  # names of arrays, each with the shape it must have
_ORIGIN: dict[str, Kinds] = {
    "points": (str, dict),
    "weights": str,
    "bias": str,
    "input_map": (dict, type(None)),
    "constant": str,
    "slope": str,
    "gain": float,
    "start": float,
    "degree": int,
}


def audit(document: Document) -> None:
    """Raise PlanFileError unless the document conforms to the protocol."""
    schema = document.schema
    _audit_protocol(schema)
    require_fields(schema, "schema.json", _SCHEMA, optional=_OPTIONAL)
    audit_arrays(schema["arrays"], document.arrays)
    used = _audit_machine(document) + _audit_stages(schema["stages"], "stages", schema)
    if "guess" in schema:
        used += _audit_stage(schema["guess"], "guess", schema)
    if "values" in schema:
        used += _audit_values(schema["values"], schema)
    if sorted(used) != sorted(schema["arrays"]):
        raise PlanFileError("the schema must refer to each of its arrays just once")
    _audit_guarantee(schema["guarantee"], "guarantee", schema)
    _audit_source(schema["source"])
    _require_names(schema["rewrites"], "rewrites")
    _audit_trials(schema["trials"], "trials")
    audit_memory(document)


def _audit_values(values: dict[str, Any], schema: dict[str, Any]) -> list[str]:
    """Check the plan for probabilities, and return the names of the arrays it refers to."""
    require_fields(values, "values", _VALUES)
    _audit_guarantee(values["guarantee"], "values.guarantee", schema)
    _audit_trials(values["trials"], "values.trials")
    used = _audit_rule(values["rule"], "values.rule", schema, RULES)
    return used + _audit_stages(values["stages"], "values.stages", schema)


def _audit_trials(trials: list[Any], where: str) -> None:
    for number, trial in enumerate(trials):
        require_fields(trial, f"{where}[{number}]", dict(TRIAL))


def _audit_protocol(schema: dict[str, Any]) -> None:
    """Checked first: documents of other protocols may have other fields, but they all have these two."""
    protocol, version = schema.get("protocol"), schema.get("dormie")
    if type(protocol) is not int or type(version) is not str:
        raise PlanFileError("not a plan file: schema.json does not say which protocol it keeps to")
    if protocol == PROTOCOL:
        return
    later = f"upgrade to dormie {shown(version)} or later" if protocol > PROTOCOL else f"use dormie {shown(version)}"
    raise PlanFileError(
        f"written in protocol {protocol} by dormie {shown(version)}, and this dormie reads protocol {PROTOCOL}: "
        f"{later}, or compile the model again"
    )


def _audit_machine(document: Document) -> list[str]:
    """Check the machine, or the sum of machines, and return the names of the arrays it refers to."""
    schema = document.schema
    machine = schema["machine"]
    if "members" in machine:
        require_fields(machine, "machine", _OF_ROWS | {"members": list}, optional={"factors": list})
        used = _audit_members(machine["members"], document)
        for number, factor in enumerate(machine.get("factors", [])):
            require_kind(factor, f"machine.factors[{number}]", float)
    else:
        require_fields(machine, "machine", _OF_ROWS | _FUNCTION, optional=_PREPARED)
        used = _audit_function(machine, schema["origin"], "machine", "origin", document)
    if machine["feature_names"] is not None:
        _require_names(machine["feature_names"], "machine.feature_names")
    return used + _audit_rule(machine["rule"], "machine.rule", schema, RULES)


def _audit_members(members: list[Any], document: Document) -> list[str]:
    """Check the members of a sum, and return the names of the arrays they refer to."""
    if document.schema["origin"] is not None or not 1 <= len(members) <= _MOST_MEMBERS:
        raise PlanFileError(f"machine.members must be 1 to {_MOST_MEMBERS} machines, each with an origin of its own")
    used = []
    for number, member in enumerate(members):
        where = f"machine.members[{number}]"
        require_fields(member, where, _FUNCTION | {"origin": (dict, type(None))}, optional=_PREPARED)
        used += _audit_function(member, member["origin"], where, f"{where}.origin", document)
    return used


def _audit_function(
    machine: dict[str, Any], origin: dict[str, Any] | None, where: str, where_origin: str, document: Document
) -> list[str]:
    """Check what gives outputs, and return the names of the arrays it refers to."""
    schema = document.schema
    _audit_kernel(machine["kernel"], f"{where}.kernel", schema)
    (count, d), of_points = arrays_of_points(machine["points"], f"{where}.points", document)
    _, c = require_shape(machine["weights"], f"{where}.weights", schema, 2)
    used: _Shapes = [(machine["weights"], (count, c)), (machine["bias"], (c,))]
    used += _audit_input_map(machine["input_map"], f"{where}.input_map", d)
    _require_shapes(used, schema)
    of_origin = [] if origin is None else _audit_origin(origin, where_origin, where, d, c, document)
    return of_points + [reference for reference, _ in used] + _audit_preparation(machine, where, d, schema) + of_origin


def _audit_preparation(machine: dict[str, Any], where: str, d: int, schema: dict[str, Any]) -> list[str]:
    """Check what is done to rows before the input map, if anything, and return the names of its arrays."""
    if "preparation" not in machine:
        return []
    used = audit_preparation(machine["preparation"], f"{where}.preparation", schema)
    if (made := result_of(machine["preparation"], schema)) != d:
        raise PlanFileError(f"{where}.preparation makes {made:,} columns, and the points have {d:,}")
    return used


def _audit_input_map(input_map: dict[str, Any] | None, where: str, d: int) -> _Shapes:
    """Check the input map, and return the arrays it refers to with the shapes they must have."""
    if input_map is None:
        return []
    require_fields(input_map, where, {"center": str, "scale": str, "steps": list})
    for number, step in enumerate(input_map["steps"]):
        require_fields(step, f"{where}.steps[{number}]", {"name": str, "values": str})
    references = [input_map["center"], input_map["scale"], *(step["values"] for step in input_map["steps"])]
    return [(reference, (d,)) for reference in references]


def _audit_origin(
    origin: dict[str, Any], where: str, where_machine: str, d: int, c: int, document: Document
) -> list[str]:
    """Check the origin, and return the names of the arrays it refers to."""
    require_fields(origin, where, _ORIGIN)
    (count, width), of_points = arrays_of_points(origin["points"], f"{where}.points", document)
    if width != d:
        raise PlanFileError(f"{where}.points have {width:,} features, the points of {_the(where_machine)} {d:,}")
    used: _Shapes = [(origin["weights"], (count, c))]
    used += [(origin[name], (c,)) for name in ("bias", "constant", "slope")]
    used += _audit_input_map(origin["input_map"], f"{where}.input_map", d)
    _require_shapes(used, document.schema)
    return of_points + [reference for reference, _ in used]


def _the(where: str) -> str:
    return "the machine" if where == "machine" else where


def _require_shapes(used: _Shapes, schema: dict[str, Any]) -> None:
    for reference, shape in used:
        require_floats(reference, shape, schema)


def _require_names(names: list[Any], where: str) -> None:
    for number, name in enumerate(names):
        require_kind(name, f"{where}[{number}]", str)


def _audit_form(value: Any, where: str, forms: dict[str, Form], schema: dict[str, Any]) -> None:
    """Check that a value has a defined name and exactly the parameters that go with it."""
    name = value.get("name")
    if type(name) is not str or name not in forms:
        raise _unknown(where, name, list(forms), schema)
    form = forms[name]
    require_fields(value, where, {"name": str, **form.parameters}, optional=dict(form.optional))


def _unknown(where: str, name: Any, defined: list[str], schema: dict[str, Any]) -> PlanFileError:
    return PlanFileError(
        f"{where} is {shown(name)}, which this dormie does not know (it knows {', '.join(defined)}). The file was "
        f"written by dormie {shown(schema['dormie'])}: upgrade if that is a later one"
    )


def _audit_kernel(kernel: dict[str, Any], where: str, schema: dict[str, Any]) -> None:
    _audit_form(kernel, where, KERNELS, schema)
    if kernel["name"] == "normalized":
        _audit_form(kernel["kernel"], f"{where}.kernel", PLAIN_KERNELS, schema)


def _audit_rule(rule: dict[str, Any], where: str, schema: dict[str, Any], forms: dict[str, Form]) -> list[str]:
    """Check a rule, and return the names of the arrays it refers to."""
    _audit_form(rule, where, forms, schema)
    used = _audit_classes(rule["classes"], f"{where}.classes", schema) if "classes" in rule else []
    used += _audit_rule(rule["scores"], f"{where}.scores", schema, SCORES) if "scores" in rule else []
    used += _audit_rule(rule["of"], f"{where}.of", schema, VALUES) if "of" in rule else []
    used += _audit_rules(rule, where, schema) if "rules" in rule else []
    return used + (_audit_map(rule["map"], f"{where}.map", schema) if "map" in rule else [])


def _audit_rules(rule: dict[str, Any], where: str, schema: dict[str, Any]) -> list[str]:
    """Check the rules of several columns of labels, and return the names of the arrays they refer to."""
    for number, width in enumerate(rule["widths"]):
        require_kind(width, f"{where}.widths[{number}]", int)
    used: list[str] = []
    for number, each in enumerate(rule["rules"]):
        require_kind(each, f"{where}.rules[{number}]", dict)
        used += _audit_rule(each, f"{where}.rules[{number}]", schema, CLASSES)
    return used


def _audit_classes(classes: dict[str, Any], where: str, schema: dict[str, Any]) -> list[str]:
    require_fields(classes, where, {"array": str, "objects": bool})
    require_shape(classes["array"], where, schema, 1)
    if classes["objects"] and "U" not in schema["arrays"][classes["array"]]["dtype"]:
        raise PlanFileError(f"{where}: only text is held as objects")
    return [classes["array"]]


def _audit_map(described: dict[str, Any], where: str, schema: dict[str, Any]) -> list[str]:
    """Check a map to probabilities, and return the names of the arrays it refers to."""
    arrays = audit_map(
        described,
        where,
        form=lambda value, place, forms: _audit_form(value, place, forms, schema),
        rule=lambda value, place, forms: _audit_rule(value, place, schema, forms),
        shape_of=lambda reference, place: tuple(require_shape(reference, place, schema, 1)),
    )
    used = list(arrays)
    _require_shapes([(reference, shape) for reference, shape in used if shape is not None], schema)
    return [reference for reference, _ in used]


def _audit_stages(stages: list[Any], where: str, schema: dict[str, Any]) -> list[str]:
    """Check stages, and return the names of the arrays they refer to."""
    if not stages:
        raise PlanFileError(f"{where} is empty, and a plan has at least one")
    if len(stages) > MOST_STAGES:
        raise PlanFileError(f"there are {len(stages):,} {where}, and a plan has at most {MOST_STAGES}")
    return [name for number, stage in enumerate(stages) for name in _audit_stage(stage, f"{where}[{number}]", schema)]


def _audit_stage(stage: Any, where: str, schema: dict[str, Any]) -> list[str]:
    require_fields(stage, where, _STAGE)
    if stage["name"] not in METHODS:
        raise _unknown(where, stage["name"], list(METHODS), schema)
    if isinstance(schema["machine"].get("points"), dict) and not METHODS[stage["name"]].serves_sparse_points:
        raise PlanFileError(f"{where}: {stage['name']} does not serve sparse points")
    if METHODS[stage["name"]].stage(stage["certified"]) is None:
        raise PlanFileError(f"{where}: {stage['name']} is {'never' if stage['certified'] else 'always'} certified")
    for name, value in stage["numbers"].items():
        require_kind(value, f"{where}.numbers[{shown(name)}]", (bool, int, float, str))
    for name, reference in stage["arrays"].items():
        require_entry(reference, f"{where}.arrays[{shown(name)}]", schema)
    return list(stage["arrays"].values())


def _audit_guarantee(guarantee: dict[str, Any], where: str, schema: dict[str, Any]) -> None:
    _audit_form(guarantee, where, GUARANTEES, schema)
    if "evidence" not in guarantee:
        return
    where, evidence = f"{where}.evidence", guarantee["evidence"]
    require_fields(evidence, where, dict(EVIDENCE))
    _require_versions(evidence["versions"], f"{where}.versions")
    for number, count in enumerate(evidence["classes"]):
        require_fields(count, f"{where}.classes[{number}]", dict(COUNT))


def _audit_source(source: dict[str, Any]) -> None:
    optional: dict[str, Kinds] = {"seconds": float, "fast_at": str, "estimated": bool, "before": list}
    require_fields(source, "source", {"description": str, "points": int, "versions": dict}, optional=optional)
    if source.get("fast_at", "row") != "row" or source.get("estimated", True) is not True:
        raise PlanFileError('source.fast_at must be "row" and source.estimated true, where they are given')
    _require_names(source.get("before", []), "source.before")
    _require_versions(source["versions"], "source.versions")


def _require_versions(versions: dict[str, Any], where: str) -> None:
    for name, version in versions.items():
        require_kind(version, f"{where}[{shown(name)}]", str)
