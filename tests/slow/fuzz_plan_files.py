"""Forged plan files, loaded and used: each is refused with a `PlanFileError`, or works through every public call.

Anything else is a finding: another exception, a crash or sanitizer report, a hang, or more memory while loading than 20
times the file's size and 50 MB. Every file comes from one seed, which is printed with a finding:
`python -m tests.slow.fuzz_plan_files 1 SEED` shows it again. `make soak` runs a hundred thousand.

Files are tried in child processes, a batch each, so that a crash or a hang is a finding as well.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

import dormie
from dormie.machine import members_of
from dormie.machine.rules import ClassRule
from tests.properties.strategies import Generator
from tests.slow.forgery import forged

BATCH = 2000
LONGEST = 120  # seconds that one file may take, on a busy computer and under sanitizers
TIMES, SPARE = 20, 50_000_000  # of memory while loading
_MOST_STEPS = 40
_WIDEST = 10**6  # features of a dense row: those of forged sparse points may be two thousand million


@dataclass
class Tally:
    """What became of the files so far."""

    refused: int = 0
    used: int = 0
    findings: list[str] = field(default_factory=list)
    largest: float = 0.0  # share of the memory a file may take that one took

    def __str__(self) -> str:
        return (
            f"{self.refused + self.used:,} files: {self.refused:,} refused, {self.used:,} used, {len(self.findings)} "
            f"findings; at most {self.largest:.0%} of the memory allowed"
        )


class Finding(Exception):
    """A file that did what no file may do."""


def check_seed(seed: int, folder: Path) -> tuple[bool, float]:
    """Whether the file of a seed was used rather than refused, and its share of the memory allowed."""
    rng = np.random.default_rng(seed)
    path = folder / "forged.dormie"
    path.write_bytes(forged(rng))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # overflow, and promises that forged plans do not keep
        predictor, share = _loaded(path)
        if predictor is not None:
            _use(predictor, rng, folder)
    return predictor is not None, share


def _loaded(path: Path) -> tuple[dormie.Predictor | None, float]:
    allowed = TIMES * path.stat().st_size + SPARE
    before = _memory("VmRSS", reset=True)
    try:
        predictor = dormie.load(path)
    except dormie.PlanFileError as error:
        if not str(error).isprintable():
            raise Finding(f"a message that is not printable: {error!r}") from error
        predictor = None
    taken = _memory("VmHWM") - before
    if taken > allowed:
        raise Finding(f"{taken:,} bytes of memory for a file of {path.stat().st_size:,}")
    return predictor, taken / allowed


def _memory(what: str, reset: bool = False) -> int:
    """Bytes that are in memory now, or were at most since the last reset; 0 where nobody knows."""
    try:
        if reset:
            _give_back()
            Path("/proc/self/clear_refs").write_text("5")
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith(what))
    except (OSError, StopIteration):
        return 0


def _give_back() -> None:
    """Memory that was freed and kept: what is taken from it would not be seen."""
    with contextlib.suppress(AttributeError, OSError, TypeError):  # no glibc
        ctypes.CDLL(None).malloc_trim(0)


def _use(predictor: dormie.Predictor, rng: Generator, folder: Path) -> None:
    """Every public call, on a few rows; what is saved again is the same plan."""
    machine = predictor.plan.machine
    rows = _rows(rng, predictor)
    answers = predictor.predict(rows)
    _require(len(answers) == rows.shape[0], "as many answers as rows")
    if isinstance(machine.rule, ClassRule):
        _require(bool(np.isin(answers, machine.rule.classes).all()), "answers that are classes")
    _require(len(predictor.predict(rows, deadline=0.01).labels) == rows.shape[0], "an answer for each row")
    if hasattr(predictor, "decision_function"):
        predictor.decision_function(rows)
    if hasattr(predictor, "predict_proba"):
        assert isinstance(machine.rule, ClassRule)
        shape = rows.shape[0], len(machine.rule.classes)
        _require(predictor.predict_proba(rows).shape == shape, "a probability of each class")
    if hasattr(predictor, "most_anomalous"):
        _require(len(predictor.most_anomalous(rows, 2).scores) == 2, "the scores of two rows")
        predictor.score_samples(rows)
    for budget in (None, 0, 1, int(rng.integers(2, 50))):
        low, high = predictor.interval(rows, budget=budget)
        _require(low.shape == high.shape, "an end for each end")
        _require(bool((low <= high).all()), "ends in order, none of them NaN")
    for _ in islice(predictor.anytime(rows[:1]), _MOST_STEPS):
        pass
    _require(len(predictor.trace(rows).stage) == rows.shape[0], "a stage for each row")
    audited = predictor.audited(rate=1.0, seed=0)
    audited.predict(rows)
    for text in (predictor.explain(), repr(predictor), repr(audited), str(audited.status)):
        _require(all(line.isprintable() for line in text.split("\n")), "texts that are printable")
    _use_again(predictor, folder, rows, answers)


def _use_again(predictor: dormie.Predictor, folder: Path, rows: Any, answers: Any) -> None:
    predictor.save(folder / "again.dormie")
    again = dormie.load(folder / "again.dormie")
    _require(repr(again) == repr(predictor) and again.explain() == predictor.explain(), "the same plan again")
    same = again.predict(rows)
    _require(same.tobytes() == answers.tobytes() or bool((same == answers).all()), "the same answers again")


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise Finding(f"expected {what}")


def _rows(rng: Generator, predictor: dormie.Predictor) -> Any:
    """A few rows: everyday ones, the machine's own points, zeros, extreme ones; dense or sparse, float64 or float32."""
    machine = members_of(predictor.plan.machine)[0]
    d = machine.n_columns
    if d > _WIDEST:
        rows = scipy.sparse.csr_array(([1.0, -2.0, 1e300], [0, d // 2, d - 1], [0, 0, 1, 3]), shape=(3, d))
        return scipy.sparse.vstack([rows, machine.points[:2]], format="csr")
    rows = rng.normal(size=(5, d))
    rows[1] = 0
    rows[2] *= 10.0 ** float(rng.integers(-300, 300))
    if machine.n_points:
        point = machine.points[[int(rng.integers(machine.n_points))]]
        rows[3] = np.clip(point.toarray() if machine.has_sparse_points else point, -1e300, 1e300)[0]
    match rng.integers(4):
        case 0:
            return np.clip(rows, -1e38, 1e38).astype(np.float32)
        case 1:
            return scipy.sparse.csr_array(rows)
    return rows


def fuzz(count: int, seed: int = 0) -> Iterator[Tally]:
    """Batch after batch, each in a child process."""
    tally = Tally()
    end = seed + count
    while seed < end:
        seed = _batch(range(seed, min(seed + BATCH, end)), tally)
        yield tally


def _batch(seeds: range, tally: Tally) -> int:
    """Tries the files of these seeds, or as many as a child lives to see; the seed to go on with."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _report(seeds, writing)
    os.close(writing)
    at = seeds.start
    for line in _lines(reading, child):
        kind, _, rest = line.partition(" ")
        at += 1
        tally.refused += kind == "refused"
        tally.used += kind == "used"
        if kind == "finding":
            tally.findings.append(bytes.fromhex(rest).decode())
        else:
            tally.largest = max(tally.largest, float(rest))
    os.close(reading)
    _, status = os.waitpid(child, 0)
    if at < seeds.stop:
        how = f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"status {os.WEXITSTATUS(status)}"
        tally.findings.append(f"seed {at}: the process ended with {how}, or was killed after {LONGEST} s")
        at += 1
    return at


def _lines(reading: int, child: int) -> Iterator[str]:
    """What the child writes, a line for each file; it is killed when none comes for too long."""
    rest = b""
    while True:
        if not select.select([reading], [], [], LONGEST)[0]:
            os.kill(child, signal.SIGKILL)
            return
        piece = os.read(reading, 1 << 16)
        if not piece:
            return
        *lines, rest = (rest + piece).split(b"\n")
        yield from (line.decode() for line in lines)


def _report(seeds: range, writing: int) -> None:
    """In the child: one line for each file, and never back to the caller."""
    with tempfile.TemporaryDirectory() as folder:
        for seed in seeds:
            try:
                used, share = check_seed(seed, Path(folder))
                line = f"{'used' if used else 'refused'} {share}"
            except Exception:
                line = f"finding {f'seed {seed}: {traceback.format_exc()}'.encode(errors='backslashreplace').hex()}"
            os.write(writing, line.encode() + b"\n")
    os._exit(0)


def main(count: int = 100_000, seed: int = 0) -> int:
    start = said = time.monotonic()
    tally, told = Tally(), 0
    for tally in fuzz(count, seed):
        for finding in tally.findings[told:]:
            print(f"finding: {finding}  again: python -m tests.slow.fuzz_plan_files 1 SEED", flush=True)
        told = len(tally.findings)
        if time.monotonic() - said > 10:
            said = time.monotonic()
            print(f"{said - start:6.0f} s  {tally}", flush=True)
    kinds = Counter(finding.strip().splitlines()[-1][:100] for finding in tally.findings)
    print(f"done in {time.monotonic() - start:.0f} s: {tally}", *kinds.most_common(), sep="\n  ")
    return 1 if tally.findings else 0


if __name__ == "__main__":
    sys.exit(main(*(int(argument.replace("_", "")) for argument in sys.argv[1:])))
