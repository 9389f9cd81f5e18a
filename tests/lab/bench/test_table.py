"""Tables and records tell what was measured."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

from dormie.lab.bench import PEERS, Comparison, Standing, compare
from dormie.lab.bench.compare import as_record
from dormie.lab.bench.table import print_comparison
from dormie.lab.bench.timing import Timing
from tests.lab.bench.models import MODELS, TEST


def test_table_and_record_tell_every_peer_once() -> None:
    comparison = compare(MODELS["two classes"], TEST, seconds=0, full=True, title="a [small] case", notes=("a note",))
    page = io.StringIO()
    print_comparison(comparison, Console(file=page, width=200))
    text = page.getvalue()
    assert "a [small] case" in text
    assert "a note" in text
    assert all(peer in text for peer in PEERS)
    record = json.loads(json.dumps(as_record(comparison)))
    told = [peer["peer"] for peer in record["peers"]]
    assert sorted([*told, *record["left_out"]]) == sorted(PEERS)
    reference, ours = record["peers"][0], record["peers"][told.index("dormie")]
    assert reference["times_reference_batch"] == 1.0
    assert ours["dormie_times_single"] == 1.0
    assert reference["dormie_times_batch"] == pytest.approx(ours["times_reference_batch"])


@pytest.mark.parametrize(("median", "told"), [(1.4, False), (3.0, True)])
def test_the_table_tells_when_the_computer_was_busy(median: float, told: bool) -> None:
    times = Timing(best=1.0, median=median, rounds=3, rows=10)
    comparison = Comparison("t", "m", 10, (Standing("dormie", times, times, 10, 0),), {})
    page = io.StringIO()
    print_comparison(comparison, Console(file=page, width=200))
    assert ("busy: the median batch round of dormie took 3.0 times" in page.getvalue()) == told
