"""Native calls under ever lower limits on memory: the right answer or MemoryError, never an abort.

    python -m tests.slow.out_of_memory [step in KiB] [outputs: 1, 3 or both]

Run in a process of its own, which makes every stage and then forks once for each limit. The child first takes all
memory that is still free in the heap, so that what it may have beyond that is what decides. Threads are as many as
DORMIE_THREADS says. Prints how many children ended in which way; fails if one ended in any other.
"""

from __future__ import annotations

import ctypes
import os
import resource
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from dormie.machine import Floats, Machine
from dormie.machine.kernels import RBF
from dormie.machine.rules import OneVsOneVote, Sign
from dormie.methods import tree
from dormie.methods.base import Stage, certified_among
from dormie.methods.champion import Champion
from dormie.methods.dense import Dense
from dormie.methods.fast_stopping import FastStopping
from dormie.methods.geometry import Geometry
from dormie.methods.linear_filter import LinearFilter
from dormie.methods.nearest import Nearest
from dormie.methods.open_pairs import OpenPairs
from dormie.methods.reduced_set import ReducedSet
from dormie.methods.scores import Scores
from dormie.methods.scores.stage import ScoreMachine
from dormie.methods.tree.stage import TreeWalk
from dormie.numerics.source_sum import SourceSum

Call = Callable[[], Sequence[Any] | Floats]

ANSWERED, REFUSED, OUT_OF_MEMORY, WRONG = range(10, 14)  # none is a status that a failing Python exits with
_WAYS = {ANSWERED: "answered", REFUSED: "refused", OUT_OF_MEMORY: "out of memory"}
_MIB = 1 << 20
_C = ctypes.CDLL(None)
_C.malloc.restype, _C.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
_STACK = 8 * _MIB  # that a thread asks for, as usual: limits around it matter too


def machine(outputs: int) -> tuple[Machine, Floats]:
    """A machine and rows whose blocks are hundreds of KiB, and worth several threads for every stage."""
    rng = np.random.default_rng(0)
    rule = Sign(np.array([-1, 1])) if outputs == 1 else OneVsOneVote(np.arange(3))
    points, weights = rng.normal(size=(300, 200)), rng.normal(size=(300, outputs))
    return Machine(RBF(0.002), points, weights, np.zeros(outputs), rule), rng.normal(size=(2000, 200))


def stages(made: Machine, rows: Floats) -> Iterator[tuple[str, Stage]]:
    """One of each kind."""
    dense = Dense(made)
    dense.full_sum.prepare()
    yield "dense", dense
    if made.n_outputs > 1:
        guess = ReducedSet.project(made, made.points[:80], [80])
        yield "champion", Champion(made, guess.levels)
        yield "open_pairs", OpenPairs(made, guess.levels, guess.half_widths)
        yield "scores", Scores(made, ScoreMachine(made.points[:80].copy(), np.ones((80, 3)), np.zeros(3)), 1.0)
    yield "fast_stopping", FastStopping(made)
    yield "geometry", Geometry.build(made, made.points[:80])
    yield "reduced_set", ReducedSet.project(made, made.points[:80], [40, 80])
    yield "linear_filter", LinearFilter.fit(made, rows[:200])
    yield "nearest by query", Nearest.fit(made, rows[:200])
    yield "nearest by cell", Nearest.fit(made, rows[:200], form="cells", cells=4)
    yield "tree", TreeWalk.uncalibrated(made, tree.fitted(made, rows[:200]))


def calls(outputs: int) -> Iterator[tuple[str, Call]]:
    """Every stage with dense rows, with sparse ones, and with one row that is refused; and what else has threads."""
    made, rows = machine(outputs)
    sparse, refused = scipy.sparse.csr_array(np.where(rows > 1.5, rows, 0)), rows.copy()
    refused[1200, 3] = np.nan
    for name, stage in stages(made, rows):
        for what, x in (("dense", rows), ("sparse", sparse), ("refused", refused)):
            yield f"{name}, {what}", partial(stage.decide, x)
        yield f"{name}, estimates", partial(stage.estimate, rows)
        for certified in certified_among([stage]):
            yield f"{name}, intervals", partial(certified.interval, rows, made.n_points)
    yield "dense, few rows", partial(Dense(made).full_sum.interval, rows[:100])
    for what, x in (("dense", rows), ("sparse", sparse), ("refused", refused)):
        yield f"the source's sum, {what}", partial(SourceSum(made).outputs, x)
    yield "differences", partial(Dense(replace(made, points=made.points + 1e9)).decide, rows + 1e9)


def outcome(call: Call) -> tuple[int, Sequence[Any] | Floats]:
    """How a call ends, and what it gives."""
    try:
        return ANSWERED, call()
    except MemoryError:
        return OUT_OF_MEMORY, ()
    except ValueError as error:
        return REFUSED if "row 1200, column 3 is NaN" in str(error) else WRONG, ()


def limits(step: int) -> list[int]:
    """Bytes beyond what the process has: up to what a block or two take, and about a thread's stack."""
    return [*range(0, 3 * _MIB, step), *range(_STACK, _STACK + 2 * _MIB, step)]


def survey(call: Call, step: int) -> Counter[str]:
    """How the call ends under each limit, by the word for it, or by the status of a child that ended otherwise."""
    usual, expected = outcome(call)
    found: Counter[str] = Counter()
    for limit in limits(step):
        child = os.fork()
        if child == 0:
            try:
                os._exit(_under(limit, call, usual, expected))
            finally:  # an error of this file
                os._exit(WRONG)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        found[_WAYS.get(status, f"status {status}")] += 1
    return found


def _under(limit: int, call: Call, usual: int, expected: Sequence[Any] | Floats) -> int:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    size = _give_back_what_is_free()
    _allow(size)
    _take_what_is_free()
    _allow(size + limit)
    how, values = outcome(call)
    _allow(resource.RLIM_INFINITY)
    same = len(values) == len(expected) and all(map(np.array_equal, values, expected))
    return how if how == OUT_OF_MEMORY or (how == usual and same) else WRONG


def _allow(size: int) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (size, resource.RLIM_INFINITY))


def _give_back_what_is_free() -> int:
    """The bytes of address space that are left to the process."""
    _C.malloc_trim(0)
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def _take_what_is_free() -> None:
    size = _MIB
    while size >= 16:
        if not _C.malloc(size):
            size //= 2


def main(step: str = "64", *outputs: str) -> int:
    """The status to exit with."""
    total: Counter[str] = Counter()
    for count in outputs or ("1", "3"):
        for name, call in calls(int(count)):
            found = survey(call, int(step) << 10)
            total += found
            print(f"{count} outputs, {name}: {dict(found)}", flush=True)
    print(f"in all: {dict(total)}")
    return int(not set(total) <= set(_WAYS.values()))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
