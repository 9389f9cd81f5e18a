"""Has two workers take turns on one case, and keeps the best round of each."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dormie.lab.bench.versions import worker

_WARNINGS = "ignore::FutureWarning"  # old versions know less of what is to come
_LEAST_SECONDS = 0.2  # of a round: a shorter one tells of the clock, not of the version
_ONE_THREAD = {"DORMIE_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
CLOCKS = ("wall", "processor")


@dataclass(frozen=True)
class Measured:
    """What one version took for one case: seconds to compile, and microseconds per row at best, by each clock."""

    compiled: Mapping[str, float]
    batch: Mapping[str, float]
    single: Mapping[str, float]
    labels: str  # a checksum


def measure(pythons: Sequence[Path], model: Any, rows: Any, *, rounds: int, path: str = "") -> list[Measured]:
    """Measure the version that each Python has, on one model and its rows.

    Parameters
    ----------
    pythons : sequence of Path
        The interpreters; each has scikit-learn of this process's version, and a dormie of its own.
    model, rows : Any
        What `dormie.compile` takes, and what `predict` takes; both are pickled.
    rounds : int
        How often each is measured; the best round counts.
    path : str
        PYTHONPATH of the workers.

    Returns
    -------
    list of Measured
    """
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        case = Path(folder) / "case.pickle"
        case.write_bytes(pickle.dumps((model, rows)))
        workers = [stack.enter_context(_Worker(python, case, path)) for python in pythons]
        batch = _best(workers, "batch", rounds)
        single = _best(workers, "single", rounds)
    return [
        Measured(each.first["compile"], batch[k], single[k], each.first["labels"]) for k, each in enumerate(workers)
    ]


class _Worker:
    """A process that serves requests for one version."""

    def __init__(self, python: Path, case: Path, path: str) -> None:
        # -P: the folder of the script holds modules of this version, not of the worker's
        self._process = subprocess.Popen(
            [python, "-P", "-W", _WARNINGS, worker.__file__, case],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | _ONE_THREAD | {"PYTHONPATH": path},
        )
        self.first = self._answer()

    def __enter__(self) -> _Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def ask(self, name: str, times: int) -> dict[str, float]:
        """The seconds of one round: so many times all that `name` stands for."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({name: times}) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self._process.communicate()
            raise RuntimeError(f"a worker ended early, with status {self._process.returncode}: {self._process.args!r}")
        return dict(json.loads(line))


def _best(workers: Sequence[_Worker], name: str, rounds: int) -> list[dict[str, float]]:
    """Microseconds per row of each worker's best round, by each clock. All do the same work in every round."""
    once = min(worker.ask(name, 1)["wall"] for worker in workers)
    times = max(1, round(_LEAST_SECONDS / max(once, 1e-6)))
    found: list[list[dict[str, float]]] = [[] for _ in workers]
    for number in range(rounds):
        turns = range(len(workers)) if number % 2 else reversed(range(len(workers)))
        for k in turns:
            found[k].append(workers[k].ask(name, times))
    return [
        {clock: 1e6 * min(spent[clock] for spent in each) / (times * worker.first["rows"][name]) for clock in CLOCKS}
        for worker, each in zip(workers, found, strict=True)
    ]
