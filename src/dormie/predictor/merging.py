"""One status of the audits of many workers: their counts are added up. `dormie.predictor.evidence` has the proof."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from dormie.predictor.audit import Status, warn_of_broken_promise
from dormie.predictor.evidence import AuditCounts, Tally


def merge_audits(statuses: Iterable[Status]) -> Status:
    """
    Make one status of the audits of several workers.

    Warns with `BrokenPromiseWarning` if all rows together show that the promise is broken.

    Parameters
    ----------
    statuses : iterable of Status
        One of each audit, in any order: `AuditedPredictor.status` of every worker. They can be pickled. A merged status
        may be merged again.

    Returns
    -------
    Status
        The status of all rows together, as one audit of all of them would have it: the promise is broken if the counts
        of all refute it. An audit that has found it broken on its own rows alone does not decide.

    Raises
    ------
    TypeError
        If there is something else than a `Status` among them.
    ValueError
        If there is none, if one occurs twice, or if the audits differ in what is promised, in rate or in confidence.

    Notes
    -----
    While at most a share of alpha of all rows disagrees, the probability that merged statuses ever say that the promise
    is broken is at most ``1 - confidence``, however often they are made and however the rows are divided among workers.
    The rows may be any. The audits must draw independently, so begin one in every worker (`Predictor.audited` without a
    seed, or with another seed in each) and do not send an `AuditedPredictor` to several: copies draw the same rows. And
    statuses must not be chosen by what they hold: merge the latest ones, after whole batches.

    The alarm that each audit raises by itself is one of its own rows, and may be false with the same probability each.

    Examples
    --------
    >>> import dormie
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.svm import SVC
    >>> X, y = make_classification(4000, random_state=0)
    >>> svc = SVC(C=0.1).fit(X[:2000], y[:2000])
    >>> fast = dormie.compile(svc, X[2000:], risk=0.05, methods=["linear_filter"])
    >>> workers = [fast.audited(rate=0.5, seed=seed) for seed in (1, 2)]
    >>> for worker, rows in zip(workers, (X[2000:3000], X[3000:])):
    ...     labels = worker.predict(rows)
    >>> print(dormie.merge_audits(worker.status for worker in workers))
    1,0... of 2,000 rows audited, ... disagreements; rate between ... % and ... %, promised at most 5 %: not broken
    """
    found = list(statuses)
    alpha = _alpha_of(found)
    rows = sum(status.rows for status in found)
    if alpha is None:
        return Status(rows, 0, 0, 0.0, 0.0, None, broken=False)
    counts = _merged([_counts_of(status) for status in found])
    tally = Tally.of([counts])
    low, high = tally.interval(counts.confidence)
    broken = tally.refutes(alpha, counts.confidence)
    tolerance = _same([status.tolerance for status in found], "tolerance")
    status = Status(rows, tally.audited, tally.disagreements, low, high, alpha, broken, tolerance, counts)
    if broken:
        warn_of_broken_promise(status)
    return status


def _alpha_of(statuses: Sequence[Any]) -> float | None:
    """The risk that all plans promise."""
    for status in statuses:
        if not isinstance(status, Status):
            raise TypeError(f"merge_audits takes statuses (AuditedPredictor.status), got {type(status).__name__}")
    alpha: float | None = _same([status.alpha for status in statuses], "alpha")
    return alpha


def _counts_of(status: Status) -> AuditCounts:
    if status.counts is None:
        raise ValueError(f"a status without counts cannot be merged; it was not made by an audit: {status}")
    return status.counts


def _merged(counts: list[AuditCounts]) -> AuditCounts:
    rate, confidence = (_same([getattr(each, name) for each in counts], name) for name in ("rate", "confidence"))
    seeds = [seed for each in counts for seed in each.seeds]
    if len({*seeds}) < len(seeds):
        raise ValueError(
            "two of the statuses are of one audit, of copies of it, or of audits with one seed, which draw the same "
            "rows; begin an audit in every worker (Predictor.audited), and pass its latest status alone"
        )
    return Tally.of(counts).counts(rate, confidence, tuple(seeds))


def _same(values: list[Any], name: str) -> Any:
    if not values:
        raise ValueError("there is no status to merge")
    others = [value for value in values if value != values[0]]
    if others:
        raise ValueError(f"audits that are merged must have the same {name}; these have {values[0]} and {others[0]}")
    return values[0]
