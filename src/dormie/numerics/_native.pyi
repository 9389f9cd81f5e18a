"""
Native core of dormie; the reference.py of each method says what its class computes.
"""

from collections.abc import Sequence
from typing import Annotated

import numpy
import numpy.typing
from numpy.typing import NDArray


class Preparation:
    """What is done to rows before the input map; keeps its arrays alive."""

    def __init__(self, columns: int, numbers: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], values: list[Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]], which: list[Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]], unit_error: float, may_be_nan: Annotated[NDArray[numpy.uint8], dict(shape=(None,), order='C', device='cpu', writable=False)] | None) -> None: ...

class Machine:
    """A machine as the native core reads it; keeps its arrays alive."""

    def __init__(self, kernel: dict[str, object], rule: dict[str, object], points: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], bias: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], center: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, scale: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, margin: dict[str, object], preparation: Preparation | None = None, most_rough_error: float = 0.0) -> None: ...

    def laid_out(self, rows: object, rough: bool, threads: int = 0) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None, None))], Annotated[NDArray[numpy.float64], dict(shape=(None,))]]:
        """
        Rows as stages read them, mapped, and their reaches. rough: as stages that take rows prepared roughly.
        """

class SparseMachine:
    """The same with sparse points: their values, columns and starts."""

    def __init__(self, kernel: dict[str, object], rule: dict[str, object], points: tuple[Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.int32], dict(shape=(None,), order='C', device='cpu', writable=False)], Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]], features: int, weights: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], bias: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], center: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, scale: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)] | None, margin: dict[str, object]) -> None: ...

class Stage:
    """A stage that a cascade can run."""

class Cascade:
    """Stages in order; each sees the rows that no earlier one settled."""

    def __init__(self, stages: Sequence[Stage]) -> None: ...

    def trace(self, rows: object, threads: int = 0) -> tuple[Annotated[NDArray[numpy.int64], dict(shape=(None,))] | Annotated[NDArray[numpy.float64], dict(shape=(None, None))], Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))] | None]:
        """
        Answers, the stage that settled each row, its kernel evaluations, and the numbers of open rows.
        """

    def predict(self, rows: object, table: object | None, out: object, threads: int = 0) -> Annotated[NDArray[numpy.int64], dict(shape=(None,))] | None:
        """
        Write labels, entries of `table`, to `out`; or outputs, where they are the answer, and `table` is None. Returns the numbers of the open rows (None if there are none), whose labels mean nothing.
        """

class Answers:
    """The answers of a cascade, in new arrays: what `predict` returns."""

    def __init__(self, cascade: Cascade, labels: object | None, flat: bool, finish: object) -> None: ...

    def of(self, rows: object | None, threads: int) -> object:
        """
        The answers of rows that are an array or a CSR matrix as it is, of the right width; None for others. What the cascade leaves open, finish(rows, answers, open) answers.
        """

class Champion:
    """A class that wins all its pairs of a one-vs-one vote."""

    def __init__(self, machine: Machine, points: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], members: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def stage(self) -> Stage:
        """The stage that decides rows."""

class OpenPairs:
    """The pairs of a vote that a few vectors leave open, in full."""

    def __init__(self, machine: Machine, points: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], half_widths: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], members: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], starts: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def stage(self, caution: float) -> Stage:
        """The stage that decides rows. caution: a factor on half-widths."""

class Dense:
    """The full sum of a machine, every term of every row."""

    def __init__(self, machine: Machine) -> None: ...

    def prepare(self) -> None:
        """Lays the points out now; the first call that needs them would."""

    @property
    def roundings(self) -> int:
        """The most roundings of one term of the sum."""

    def certified_stage(self) -> Stage:
        """
        The stage that decides all rows but those within rounding of the decision boundary.
        """

    def float32_stage(self, outputs: bool) -> Stage:
        """
        The stage that decides all rows by sums in float32. outputs: whether these are the answers, of rows whose numbers stay in range.
        """

    def outputs_stage(self) -> Stage:
        """
        The stage whose answers are the outputs in float64, of rows whose numbers stay in range.
        """

    def outputs(self, rows: object, threads: int = 0) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None, None))], Annotated[NDArray[numpy.int64], dict(shape=(None,))] | None]:
        """
        Outputs in float64, and the numbers of the rows whose values overflow (None if there are none).
        """

    def interval(self, rows: object, threads: int = 0) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None, None))], Annotated[NDArray[numpy.float64], dict(shape=(None, None))]]:
        """Outputs in float32, and radii that reach the real-number values."""

    def interval64(self, rows: object, threads: int = 0) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None, None))], Annotated[NDArray[numpy.float64], dict(shape=(None, None))]]:
        """Outputs in float64, and radii that reach the real-number values."""

