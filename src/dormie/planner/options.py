"""What the caller of `dormie.compile` asks for, checked before any work begins.

`Options.checked` checks what needs no machine; `checked_rows` checks the rest against the machine and the rows. The
tolerance is no option: `with_tolerance` makes it that of the machine's values.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Real
from operator import index
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from dormie.machine import Floats, Machine, members_of
from dormie.machine.rows import check_rows, require_finite_vectors, unmapped
from dormie.machine.rules import (
    ClassRule,
    LogDensity,
    MostProbable,
    OneClassSign,
    Rule,
    Score,
    SeveralLabels,
    Sign,
    Threshold,
    Value,
    ValueRule,
    decision_values,
)
from dormie.methods import METHODS
from dormie.methods.base import require
from dormie.methods.dense import Dense
from dormie.methods.fitting import EFFORTS, Effort
from dormie.plan.guarantee import Exact, Guarantee, Tolerance, require_share
from dormie.planner.profile import Profile
from dormie.planner.risk.calibration import rows_needed
from dormie.planner.risk.training_rows import warn_of_training_rows
from dormie.planner.work import FastAt
from dormie.predictor import anytime

CONFIDENCE = 0.95

_ROWS_OF_REACH = 256  # rows on which the rounding error of the full sum is determined
_LEAST_RISK, _LEAST_DOUBT = 1e-12, 1e-9  # closer to 0 or 1 the rows needed are too many to compute or to have


@dataclass(frozen=True)
class RiskRequest:
    """The risk and confidence that the caller asks for, of all rows together or of each class."""

    alpha: float
    confidence: float = CONFIDENCE
    per_class: bool = False

    @classmethod
    def checked(cls, risk: Any, confidence: Any, per_class: Any) -> RiskRequest | None:
        """The request; None without a risk. Raises if a value is out of range, or has no effect without a risk."""
        if risk is None:
            _require_not_given(confidence=confidence != CONFIDENCE, per_class=bool(per_class))
            return None
        if isinstance(risk, Real) and risk == 0:
            raise ValueError("risk must lie between 0 and 1, got 0; leave it out for an exact plan")
        _require_between(risk, "risk", _LEAST_RISK)
        _require_between(confidence, "confidence", _LEAST_DOUBT)
        if not isinstance(per_class, bool | np.bool_):
            raise TypeError(f"per_class must be True or False, got {per_class!r}")
        return cls(float(risk), float(confidence), bool(per_class))


@dataclass(frozen=True)
class Options:
    """What the caller asks for: methods to choose from, how much work fitting may take, a seed, and perhaps a risk."""

    names: tuple[str, ...] | None = None  # methods, without the dense one; None for all
    effort: Effort = EFFORTS["normal"]
    seed: int = 0
    risk: RiskRequest | None = None
    fast_at: FastAt = "batch"

    @classmethod
    def checked(cls, methods: Any, effort: Any, seed: Any, risk: RiskRequest | None, fast_at: Any = "batch") -> Options:
        """The options from the parameters of `dormie.compile`; raises if one of them is wrong for every machine."""
        if effort not in EFFORTS:
            raise ValueError(f"effort must be one of {', '.join(map(repr, EFFORTS))}, got {effort!r}")
        if fast_at not in ("batch", "row"):
            raise ValueError(f"fast_at must be 'batch' (many rows in a call) or 'row' (one), got {fast_at!r}")
        return cls(_method_names(methods), EFFORTS[effort], _whole_seed(seed), risk, fast_at)

    @property
    def named(self) -> bool:
        """Whether the caller named the methods: then one that cannot be fitted is an error."""
        return self.names is not None


def checked_profile(profile: Any) -> Profile | None:
    """The profile that the caller means; None if stages are to be timed."""
    if profile is None or profile is False:
        return None
    if profile is True:
        return Profile.of_this_computer()
    if isinstance(profile, str | PathLike):
        return Profile.load(profile)
    if not isinstance(profile, Profile):
        raise TypeError(f"profile must be True, a Profile or the path of one, got {profile!r}")
    return profile


def _whole_seed(seed: Any) -> int:
    """The seed as an integer that both numpy and plan files accept."""
    try:
        whole = index(seed)
    except TypeError:
        raise TypeError(f"seed must be a whole number, such as 0, got {seed!r}") from None
    if not 0 <= whole < 2**63:
        raise ValueError(f"seed must be a whole number from 0 to 2**63 - 1, got {whole}")
    return whole


def _method_names(methods: Any) -> tuple[str, ...] | None:
    """The names of the methods to choose from, without the dense one; None for all."""
    if methods is None:
        return None
    if isinstance(methods, str) or not isinstance(methods, Iterable):
        example = methods if isinstance(methods, str) else "geometry"
        raise TypeError(f"methods must be a list of names, such as [{example!r}]")
    names = list(methods)
    unknown = [name for name in names if name not in METHODS]
    if unknown:
        raise ValueError(f"no method is called {unknown[0]!r}; there are {', '.join(METHODS)}")
    return tuple(name for name in names if name != Dense.name)


def _require_between(value: Any, name: str, least: float) -> None:
    require_share(value, name)
    if not least <= value <= 1 - least:
        raise ValueError(f"{name} must be at least {least:g} and at most 1 - {least:g}, got {value!r}")


def _require_not_given(**given: bool) -> None:
    """Raise ValueError for the first parameter that was given and has no effect without a risk."""
    for name in (name for name, is_given in given.items() if is_given):
        raise ValueError(f"{name} is used only with a risk: add risk=0.001, for example, or leave {name} out")


def checked_rows(
    options: Options, machine: Machine, rows: Any | None, fit_rows: Any | None, values: ValueRule | None = None
) -> tuple[Any, Any]:
    """Both kinds of rows in the form that stages take, or None; checks that options, machine and rows fit together.

    Warns if the rows of a plan with a risk look like training rows, which cannot certify it.
    """
    require_usable(options, machine, values)
    rows, fit_rows = _finite_rows(rows, "rows", machine), _finite_rows(fit_rows, "fit_rows", machine)
    if options.risk is None:
        _require_no_need_of_risk(options)
        _require_not_given(fit_rows=fit_rows is not None)
    else:
        _require_can_certify(options.risk, machine, rows)
        for member in members_of(machine):
            warn_of_training_rows(member, rows)
    return rows, fit_rows


def require_usable(options: Options, machine: Machine, values: ValueRule | None = None) -> None:
    """Raise ValueError with the reason if a named method can serve neither the machine nor its values."""
    for name in options.names or ():
        if values is None or not METHODS[name].usable_for(machine.changed(rule=values)):
            require(METHODS[name].usable_for(machine))


def _finite_rows(given: Any | None, name: str, machine: Machine) -> Any:
    """The rows in the form that stages take, all values finite, or None. Error messages name the parameter."""
    if given is None:
        return given
    try:
        rows = check_rows(given, machine)
        require_finite_vectors(rows, machine)
    except (TypeError, ValueError) as error:
        raise (TypeError if isinstance(error, TypeError) else ValueError)(f"{name}: {error}") from error
    if not rows.shape[0]:
        raise ValueError(f"there are no rows in {name}: pass some, or leave {name} out")
    return rows


def _require_no_need_of_risk(options: Options) -> None:
    for name in options.names or ():
        if METHODS[name].needs_risk:
            raise ValueError(f"{name} is calibrated, not certified, so it needs a risk, such as risk=0.001")


def _require_can_certify(risk: RiskRequest, machine: Machine, rows: Any | None) -> None:
    if isinstance(machine.rule, ValueRule):
        if not machine.rule.tolerance:
            raise ValueError(
                "the risk of a regressor is the share of its values that are off by more than a tolerance: add "
                "tolerance=0.001, for example"
            )
        if isinstance(machine.rule, LogDensity):
            raise ValueError(
                "densities are certified to a tolerance of their logarithms: far out, nothing that was measured near "
                "the points tells how small they are. Leave the risk out"
            )
        if risk.per_class:
            raise ValueError("per_class is for classifiers: a regressor has no classes")
    if isinstance(machine.rule, SeveralLabels) and risk.per_class:
        raise ValueError("per_class is for one label a row, and this model gives several: leave it out")
    if rows is None:
        needed = rows_needed(risk.alpha, risk.confidence)
        raise ValueError(
            f"a risk is certified on held-out rows, without labels: pass rows, at least {needed:,} of them"
        )


def with_threshold(machine: Machine, threshold: float | None) -> Machine:
    """The machine with another threshold: of the probability or decision value of `classes[1]`, or of a score."""
    if threshold is None:
        return machine
    if not isinstance(threshold, Real):
        raise TypeError(f"threshold must be a number, such as 0.3, got {threshold!r}")
    rule = machine.rule
    if not isinstance(rule, Sign | MostProbable) or len(rule.classes) != 2:
        raise ValueError("threshold is for classifiers of two classes and one-class machines")
    if isinstance(rule, OneClassSign):
        values: ValueRule = Score(-float(machine.bias[0]))
        return machine.changed(rule=Threshold(rule.classes, values, float(threshold)))
    if machine.probability is None:
        return machine.changed(rule=Threshold(rule.classes, Value(), float(threshold)))
    if not 0 <= threshold <= 1:
        raise ValueError(
            f"threshold is that of the probability of {rule.classes[1]!r}, between 0 and 1; got {threshold}"
        )
    found = Threshold(rule.classes, machine.probability, float(threshold), column=1)
    return machine.changed(rule=found).with_probability(machine.probability)


class Asked(NamedTuple):
    """What is to be compiled: a machine, and the rule of values that are asked for besides its labels."""

    machine: Machine
    values: ValueRule | None


def with_tolerance(machine: Machine, tolerance: float | None, risk: RiskRequest | None) -> Asked:
    """The machine, and the values that are asked for besides its labels, with the tolerance that the caller gives.

    A tolerance in the rule of a regressor applies unless the caller gives another one. Without a risk it is certified.
    """
    rule = machine.rule
    if tolerance is None:
        return Asked(machine, machine.probability)
    _require_tolerance(tolerance)
    values = rule if isinstance(rule, ValueRule) else machine.probability
    if isinstance(rule, SeveralLabels):
        raise ValueError("tolerance is for values, and a model of several labels a row has none: leave it out")
    if values is None:
        assert isinstance(rule, ClassRule)
        return Asked(machine, decision_values(rule, machine.n_outputs, float(tolerance)))
    if risk is None and not values.certifiable:
        raise ValueError(
            "these probabilities have no certified tolerance: LIBSVM's coupling, by where its iteration stops, and "
            "shares of votes can jump with the last bit of an output. Add a risk, such as risk=0.001, or leave the "
            "tolerance out"
        )
    values = values.within(float(tolerance))
    return Asked(machine, values) if isinstance(rule, ClassRule) else Asked(machine.changed(rule=values), None)


def _require_tolerance(tolerance: Any) -> None:
    if not isinstance(tolerance, Real):
        raise TypeError(f"tolerance must be a number, such as 0.001, got {tolerance!r}")
    if not 0 < float(tolerance) < np.inf:
        raise ValueError(
            f"tolerance must be positive and finite, got {tolerance}; for exact values leave it out, here and in the "
            "rule of a Machine"
        )


def certified_guarantee(rule: Rule) -> Guarantee:
    """The guarantee of a plan without a risk: exact, or within the rule's tolerance."""
    tolerance = rule.tolerance if isinstance(rule, ValueRule) and rule.certifiable else 0.0
    return Tolerance(float(tolerance)) if tolerance else Exact()


