"""python -m dormie.lab.bench.versions REF [CASE ...]: compares the commit REF with HEAD, in the current folder."""

from __future__ import annotations

import argparse
from pathlib import Path

from dormie.lab.bench.cases import CASES, make_case
from dormie.lab.bench.versions import installed, measure, table

_ROWS = 4000  # of a case: enough for full blocks, and few enough for many rounds


def main() -> None:
    """Build both, measure both on every case, and print the ratios."""
    parser = argparse.ArgumentParser(prog="dormie.lab.bench.versions", description=__doc__)
    parser.add_argument("ref", help="the commit to compare HEAD with")
    parser.add_argument("cases", nargs="*", default=["digits"], help=f"of {', '.join(CASES)}")
    parser.add_argument("--rounds", type=int, default=7, help="how often each is measured; the best counts")
    parser.add_argument("--folder", type=Path, default=Path("build/versions"), help="where builds are kept")
    asked = parser.parse_args()
    versions = [installed(ref, Path.cwd(), asked.folder.resolve()) for ref in (asked.ref, "HEAD")]
    found = {}
    for name in asked.cases:
        case = make_case(name)
        pythons = [version.python for version in versions]
        found[name] = measure(pythons, case.model, case.rows[:_ROWS], rounds=asked.rounds)
    print(table([version.name for version in versions], found))


if __name__ == "__main__":
    main()
