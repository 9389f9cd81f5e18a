"""The compiled model as data: the plan, its guarantee, its description (`explain`), and its file (`file/`)."""

from dormie.plan.cascade import Cascade
from dormie.plan.guarantee import Count, Evidence, Exact, Guarantee, Risk, Tolerance
from dormie.plan.plan import Plan, Source, Trial

__all__ = ["Cascade", "Count", "Evidence", "Exact", "Guarantee", "Plan", "Risk", "Source", "Tolerance", "Trial"]
