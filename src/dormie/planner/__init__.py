"""`dormie.compile`: from a model to a plan.

compiler              the steps in order: check, read, simplify, choose with a risk or certified, plan
options               what the caller asks for, checked: one value that travels through the steps
certified_candidates  candidates for exact plans
cascades              estimates of what every cascade of candidates costs
race                  the most promising cascades timed on sample rows
guess                 a small reduced set for answers at a deadline
risk/                 calibrated candidates, and plans with a risk that held-out rows certify
"""

from dormie.planner.compiler import compile

__all__ = ["compile"]
