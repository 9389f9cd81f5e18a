"""What a plan guarantees about its answers: that they are exact, within a tolerance, or wrong only at a stated risk.

A risk carries its evidence, and can only be constructed if the evidence supports it.
"""

from __future__ import annotations

import datetime
import math
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

from dormie.numerics.binomial import p_value
from dormie.plan.text import few, percent

_ROUNDING = 1e-9  # by how much, relatively, a p-value may differ between computers


@dataclass(frozen=True)
class Exact:
    """The guarantee that every answer is the answer of the model.

    Notes
    -----
    Let r(x) bound the rounding error of the model's own float64 sum for the row x. A row that lies further than r(x)
    from the decision boundary gets the label of the real-number sum. A row within r(x) gets the label of the model's
    own sum, which is repeated in the model's own order. A regressor's values are full float64 sums: they equal the
    model's up to rounding.

    Examples
    --------
    >>> import dormie
    >>> print(dormie.Exact())
    exact: every answer is the model's own
    """

    def __str__(self) -> str:
        return "exact: every answer is the model's own"


@dataclass(frozen=True)
class Tolerance:
    """The guarantee that every value lies within a tolerance of the real-number value.

    Parameters
    ----------
    epsilon : float
        The largest error of a value, rounding included.

    Raises
    ------
    ValueError
        If `epsilon` is not positive and finite.

    Examples
    --------
    >>> import dormie
    >>> print(dormie.Tolerance(0.01))
    tolerance: every value is within 0.01 of the full sum, certified
    """

    epsilon: float

    def __post_init__(self) -> None:
        _require_tolerance(self.epsilon)

    def __str__(self) -> str:
        return f"tolerance: every value is within {self.epsilon:g} of the full sum, certified"


@dataclass(frozen=True)
class Count:
    """The number of rows to which the full machine gives one label, and on how many of them the plan disagreed.

    The label is held as text; for all classes together it is empty.
    """

    label: str
    rows: int
    disagreements: int

    def __post_init__(self) -> None:
        if not 0 <= self.disagreements <= self.rows:
            raise ValueError(f"{self.disagreements} disagreements on {self.rows} rows")


@dataclass(frozen=True)
class Evidence:
    """What a risk was certified on: held-out rows that nothing was fitted to or chosen by.

    Parameters
    ----------
    rows : int
        The number of certifying rows.
    disagreements : int
        On how many of them the plan gives another answer than the full machine.
    p_value : float
        The probability of so few disagreements, or fewer, if the true rate exceeded the risk. With several classes,
        the largest of their p-values.
    rank : int
        The place of the plan in the sequence that was tested, counted from the end: the boldest plan has rank 1.
    tested : int
        How many plans of the sequence were tested. The sequence is fixed beforehand and goes from the most cautious
        plan to the boldest; testing ends with the first plan that fails.
    date : str
        The day of the calibration in UTC, such as ``"2024-12-31"``.
    seed : int
        The seed of the random split into choosing and certifying rows.
    versions : dict of str to str, default={}
        The versions of dormie and of the packages that took part.
    classes : tuple of Count, default=()
        For a risk that holds in each class: the label, the rows and the disagreements of every class. Otherwise empty.

    Raises
    ------
    ValueError
        If a number is out of range, or the counts of the classes do not add up.

    Examples
    --------
    >>> import dormie
    >>> evidence = dormie.Evidence(
    ...     rows=5000, disagreements=0, p_value=0.0067, rank=12, tested=15, date="2024-12-31", seed=0
    ... )
    >>> dormie.Risk(0.001, 0.95, evidence).per_class
    False
    """

    rows: int
    disagreements: int
    p_value: float
    rank: int
    tested: int
    date: str
    seed: int
    versions: dict[str, str] = field(default_factory=dict)
    classes: tuple[Count, ...] = ()

    def __post_init__(self) -> None:
        Count("", self.rows, self.disagreements)
        whole = float(self.rank).is_integer() and self.rank >= 1
        if not (0 <= self.p_value <= 1 and whole and self.tested >= 1 and self.seed >= 0):
            raise ValueError(f"evidence out of range: {self}")
        if datetime.date.fromisoformat(self.date).isoformat() != self.date:
            raise ValueError(f"the date of the evidence must read like 2024-12-31, got {self.date}")
        of_classes = [sum(count.rows for count in self.classes), sum(count.disagreements for count in self.classes)]
        if self.classes and of_classes != [self.rows, self.disagreements]:
            raise ValueError("the rows and disagreements of the classes do not add up to those of the evidence")


