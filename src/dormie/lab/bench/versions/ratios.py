"""Two versions' measurements as a table of ratios: the new one's time over the old one's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dormie.lab.bench.versions.driver import CLOCKS, Measured

_SLOWER = 1.1  # a ratio above this is pointed at: repeated rounds of one version differ by less
_UNITS = {"compiled": "s", "batch": "µs/row", "single": "µs/row"}


def table(names: Sequence[str], found: Mapping[str, Sequence[Measured]]) -> str:
    """A line for each case and what was timed: both times, and their ratio, by each clock.

    Examples
    --------
    >>> from dormie.lab.bench.versions import Measured, table
    >>> old = Measured({"wall": 2, "processor": 2}, {"wall": 4, "processor": 4}, {"wall": 9, "processor": 9}, "same")
    >>> new = Measured({"wall": 1, "processor": 1}, {"wall": 4, "processor": 5}, {"wall": 9, "processor": 9}, "same")
    >>> print(table(["old", "new"], {"digits": [old, new]}))
    case    timed              clock             old       new  ratio
    digits  compiled, s        wall             2.00      1.00   0.50
    digits  compiled, s        processor        2.00      1.00   0.50
    digits  batch, µs/row      wall             4.00      4.00   1.00
    digits  batch, µs/row      processor        4.00      5.00   1.25  slower
    digits  single, µs/row     wall             9.00      9.00   1.00
    digits  single, µs/row     processor        9.00      9.00   1.00
    """
    width = max(map(len, ["case  ", *found]))
    lines = [f"{'case':{width}}  {'timed':17}  {'clock':9}  {names[0]:>10}{names[1]:>10}  ratio"]
    for case, (before, after) in found.items():
        for part, unit in _UNITS.items():
            for clock in CLOCKS:
                old, new = getattr(before, part)[clock], getattr(after, part)[clock]
                line = f"{case:{width}}  {f'{part}, {unit}':17}  {clock:9}  {old:10.2f}{new:10.2f}  {new / old:5.2f}"
                lines.append(line + ("  slower" if new / old > _SLOWER else ""))
        if before.labels != after.labels:
            lines.append(f"{case:{width}}  THE LABELS DIFFER")
    return "\n".join(lines)
