"""Compares peers on the same trained model and rows, in one process, in one table.

    cases ── a model and rows ──▶ compare ──▶ Comparison ──▶ table (for people), as_record (for programs)
                                     │
                              peers/ one file per peer: prepare(model) -> function from rows to labels
                              timing: interleaved rounds, the best of several

On a busy computer only ratios of times are meaningful, so all peers take turns within each round.
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
