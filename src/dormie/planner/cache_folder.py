"""The folder that dormie keeps things in between runs: downloaded data files, and the profile of this computer."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def cache_folder() -> Path:
    """$XDG_CACHE_HOME/dormie, or ~/.cache/dormie."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "dormie"


def keep(content: bytes, place: Path) -> None:
    """Write a temporary file and rename it, so that no reader ever sees half a file."""
    place.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=place.parent, prefix=f".{place.name}.")
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(content)
        os.replace(temporary, place)
    except BaseException:
        os.unlink(temporary)
        raise