def require_within_reach(guarantee: Guarantee, machine: Machine, rows: Any | None) -> None:
    """Raise ValueError for a tolerance below the rounding error on support vectors or on the rows given.

    Probabilities of an isotonic map can be steep anywhere: there a tolerance need only be within reach somewhere.
    """
    if (
        not isinstance(guarantee, Tolerance)
        or not (machine.of_vectors and machine.n_points)
        or machine.kernel.is_python
    ):
        return
    first = members_of(machine)[0]
    some = unmapped(first, first.points[:: max(1, first.n_points // _ROWS_OF_REACH)])
    errors = np.append(_reach(machine, some), [] if rows is None else _reach(machine, rows[:_ROWS_OF_REACH]))
    least = float(errors.max() if isinstance(machine.rule, Value) else errors.min())
    if guarantee.epsilon < least:
        raise ValueError(
            f"tolerance={guarantee.epsilon:g} is closer than float64 arithmetic can certify for this model: "
            f"{least:.2g} is within reach. Pass that or more, or leave tolerance out for plain float64 values"
        )


def _reach(machine: Machine, rows: Any) -> Floats:
    """Half of the width of every row's values after the full sum, including the change by rewriting."""
    assert isinstance(machine.rule, ValueRule)
    low, high = machine.rule.bounds(*anytime.interval([Dense(machine)], rows, machine.n_points))
    return np.asarray((high - low).max(axis=1, initial=0.0)) / 2
