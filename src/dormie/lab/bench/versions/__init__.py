"""Compares two versions of dormie on this computer: `make bench-compare REF=v0.1.0`.

    git commits ── wheels ──▶ an environment each ── driver ──▶ Measured ── ratios ──▶ a table
                                                       │
                            worker: a process in each environment, with the same model and rows; they take turns

Timings of one version taken after all timings of the other say nothing on a busy computer, so the workers take turns in
every round, with one thread, and the best round of each counts.
"""

from dormie.lab.bench.versions.driver import Measured, measure
from dormie.lab.bench.versions.ratios import table
from dormie.lab.bench.versions.wheels import Version, installed

__all__ = ["Measured", "Version", "installed", "measure", "table"]
