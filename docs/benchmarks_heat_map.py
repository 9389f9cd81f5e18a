"""The heat map of the benchmarks page, drawn from the results that `make bench` keeps beside this file."""

from __future__ import annotations

from pathlib import Path

from dormie.lab.bench.heat_map import draw
from dormie.lab.bench.results import read_results

draw(read_results(Path("benchmarks.json")))
