"""Stochastic gradient descent with Adam: the rate is halved whenever progress ends, and descent stops by itself."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dormie.methods.reduced_set.derivatives import Array

_WINDOW = 50  # steps whose losses are averaged: the loss of a single batch is too noisy to show progress
_LEAST_PROGRESS = 0.003  # of a logarithmic loss: 0.3 % of the error itself
_HALVINGS = 6
_FIRST_DECAY, _SECOND_DECAY = 0.9, 0.999


def minimise(
    loss: Callable[[Array], tuple[float, Array]], start: Array, rate: float, most: int, say: Callable[[int], None]
) -> Array:
    """Minimise a noisy loss from its value and gradient; `rate` is the size of the first steps in each coordinate."""
    at, mean, square = start.copy(), np.zeros_like(start), np.zeros_like(start)
    least = np.sqrt(np.finfo(at.dtype).tiny)  # the square of a smaller gradient underflows
    best, recent, halvings = np.inf, 0.0, 0
    for step in range(1, most + 1):
        value, gradient = loss(at)
        mean += (1 - _FIRST_DECAY) * (gradient - mean)
        square += (1 - _SECOND_DECAY) * (gradient**2 - square)
        size = np.sqrt(square / (1 - _SECOND_DECAY**step)) + least
        at -= rate * 0.5**halvings / (1 - _FIRST_DECAY**step) * mean / size
        recent += value / _WINDOW
        if step % _WINDOW:
            continue
        say(step)
        if recent > best - _LEAST_PROGRESS:
            halvings += 1
        if halvings > _HALVINGS:
            break
        best, recent = min(best, recent), 0.0
    return at
