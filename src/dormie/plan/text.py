"""Texts that are shown: those of others made safe for a terminal, long lists cut short, shares as percentages."""

from __future__ import annotations

from collections.abc import Sequence

_MOST_SHOWN = 4  # classes in a sentence


def printable(text: str) -> str:
    """The text, with whatever is not printed as itself escaped as in `repr`: control characters, lone surrogates,
    marks that turn the direction of writing.
    """
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def few(labels: Sequence[str]) -> str:
    """All of them, or the first few and how many more there are; ready to be shown."""
    shown = labels if len(labels) <= _MOST_SHOWN else labels[: _MOST_SHOWN - 1]
    more = f" and {len(labels) - len(shown)} more" if len(shown) < len(labels) else ""
    return ", ".join(map(printable, shown)) + more


def percent(share: float) -> str:
    """In percent, with all the nines that a share close to 1 has."""
    return f"{100 * share:.13f}".rstrip("0").rstrip(".") + " %"
