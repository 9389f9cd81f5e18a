"""Audits of many workers as one: the sum of counts, few false alarms in any order, a shift of one worker found."""

from __future__ import annotations

import dataclasses
import json
import math
import pickle
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np
import pytest

import dormie
from dormie.errors import BrokenPromiseWarning
from dormie.machine import Floats
from dormie.predictor.audit import Status
from dormie.predictor.evidence import AuditCounts, Tally
from tests.predictor.test_audit import ALPHA, CROWD, _predictor, _rows
from tests.predictor.test_evidence import interval


def _statuses(workers: int, wrong: float, rate: float = 1.0) -> list[Status]:
    found = []
    for seed in range(workers):
        audited = _predictor().audited(rate, confidence=0.95, seed=seed)
        audited.predict(_rows(400 + 10 * seed, wrong, seed))
        found.append(audited.status)
    return found


def test_the_sum_is_the_status_of_one_audit_of_all_rows() -> None:
    found = _statuses(4, 0.004)
    merged = dormie.merge_audits(found)
    rows, wrong = sum(400 + 10 * seed for seed in range(4)), sum(status.disagreements for status in found)
    assert wrong > 0
    low, high = interval(rows, wrong, 0.95)
    assert merged == Status(rows, rows, wrong, low, high, ALPHA, broken=False)
    assert str(merged).startswith(f"{rows:,} of {rows:,} rows audited, {wrong} disagreements; ")


def test_neither_order_nor_pickles_nor_merging_in_steps_changes_it() -> None:
    found = [pickle.loads(pickle.dumps(status)) for status in _statuses(5, 0.004, rate=0.3)]
    merged = dormie.merge_audits(found)
    assert dormie.merge_audits(found[::-1]) == merged
    in_steps = dormie.merge_audits([dormie.merge_audits(found[:2]), dormie.merge_audits(iter(found[2:]))])
    assert in_steps == merged
    assert in_steps.counts == merged.counts
    assert dormie.merge_audits(found[:1]) == found[0]


def test_a_status_goes_through_json() -> None:
    [status] = _statuses(1, 0.01)
    fields = json.loads(json.dumps(dataclasses.asdict(status)))
    counts: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in fields.pop("counts").items()
    }
    again = Status(**fields, counts=AuditCounts(**counts))
    assert again == status
    assert again.counts == status.counts


def test_audits_by_level_are_merged_by_level() -> None:
    rows = np.random.default_rng(0).normal(size=(3000, 2)) * 2
    rows[:, 0] = np.arange(3000) % 150 == 0
    audits = [_predictor(machine=CROWD).audited(0.1, unlike_rate=top, seed=seed) for seed, top in enumerate((0.8, 0.2))]
    for audit in audits:
        audit.predict(rows)
    merged = dormie.merge_audits(audit.status for audit in audits)
    assert merged.counts is not None
    assert len(merged.counts.agreements) == 4
    assert merged.audited == sum(audit.status.audited for audit in audits)
    assert 0 < merged.low < 1 / 150 < merged.high


def test_a_broken_promise_is_warned_of_at_the_line_of_the_caller() -> None:
    with pytest.warns(BrokenPromiseWarning):
        found = _statuses(2, 0.2)
    with pytest.warns(BrokenPromiseWarning, match="promised at most 1 %: broken. The rows are no longer") as caught:
        merged = dormie.merge_audits(found)
    assert merged.broken
    assert caught[0].filename == __file__


def test_all_rows_together_decide_and_not_the_alarm_of_one_worker() -> None:
    few = _predictor().audited(1.0, seed=0)
    with pytest.warns(BrokenPromiseWarning):
        few.predict(_rows(100, 0.2))
    many = _predictor().audited(1.0, seed=1)
    many.predict(_rows(20_000, 0.001))
    assert few.status.broken
    assert not dormie.merge_audits([few.status, many.status]).broken


