"""Parsing of text models: lines, headers and numbers, with errors that name the file and the line."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np

from dormie.errors import UnreadableModelError
from dormie.machine import Floats

_OTHER_FILES = (
    "Models in other files must be loaded first: plans by dormie.load, pickles by what wrote them. The command dormie "
    "loads them by the end of their names: .dormie, .skops, .joblib, .pkl"
)


@dataclass(frozen=True)
class Text:
    """The lines of a file; makes errors that name the file and the line."""

    path: str | PathLike[str]
    lines: list[bytes]

    @classmethod
    def of_file(cls, path: str | PathLike[str]) -> Text:
        return cls(Path(path), Path(path).read_bytes().rstrip().splitlines())

    @property
    def first_word(self) -> str:
        """The first word of the first line; empty where there is none."""
        words = self.lines[0].split() if self.lines else []
        return words[0].decode("ascii", "replace") if words else ""

    def error(self, message: str) -> UnreadableModelError:
        return UnreadableModelError(f"{self.path}: {message}")

    @contextmanager
    def at(self, line: int) -> Iterator[None]:
        """A context that adds the file and the line to a ValueError."""
        try:
            yield
        except UnreadableModelError:
            raise
        except ValueError as error:
            raise UnreadableModelError(f"{self.path}, line {line}: {error}") from error


@dataclass(frozen=True)
class Headers:
    """The headers: the line number and the fields of each, and the number of lines up to and including the last."""

    text: Text
    fields: dict[str, tuple[int, list[bytes]]]
    length: int

    def line(self, name: str) -> int:
        if name not in self.fields:
            raise self.text.error(f"the header {name} is missing")
        return self.fields[name][0]

    def word(self, name: str) -> str:
        with self.text.at(self.line(name)):
            return _counted(self.fields[name][1], 1)[0].decode("ascii", "replace")

    def wholes(self, name: str, count: int) -> list[int]:
        with self.text.at(self.line(name)):
            return [whole(field) for field in _counted(self.fields[name][1], count)]

    def numbers(self, name: str, count: int) -> Floats:
        with self.text.at(self.line(name)):
            return np.array([number(field) for field in _counted(self.fields[name][1], count)], dtype=np.float64)

    def whole(self, name: str) -> int:
        return self.wholes(name, 1)[0]

    def n_classes(self) -> int:
        """The header nr_class, which is 2 for models of one output."""
        n_classes = self.whole("nr_class")
        with self.text.at(self.line("nr_class")):
            if n_classes < 2:
                raise ValueError(
                    f"nr_class is {n_classes}, there is nothing to tell apart; train on two classes or more"
                )
        return n_classes

    def number(self, name: str) -> float:
        return float(self.numbers(name, 1)[0])


def _counted(fields: list[bytes], count: int) -> list[bytes]:
    if len(fields) != count:
        raise ValueError(f"expected {count} values, found {len(fields)}")
    return fields


def whole(field: bytes) -> int:
    """Parse a 32-bit integer, as LIBSVM stores labels and indices."""
    try:
        value = int(field)
    except ValueError:
        value = 1 << 31
    if not -(1 << 31) <= value < 1 << 31 or b"_" in field:  # Python reads 1_000, LIBSVM does not
        raise ValueError(f"{shown(field)} is not a whole number that LIBSVM can hold")
    return value


def number(field: bytes) -> float:
    """Parse a finite number."""
    try:
        value = float(field)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or b"_" in field:
        raise ValueError(f"{shown(field)} is not a finite number")
    return value


def shown(field: bytes) -> str:
    text = field.decode("ascii", "backslashreplace")
    return repr(text if len(text) <= 40 else text[:40] + "...")


def read_headers(text: Text, known: frozenset[str], last: str, program: str) -> Headers:
    """The headers of a model, which are `known` ones up to the line `last`."""
    headers: dict[str, tuple[int, list[bytes]]] = {}
    for line, content in enumerate(text.lines, 1):
        with text.at(line):
            name, *fields = content.split() or [b""]
            header = name.decode("ascii", "replace")
            if header == last:
                return Headers(text, headers, line)
            if header not in known:
                advice = "" if headers else f". {_OTHER_FILES}"
                raise ValueError(f"{shown(name)} is not a header of a {program} text model{advice}")
            if header in headers:
                raise ValueError(f"the header {header} appears twice")
            headers[header] = line, fields
    raise text.error(f"the file ends after line {len(text.lines)}, before its {last} line: it is cut short")
