"""The normal form that every model is read as: G(x) = sum_i beta_i K(map(x), s_i) + b, and a rule.

machine    the normal form itself: `Machine`         rows    checks rows as users pass them
machine_sum  several machines under one rule
kernels    K(u, v), and its properties               csr     sparse rows
rules      outputs to answers                        frames  data frames
sparse_points  points that are mostly zeros
input_map  what is done to a row before the kernel   typing  names of array types
margin     how far from the decision boundary an interval must stay, so that rounding cannot change the answer
"""

from dormie.machine.input_map import Affine
from dormie.machine.machine import Machine, Origin, _restored  # noqa: F401 - pickles of 0.1.0 look for it here
from dormie.machine.machine_sum import MachineSum, joined_widths, members_of, require_one_machine
from dormie.machine.typing import Floats

__all__ = ["Affine", "Floats", "Machine", "MachineSum", "Origin", "joined_widths", "members_of", "require_one_machine"]