def test_certified_plans_have_nothing_to_add_up() -> None:
    audits = [_predictor(dormie.Exact(), certified=True).audited() for _ in range(2)]
    for audit in audits:
        audit.predict(_rows(30, 0.0))
    assert dormie.merge_audits(audit.status for audit in audits) == Status(60, 0, 0, 0.0, 0.0, None, broken=False)


def test_what_cannot_be_merged_is_refused() -> None:
    first, second = _statuses(2, 0.0)
    audit = _predictor().audited(seed=7)
    copies = [pickle.loads(pickle.dumps(audit)).status for _ in range(2)]
    for twice in ([first, first], copies, [dormie.merge_audits([first, second]), second]):
        with pytest.raises(ValueError, match="of one audit, of copies of it, or of audits with one seed"):
            dormie.merge_audits(twice)
    with pytest.raises(ValueError, match="there is no status to merge"):
        dormie.merge_audits([])
    with pytest.raises(TypeError, match=r"takes statuses \(AuditedPredictor.status\), got AuditedPredictor"):
        dormie.merge_audits([audit])  # type: ignore[list-item]
    others = {
        "rate": _predictor().audited(0.5, confidence=0.95).status,
        "confidence": _predictor().audited(1.0, confidence=0.99).status,
        "alpha": dataclasses.replace(first, alpha=0.02),
        "tolerance": dataclasses.replace(first, tolerance=0.5),
    }
    for name, other in others.items():
        with pytest.raises(ValueError, match=f"must have the same {name}; these have"):
            dormie.merge_audits([second, other])
    with pytest.raises(ValueError, match="without counts"):
        dormie.merge_audits([first, dataclasses.replace(second, counts=None)])


def test_audits_without_a_seed_can_be_merged() -> None:
    audits = [_predictor().audited(0.5) for _ in range(20)]
    assert dormie.merge_audits(audit.status for audit in audits).rows == 0


def _in_a_worker(data: bytes, rows: Floats) -> Status:
    audited = dormie.AuditedPredictor.audited(pickle.loads(data), 0.5)
    audited.predict(rows)
    return audited.status


def test_statuses_come_back_from_other_processes() -> None:
    X = np.random.default_rng(0).normal(size=(300, 2))
    random = np.random.default_rng(1)
    machine = dormie.Machine(
        dormie.kernels.RBF(0.5), random.normal(size=(90, 2)), random.normal(size=90), 0.0, dormie.rules.Sign([0, 1])
    )
    fast = dormie.compile(machine, X, risk=0.05, methods=["linear_filter"], confidence=0.9)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        found = list(pool.map(_in_a_worker, [pickle.dumps(fast)] * 2, np.split(X, 2)))
    assert dormie.merge_audits(found).rows == 300


WORKERS, BATCHES, SIZE = 8, 20, 400
LIMIT = 0.05  # the risk that is promised
RATE = 0.1


def _at_random(random: np.random.Generator) -> Any:
    return random.random((WORKERS, BATCHES, SIZE)) < LIMIT


def _one_in_twenty(random: np.random.Generator) -> Any:  # noqa: ARG001 - the rows are fixed
    """Rows that are not random at all: the last of every twenty disagrees, so that never more than LIMIT have."""
    return np.broadcast_to(np.arange(SIZE) % 20 == 19, (WORKERS, BATCHES, SIZE))


def _all_in_one_worker(random: np.random.Generator) -> Any:
    """One worker has all disagreements, and gets its rows after those of the others."""
    wrong = np.zeros((WORKERS, BATCHES, SIZE), dtype=bool)
    wrong[-1] = random.random((BATCHES, SIZE)) < WORKERS * LIMIT
    return wrong


def _in_turns(hits: Any, misses: Any, done: Any) -> int:  # noqa: ARG001 - it looks at nothing
    return int(done.argmin())


def _the_worst_goes_on(hits: Any, misses: Any, done: Any) -> int:
    """The next batch is that of the worker with the highest rate so far: chosen by what has been counted."""
    return int(np.where(done < BATCHES, hits / (hits + misses + 1), -1).argmax())


