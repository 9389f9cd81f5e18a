"""Peers side by side: the same trained model and rows, in one process, in one table.

    cases ── a model and rows ──▶ compare ──▶ Comparison ──▶ table (people), as_record (machines)
                                     │
                              peers/ one file a peer: prepare(model) -> rows to labels
                              timing: interleaved rounds, best of several

Ratios are what a comparison on a busy machine can tell; that is why all peers take turns within each round.
"""

from dormie.lab.bench.cases import CASES, Case, make_case
from dormie.lab.bench.compare import Comparison, Standing, compare
from dormie.lab.bench.peers import PEERS, Peer, PeerUnavailableError

__all__ = [
    "CASES",
    "PEERS",
    "Case",
    "Comparison",
    "Peer",
    "PeerUnavailableError",
    "Standing",
    "compare",
    "make_case",
]
