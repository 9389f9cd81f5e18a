"""The table of what `dormie.read` takes, and of what it refuses, made from the readers themselves.

docs/models.md holds what `tables` gives; `python -m tests.convert.models_page` writes it there, and a test compares.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dormie.convert import own
from dormie.convert.libsvm import models
from dormie.convert.readers import Reader
from dormie.convert.sklearn.reader import ADVICE, READERS

SECTIONS: dict[str, Mapping[str, Reader]] = {
    "scikit-learn, and dormie's estimators": READERS,
    "what dormie gave": own.READERS,
    "other libraries": models.READERS,
}


def tables() -> str:
    """All tables, in Markdown."""
    read = [_table(title, "what is read", _lines(readers)) for title, readers in SECTIONS.items()]
    return "\n".join([*read, _table("not read", "why, and what to do", ADVICE.items())])


def _lines(readers: Mapping[str, Reader]) -> Iterable[tuple[str, str]]:
    return ((name, reader.line) for name, reader in readers.items())


def _table(first: str, second: str, lines: Iterable[tuple[str, str]]) -> str:
    rows = [f"| `{name}` | {line} |" for name, line in lines]
    return "\n".join([f"| {first} | {second} |", "| --- | --- |", *rows, ""])
