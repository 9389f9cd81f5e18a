"""
Native core of dormie; the reference.py of each method says what its class computes.
"""

from typing import Annotated, overload

import numpy
import numpy.typing
from numpy.typing import NDArray


class Machine:
    """A machine as the native core reads it; keeps its arrays alive."""

    def __init__(self, kernel: dict[str, object], rule: dict[str, object], points: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], bias: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], center: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, scale: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, margin: dict[str, object]) -> None: ...

class Dense:
    """The full sum of a machine, every term of every row."""

    def __init__(self, machine: Machine) -> None: ...

    def prepare(self) -> None:
        """Lays the points out now; the first call that needs them would."""

    @overload
    def outputs(self, rows: numpy.typing.NDArray[numpy.float32] | numpy.typing.NDArray[numpy.float64], threads: int) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None, None))], Annotated[NDArray[numpy.int64], dict(shape=(None,))] | None]: ...

    @overload
    def outputs(self, data: numpy.typing.NDArray[numpy.float32] | numpy.typing.NDArray[numpy.float64], indices: numpy.typing.NDArray[numpy.int32] | numpy.typing.NDArray[numpy.int64], indptr: numpy.typing.NDArray[numpy.int32] | numpy.typing.NDArray[numpy.int64], columns: int, threads: int) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None, None))], Annotated[NDArray[numpy.int64], dict(shape=(None,))] | None]:
        """
        Outputs in float64, and the numbers of the rows whose values overflow (None if there are none).
        """

    @overload
    def interval(self, rows: numpy.typing.NDArray[numpy.float32] | numpy.typing.NDArray[numpy.float64], threads: int) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None, None))], Annotated[NDArray[numpy.float64], dict(shape=(None, None))]]: ...

    @overload
    def interval(self, data: numpy.typing.NDArray[numpy.float32] | numpy.typing.NDArray[numpy.float64], indices: numpy.typing.NDArray[numpy.int32] | numpy.typing.NDArray[numpy.int64], indptr: numpy.typing.NDArray[numpy.int32] | numpy.typing.NDArray[numpy.int64], columns: int, threads: int) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None, None))], Annotated[NDArray[numpy.float64], dict(shape=(None, None))]]:
        """Outputs in float32, and radii that reach the real-number values."""

    @overload
    def interval64(self, rows: numpy.typing.NDArray[numpy.float32] | numpy.typing.NDArray[numpy.float64], threads: int) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None, None))], Annotated[NDArray[numpy.float64], dict(shape=(None, None))]]: ...

    @overload
    def interval64(self, data: numpy.typing.NDArray[numpy.float32] | numpy.typing.NDArray[numpy.float64], indices: numpy.typing.NDArray[numpy.int32] | numpy.typing.NDArray[numpy.int64], indptr: numpy.typing.NDArray[numpy.int32] | numpy.typing.NDArray[numpy.int64], columns: int, threads: int) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None, None))], Annotated[NDArray[numpy.float64], dict(shape=(None, None))]]:
        """Outputs in float64, and radii that reach the real-number values."""

    @overload
    def decide(self, rows: numpy.typing.NDArray[numpy.float32] | numpy.typing.NDArray[numpy.float64], certified: bool, threads: int) -> tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,))] | Annotated[NDArray[numpy.float64], dict(shape=(None, None))], int | Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))] | None]: ...

    @overload
    def decide(self, data: numpy.typing.NDArray[numpy.float32] | numpy.typing.NDArray[numpy.float64], indices: numpy.typing.NDArray[numpy.int32] | numpy.typing.NDArray[numpy.int64], indptr: numpy.typing.NDArray[numpy.int32] | numpy.typing.NDArray[numpy.int64], columns: int, certified: bool, threads: int) -> tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,))] | Annotated[NDArray[numpy.float64], dict(shape=(None, None))], int | Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))] | None]:
        """
        Answers, kernel evaluations (one number if all rows took the same), and the numbers of the rows that are still open (None if there are none).
        """

