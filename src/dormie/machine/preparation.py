"""What is done to rows before the input map: projections, choices of columns, scalings, imputed values, unit lengths.

A `Preparation` is a sequence of steps, each of which changes some columns that lie side by side and passes the others
through. All that a pipeline does before its model becomes such a sequence, if rows can be mapped without scikit-learn.
The points of the machine are in the coordinates behind it, so that a row is prepared once, not for every point.

Steps round. The model's own steps round in an order that may be BLAS's, which is not defined, and dormie's one product
after the other. So every step tells how far from its real-number result any evaluation in float64 can be: `errors`, in
units of u = 2^-53. They are followed along the row, from the columns that users pass to the prepared row.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from dormie.machine.csr import is_sparse
from dormie.machine.input_map import MAP_STEPS
from dormie.machine.typing import Booleans, Floats, Integers, frozen_floats

__all__ = [
    "Arithmetic",
    "Binarize",
    "Clip",
    "Columns",
    "Impute",
    "Normalize",
    "Preparation",
    "Projection",
    "Step",
]

UNIT: float = 2.0**-53
NORMS = ("l1", "l2", "max")
TINY = 10 * float(np.finfo(np.float64).eps)  # rows of a smaller norm are not scaled to length 1, as in scikit-learn
_ROWS = 256  # mapped together: their sums stay in the cache
MOST_COLUMNS = 2**31 - 1


class Step(ABC):
    """One step: columns `at`, `at` + 1, ... of a row become others; those before and after them pass through."""

    name: ClassVar[str]
    at: int

    @property
    def kind(self) -> str:
        """The name by which plan files know what it does."""
        return self.name

    @property
    @abstractmethod
    def columns(self) -> int:
        """How many columns it changes."""

    @property
    def result(self) -> int:
        """How many columns they become."""
        return self.columns

    @abstractmethod
    def __call__(self, part: Floats) -> Floats:
        """Change the columns of rows."""

    def of_sparse(self, part: Floats) -> Floats:
        """The same as scikit-learn does it where rows are sparse: another order of rounding, if anything."""
        return self(part)

    @abstractmethod
    def errors(self, before: Floats, after: Floats, errors: Floats) -> Floats:
        """The errors of whole rows after the step, in units of u, given those before it and the columns it changed."""

    def inverse(self, part: Floats) -> Floats:
        """Columns that become these, as nearly as there are any."""
        return part

    def imputed(self, columns: Booleans) -> Booleans:
        """Which columns are never NaN after this step, given those of which that is known."""
        return columns


@dataclass(frozen=True, eq=False)
class Arithmetic(Step):
    """
    Every column with a number of its own: "subtract", "divide", "multiply" or "add".

    Parameters
    ----------
    operation : str
        What is done.
    values : array-like of shape (width,)
        A number for each column. None may be 0 where rows are divided or multiplied.
    at : int, default=0
        The first column.
    """

    operation: str
    values: Floats
    at: int = 0
    name: ClassVar[str] = "arithmetic"

    if TYPE_CHECKING:

        def __init__(self, operation: str, values: npt.ArrayLike, at: int = 0) -> None: ...

    def __post_init__(self) -> None:
        if self.operation not in MAP_STEPS:
            raise ValueError(f"Arithmetic: no step {self.operation!r}; there are {', '.join(MAP_STEPS)}")
        object.__setattr__(self, "values", _vector(self.values, f"Arithmetic: {self.operation}"))
        if self._scales and not self.values.all():
            raise ValueError(f"Arithmetic: {self.operation} column {int(np.argmin(np.abs(self.values)))} by 0")

    @property
    def _scales(self) -> bool:
        return self.operation in ("divide", "multiply")

    @property
    def kind(self) -> str:
        return self.operation

    @property
    def columns(self) -> int:
        return len(self.values)

    def __call__(self, part: Floats) -> Floats:
        match self.operation:
            case "subtract":
                return part - self.values
            case "add":
                return part + self.values
            case "multiply":
                return part * self.values
        return part / self.values

    def of_sparse(self, part: Floats) -> Floats:
        """Multiplied by the inverse; zeros are not stored, and stay."""
        return np.where(part == 0, part, part * (1 / self.values)) if self.operation == "divide" else self(part)

    @cached_property
    def stretch(self) -> float:
        """By how much the step stretches a row at most; columns that pass through it does not."""
        if not self._scales:
            return 1.0
        sizes = np.abs(self.values) if self.operation == "multiply" else 1 / np.abs(self.values)
        return max(1.0, float(sizes.max())) * (1 + 1e-9)

    def errors(self, before: Floats, after: Floats, errors: Floats) -> Floats:  # noqa: ARG002
        return self.stretch * errors + 2 * _lengths(after)  # a quotient may be a product with the rounded inverse

    def inverse(self, part: Floats) -> Floats:
        match self.operation:
            case "subtract":
                return part + self.values
            case "add":
                return part - self.values
            case "multiply":
                return part / self.values
        return part * self.values


@dataclass(frozen=True, eq=False)
class Columns(Step):
    """
    Some of the columns, in any order, a column more than once if need be.

    Parameters
    ----------
    which : array-like of shape (result,)
        Numbers of columns, counted from `at`.
    width : int
        How many columns there are to choose from.
    at : int, default=0
        The first column.
    """

    which: Integers
    width: int
    at: int = 0
    name: ClassVar[str] = "columns"

    if TYPE_CHECKING:

        def __init__(self, which: npt.ArrayLike, width: int, at: int = 0) -> None: ...

    def __post_init__(self) -> None:
        which = np.array(self.which, dtype=np.int64)
        which.setflags(write=False)
        object.__setattr__(self, "which", which)
        if which.ndim != 1 or not len(which) or not 0 <= which.min() <= which.max() < self.columns:
            raise ValueError(f"Columns: numbers of columns must lie in 0..{self.columns - 1}, and there must be one")

    @property
    def columns(self) -> int:
        return self.width

    @property
    def result(self) -> int:
        return len(self.which)

    def __call__(self, part: Floats) -> Floats:
        return np.asarray(part[:, self.which], order="C")

    @cached_property
    def stretch(self) -> float:
        """A column that is taken more than once counts more than once in the length of a row."""
        return math.sqrt(float(np.bincount(self.which).max())) * (1 + 1e-9)

    def errors(self, before: Floats, after: Floats, errors: Floats) -> Floats:  # noqa: ARG002
        return self.stretch * errors

    def inverse(self, part: Floats) -> Floats:
        whole = np.zeros((len(part), self.columns))
        whole[:, self.which] = part
        return whole

    def imputed(self, columns: Booleans) -> Booleans:
        return columns[self.which]


@dataclass(frozen=True, eq=False)
class Projection(Step):
    """
    A linear map: the columns as a row vector, times a matrix.

    Parameters
    ----------
    matrix : array-like of shape (width, result)
        What rows are multiplied by.
    at : int, default=0
        The first column.
    """

    matrix: Floats
    at: int = 0
    name: ClassVar[str] = "projection"

    if TYPE_CHECKING:

        def __init__(self, matrix: npt.ArrayLike, at: int = 0) -> None: ...

    def __post_init__(self) -> None:
        object.__setattr__(self, "matrix", frozen_floats(self.matrix, "Projection: matrix"))
        if self.matrix.ndim != 2 or not self.matrix.size:
            raise ValueError(f"Projection: the matrix must have rows and columns, got shape {self.matrix.shape}")

    @property
    def columns(self) -> int:
        return len(self.matrix)

    @property
    def result(self) -> int:
        return int(self.matrix.shape[1])

    def __call__(self, part: Floats) -> Floats:
        """One product after the other, whatever the rows beside it."""
        sums = np.zeros((len(part), self.result))
        for start in range(0, len(part), _ROWS):
            some, to = np.ascontiguousarray(part[start : start + _ROWS].T), sums[start : start + _ROWS]
            for j in np.flatnonzero(some.any(axis=1)):
                to += np.multiply.outer(some[j], self.matrix[j])
        return sums

    @cached_property
    def size(self) -> float:
        """The Frobenius norm, which no other norm of the matrix or of its entries' sizes exceeds."""
        largest = float(np.abs(self.matrix).max()) or 1.0
        return float(np.linalg.norm(self.matrix / largest)) * largest * (1 + 1e-9)

    def errors(self, before: Floats, after: Floats, errors: Floats) -> Floats:  # noqa: ARG002
        """With k non-zeros, a sum in any order has an error of at most ``(k + 1) u sum_j |x_j| |a_j|``."""
        terms = np.count_nonzero(before, axis=1) + 2.0
        return np.asarray(max(1.0, self.size) * errors + self.size * terms * _lengths(before))

    @cached_property
    def _back(self) -> Floats:
        return np.asarray(np.linalg.pinv(self.matrix), dtype=np.float64)

    def inverse(self, part: Floats) -> Floats:
        return np.asarray(part @ self._back)


