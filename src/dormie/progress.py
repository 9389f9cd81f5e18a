"""One line of progress for long work, on standard error: only where that is a terminal, and erased at the end."""

from __future__ import annotations

import sys
from types import TracebackType

_ERASE_LINE = "\r\x1b[2K"


class Progress:
    """A line of progress: `with Progress() as progress: progress.say("...")`; each text replaces the one before."""

    def __init__(self) -> None:
        self._terminal = sys.stderr if sys.stderr is not None and sys.stderr.isatty() else None

    def say(self, text: str) -> None:
        if self._terminal is not None:
            self._terminal.write(f"{_ERASE_LINE}dormie: {text}")
            self._terminal.flush()

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._terminal is not None:
            self._terminal.write(_ERASE_LINE)
            self._terminal.flush()