class SourceSum:
    """The sum of the source model, operation by operation."""

    def __init__(self, machine: Machine, steps: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], ddot: object | None) -> None:
        """
        ddot: a capsule of BLAS's function, or None for inner products in order.
        """

    @overload
    def outputs(self, rows: numpy.typing.NDArray[numpy.float32] | numpy.typing.NDArray[numpy.float64], sparse: bool, threads: int) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]: ...

    @overload
    def outputs(self, data: numpy.typing.NDArray[numpy.float32] | numpy.typing.NDArray[numpy.float64], indices: numpy.typing.NDArray[numpy.int32] | numpy.typing.NDArray[numpy.int64], indptr: numpy.typing.NDArray[numpy.int32] | numpy.typing.NDArray[numpy.int64], columns: int, sparse: bool, threads: int) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]:
        """
        Outputs as the source has them. sparse: whether its rows came as a sparse matrix.
        """

class FastStopping:
    """Fast stopping (Muller 2004)."""

    def __init__(self, machine: Machine, nonnegative: bool) -> None:
        """
        The points of the machine are in the order in which they are added. nonnegative: of the kernel.
        """

    @overload
    def decide(self, rows: numpy.typing.NDArray[numpy.float32] | numpy.typing.NDArray[numpy.float64], threads: int) -> tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,))] | Annotated[NDArray[numpy.float64], dict(shape=(None, None))], Annotated[NDArray[numpy.bool_], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))]]: ...

    @overload
    def decide(self, data: numpy.typing.NDArray[numpy.float32] | numpy.typing.NDArray[numpy.float64], indices: numpy.typing.NDArray[numpy.int32] | numpy.typing.NDArray[numpy.int64], indptr: numpy.typing.NDArray[numpy.int32] | numpy.typing.NDArray[numpy.int64], columns: int, threads: int) -> tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,))] | Annotated[NDArray[numpy.float64], dict(shape=(None, None))], Annotated[NDArray[numpy.bool_], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))]]:
        """Answers, whether each row is settled, and its kernel evaluations."""

    @overload
    def interval(self, rows: numpy.typing.NDArray[numpy.float32] | numpy.typing.NDArray[numpy.float64], budget: int, threads: int) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None, None))], Annotated[NDArray[numpy.float64], dict(shape=(None, None))]]: ...

    @overload
    def interval(self, data: numpy.typing.NDArray[numpy.float32] | numpy.typing.NDArray[numpy.float64], indices: numpy.typing.NDArray[numpy.int32] | numpy.typing.NDArray[numpy.int64], indptr: numpy.typing.NDArray[numpy.int32] | numpy.typing.NDArray[numpy.int64], columns: int, budget: int, threads: int) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None, None))], Annotated[NDArray[numpy.float64], dict(shape=(None, None))]]:
        """
        Low and high ends of every output after `budget` terms, rounded up to whole panels.
        """

class Geometry:
    """Anytime intervals from landmarks (DeCoste 2002)."""

    def __init__(self, machine: Machine, points: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], factor: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], coordinates: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], norms: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], rho: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], coordinate_norms: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], weight_norms: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], misfit: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], factor_error: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], factor_norm: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    @overload
    def decide(self, rows: numpy.typing.NDArray[numpy.float32] | numpy.typing.NDArray[numpy.float64], budget: int, threads: int) -> tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,))] | Annotated[NDArray[numpy.float64], dict(shape=(None, None))], Annotated[NDArray[numpy.bool_], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))]]: ...

    @overload
    def decide(self, data: numpy.typing.NDArray[numpy.float32] | numpy.typing.NDArray[numpy.float64], indices: numpy.typing.NDArray[numpy.int32] | numpy.typing.NDArray[numpy.int64], indptr: numpy.typing.NDArray[numpy.int32] | numpy.typing.NDArray[numpy.int64], columns: int, budget: int, threads: int) -> tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,))] | Annotated[NDArray[numpy.float64], dict(shape=(None, None))], Annotated[NDArray[numpy.bool_], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))]]:
        """Answers, whether each row is settled, and its kernel evaluations."""

    @overload
    def interval(self, rows: numpy.typing.NDArray[numpy.float32] | numpy.typing.NDArray[numpy.float64], budget: int, threads: int) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None, None))], Annotated[NDArray[numpy.float64], dict(shape=(None, None))]]: ...

    @overload
    def interval(self, data: numpy.typing.NDArray[numpy.float32] | numpy.typing.NDArray[numpy.float64], indices: numpy.typing.NDArray[numpy.int32] | numpy.typing.NDArray[numpy.int64], indptr: numpy.typing.NDArray[numpy.int32] | numpy.typing.NDArray[numpy.int64], columns: int, budget: int, threads: int) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None, None))], Annotated[NDArray[numpy.float64], dict(shape=(None, None))]]:
        """Middles and radii of every output after `budget` landmarks."""