class SparseSum:
    """The same of a machine with sparse points."""

    def __init__(self, machine: SparseMachine) -> None: ...

    def prepare(self) -> None:
        """Lays the points out now; the first call that needs them would."""

    @property
    def roundings(self) -> int:
        """The most roundings of one term of the sum."""

    def certified_stage(self) -> Stage:
        """
        The stage that decides all rows but those within rounding of the decision boundary.
        """

    def float32_stage(self, outputs: bool) -> Stage:
        """
        The stage that decides all rows by sums in float32. outputs: whether these are the answers, of rows whose numbers stay in range.
        """

    def outputs_stage(self) -> Stage:
        """
        The stage whose answers are the outputs in float64, of rows whose numbers stay in range.
        """

    def outputs(self, rows: object, threads: int = 0) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None, None))], Annotated[NDArray[numpy.int64], dict(shape=(None,))] | None]:
        """
        Outputs in float64, and the numbers of the rows whose values overflow (None if there are none).
        """

    def interval(self, rows: object, threads: int = 0) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None, None))], Annotated[NDArray[numpy.float64], dict(shape=(None, None))]]:
        """Outputs in float32, and radii that reach the real-number values."""

    def interval64(self, rows: object, threads: int = 0) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None, None))], Annotated[NDArray[numpy.float64], dict(shape=(None, None))]]:
        """Outputs in float64, and radii that reach the real-number values."""

class SourceSum:
    """The sum of the source model, operation by operation."""

    def __init__(self, machine: Machine, steps: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], ddot: object | None) -> None:
        """
        ddot: a capsule of BLAS's function, or None for inner products in order.
        """

    def outputs(self, rows: object, sparse: bool, threads: int = 0) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]:
        """
        Outputs as the source has them. sparse: whether its rows came as a sparse matrix.
        """

class SparseSourceSum:
    """The same over sparse points."""

    def __init__(self, machine: SparseMachine, steps: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], values: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None: ...

    def outputs(self, rows: object, sparse: bool, threads: int = 0) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]:
        """
        Outputs as the source has them. sparse: whether its rows came as a sparse matrix.
        """

class FastStopping:
    """Fast stopping (Muller 2004)."""

    def __init__(self, machine: Machine, one_sided: int) -> None:
        """
        The points of the machine are in the order in which they are added. one_sided: which rows have no negative kernel value, 0 none, 1 those without negative mapped coordinates, 2 all.
        """

    def stage(self) -> Stage:
        """The stage that decides rows."""

    def interval(self, rows: object, budget: int, threads: int = 0) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None, None))], Annotated[NDArray[numpy.float64], dict(shape=(None, None))]]:
        """
        Low and high ends of every output after `budget` terms, rounded up to whole tiles of 32.
        """

class Geometry:
    """Anytime intervals from landmarks (DeCoste 2002)."""

    def __init__(self, machine: Machine, points: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], factor: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], coordinates: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], norms: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], rho: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], coordinate_norms: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], weight_norms: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], misfit: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], factor_error: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], factor_norm: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def stage(self, budget: int) -> Stage:
        """The stage that decides rows."""

    def interval(self, rows: object, budget: int, threads: int = 0) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None, None))], Annotated[NDArray[numpy.float64], dict(shape=(None, None))]]:
        """Middles and radii of every output after `budget` landmarks."""

    def walk(self, row: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Walk:
        """The intervals of one row, some landmarks at a time."""

class Walk:
    """The intervals of one row, some landmarks at a time."""

    def __iter__(self) -> Walk: ...

    def __next__(self) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None, None))], Annotated[NDArray[numpy.float64], dict(shape=(None, None))]]:
        """Middles and radii after each of the next landmarks."""