@dataclass(frozen=True, eq=False)
class Impute(Step):
    """
    Missing values become a number, one for each column.

    Parameters
    ----------
    values : array-like of shape (width,)
        What is put in their place.
    missing : float, default=nan
        What stands for a missing value.
    at : int, default=0
        The first column.
    """

    values: Floats
    missing: float = math.nan
    at: int = 0
    name: ClassVar[str] = "impute"

    if TYPE_CHECKING:

        def __init__(self, values: npt.ArrayLike, missing: float = math.nan, at: int = 0) -> None: ...

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", _vector(self.values, "Impute: values"))
        if math.isinf(self.missing):
            raise ValueError("Impute: missing must be a number or NaN, and rows are never infinite")

    @property
    def columns(self) -> int:
        return len(self.values)

    def __call__(self, part: Floats) -> Floats:
        lost = np.isnan(part) if math.isnan(self.missing) else part == self.missing
        return np.where(lost, self.values, part)

    def errors(self, before: Floats, after: Floats, errors: Floats) -> Floats:  # noqa: ARG002
        """A value that rounds cannot be compared with a number."""
        return errors if math.isnan(self.missing) else np.where(errors > 0, np.inf, errors)

    def imputed(self, columns: Booleans) -> Booleans:
        return np.ones_like(columns) if math.isnan(self.missing) else columns


