"""What `parse` returns and `audit` checks: the JSON of `schema.json`, and the arrays as raw bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

PROTOCOL = 4
SCHEMA = "schema.json"

Raw = bytes | memoryview


@dataclass(frozen=True)
class Document:
    """A plan file taken apart: the schema as JSON values, and the bytes of each `.npy` member."""

    schema: dict[str, Any]
    arrays: dict[str, Raw]
