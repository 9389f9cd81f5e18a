"""pyarrow is optional: what needs it says how to install it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def needs_pyarrow(what: str) -> Iterator[None]:
    """A context that turns a missing pyarrow into advice."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] != "pyarrow":
            raise
        raise ModuleNotFoundError(f"{what} needs pyarrow: pip install 'dormie[tables]'", name="pyarrow") from error
