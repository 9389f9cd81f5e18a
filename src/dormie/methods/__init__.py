"""The methods: each paper's way to settle rows, one folder each, and the one place that lists them.

    rows ──▶ stage ──▶ undecided ──▶ stage ──▶ undecided ──▶ ... ──▶ dense, which settles all

| method        | certificate          | needs of the machine                    | paper                    |
| ------------- | -------------------- | --------------------------------------- | ------------------------ |
| dense         | certified            | nothing                                 |                          |
| fast_stopping | certified            | an inner product as kernel              | Muller 2004              |
| geometry      | certified            | an inner product as kernel              | DeCoste 2002             |
| linear_filter | calibrated on rows   | classes, rows that are vectors          | DeCoste & Mazzoni 2003   |
| nearest       | calibrated on rows   | two classes or a one-vs-one vote        | DeCoste & Mazzoni 2003   |
| reduced_set   | certified, or both   | an inner product as kernel              | Burges & Schölkopf 1997  |
| tree          | calibrated on rows   | nothing                                 | Ukkonen 2010             |

In every folder: `stage.py` (the method at work), `method.py` (which machines it serves, which candidates to try at
which effort), `reference.py` (the NumPy twin of its native code), and how it is fitted. `base.py` has the protocol,
`memory.py` what stages take once they are laid out, `thresholds.py` what the calibrated ones stop by. A method is added
by a folder and a line in `METHODS`.
"""

from __future__ import annotations

from dormie.methods import dense, fast_stopping, geometry, linear_filter, nearest, reduced_set, tree
from dormie.methods.base import Method

METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        dense.METHOD,
        fast_stopping.METHOD,
        geometry.METHOD,
        linear_filter.METHOD,
        nearest.METHOD,
        reduced_set.METHOD,
        tree.METHOD,
    )
}

__all__ = ["METHODS"]