class Walk:
    """The intervals of one row, landmark by landmark."""

    def __init__(self, geometry: Geometry, row: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def next(self) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None, None))], Annotated[NDArray[numpy.float64], dict(shape=(None, None))]]:
        """Middles and radii after each of the next landmarks; empty at the end."""

class ReducedSet:
    """A few vectors for all (Burges & Schölkopf 1997)."""

    def __init__(self, machine: Machine, points: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], sizes: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], rho: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None: ...

    @overload
    def decide(self, rows: numpy.typing.NDArray[numpy.float32] | numpy.typing.NDArray[numpy.float64], threads: int) -> tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,))] | Annotated[NDArray[numpy.float64], dict(shape=(None, None))], Annotated[NDArray[numpy.bool_], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))]]: ...

    @overload
    def decide(self, data: numpy.typing.NDArray[numpy.float32] | numpy.typing.NDArray[numpy.float64], indices: numpy.typing.NDArray[numpy.int32] | numpy.typing.NDArray[numpy.int64], indptr: numpy.typing.NDArray[numpy.int32] | numpy.typing.NDArray[numpy.int64], columns: int, threads: int) -> tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,))] | Annotated[NDArray[numpy.float64], dict(shape=(None, None))], Annotated[NDArray[numpy.bool_], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))]]:
        """Answers, whether each row is settled, and its kernel evaluations."""

    @overload
    def interval(self, rows: numpy.typing.NDArray[numpy.float32] | numpy.typing.NDArray[numpy.float64], level: int, threads: int) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None, None))], Annotated[NDArray[numpy.float64], dict(shape=(None, None))]]: ...

    @overload
    def interval(self, data: numpy.typing.NDArray[numpy.float32] | numpy.typing.NDArray[numpy.float64], indices: numpy.typing.NDArray[numpy.int32] | numpy.typing.NDArray[numpy.int64], indptr: numpy.typing.NDArray[numpy.int32] | numpy.typing.NDArray[numpy.int64], columns: int, level: int, threads: int) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None, None))], Annotated[NDArray[numpy.float64], dict(shape=(None, None))]]:
        """Middles and radii of every output at a level."""

class LinearFilter:
    """One vector per output, and thresholds (DeCoste & Mazzoni 2003)."""

    def __init__(self, machine: Machine, vectors: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], bias: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    @overload
    def decide(self, rows: numpy.typing.NDArray[numpy.float32] | numpy.typing.NDArray[numpy.float64], low: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], high: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], threads: int) -> tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,))] | Annotated[NDArray[numpy.float64], dict(shape=(None, None))], Annotated[NDArray[numpy.bool_], dict(shape=(None,))]]: ...

    @overload
    def decide(self, data: numpy.typing.NDArray[numpy.float32] | numpy.typing.NDArray[numpy.float64], indices: numpy.typing.NDArray[numpy.int32] | numpy.typing.NDArray[numpy.int64], indptr: numpy.typing.NDArray[numpy.int32] | numpy.typing.NDArray[numpy.int64], columns: int, low: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], high: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], threads: int) -> tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,))] | Annotated[NDArray[numpy.float64], dict(shape=(None, None))], Annotated[NDArray[numpy.bool_], dict(shape=(None,))]]:
        """Answers, and whether each row is settled."""

    @overload
    def outputs(self, rows: numpy.typing.NDArray[numpy.float32] | numpy.typing.NDArray[numpy.float64], threads: int) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]: ...

    @overload
    def outputs(self, data: numpy.typing.NDArray[numpy.float32] | numpy.typing.NDArray[numpy.float64], indices: numpy.typing.NDArray[numpy.int32] | numpy.typing.NDArray[numpy.int64], indptr: numpy.typing.NDArray[numpy.int32] | numpy.typing.NDArray[numpy.int64], columns: int, threads: int) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]:
        """Outputs of the linear machine."""

