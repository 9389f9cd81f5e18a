"""What long work is doing, on one line of a terminal that is wiped at the end; nothing anywhere else."""

from __future__ import annotations

import sys
from types import TracebackType

_WIPE = "\r\x1b[2K"


class Progress:
    """`with Progress() as progress: progress.say("...")`: each line replaces the one before."""

    def __init__(self) -> None:
        self._terminal = sys.stderr if sys.stderr is not None and sys.stderr.isatty() else None

    def say(self, text: str) -> None:
        if self._terminal is not None:
            self._terminal.write(f"{_WIPE}dormie: {text}")
            self._terminal.flush()

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._terminal is not None:
            self._terminal.write(_WIPE)
            self._terminal.flush()
