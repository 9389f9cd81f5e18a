"""Helpers for text that users read: escape unsafe characters, shorten lists, write shares as percentages."""

from __future__ import annotations

from collections.abc import Sequence

_MOST_SHOWN = 4  # classes in a sentence


def printable(text: str) -> str:
    """The text, with unprintable characters escaped as `repr` does.

    Those are control characters, lone surrogates, and marks that change the direction of writing.
    """
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def few(labels: Sequence[str]) -> str:
    """The labels in one line: all of them, or the first few and the number of the others."""
    shown = labels if len(labels) <= _MOST_SHOWN else labels[: _MOST_SHOWN - 1]
    more = f" and {len(labels) - len(shown)} more" if len(shown) < len(labels) else ""
    return ", ".join(map(printable, shown)) + more


def percent(share: float) -> str:
    """The share in percent, with enough digits that a share close to 1 is not shown as 100 %."""
    return f"{100 * share:.13f}".rstrip("0").rstrip(".") + " %"