class Nearest:
    """The largest terms first (DeCoste & Mazzoni 2003)."""

    def __init__(self, machine: Machine, basis: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], steps: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], foresight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], centers: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], orders: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None:
        """
        centers and orders without rows: every row has an order of its own, and foresight counts.
        """

    @overload
    def decide(self, rows: numpy.typing.NDArray[numpy.float32] | numpy.typing.NDArray[numpy.float64], low: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], high: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], threads: int) -> tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,))] | Annotated[NDArray[numpy.float64], dict(shape=(None, None))], Annotated[NDArray[numpy.bool_], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))]]: ...

    @overload
    def decide(self, data: numpy.typing.NDArray[numpy.float32] | numpy.typing.NDArray[numpy.float64], indices: numpy.typing.NDArray[numpy.int32] | numpy.typing.NDArray[numpy.int64], indptr: numpy.typing.NDArray[numpy.int32] | numpy.typing.NDArray[numpy.int64], columns: int, low: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], high: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], threads: int) -> tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,))] | Annotated[NDArray[numpy.float64], dict(shape=(None, None))], Annotated[NDArray[numpy.bool_], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))]]:
        """Answers, whether each row is settled, and its kernel evaluations."""

    @overload
    def sums(self, rows: numpy.typing.NDArray[numpy.float32] | numpy.typing.NDArray[numpy.float64], threads: int) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None, None, None))], Annotated[NDArray[numpy.int64], dict(shape=(None,))]]: ...

    @overload
    def sums(self, data: numpy.typing.NDArray[numpy.float32] | numpy.typing.NDArray[numpy.float64], indices: numpy.typing.NDArray[numpy.int32] | numpy.typing.NDArray[numpy.int64], indptr: numpy.typing.NDArray[numpy.int32] | numpy.typing.NDArray[numpy.int64], columns: int, threads: int) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None, None, None))], Annotated[NDArray[numpy.int64], dict(shape=(None,))]]:
        """
        Partial sums after each step, rows x steps x outputs, and the cell of each row.
        """

    @overload
    def order(self, rows: numpy.typing.NDArray[numpy.float32] | numpy.typing.NDArray[numpy.float64], threads: int) -> Annotated[NDArray[numpy.int64], dict(shape=(None, None))]: ...

    @overload
    def order(self, data: numpy.typing.NDArray[numpy.float32] | numpy.typing.NDArray[numpy.float64], indices: numpy.typing.NDArray[numpy.int32] | numpy.typing.NDArray[numpy.int64], indptr: numpy.typing.NDArray[numpy.int32] | numpy.typing.NDArray[numpy.int64], columns: int, threads: int) -> Annotated[NDArray[numpy.int64], dict(shape=(None, None))]:
        """The points in the order of each row."""

class Tree:
    """Support vector trees (Ukkonen 2010)."""

    def __init__(self, machine: Machine, points: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], thresholds: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], children: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], constants: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None: ...

    @overload
    def decide(self, rows: numpy.typing.NDArray[numpy.float32] | numpy.typing.NDArray[numpy.float64], half_widths: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], threads: int) -> tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,))] | Annotated[NDArray[numpy.float64], dict(shape=(None, None))], Annotated[NDArray[numpy.bool_], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))]]: ...

    @overload
    def decide(self, data: numpy.typing.NDArray[numpy.float32] | numpy.typing.NDArray[numpy.float64], indices: numpy.typing.NDArray[numpy.int32] | numpy.typing.NDArray[numpy.int64], indptr: numpy.typing.NDArray[numpy.int32] | numpy.typing.NDArray[numpy.int64], columns: int, half_widths: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], threads: int) -> tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,))] | Annotated[NDArray[numpy.float64], dict(shape=(None, None))], Annotated[NDArray[numpy.bool_], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))]]:
        """Answers, whether each row is settled, and its kernel evaluations."""

    @overload
    def walk(self, rows: numpy.typing.NDArray[numpy.float32] | numpy.typing.NDArray[numpy.float64], threads: int) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None, None))], Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))]]: ...

    @overload
    def walk(self, data: numpy.typing.NDArray[numpy.float32] | numpy.typing.NDArray[numpy.float64], indices: numpy.typing.NDArray[numpy.int32] | numpy.typing.NDArray[numpy.int64], indptr: numpy.typing.NDArray[numpy.int32] | numpy.typing.NDArray[numpy.int64], columns: int, threads: int) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None, None))], Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))]]:
        """Values, the terminal each row ends at, and its kernel evaluations."""

def exp2(x: numpy.typing.NDArray[numpy.float32] | numpy.typing.NDArray[numpy.float64]) -> Annotated[NDArray[numpy.float32], dict(shape=(None,))] | Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
    """2^x of numbers that are not positive, as the tiles have it."""

def peak_rate() -> float:
    """Multiply-adds a second of one thread with nothing to load, in float32."""

def native_info() -> dict[str, object]:
    """The compiler, the build type and the instruction sets."""
