"""Parts: the stage of a sum of machines, whose members are bounded one by one, and judged together.

Every member has a stage of its own, certified or calibrated. Its rule is that of the sum: a row is settled once the
intervals of all members, side by side or added, leave one answer.
"""

from dormie.methods.parts.method import METHOD
from dormie.methods.parts.stage import CalibratedParts, Parts

__all__ = ["METHOD", "CalibratedParts", "Parts"]