@dataclass(frozen=True, eq=False)
class Clip(Step):
    """
    Numbers below `low` become `low`, those above `high` become `high`.

    Parameters
    ----------
    low, high : float
        The least and the largest number.
    width : int
        How many columns.
    at : int, default=0
        The first column.
    """

    low: float
    high: float
    width: int
    at: int = 0
    name: ClassVar[str] = "clip"

    def __post_init__(self) -> None:
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low <= self.high):
            raise ValueError(f"Clip: low must be at most high, both finite; got {self.low} and {self.high}")

    @property
    def columns(self) -> int:
        return self.width

    def __call__(self, part: Floats) -> Floats:
        return np.clip(part, self.low, self.high)

    def errors(self, before: Floats, after: Floats, errors: Floats) -> Floats:  # noqa: ARG002
        return errors


@dataclass(frozen=True, eq=False)
class Normalize(Step):
    """
    The columns of each row as a vector of norm 1; one of norm below 2.2e-15 stays as it is.

    Parameters
    ----------
    norm : {"l1", "l2", "max"}
        Which norm.
    width : int
        How many columns.
    at : int, default=0
        The first column.
    """

    norm: str
    width: int
    at: int = 0
    name: ClassVar[str] = "normalize"

    def __post_init__(self) -> None:
        if self.norm not in NORMS:
            raise ValueError(f"Normalize: no norm {self.norm!r}; there are {', '.join(NORMS)}")

    @property
    def columns(self) -> int:
        return self.width

    def __call__(self, part: Floats) -> Floats:
        norms = self._norms(part)
        return np.asarray(part / np.where(norms < TINY, 1.0, norms)[:, None])

    def _norms(self, part: Floats) -> Floats:
        """The norms, added one column after the other."""
        if self.norm == "max":
            return np.asarray(np.abs(part).max(axis=1))
        sums = np.zeros(len(part))
        for column in np.ascontiguousarray(part.T):
            sums += np.abs(column) if self.norm == "l1" else column * column
        return sums if self.norm == "l1" else np.sqrt(sums)

    def errors(self, before: Floats, after: Floats, errors: Floats) -> Floats:
        """With x' for a row that is off by e, ``x'/|x'|`` is off by at most ``2 e/|x|`` in the Euclidean norm.

        In other norms by ``(1 + sqrt(d)) e/|x|``. Nothing is known of a row about as long as those that stay as they
        are, of one whose squares leave the range, or of one that is hardly longer than its error.
        """
        norms = self._norms(before)
        steep = 2.0 if self.norm == "l2" else 1.0 + math.sqrt(self.columns)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            scaled = errors * np.maximum(1.0, 1.01 * steep / norms) + (self.columns + 6.0) * _lengths(after)
            known = (norms > 1.1 * TINY) & (norms < 1e150) & (errors * (steep * UNIT) < 1e-3 * norms)
            small = (norms < 0.9 * TINY) & (errors * UNIT < 0.01 * TINY)
        return np.where(small, errors, np.where(known, scaled, np.inf))


