"""One line of progress for long work, on standard error: only where that is a terminal, and erased at the end."""

from __future__ import annotations

import sys
from types import TracebackType

_ERASE_LINE = "\r\x1b[2K"
_LONG = 60.0  # seconds after which people wonder whether anything still happens


class Progress:
    """A line of progress: `with Progress() as progress: progress.say("...")`; each text replaces the one before.

    note: follows every text, in brackets
    """

    def __init__(self, note: str = "") -> None:
        self._note = f" ({note})" if note else ""
        self._terminal = sys.stderr if sys.stderr is not None and sys.stderr.isatty() else None

    def say(self, text: str) -> None:
        if self._terminal is not None:
            self._terminal.write(f"{_ERASE_LINE}dormie: {text}{self._note}")
            self._terminal.flush()

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._terminal is not None:
            self._terminal.write(_ERASE_LINE)
            self._terminal.flush()


def duration(seconds: float, what: str) -> str:
    """A note on how long something will take, in whole minutes; empty for what takes less than one."""
    if seconds < _LONG:
        return ""
    minutes = round(seconds / _LONG)
    return f"{what}: about {minutes:,} minute{'s' if minutes > 1 else ''}"
