"""The last part of the audit: a small file must not expand into a plan that takes far more memory.

When a plan is loaded, every stage lays the points out again: in an order of its own or in cells, padded to whole tiles.
How much memory that takes is computed from the shapes (`dormie.methods.memory`), before anything is constructed.
"""

from __future__ import annotations

from typing import Any

from dormie.errors import PlanFileError
from dormie.methods.memory import Size
from dormie.plan.file.document import Document
from dormie.plan.file.points import nonzeros_of
from dormie.plan.file.vocabulary import stage_type

MOST_STAGES = 16
_TIMES, _SPARE = 14, 32 << 20  # so that loading, reading included, takes less than 20 times the file's size plus 50 MB
_TILES = 384  # bytes per feature of the full sum's smallest tiles: in float32, in float64 and for differences
_LABEL = 100  # bytes of a label held as a Python string


def audit_memory(document: Document) -> None:
    """Raise PlanFileError if the plan would take far more memory than its arrays take in the file."""
    schema = document.schema
    size = _size(schema)
    stages = [*schema["stages"], *([schema["guess"]] if "guess" in schema else [])]
    memory = _labels(schema) + sum(_stage_memory(stage, size, schema) for stage in stages)
    stored = sum(len(raw) for raw in document.arrays.values())
    most = _TIMES * stored + _SPARE + (_TILES * size.features if size.points and size.nonzeros is None else 0)
    if memory > most:
        raise PlanFileError(
            f"the plan would take {memory:,} bytes of memory, and of a file with {stored:,} bytes of arrays it may "
            f"take {most:,}: it has stages or arrays that no plan needs"
        )


def _size(schema: dict[str, Any]) -> Size:
    machine, arrays = schema["machine"], schema["arrays"]
    points, outputs = arrays[machine["weights"]]["shape"]
    nonzeros = nonzeros_of(machine["points"], arrays)
    features = machine["points"]["features"] if nonzeros is not None else arrays[machine["points"]]["shape"][1]
    return Size(points, features, outputs, nonzeros)


def _stage_memory(stage: dict[str, Any], size: Size, schema: dict[str, Any]) -> int:
    shapes = {name: schema["arrays"][reference]["shape"] for name, reference in stage["arrays"].items()}
    return stage_type(stage).memory(size, shapes)


def _labels(schema: dict[str, Any]) -> int:
    classes = schema["machine"]["rule"].get("classes", {"objects": False})
    return _LABEL * int(schema["arrays"][classes["array"]]["shape"][0]) if classes["objects"] else 0
