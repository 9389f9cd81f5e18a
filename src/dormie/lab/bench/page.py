"""The page of benchmarks from a run: `python -m dormie.lab.bench.page RUN.json PAGE.md`, which `make bench` does.

RUN.json is what `dormie bench --json` wrote. Its results are kept in PAGE.json, beside the page and beside those of
earlier runs; the tables of the page are made from all of them; and the heat map is drawn beside the run, as RUN.png.
The documentation draws it anew from PAGE.json.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from dormie.lab.bench.heat_map import draw
from dormie.lab.bench.results import REFERENCE, Result, merged, read_results, results_of, write_results
from dormie.lab.bench.table import short

_CASE = ["case", "size"]
_PEERS = {
    REFERENCE: "scikit-learn",
    "scikit-learn-intelex": "scikit-learn-intelex",
    "onnxruntime": "ONNX Runtime",
    "numpy-float32": "NumPy float32",
    "dormie": "**dormie**",
}
_TABLES = re.compile(r"(<!-- The (\w+) table .*? -->\n).*?(<!-- end of the table -->\n)", flags=re.DOTALL)


def with_tables(page: str, results: Sequence[Result]) -> str:
    """The page with its tables made from the results."""
    tables = {"exact": exact_table, "risk": risk_table}
    return _TABLES.sub(lambda found: f"{found[1]}\n{tables[found[2]](results)}\n{found[3]}", page)


def exact_table(results: Iterable[Result]) -> str:
    """Plans without a risk beside the other peers, the largest factor first."""
    exact = [(times, result) for result in results if result.risk is None and (times := result.times("dormie"))]
    lines = [[*_CASE, *_PEERS.values(), "**times faster**"]]
    for times, result in sorted(exact, key=lambda pair: -pair[0]):
        values = [_microseconds(result, peer) for peer in _PEERS]
        lines.append([*_case(result), *values[:-1], f"**{values[-1]}**", f"**{short(times)}**"])
    return _markdown(lines)


def risk_table(results: Iterable[Result]) -> str:
    """Plans with a risk, the largest factor first."""
    with_risk = [result for result in results if result.risk is not None and REFERENCE in result.microseconds]
    head = [*_CASE, "scikit-learn", "dormie, exact", "**dormie, risk**", "**times faster**"]
    lines = [[*head, "differ", "compiled in", "risk"]]
    for result in sorted(with_risk, key=_factor_with_risk, reverse=True):
        peer = _with_risk(result)
        wrong, compared = result.differ[peer]
        taken = "" if result.compiled_in is None else f"{result.compiled_in:.0f} s"
        times = [f"**{_microseconds(result, peer)}**", f"**{short(_factor_with_risk(result))}**"]
        before = [*_case(result), _microseconds(result, REFERENCE), _microseconds(result, "dormie")]
        lines.append([*before, *times, f"{wrong:,} of {compared:,}", taken, f"{100 * (result.risk or 0):g} %"])
    return _markdown(lines)


def _with_risk(result: Result) -> str:
    return f"dormie, risk {result.risk:g}"


def _factor_with_risk(result: Result) -> float:
    return result.times(_with_risk(result)) or 0.0


def _case(result: Result) -> list[str]:
    return [result.case, result.size]


def _microseconds(result: Result, peer: str) -> str:
    return short(result.microseconds[peer]) if peer in result.microseconds else ""


def _markdown(lines: Sequence[Sequence[str]]) -> str:
    """A table whose first line is its head; the columns but the first are of numbers."""
    head, *rest = [f"| {' | '.join(line)} |".replace("|  |", "| |").replace("|  |", "| |") for line in lines]
    return "\n".join([head, f"| --- |{' ---: |' * (len(lines[0]) - 1)}", *rest, ""])


def main(run: Path, page: Path) -> None:
    """Add a run to a page."""
    kept = page.with_suffix(".json")
    results = merged(read_results(kept), results_of(json.loads(run.read_text("utf-8"))))
    write_results(kept, results)
    page.write_text(with_tables(page.read_text("utf-8"), results), "utf-8")
    picture = run.with_suffix(".png")
    draw(results).savefig(picture, dpi=160)
    print(f"the tables are in {page}, the results in {kept}, the heat map in {picture}")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