class ReducedSet:
    """A few vectors for all (Burges & Schölkopf 1997)."""

    def __init__(self, machine: Machine, points: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], sizes: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], rho: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None: ...

    def stage(self, caution: float, by_champion: bool) -> Stage:
        """
        The stage that decides rows. caution: a factor on rho. by_champion: whether a vote of three or more classes is settled only by a class that wins all its pairs.
        """

    def interval(self, rows: object, level: int, threads: int = 0) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None, None))], Annotated[NDArray[numpy.float64], dict(shape=(None, None))]]:
        """Middles and radii of every output at a level."""

class Refinement:
    """Values of a fine set, settled by the step from a coarse."""

    def __init__(self, machine: Machine, sets: Machine, slope: float, floor: float) -> None: ...

    def stage(self, caution: float) -> Stage:
        """
        The stage that decides rows. caution: a factor on the errors that are expected.
        """

    def outputs(self, rows: object, threads: int = 0) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]:
        """
        The outputs of the coarse set and of the fine one, in float32, side by side.
        """

class LinearFilter:
    """One vector per output, and thresholds (DeCoste & Mazzoni 2003)."""

    def __init__(self, machine: Machine, vectors: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], bias: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> None: ...

    def stage(self, low: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], high: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)]) -> Stage:
        """The stage that decides rows."""

    def outputs(self, rows: object, threads: int = 0) -> Annotated[NDArray[numpy.float64], dict(shape=(None, None))]:
        """Outputs of the linear machine."""

class Nearest:
    """The largest terms first (DeCoste & Mazzoni 2003)."""

    def __init__(self, machine: Machine, basis: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], steps: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], foresight: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], centers: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], orders: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None:
        """
        centers and orders without rows: every row has an order of its own, and foresight counts.
        """

    def stage(self, low: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)], high: Annotated[NDArray[numpy.float64], dict(shape=(None, None, None), order='C', device='cpu', writable=False)]) -> Stage:
        """The stage that decides rows."""

    def sums(self, rows: object, threads: int = 0) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None, None, None))], Annotated[NDArray[numpy.int64], dict(shape=(None,))]]:
        """
        Partial sums after each step, rows x steps x outputs, and the cell of each row.
        """

    def order(self, rows: object, threads: int = 0) -> Annotated[NDArray[numpy.int64], dict(shape=(None, None))]:
        """The points in the order of each row."""

class Tree:
    """Support vector trees (Ukkonen 2010)."""

    def __init__(self, machine: Machine, points: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], thresholds: Annotated[NDArray[numpy.float64], dict(shape=(None,), order='C', device='cpu', writable=False)], children: Annotated[NDArray[numpy.int64], dict(shape=(None, None), order='C', device='cpu', writable=False)], offsets: Annotated[NDArray[numpy.int64], dict(shape=(None,), order='C', device='cpu', writable=False)], weights: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)], constants: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> None: ...

    def stage(self, half_widths: Annotated[NDArray[numpy.float64], dict(shape=(None, None), order='C', device='cpu', writable=False)]) -> Stage:
        """The stage that decides rows."""

    def walk(self, rows: object, threads: int = 0) -> tuple[Annotated[NDArray[numpy.float64], dict(shape=(None, None))], Annotated[NDArray[numpy.int64], dict(shape=(None,))], Annotated[NDArray[numpy.int64], dict(shape=(None,))]]:
        """Values, the terminal each row ends at, and its kernel evaluations."""

def exp2(x: numpy.typing.NDArray[numpy.float32] | numpy.typing.NDArray[numpy.float64]) -> Annotated[NDArray[numpy.float32], dict(shape=(None,))] | Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
    """2^x of numbers that are not positive, as the tiles have it."""

def log2(x: numpy.typing.NDArray[numpy.float32] | numpy.typing.NDArray[numpy.float64]) -> Annotated[NDArray[numpy.float32], dict(shape=(None,))] | Annotated[NDArray[numpy.float64], dict(shape=(None,))]:
    """log2(x) of numbers from 1 on, as the tiles have it."""

def default_threads() -> int:
    """The threads of calls that do not say how many."""

def set_default_threads(threads: int) -> None:
    """Changes that number."""

def set_own_threads(threads: int) -> int:
    """
    Changes that number for calls of this thread (0: no longer); returns what it was.
    """

def peak_rate() -> float:
    """Multiply-adds a second of one thread with nothing to load, in float32."""

def native_info() -> dict[str, object]:
    """The compiler, the build type and the instruction sets."""
