"""A method as CONTRIBUTING.md adds one: a folder, and a line of registration. Rows far from all points need no sum.

With an RBF kernel, points within r of their mean c and a row at distance t > r from c,

    |G(x) - b| <= sum_i |beta_i| exp(-gamma (t - r)^2).
"""

from __future__ import annotations

from tests.methods.toy.method import METHOD
from tests.methods.toy.stage import FarAway

__all__ = ["METHOD", "FarAway"]
