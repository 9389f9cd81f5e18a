"""Plan files: a plan on disk as a zip of `schema.json` and `.npy` arrays, with nothing in it that runs.

Loading is three steps that never mix, one module each:

    bytes --parse--> Document (JSON and raw arrays) --upgrade, audit--> checked --construct--> Plan

Saving goes the other way (`describe`, then the same audit, then `archive`), so whatever was saved can be loaded.
The format is described in docs/plan-file.md, with the procedure for changing it.
"""

from __future__ import annotations

import os

from dormie.errors import PlanFileError
from dormie.plan.file import archive
from dormie.plan.file.audit import audit
from dormie.plan.file.construct import construct
from dormie.plan.file.describe import describe
from dormie.plan.file.parse import parse, unparse
from dormie.plan.file.upgrade import upgrade
from dormie.plan.plan import Plan

__all__ = ["load", "save"]


def save(plan: Plan, path: str | os.PathLike[str]) -> None:
    """Write the plan to a file, whole or not at all; equal plans give equal bytes."""
    document = describe(plan)
    audit(document)
    archive.write(path, unparse(document))


def load(path: str | os.PathLike[str]) -> Plan:
    """The plan in a file; `PlanFileError` for anything that `save` did not write just so."""
    try:
        document = upgrade(parse(archive.read(path)))
        audit(document)
        return construct(document)
    except PlanFileError as error:
        raise PlanFileError(f"{os.fspath(path)}: {error}") from error
