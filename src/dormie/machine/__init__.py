"""What every model becomes: a machine in normal form, G(x) = sum_i beta_i K(map(x), s_i) + b, and a rule.

typing     names of arrays             margin     how near to the border rounding counts
kernels    K(u, v)                     machine    the normal form: `Machine`
rules      outputs to answers          rows       rows as users have them (csr, frames: sparse ones, data frames)
input_map  what happens to a row first
"""

from dormie.machine.input_map import Affine
from dormie.machine.machine import Machine, Origin
from dormie.machine.typing import Floats

__all__ = ["Affine", "Floats", "Machine", "Origin"]
