"""`dormie.compile`: from a model to a plan.

compiler              the steps in order: read, simplify, fit candidates, race, choose
options               the caller's parameters, checked
certified_candidates  candidates for exact plans
cascades              estimates of what every cascade of candidates costs
race                  the most promising cascades timed on sample rows
risk/                 calibrated candidates, and plans with a risk that held-out rows certify
"""

from dormie.planner.compiler import compile

__all__ = ["compile"]
