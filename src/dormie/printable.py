"""Text of others, such as a model's description or class labels out of a file, made safe to show on a terminal."""

from __future__ import annotations


def printable(text: str) -> str:
    """The text, with whatever is not printed as itself escaped as in `repr`: control characters, lone surrogates,
    marks that turn the direction of writing.
    """
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
