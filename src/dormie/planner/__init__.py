"""`dormie.compile`: from a model to a plan.

options    what was asked for, checked                     race      cascades timed on sample rows
certified  candidates that are proved                      cascades  which cascades are worth timing
compiler   read, simplify, fit candidates, race, choose    risk/     calibrated candidates, certified on held-out rows
"""

from dormie.planner.compiler import compile

__all__ = ["compile"]
