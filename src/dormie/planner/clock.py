"""Timing by the processor's clock: the only place where the planner asks one to choose stages."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np


def best_of(tasks: Sequence[Callable[[], Any]], rounds: int) -> list[float]:
    """The least processor time of each task over several rounds, in each of which every task runs once.

    Processor time counts all threads together, and is hardly disturbed by other programs on the computer.
    """
    times = np.full(len(tasks), np.inf)
    for _ in range(rounds):
        for i, task in enumerate(tasks):
            start = time.process_time()
            task()
            times[i] = min(times[i], time.process_time() - start)
    return [float(seconds) for seconds in times]
