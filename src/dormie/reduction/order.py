"""Any vectors in w-greedy order, so that the first few tell the most of w."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from dormie.known import Known
from dormie.landmarks import Expansion, WGreedy
from dormie.machine import Floats, Machine


def w_greedy_order(machine: Machine, vectors: Floats, expansion: Expansion) -> npt.NDArray[np.intp]:
    """The order of vectors that need not be points of the machine; those that others can express come last."""
    candidates = replace(machine, points=vectors, weights=np.zeros((len(vectors), machine.n_outputs)), input_map=None)
    seen = replace(expansion, machine=candidates, corr=Known.by(machine, vectors).values)
    first = WGreedy(seen, len(vectors)).extend(len(vectors))
    return np.concatenate([first, np.setdiff1d(np.arange(len(vectors)), first)])
