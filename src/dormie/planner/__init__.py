"""`dormie.compile`: from a model to a plan.

compiler              the steps in order: check, read, simplify, choose with a risk or certified, plan
options               what the caller asks for, checked: one value that travels through the steps
certified_candidates  candidates for exact plans
cascades              estimates of what every cascade of candidates costs
costs                 what stages cost: timed, counted in kernel values, or estimated by a profile
profile               the costs of a computer, as plain data
profiling, work       how they are measured, and the units of work that they are of
clock                 timing
cache_folder          where dormie keeps things between runs
race                  the most promising cascades compared on sample rows
guess                 a small reduced set for answers at a deadline
risk/                 calibrated candidates, and plans with a risk that held-out rows certify
"""

from dormie.planner.compiler import compile
from dormie.planner.profile import Profile

__all__ = ["Profile", "compile"]
