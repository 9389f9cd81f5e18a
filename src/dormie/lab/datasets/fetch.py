"""Finds a data file, and checks its sha256.

A file is looked for in the folder named by DORMIE_DATA, then in the cache folder ($XDG_CACHE_HOME/dormie or
~/.cache/dormie), then at its public origin. The first file found is checked every time it is read. If the check fails,
that is an error: no other place is tried, and the user's file is not overwritten.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from urllib.request import urlopen

from dormie.planner.cache_folder import cache_folder, keep

_TIMEOUT = 60  # seconds without a byte after which a download fails


@dataclass(frozen=True)
class File:
    """A data file: path in a data folder, size, sha256, the source of the data, and addresses that serve the file."""

    path: str
    size: int
    sha256: str
    made_from: str
    origins: tuple[str, ...] = ()


def data_folder() -> Path | None:
    """The folder named by DORMIE_DATA, if any."""
    named = os.environ.get("DORMIE_DATA")
    return Path(named).expanduser() if named else None


def read_file(file: File) -> bytes:
    """The bytes of a data file, after checking them."""
    for place in _places(file):
        if place.is_file():
            content = place.read_bytes()
            _require_intact(file, content, place)
            return content
    return _download(file)


def _places(file: File) -> Iterator[Path]:
    folder = data_folder()
    if folder is not None:
        yield folder / file.path
    yield cache_folder() / file.path


def _damage(file: File, content: bytes) -> str | None:
    """What is wrong with the bytes, or None."""
    if len(content) != file.size:
        return f"{len(content):,} bytes instead of {file.size:,}"
    found = hashlib.sha256(content).hexdigest()
    return None if found == file.sha256 else f"sha256 {found} instead of {file.sha256}"


def _require_intact(file: File, content: bytes, place: Path) -> None:
    damage = _damage(file, content)
    if damage is not None:
        raise ValueError(f"{place} is not the file it should be: {damage}. Remove or replace it; it was left as it is.")


def _download(file: File) -> bytes:
    failures = []
    for url in file.origins:
        try:
            content = _fetch(url, file.size)
        except (OSError, HTTPException) as error:
            failures.append(f"{url}: {error}")
            continue
        damage = _damage(file, content)
        if damage is None:
            keep(content, cache_folder() / file.path)
            return content
        failures.append(f"{url}: {damage}")
    raise FileNotFoundError(_missing(file, failures))


def _fetch(url: str, size: int) -> bytes:
    """The bytes at the address; at most one more than expected, which is enough to see that the size is wrong."""
    with urlopen(url, timeout=_TIMEOUT) as response:
        content: bytes = response.read(size + 1)
    return content


def _missing(file: File, failures: list[str]) -> str:
    looked = " and ".join(str(place) for place in _places(file))
    why = (
        f"and it could not be fetched ({'; '.join(failures)})"
        if failures
        else "and no public address is known to serve exactly this file"
    )
    return (
        f"{file.path} is not at {looked}, {why}. Its data come from {file.made_from}. Put the file, "
        f"{file.size:,} bytes with sha256 {file.sha256}, at {file.path} in the folder named by the environment "
        "variable DORMIE_DATA."
    )
