"""The last part of the audit: a small file must not expand into a plan that takes far more memory.

When a plan is loaded, every stage lays the points out again: in an order of its own or in cells, padded to whole tiles.
How much memory that takes is computed from the shapes (`dormie.methods.memory`), before anything is constructed.
"""

from __future__ import annotations

from typing import Any

from dormie.errors import PlanFileError
from dormie.methods.dense import Dense
from dormie.methods.memory import Size
from dormie.plan.file.document import Document
from dormie.plan.file.points import nonzeros_of
from dormie.plan.file.preparation import memory_of
from dormie.plan.file.vocabulary import stage_type

MOST_STAGES = 16
_TIMES, _SPARE = 14, 32 << 20  # so that loading, reading included, takes less than 20 times the file's size plus 50 MB
_TILES = 384  # bytes per feature of the full sum's smallest tiles: in float32, in float64 and for differences
_LABEL = 100  # bytes of a label held as a Python string


def audit_memory(document: Document) -> None:
    """Raise PlanFileError if the plan would take far more memory than its arrays take in the file."""
    schema = document.schema
    size = _size_of(schema)
    values = schema.get("values", {"rule": {}, "stages": []})
    stages = [*schema["stages"], *([schema["guess"]] if "guess" in schema else []), *_own_stages(values["stages"])]
    labels = _labels(schema["machine"]["rule"], schema) + _labels(values["rule"], schema)
    prepared = sum(memory_of(each.get("preparation"), schema) for each in _functions(schema))
    memory = labels + prepared + sum(_stage_memory(stage, size, schema) for stage in stages)
    stored = sum(len(raw) for raw in document.arrays.values())
    tiled = sum(_TILES * own.features for own in size.members or (size,) if own.points and own.nonzeros is None)
    most = _TIMES * stored + _SPARE + tiled
    if memory > most:
        raise PlanFileError(
            f"the plan would take {memory:,} bytes of memory, and of a file with {stored:,} bytes of arrays it may "
            f"take {most:,}: it has stages or arrays that no plan needs"
        )


def _functions(schema: dict[str, Any]) -> list[dict[str, Any]]:
    """The machine, or the members of the sum."""
    machine: dict[str, Any] = schema["machine"]
    members: list[dict[str, Any]] = machine.get("members", [machine])
    return members


def _size_of(schema: dict[str, Any]) -> Size:
    """The size of the machine, or of the sum."""
    machine, arrays = schema["machine"], schema["arrays"]
    if "members" not in machine:
        return _size(machine, arrays)
    members = tuple(_size(each, arrays) for each in machine["members"])
    points, features, outputs, _, _ = zip(*members, strict=True)
    return Size(sum(points), max(features), sum(outputs), members=members)


def _size(machine: dict[str, Any], arrays: dict[str, Any]) -> Size:
    points, outputs = arrays[machine["weights"]]["shape"]
    nonzeros = nonzeros_of(machine["points"], arrays)
    features = machine["points"]["features"] if nonzeros is not None else arrays[machine["points"]]["shape"][1]
    return Size(points, features, outputs, nonzeros)


def _own_stages(stages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The stages of a plan for probabilities without the full sum at its end, which is that of the plan itself."""
    return stages[:-1] if stages and stages[-1]["name"] == Dense.name else stages


def _stage_memory(stage: dict[str, Any], size: Size, schema: dict[str, Any]) -> int:
    shapes = {name: schema["arrays"][reference]["shape"] for name, reference in stage["arrays"].items()}
    return stage_type(stage).memory(size, shapes)


def _labels(rule: dict[str, Any], schema: dict[str, Any]) -> int:
    """Bytes of the labels of a rule, and of those inside it, as Python strings."""
    found, todo = 0, [rule]
    while todo:
        part = todo.pop()
        classes = part.get("classes", {"objects": False})
        found += _LABEL * int(schema["arrays"][classes["array"]]["shape"][0]) if classes["objects"] else 0
        todo += [part[name] for name in ("map", "scores") if name in part] + part.get("members", [])
    return found