@dataclass(frozen=True)
class Risk:
    """The guarantee that at most a share of the rows gets another answer than the full machine gives.

    With a tolerance the answers are values, and another answer is one that is further than the tolerance from the full
    machine's.

    Parameters
    ----------
    alpha : float
        The largest share of rows with another answer, between 0 and 1.
    confidence : float
        The probability, over the draw of the certifying rows, that the guarantee holds; between 0 and 1.
    evidence : Evidence
        What was found on the certifying rows.
    tolerance : float, default=None
        For values, the largest error that does not count as a disagreement; None for classes.

    Raises
    ------
    TypeError
        If `alpha` or `confidence` is not a number.
    ValueError
        If `alpha` or `confidence` is not between 0 and 1, or if the evidence does not support them. If the tolerance is
        not positive and finite, or comes with the counts of classes.

    Notes
    -----
    ``P(rate of disagreement <= alpha) >= confidence``: of all calibrations, at most a share ``1 - confidence`` ends
    with a guarantee that does not hold. It holds for rows exchangeable with the certifying ones. If the evidence
    lists classes, it holds for the rows of each of these classes, and for no others.

    Examples
    --------
    >>> import dormie
    >>> evidence = dormie.Evidence(
    ...     rows=5000, disagreements=0, p_value=0.0067, rank=12, tested=15, date="2024-12-31", seed=0
    ... )
    >>> print(dormie.Risk(0.001, 0.95, evidence))
    risk: at most 0.1 % of the rows get another answer than the full sum's, with 95 % confidence
    >>> print(dormie.Risk(0.001, 0.95, evidence, tolerance=0.01))
    risk: at most 0.1 % of the rows get a value more than 0.01 from the full sum's, with 95 % confidence
    """

    alpha: float
    confidence: float
    evidence: Evidence
    tolerance: float | None = None

    def __post_init__(self) -> None:
        require_share(self.alpha, "alpha")
        require_share(self.confidence, "confidence")
        if self.tolerance is not None:
            _require_tolerance(self.tolerance)
            if self.evidence.classes:
                raise ValueError("a risk of values is that of all rows: it has no counts of classes")
        p_value = max(self.evidence.p_value, self._p_value())
        if not p_value <= (1 - self.confidence) * (1 + _ROUNDING):
            raise ValueError(f"a p-value of {p_value:g} does not carry a confidence of {self.confidence:g}")

    def _p_value(self) -> float:
        """Recomputed from the counts, whatever p-value the evidence states."""
        counts = self.evidence.classes or (self.evidence,)
        return max(p_value(count.rows, count.disagreements, self.alpha) for count in counts)

    @property
    def per_class(self) -> bool:
        """Whether the guarantee holds for the rows of each class."""
        return bool(self.evidence.classes)

    def __str__(self) -> str:
        whose = (
            f"the rows of each class ({few([count.label for count in self.evidence.classes])})"
            if self.per_class
            else "the rows"
        )
        what = (
            "another answer than the full sum's"
            if self.tolerance is None
            else f"a value more than {self.tolerance:g} from the full sum's"
        )
        confidence = percent(self.confidence)
        return f"risk: at most {100 * self.alpha:g} % of {whose} get {what}, with {confidence} confidence"


Guarantee = Exact | Tolerance | Risk


def tolerance_of(guarantee: Guarantee) -> float:
    """The largest error that a guarantee allows in a value; 0 for none, and for classes."""
    match guarantee:
        case Tolerance(epsilon):
            return epsilon
        case Risk(tolerance=float(tolerance)):
            return tolerance
    return 0.0


def _require_tolerance(value: float) -> None:
    if not 0 < value < math.inf:
        raise ValueError(f"a tolerance must be positive and finite, got {value}")


def require_share(value: Any, name: str) -> None:
    """Raise unless the value is a number between 0 and 1, both excluded."""
    if not isinstance(value, Real):
        raise TypeError(f"{name} must be a number between 0 and 1, got {value!r}")
    if not 0 < float(value) < 1:
        raise ValueError(f"{name} must lie between 0 and 1, got {value}")
