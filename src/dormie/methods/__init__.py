"""The methods: one folder for each paper's way to settle rows, and the only list of them.

    rows ──▶ stage ──▶ undecided ──▶ stage ──▶ undecided ──▶ ... ──▶ dense, which settles all

| method        | certificate             | needs                                         | paper                   |
| ------------- | ----------------------- | --------------------------------------------- | ----------------------- |
| champion      | certified               | vote of 3+ classes, p.s.d. kernel, not Python |                         |
| dense         | certified, or float32   | nothing                                       |                         |
| fast_stopping | certified               | positive semi-definite kernel                 | Muller 2004             |
| geometry      | certified               | positive semi-definite kernel                 | DeCoste 2002            |
| linear_filter | calibrated              | classifier of vectors                         | DeCoste & Mazzoni 2003  |
| nearest       | calibrated              | classifier of vectors                         | DeCoste & Mazzoni 2003  |
| open_pairs    | calibrated              | vote of 3+ classes, p.s.d. kernel, not Python |                         |
| parts         | certified or calibrated | sum of machines                               |                         |
| reduced_set   | certified or calibrated | positive semi-definite kernel, not in Python  | Burges & Schölkopf 1997 |
| refinement    | calibrated              | values with a tolerance, of vectors           |                         |
| regions       | certified               | classifier, positive semi-definite kernel     | DeCoste 2002            |
| scores        | calibrated              | 3+ classes, p.s.d. kernel, not in Python      |                         |
| tree          | calibrated              | at least 32 points                            | Ukkonen 2010            |

A Python function as kernel is positive semi-definite if the user states so. A certified stage is always right;
a calibrated stage has thresholds measured on rows, and serves plans with a stated risk.

Every folder has `stage.py` (the method fitted to a machine), `method.py` (which machines it serves, and which
candidates to try at which effort), `reference.py` (the NumPy twin of its native code; that of the full sum is in
`dormie.numerics.reference`, regions are geometry stages, scores a reduced set, and parts stages of members), and the
modules that fit it.
`base.py` has the protocol, `memory.py` counts the bytes of stages, `thresholds.py` has what linear_filter and
nearest share, and `stepwise.py` what certified stages over Python kernels (`of_python_kernel.py` in their folders) do.
To add a method, add a folder and a line in `METHODS`.
"""

from __future__ import annotations

from dormie.methods import (
    champion,
    dense,
    fast_stopping,
    geometry,
    linear_filter,
    nearest,
    open_pairs,
    parts,
    reduced_set,
    refinement,
    regions,
    scores,
)
from dormie.methods.base import Method
from dormie.methods.tree.method import METHOD as TREE  # its package is `dormie.tree`: it shows users no METHOD

# Methods fit in this order: reduced_set reads what geometry measured, and regions what both did (`SharedVectors`);
# refinement compares the sets that reduced_set fitted, and open_pairs guesses with them.
METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        champion.METHOD,
        dense.METHOD,
        fast_stopping.METHOD,
        geometry.METHOD,
        linear_filter.METHOD,
        nearest.METHOD,
        parts.METHOD,
        reduced_set.METHOD,
        open_pairs.METHOD,
        refinement.METHOD,
        regions.METHOD,
        scores.METHOD,
        TREE,
    )
}

__all__ = ["METHODS"]
