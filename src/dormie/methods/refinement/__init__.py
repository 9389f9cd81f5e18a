"""Refinement: two reduced sets, a coarse and a fine one; the step between their values tells how far off the fine is.

A value has no margin, so that one half-width for all rows settles all of them or none. Here every row has its own.
"""

from dormie.methods.refinement.method import METHOD
from dormie.methods.refinement.stage import Refinement

__all__ = ["METHOD", "Refinement"]
