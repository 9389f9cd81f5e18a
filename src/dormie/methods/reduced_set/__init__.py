"""Reduced sets (Burges & Schölkopf 1997): few vectors that approximate many.

fitting          `fit`: initial vectors, optimisation, weights
outputs          objective: error of the outputs on rows      norm          objective: distance |w - w'|
adam             optimiser for the former                     importance    which rows count most
initial_vectors  where the optimisation starts                one_by_one    the paper's extraction of single vectors
derivatives      kernel values and their derivatives          weights       least-squares weights of given vectors
products_with_w  inner products with w, as vectors move       rescaling     coordinates and outputs of size about 1
projection       certified |w - w'| of given vectors          vectors       vectors shared with the geometry method
levels           the vectors and weights of the stages        method        the candidates to try
stage            the stages: certified and calibrated
reference        the NumPy twin of the stage                  reduce        `dormie.reduce`: a reduced machine by itself
errors           how far a reduced machine is off             report        a reduction in words
threshold        the bias with the fewest errors
"""

from __future__ import annotations

from dormie.methods.reduced_set.fitting import Reduced, fit
from dormie.methods.reduced_set.method import METHOD
from dormie.methods.reduced_set.stage import CalibratedReducedSet, ReducedSet

__all__ = ["METHOD", "CalibratedReducedSet", "Reduced", "ReducedSet", "fit"]
