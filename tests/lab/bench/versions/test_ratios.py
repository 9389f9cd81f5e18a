"""Ratios are the new version's time over the old one's; what is slower, or answers otherwise, is pointed at."""

from __future__ import annotations

from dormie.lab.bench.versions import Measured, table


def _measured(batch: float, labels: str = "same") -> Measured:
    other = {"wall": 8.0, "processor": 8.0}
    return Measured(other, {"wall": batch, "processor": batch / 2}, other, labels)


def test_a_ratio_is_new_over_old() -> None:
    lines = table(["v1", "v2"], {"a case": [_measured(4.0), _measured(5.0)]}).splitlines()
    assert len(lines) == 7
    assert lines[0].split() == ["case", "timed", "clock", "v1", "v2", "ratio"]
    assert lines[3].split() == ["a", "case", "batch,", "µs/row", "wall", "4.00", "5.00", "1.25", "slower"]
    assert lines[4].split() == ["a", "case", "batch,", "µs/row", "processor", "2.00", "2.50", "1.25", "slower"]
    assert not [line for line in lines[:3] + lines[5:] if "slower" in line]


def test_faster_is_not_slower_and_labels_that_differ_are_told() -> None:
    told = table(["v1", "v2"], {"x": [_measured(4.0), _measured(4.3)], "y": [_measured(4.0), _measured(1.0, "other")]})
    assert "slower" not in told
    assert [line for line in told.splitlines() if "DIFFER" in line] == ["y       THE LABELS DIFFER"]
