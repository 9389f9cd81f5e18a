"""Plan files: a plan on disk as a zip of `schema.json` and `.npy` arrays. Nothing in them is executable.

Loading takes separate steps, one module each. Nothing is constructed before everything is checked:

    bytes --parse--> Document (JSON and raw arrays) --upgrade, audit--> checked --construct--> Plan

Saving is the reverse: `describe`, the same audit, `archive`. So every file that was saved can be loaded.
The format is described in docs/plan-file.md, with the procedure for changing it.
"""

from __future__ import annotations

import io
import os

from dormie.errors import PlanFileError
from dormie.plan.file import archive
from dormie.plan.file.archive import Location
from dormie.plan.file.audit import audit
from dormie.plan.file.construct import construct
from dormie.plan.file.describe import describe
from dormie.plan.file.parse import parse, unparse
from dormie.plan.file.upgrade import upgrade
from dormie.plan.plan import Plan

__all__ = ["from_bytes", "load", "save", "to_bytes"]


def save(plan: Plan, target: Location) -> None:
    """Write the plan to a file, in one atomic step if it is named by its path; equal plans give equal bytes."""
    document = describe(plan)
    audit(document)
    archive.write(target, unparse(document))


def load(source: Location) -> Plan:
    """Read a plan from a file; raise `PlanFileError` for a file that differs in any byte from what `save` writes."""
    try:
        document = upgrade(parse(archive.read(source)))
        audit(document)
        return construct(document)
    except PlanFileError as error:
        raise PlanFileError(f"{_name(source)}: {error}") from error


def _name(source: Location) -> str:
    return os.fspath(source) if isinstance(source, str | os.PathLike) else str(getattr(source, "name", "the open file"))


def to_bytes(plan: Plan) -> bytes:
    """What `save` writes."""
    file = io.BytesIO()
    save(plan, file)
    return file.getvalue()


def from_bytes(data: bytes) -> Plan:
    """The plan of which `to_bytes` made these bytes."""
    return load(io.BytesIO(data))
