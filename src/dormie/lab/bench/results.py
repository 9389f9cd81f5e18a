"""The results of benchmarks as they are kept: a small file beside a page, from which its tables and picture are made.

`dormie bench --json` tells all of a run; of that a page needs a line for each case. A run takes the place of what was
kept of the same cases, so that one case can be measured again without the others.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

REFERENCE = "scikit-learn"
_RISK = re.compile(r"dormie, risk (\S+)")


@dataclass(frozen=True)
class Result:
    """What was measured of one case: microseconds per row of every peer, and labels that differ from scikit-learn's."""

    case: str
    points: int
    features: int
    sparse: bool  # the rows
    computer: str
    microseconds: Mapping[str, float]
    differ: Mapping[str, tuple[int, int]]  # labels that differ, of so many
    compiled_in: float | None = None  # seconds, of a plan with a risk

    @property
    def risk(self) -> float | None:
        """The risk of the plan with a risk, if there is one among the peers."""
        found = (match for name in self.microseconds if (match := _RISK.fullmatch(name)))
        return next((float(match[1]) for match in found), None)

    @property
    def size(self) -> str:
        """Support vectors by features, as tables show it."""
        size = f"{self.points:,} \N{MULTIPLICATION SIGN} {self.features:,}"
        return f"{size}, sparse" if self.sparse else size

    def times(self, peer: str) -> float | None:
        """How many times as fast as scikit-learn a peer is; None if either was not measured."""
        if peer not in self.microseconds or REFERENCE not in self.microseconds:
            return None
        return self.microseconds[REFERENCE] / self.microseconds[peer]


def results_of(run: Mapping[str, Any]) -> list[Result]:
    """The results of a run, from what `dormie bench --json` wrote."""
    about = run["environment"]
    computer = f"{about['processor']}, {about['cores']} cores"
    return [_result(comparison, computer) for comparison in run["comparisons"]]


def _result(comparison: Mapping[str, Any], computer: str) -> Result:
    peers = comparison["peers"]
    return Result(
        comparison["title"],
        comparison["points"],
        comparison["features"],
        comparison["sparse"],
        computer,
        {peer["peer"]: _four_digits(peer["batch"]["best"]) for peer in peers},
        {peer["peer"]: (peer["differences"], peer["compared"]) for peer in peers if "dormie" in peer["peer"]},
        comparison["compiled_in"],
    )


def _four_digits(value: float) -> float:
    return float(f"{value:.4g}")


def merged(kept: Iterable[Result], new: Iterable[Result]) -> list[Result]:
    """All results, in the order of their names; new ones take the place of those of the same case and risk."""
    latest = {(result.case, result.risk or 0.0): result for result in (*kept, *new)}
    return [latest[key] for key in sorted(latest)]


def read_results(path: Path) -> list[Result]:
    """The results in a file; none if there is no file."""
    if not path.exists():
        return []
    return [Result(**line) for line in json.loads(path.read_text("utf-8"))]


def write_results(path: Path, results: Iterable[Result]) -> None:
    """Write results, one a line, so that a run changes the lines of its cases."""
    lines = ",\n".join(json.dumps(asdict(result)) for result in results)
    path.write_text(f"[\n{lines}\n]\n", "utf-8")
