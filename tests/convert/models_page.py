"""docs/models.md has the tables that the readers make; `python -m tests.convert.models_page` writes them there."""

from __future__ import annotations

import re

from dormie.convert.table import tables
from tests import ROOT

PAGE = ROOT / "docs" / "models.md"
_TABLES = re.compile(r"(<!-- The tables .*? -->\n).*(<!-- end of the tables -->\n)", flags=re.DOTALL)


def with_tables(page: str) -> str:
    """The page with the tables as the readers make them now."""
    return _TABLES.sub(lambda found: f"{found[1]}\n{tables()}\n{found[2]}", page)


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text("utf-8")), "utf-8")
