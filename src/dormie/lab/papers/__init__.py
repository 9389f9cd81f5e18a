"""Repeats the papers' experiments, one folder per paper, with each number beside the printed one.

    data sets -> trained machines -> a stage at work, row by row -> Table ("paper" beside "here"), and figures

Counts are exact and repeatable. Seconds depend on the computer, so only their ratios are meaningful.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from dormie.lab.papers.burges1997 import tables as burges1997
from dormie.lab.papers.decoste2002 import figures as decoste2002_figures
from dormie.lab.papers.decoste2002 import tables as decoste2002
from dormie.lab.papers.decoste2003 import figures as decoste2003_figures
from dormie.lab.papers.decoste2003 import tables as decoste2003
from dormie.lab.papers.muller2004 import figures as muller2004_figures
from dormie.lab.papers.muller2004 import tables as muller2004
from dormie.lab.papers.table import Table
from dormie.lab.papers.ukkonen2010 import tables as ukkonen2010


@dataclass(frozen=True)
class Paper:
    """A paper: its title, a function from seconds of measuring per table to tables, and one from a folder to figures.

    `small` makes the same tables from fewer rows, for papers whose tables take long.
    """

    title: str
    tables: Callable[[float], Iterator[Table]]
    figures: Callable[[Path], list[Path]] | None = None
    small: Callable[[float], Iterator[Table]] | None = None


PAPERS = {
    "muller2004": Paper(
        "Muller, Fast Stopping in Support Vector Machine Classifiers, 2004", muller2004.tables, muller2004_figures.draw
    ),
    "decoste2002": Paper(
        "DeCoste, Anytime Interval-Valued Outputs for Kernel Machines, ICML 2002",
        decoste2002.tables,
        decoste2002_figures.draw,
    ),
    "burges1997": Paper(
        "Burges and Schölkopf, Improving the Accuracy and Speed of Support Vector Machines, NIPS 1997",
        burges1997.tables,
        small=burges1997.small_tables,
    ),
    "decoste2003": Paper(
        "DeCoste and Mazzoni, Fast Query-Optimized Kernel Machine Classification, ICML 2003",
        decoste2003.tables,
        decoste2003_figures.draw,
        small=decoste2003.small_tables,
    ),
    "ukkonen2010": Paper("Ukkonen, The Support Vector Tree, 2010", ukkonen2010.tables, small=ukkonen2010.small_tables),
}