@dataclass(frozen=True, eq=False)
class Binarize(Step):
    """
    1 for every number above a threshold, 0 for all others.

    Parameters
    ----------
    threshold : float
        The threshold.
    width : int
        How many columns.
    at : int, default=0
        The first column.
    """

    threshold: float
    width: int
    at: int = 0
    name: ClassVar[str] = "binarize"

    def __post_init__(self) -> None:
        if not math.isfinite(self.threshold):
            raise ValueError(f"Binarize: the threshold must be finite, got {self.threshold}")

    @property
    def columns(self) -> int:
        return self.width

    def __call__(self, part: Floats) -> Floats:
        return (part > self.threshold).astype(np.float64)

    def errors(self, before: Floats, after: Floats, errors: Floats) -> Floats:  # noqa: ARG002
        """Exact, unless a number that is rounded lies as near to the threshold as its error."""
        nearest = np.abs(before - self.threshold).min(axis=1)
        return np.where(nearest > 1.01 * UNIT * errors, errors, np.where(errors > 0, np.inf, errors))


STEPS: dict[str, type[Step]] = {
    **dict.fromkeys(MAP_STEPS, Arithmetic),
    **{step.name: step for step in (Columns, Projection, Impute, Clip, Normalize, Binarize)},
}
KINDS = (*MAP_STEPS, "columns", "projection", "impute", "clip", "normalize", "binarize")  # as in native/core


@dataclass(frozen=True, eq=False)
class Preparation:
    """
    What is done to every row first, before the input map.

    Parameters
    ----------
    columns : int
        How many columns rows have before it.
    steps : sequence of Step
        The steps, in order: `Arithmetic`, `Columns`, `Projection`, `Impute`, `Clip`, `Normalize`, `Binarize`.

    Raises
    ------
    TypeError
        If a step is none of these.
    ValueError
        If a step changes columns that are not there.

    Examples
    --------
    >>> import numpy as np
    >>> from dormie.steps import Arithmetic, Preparation, Projection
    >>> centered_sum = Preparation(2, [Arithmetic("subtract", [1.0, 1.0]), Projection([[1.0], [1.0]])])
    >>> centered_sum(np.array([[3.0, 4.0]]))
    array([[5.]])
    """

    columns: int
    steps: tuple[Step, ...]
    result: int = field(init=False)

    if TYPE_CHECKING:

        def __init__(self, columns: int, steps: Sequence[Step]) -> None: ...

    def __post_init__(self) -> None:
        object.__setattr__(self, "steps", tuple(self.steps))
        width = self.columns
        if not 1 <= width <= MOST_COLUMNS:
            raise ValueError(f"Preparation: rows have 1 to {MOST_COLUMNS:,} columns, not {width:,}")
        for number, step in enumerate(self.steps):
            if not isinstance(step, Step):
                raise TypeError(f"Preparation: step {number} must be one of dormie.steps, got {step!r}")
            if step.columns < 1 or not 0 <= step.at <= width - step.columns:
                raise ValueError(
                    f"Preparation: step {number}, {step.name}, changes columns {step.at} to "
                    f"{step.at + step.columns - 1}, and there are {width}"
                )
            width += step.result - step.columns
        object.__setattr__(self, "result", width)

    def __call__(self, rows: Any, sparse: bool = False) -> Floats:
        """
        Prepare rows.

        Parameters
        ----------
        rows : ndarray or sparse matrix of shape (n_rows, columns)
            Rows as users have them.
        sparse : bool, default=False
            Whether to divide as scikit-learn does where rows are sparse: by multiplying by the inverse.

        Returns
        -------
        ndarray of shape (n_rows, result)
            The prepared rows.
        """
        x = _dense(rows)
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            for step in self.steps:
                part = _part(x, step)
                x = _replaced(x, step, step.of_sparse(part) if sparse else step(part))
        return x

    def with_errors(self, rows: Any) -> tuple[Floats, Floats]:
        """Prepared rows, and bounds on their distances from what they are in real numbers, in units of u."""
        x = _dense(rows)
        errors = np.zeros(len(x))
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            for step in self.steps:
                before = _part(x, step)
                after = step(before)
                errors = step.errors(before, after, errors)
                x = _replaced(x, step, after)
        return x, np.where(np.isnan(errors), np.inf, errors)

    def inverse(self, rows: Floats) -> Floats:
        """
        Rows that are prepared to these, as nearly as there are any.

        Parameters
        ----------
        rows : ndarray of shape (n_rows, result)
            Prepared rows.

        Returns
        -------
        ndarray of shape (n_rows, columns)
            Rows as users have them.
        """
        x = np.asarray(rows, dtype=np.float64)
        for step in reversed(self.steps):
            end = step.at + step.result
            x = np.hstack([x[:, : step.at], step.inverse(x[:, step.at : end]), x[:, end:]])
        return x

    @cached_property
    def unit_error(self) -> float:
        """About the error, in units of u, of a row that is as long as 1 all along: what errors are measured by."""
        error = 16.0
        for step in self.steps:
            if isinstance(step, Projection):
                error = max(1.0, step.size) * error + step.size * (step.columns + 2.0)
            else:
                error += 2.0
        return float(min(error, 1e100))

    def reach(self, lengths: Floats, errors: Floats) -> Floats:
        """What bounds on rounding are functions of: the length of a mapped row, or more where its errors are larger."""
        return np.maximum(lengths, errors / self.unit_error)

    @cached_property
    def may_be_nan(self) -> Booleans | None:
        """Which columns may hold NaN, because it is imputed whatever becomes of them; None where no column may."""
        if not any(isinstance(step, Impute) and math.isnan(step.missing) for step in self.steps):
            return None
        lineage = _Lineage(self.columns)
        for step in self.steps:
            lineage.follow(step)
        lineage.require_done(slice(None))
        return lineage.safe if lineage.safe.any() else None

    def __repr__(self) -> str:
        done = ", ".join(dict.fromkeys(step.kind for step in self.steps))
        return f"Preparation({self.columns} columns to {self.result}: {done})"


