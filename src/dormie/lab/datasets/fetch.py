"""Reads a part of a data set from wherever a copy is, and checks what it holds.

Files are looked for in the folder named by DORMIE_DATA, then in the cache folder ($XDG_CACHE_HOME/dormie or
~/.cache/dormie), then at their public homes. The contents are checked every time they are read. If the check of a file
that was found fails, that is an error: no other place is tried, and the user's file is not overwritten. What is
downloaded is kept only if its contents are right.
"""

from __future__ import annotations

import lzma
import zlib
from collections.abc import Sequence
from http.client import HTTPException
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit
from urllib.request import urlopen

from dormie.lab.datasets.contents import digest
from dormie.lab.datasets.places import Form, Part, how_to_get, located
from dormie.planner.cache_folder import cache_folder, keep

_TIMEOUT = 60  # seconds without a byte after which a download fails
_LARGEST = 1 << 26  # bytes; the largest file of all sets has 12 million
_UNREADABLE = (ValueError, IndexError, KeyError, EOFError, OSError, zlib.error, lzma.LZMAError)

Contents = tuple[Any, Any]


def read(part: Part) -> Contents:
    """Features and labels of a part, after checking them."""
    found = located(part)
    if found is None:
        return _fetched(part)
    form, places = found
    try:
        return _checked(part, form, [place.read_bytes() for place in places])
    except ValueError as error:
        named = " and ".join(map(str, places))
        raise ValueError(
            f"{named}: not what it should be: {error}. Remove or replace it; it was left as it is."
        ) from None


def _checked(part: Part, form: Form, files: Sequence[bytes]) -> Contents:
    try:
        contents = form.parse(*files)
    except _UNREADABLE as error:
        raise ValueError(f"cannot be read ({error})") from None
    return _require_intact(part, contents)


def _require_intact(part: Part, contents: Contents) -> Contents:
    found = digest(*contents)
    if found != part.contents:
        rows = " x ".join(map(str, contents[0].shape))
        raise ValueError(f"its contents ({rows}) have sha256 {found} instead of {part.contents}")
    return contents


def _fetched(part: Part) -> Contents:
    failures: list[str] = []
    for form in part.forms:
        for urls in form.origins:
            try:
                return _downloaded(part, form, urls)
            except (ValueError, OSError, HTTPException) as error:
                failures.append(f"{' and '.join(urls)}: {error}")
    if part.openml is not None:
        try:
            return _require_intact(part, part.openml.fetch())
        except (ImportError, ValueError, KeyError, OSError, HTTPException) as error:
            failures.append(f"OpenML's {part.openml.name}: {error}")
    raise FileNotFoundError(_missing(part, failures))


def _downloaded(part: Part, form: Form, urls: tuple[str, ...]) -> Contents:
    files = [_download(url) for url in urls]
    contents = _checked(part, form, files)
    for url, content in zip(urls, files, strict=True):
        keep(content, cache_folder() / part.folder / served_name(url))
    return contents


def served_name(url: str) -> str:
    """The name of the file that an address serves."""
    return PurePosixPath(unquote(urlsplit(url).path)).name


def _download(url: str) -> bytes:
    with urlopen(url, timeout=_TIMEOUT) as response:
        content: bytes = response.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise ValueError(f"more than {_LARGEST:,} bytes, which no file of these sets has")
    return content


def _missing(part: Part, failures: list[str]) -> str:
    why = f"could not be fetched ({'; '.join(failures)})" if failures else "has no public address to fetch it from"
    return f"{part.folder}: the data set is not on this computer, and {why}. To have it, {how_to_get(part)}"
