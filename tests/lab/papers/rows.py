"""Small machines and problems of the papers' kinds, made up here, so that the tests need no data files."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dormie.lab.papers.decoste2002.problems import Problem
from dormie.lab.papers.table import Numbers
from dormie.machine.kernels import Normalized, Polynomial


def small_problem(rows: int = 80, features: int = 6, seed: int = 0) -> Problem:
    """Two overlapping classes away from the origin, with the kernel of the paper's Sonar."""
    random = np.random.default_rng(seed)
    y = np.where(np.arange(rows) % 2 == 0, 1, -1)
    X = 1 + 0.5 * random.standard_normal((rows, features)) + 0.3 * y[:, None] * (np.arange(features) < 2)
    printed: Numbers = {"features": 60, "training rows: k mean, median": (28.1, 23)}
    return Problem("made up", printed, Normalized(Polynomial(1, 1, 2)), 1, X, y, notes=("a note",))


def unsettled_problem() -> Problem:
    """So few landmarks that some rows stay open."""
    return replace(small_problem(), landmarks=2)
