"""Reduced sets: few vectors that stand for many (Burges & Scholkopf 1997).

slopes      kernel values and their derivatives         weights    the best weights of given vectors
outputs     the goal: outputs on rows                   norm       the goal: the distance in feature space
adam        descent for the one; L-BFGS for the other   starts     where the vectors start from
one_by_one  the paper's extraction                      fitting    `fit`, which puts these together
emphasis    which rows count most                       units      coordinates and outputs of size about 1
seen        sums over all points                        projection how near vectors come to w, certified
vectors     those that geometry uses as well            method     which candidates to try
stage       the stage of a plan                         reference  its NumPy twin

`reduce.py` is `dormie.reduce`: a reduced machine on its own, with `errors`, its `report` and a better `threshold`.
"""

from __future__ import annotations

from dormie.methods.reduced_set.fitting import Reduced, fit
from dormie.methods.reduced_set.method import METHOD
from dormie.methods.reduced_set.stage import ReducedSet

__all__ = ["METHOD", "Reduced", "ReducedSet", "fit"]
