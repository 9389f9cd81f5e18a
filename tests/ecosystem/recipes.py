"""The recipes of docs/scale.md, run as they stand there: blocks marked `py`, which the usual tests pass over."""

from __future__ import annotations

import re
from typing import Any

from tests import ROOT


def run(title: str, names: dict[str, Any]) -> dict[str, Any]:
    """Run the block below the heading with that title; the names it leaves."""
    text = (ROOT / "docs" / "scale.md").read_text("utf-8")
    section = text.split(f"\n## {title}\n")[1].split("\n## ")[0]
    [block] = re.findall(r"^```py\n(.*?)^```$", section, flags=re.MULTILINE | re.DOTALL)
    # As in a notebook: what is defined there is sent to workers by value.
    names = {"__name__": "__main__", **names}
    exec(compile(block, f"docs/scale.md, {title}", "exec"), names)
    return names