class _Lineage:
    """What becomes of the columns of rows, for as long as each stays one column."""

    def __init__(self, columns: int) -> None:
        self.safe = np.ones(columns, dtype=np.bool_)  # columns that are imputed before anything mixes or drops them
        self._origin = np.arange(columns)  # the column that each column was; those that are mixed have none, -1
        self._done = np.zeros(columns, dtype=np.bool_)  # whether it is imputed, or mixed of such columns

    def require_done(self, columns: Any) -> None:
        """What is not imputed by now is not safe."""
        origin = self._origin[columns][~self._done[columns]]
        self.safe[origin[origin >= 0]] = False

    def follow(self, step: Step) -> None:
        here = slice(step.at, step.at + step.columns)
        if isinstance(step, Columns):
            self.require_done(here.start + np.flatnonzero(np.bincount(step.which, minlength=step.columns) == 0))
            self._replace(here, self._origin[here][step.which], self._done[here][step.which])
        elif isinstance(step, Arithmetic | Impute):
            self._done[here] = step.imputed(self._done[here])
        else:  # what mixes columns, or compares them, must know them
            self.require_done(here)
            self._replace(here, np.full(step.result, -1), np.ones(step.result, dtype=np.bool_))

    def _replace(self, here: slice, origin: npt.NDArray[Any], done: Booleans) -> None:
        self._origin = np.concatenate([self._origin[: here.start], origin, self._origin[here.stop :]])
        self._done = np.concatenate([self._done[: here.start], done, self._done[here.stop :]])


def _vector(values: Any, name: str) -> Floats:
    vector = frozen_floats(values, name)
    if vector.ndim != 1 or not len(vector):
        raise ValueError(f"{name} must have a number for each column, got shape {vector.shape}")
    return vector


def _dense(rows: Any) -> Floats:
    return np.asarray(rows.toarray() if is_sparse(rows) else rows, dtype=np.float64)


def _part(x: Floats, step: Step) -> Floats:
    return x[:, step.at : step.at + step.columns]


def _replaced(x: Floats, step: Step, part: Floats) -> Floats:
    whole = step.at == 0 and step.columns == x.shape[1]
    return part if whole else np.hstack([x[:, : step.at], part, x[:, step.at + step.columns :]])


def _lengths(x: Floats) -> Floats:
    """Upper bounds on the Euclidean norms of rows."""
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", x, x)) * (1 + 1e-9) + 1e-150)
