"""Pieces of a page as HTML: bars, tables, pictures of rows. Whatever text they are given is escaped here.

Bars are inline SVG whose colours come from the page's style, so they follow light and dark; their lengths are
percentages, so they fit a phone.
"""

from __future__ import annotations

import base64
import html
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dormie.machine import Floats
from dormie.plan.text import printable


@dataclass(frozen=True)
class Bar:
    """A bar: its name, the words beside it, the share of the width, a second share that lies behind, words below."""

    name: str
    words: str
    share: float
    behind: float = 0.0
    tip: str = ""  # shown when the pointer is on it; the words by default
    note: str = ""


@dataclass(frozen=True)
class Markup:
    """Text that is HTML already."""

    text: str


def text(words: str) -> str:
    """Words as HTML: what a file holds is shown, and never obeyed."""
    return html.escape(printable(words), quote=True)


def bars(drawn: Sequence[Bar]) -> str:
    """Bars below one another."""
    return f'<div class="bars">{"".join(map(_bar, drawn))}</div>'


def _bar(bar: Bar) -> str:
    tip = text(bar.tip or f"{bar.name}: {bar.words}")
    behind = f'<rect class="behind" width="{_percent(bar.behind)}" height="100%"/>' if bar.behind else ""
    note = f'<div class="note">{text(bar.note)}</div>' if bar.note else ""
    return (
        f'<div class="bar" tabindex="0" data-tip="{tip}">'
        f'<div class="words"><span>{text(bar.name)}</span><span>{text(bar.words)}</span></div>'
        f'<svg width="100%" height="18" role="img" aria-label="{tip}"><rect class="track" width="100%" height="100%"/>'
        f'{behind}<rect class="front" width="{_percent(bar.share)}" height="100%"/></svg>{note}</div>'
    )


def _percent(share: float) -> str:
    """A share of the width; what is more than nothing is seen."""
    return f"{100 * min(max(share, 0.004 if share > 0 else 0.0), 1.0):.2f}%"


def table(headings: Sequence[str], rows: Sequence[Sequence[str | Markup]]) -> str:
    """A table with one line for each row."""
    head = "".join(f"<th>{text(heading)}</th>" for heading in headings)
    lines = "".join(f"<tr>{''.join(_cell(cell) for cell in row)}</tr>" for row in rows)
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table></div>'


def _cell(cell: str | Markup) -> str:
    return f"<td>{cell.text if isinstance(cell, Markup) else text(cell)}</td>"


def paragraphs(sentences: Sequence[str]) -> str:
    """One paragraph for each; the first one counts most."""
    first, *rest = sentences
    return f'<p class="first">{text(first)}</p>' + "".join(f"<p>{text(sentence)}</p>" for sentence in rest)


def tiles(numbers: Sequence[tuple[str, str]]) -> str:
    """Large numbers, each with the words below that say what it is."""
    return (
        '<div class="tiles">' + "".join(f"<div><b>{text(n)}</b>{text(words)}</div>" for n, words in numbers) + "</div>"
    )


def picture(pixels: Floats, words: str) -> Markup:
    """A row as a grey picture: its smallest value is black, its largest white."""
    low, high = float(pixels.min()), float(pixels.max())
    grey = np.zeros(pixels.shape) if high <= low else (pixels / 2 - low / 2) / (high / 2 - low / 2)
    data = base64.b64encode(_png(np.round(255 * grey).astype(np.uint8))).decode()
    return Markup(f'<img src="data:image/png;base64,{data}" alt="{text(words)}">')


def _png(grey: npt.NDArray[np.uint8]) -> bytes:
    """A PNG file of 8-bit grey pixels."""
    height, width = grey.shape
    lines = b"".join(b"\0" + line.tobytes() for line in grey)  # each begins with the name of its filter: none
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(lines, 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )
