"""What parsing makes and auditing checks: the JSON of `schema.json`, and the other members as raw bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

PROTOCOL = 2
SCHEMA = "schema.json"

Raw = bytes | memoryview


@dataclass(frozen=True)
class Document:
    schema: dict[str, Any]
    arrays: dict[str, Raw]