def _one_after_the_other(hits: Any, misses: Any, done: Any) -> int:  # noqa: ARG001 - in order
    return int(np.flatnonzero(done < BATCHES)[0])


Choice = Callable[[Any, Any, Any], int]


def _ever_broken(wrong: Any, choose: Choice, confidence: float, random: np.random.Generator) -> bool:
    """Whether the sum of the counts of all workers ever refutes the promise, looked at after each batch of any."""
    audited = random.random(wrong.shape) < RATE
    found = [(wrong & audited).sum(axis=2), (~wrong & audited).sum(axis=2)]
    hits, misses, done = np.zeros(WORKERS, dtype=int), np.zeros(WORKERS, dtype=int), np.zeros(WORKERS, dtype=int)
    for _ in range(WORKERS * BATCHES):
        worker = choose(hits, misses, done)
        hits[worker] += found[0][worker, done[worker]]
        misses[worker] += found[1][worker, done[worker]]
        done[worker] += 1
        counts = [AuditCounts(RATE, confidence, (int(h),), (int(m),), ()) for h, m in zip(hits, misses, strict=True)]
        if Tally.of(counts).refutes(LIMIT, confidence):
            return True
    return False


CASES = [
    (_at_random, _in_turns),
    (_at_random, _the_worst_goes_on),
    (_one_in_twenty, _in_turns),
    (_one_in_twenty, _the_worst_goes_on),
    (_all_in_one_worker, _one_after_the_other),
]


def _share_broken(rows: Any, choose: Choice, confidence: float, runs: int) -> float:
    random = np.random.default_rng(0)
    return float(np.mean([_ever_broken(rows(random), choose, confidence, random) for _ in range(runs)]))


@pytest.mark.slow
@pytest.mark.parametrize("confidence", [0.5, 0.9])
@pytest.mark.parametrize(("rows", "choose"), CASES)
def test_false_alarms_of_eight_workers_are_as_rare_as_one_audit_promises(
    rows: Any, choose: Choice, confidence: float
) -> None:
    runs = 500
    share = _share_broken(rows, choose, confidence, runs)
    bound = (1 - confidence) / 2  # alarms are of the lower end alone
    assert share <= bound + 3 * math.sqrt(bound / runs)
    assert share <= 1 - confidence


def test_false_alarms_do_occur_so_that_their_rarity_means_something() -> None:
    assert 0 < _share_broken(_at_random, _the_worst_goes_on, 0.5, 100) < 0.4


@pytest.mark.slow
def test_maxima_of_the_workers_must_not_be_put_together() -> None:
    """Counts that are chosen for what they hold are no evidence: of each worker those at which its own is largest."""
    random, broken = np.random.default_rng(0), 0
    for _ in range(300):
        wrong = _at_random(random).reshape(WORKERS, -1)
        audited = random.random(wrong.shape) < RATE
        chosen = []
        for row, drawn in zip(wrong, audited, strict=True):
            hits = np.cumsum(row[drawn])
            misses = 1 + np.arange(len(hits)) - hits
            best = int(np.argmax((hits - LIMIT * (hits + misses)) / np.sqrt(hits + misses)))
            chosen.append(AuditCounts(RATE, 0.8, (int(hits[best]),), (int(misses[best]),), ()))
        broken += Tally.of(chosen).refutes(LIMIT, 0.8)
    assert broken / 300 > 0.2


def test_a_shift_in_the_rows_of_one_worker_is_found() -> None:
    """Seven workers at a tenth of the promise; from its sixth batch on four rows in five of another disagree."""
    found = []
    for seed in range(40):
        random = np.random.default_rng(seed)
        wrong = random.random((WORKERS, BATCHES, SIZE)) < LIMIT / 10
        assert not _ever_broken(wrong, _in_turns, 0.99, random)
        wrong[3, 5:] = random.random((BATCHES - 5, SIZE)) < 0.8
        found.append(_ever_broken(wrong, _in_turns, 0.99, random))
    assert np.mean(found) > 0.9
