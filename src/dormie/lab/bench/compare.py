"""Runs all peers on one model and one set of rows, times them, and compares their labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from dormie.convert import read
from dormie.lab.bench.peers import PEERS, PeerUnavailableError, Predict
from dormie.lab.bench.timing import Timing, time_batches, time_single_rows
from dormie.machine import Machine
from dormie.machine.rules import ValueRule


@dataclass(frozen=True)
class Standing:
    """The result of one peer. Its labels on the first `compared` rows were compared with those of the reference."""

    peer: str
    batch: Timing
    single: Timing
    compared: int
    differences: int


@dataclass(frozen=True)
class Comparison:
    """The results of the peers that took part, and why the others did not. The first peer is the reference."""

    title: str
    model: str
    rows: int
    standings: tuple[Standing, ...]
    left_out: dict[str, str]
    notes: tuple[str, ...] = ()
    points: int = 0
    features: int = 0
    sparse: bool = False  # the rows
    compiled_in: float | None = None  # seconds, of a plan with a risk

    @property
    def reference(self) -> Standing:
        return self.standings[0]

    def of(self, peer: str) -> Standing | None:
        """The standing of a peer, or None if it did not take part."""
        return next((standing for standing in self.standings if standing.peer == peer), None)


def compare(
    model: Any,
    rows: Any,
    *,
    peers: Sequence[str] = tuple(PEERS),
    seconds: float = 10.0,
    full: bool = False,
    title: str = "",
    notes: tuple[str, ...] = (),
    more: Mapping[str, Predict] | None = None,
) -> Comparison:
    """Time every peer on the rows for `seconds`: half of that on batches, half on single rows.

    `more` holds further peers as ready functions. Labels are compared on the rows that a peer and the reference were
    both timed on; with `full`, on all rows.
    """
    machine = _classifier(model)
    _check_rows(rows)
    predicts, left_out = _prepared(model, peers)
    predicts |= more or {}
    batch = time_batches(predicts, rows, seconds / 2)
    single = time_single_rows(predicts, rows, seconds / 2)
    labels = {name: predict(rows if full else rows[: batch[name].rows]) for name, predict in predicts.items()}
    expected = next(iter(labels.values()))
    standings = tuple(
        Standing(name, batch[name], single[name], *_agreement(labels[name], expected)) for name in predicts
    )
    size = machine.n_points, machine.n_features, hasattr(rows, "toarray")
    return Comparison(title, repr(machine), rows.shape[0], standings, left_out, notes, *size)


def _classifier(model: Any) -> Machine:
    machine = read(model)
    if isinstance(machine.rule, ValueRule):
        raise ValueError("bench compares labels, and this model gives values; take a classifier")
    return machine


def _check_rows(rows: Any) -> None:
    if np.ndim(rows) != 2 and not hasattr(rows, "toarray"):
        raise ValueError(f"rows must be two-dimensional, got {np.ndim(rows)} dimensions")
    if rows.shape[0] == 0:
        raise ValueError("there are no rows to predict")


def _prepared(model: Any, peers: Sequence[str]) -> tuple[dict[str, Predict], dict[str, str]]:
    """The peers that can take part, in table order, and why the others cannot."""
    unknown = [name for name in peers if name not in PEERS]
    if unknown:
        raise ValueError(f"unknown peer {unknown[0]!r}; there are {', '.join(PEERS)}")
    predicts, left_out = {}, {}
    for name, peer in PEERS.items():
        if name not in peers:
            continue
        try:
            if reason := peer.missing():
                raise PeerUnavailableError(reason)
            predicts[name] = peer.prepare(model)
        except PeerUnavailableError as error:
            left_out[name] = str(error)
    if not predicts:
        raise ValueError(f"no peer can take part: {'; '.join(f'{name}: {why}' for name, why in left_out.items())}")
    return predicts, left_out


def _agreement(labels: Any, expected: Any) -> tuple[int, int]:
    """The number of rows compared, and the number of labels that differ."""
    compared = min(len(labels), len(expected))
    return compared, int(np.count_nonzero(np.asarray(labels[:compared]) != np.asarray(expected[:compared])))


def as_record(comparison: Comparison) -> dict[str, Any]:
    """Plain data for JSON: per peer, its result, its speed over the reference's, and dormie's speed over its own."""
    return {
        "title": comparison.title,
        "model": comparison.model,
        "points": comparison.points,
        "features": comparison.features,
        "sparse": comparison.sparse,
        "rows": comparison.rows,
        "compiled_in": comparison.compiled_in,
        "notes": list(comparison.notes),
        "unit": "microseconds per row",
        "reference": comparison.reference.peer,
        "peers": [{**asdict(standing), **_ratios(standing, comparison)} for standing in comparison.standings],
        "left_out": comparison.left_out,
    }


def _ratios(standing: Standing, comparison: Comparison) -> dict[str, float]:
    ratios = {
        "times_reference_batch": comparison.reference.batch.best / standing.batch.best,
        "times_reference_single": comparison.reference.single.best / standing.single.best,
    }
    if dormie := comparison.of("dormie"):
        ratios["dormie_times_batch"] = standing.batch.best / dormie.batch.best
        ratios["dormie_times_single"] = standing.single.best / dormie.single.best
    return ratios
