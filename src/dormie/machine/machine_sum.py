"""A sum of machines: members with kernels and input maps of their own, and one rule over all their outputs.

The members of an ensemble are fitted on different rows, and so have different scalings and kernel parameters. Their
outputs lie side by side, member after member, or, where each member has a factor, are added. So are the intervals that
the members give.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dormie.machine.added_outputs import added, added_ends, added_widths, checked_factors
from dormie.machine.kernels import Kernel
from dormie.machine.machine import Machine, Origin
from dormie.machine.preparation import Preparation
from dormie.machine.rules import Probability, Rule, Value
from dormie.machine.typing import Booleans, Floats

_OUTPUTS = Value(flat=False)


@dataclass(frozen=True, repr=False)
class SeveralKernels(Kernel):
    """The kernels of the members of a sum, which is evaluated member by member."""

    kernels: tuple[Kernel, ...]

    def matrix(self, a: Any, b: Any) -> Floats:  # noqa: ARG002 - there is none
        raise TypeError("a sum of machines has no kernel of its own: evaluate its members")

    def diagonal(self, a: Any) -> Floats:  # noqa: ARG002 - there is none
        raise TypeError("a sum of machines has no kernel of its own: evaluate its members")

    @property
    def nonnegative(self) -> bool:
        return False

    @property
    def positive_semidefinite(self) -> bool:
        return False

    def __repr__(self) -> str:
        return f"{len(self.kernels)} kernels of a sum"


class MachineSum(Machine):
    """
    Several machines with kernels and input maps of their own, and one rule over all their outputs.

    Parameters
    ----------
    members : sequence of Machine
        The machines. Their rules do not matter.
    rule : Rule
        How the outputs become an answer. They are those of all members side by side, those of the first member first;
        with factors, their sum.
    feature_names : sequence of str or None, default=None
        The columns that a data frame must have, in order.
    factors : sequence of float or None, default=None
        A factor for each member, if the outputs of the members are to be added: 1/n for each is the mean of n members.

    Raises
    ------
    ValueError
        If there is no member, if members have other numbers of features, or if a kernel is a Python function. If there
        is not one factor for each member, if a factor is 0 or not finite, or if members whose outputs are to be added
        have other numbers of them.

    Examples
    --------
    >>> import dormie
    >>> from sklearn.calibration import CalibratedClassifierCV
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import SVC
    >>> X, y = load_iris(return_X_y=True)
    >>> model = CalibratedClassifierCV(SVC(), ensemble=True).fit(X, y)  # five machines, each with a gamma of its own
    >>> machine = dormie.read(model)
    >>> len(machine.members), machine.n_outputs
    (5, 15)

    The mean of two machines:

    >>> from dormie.kernels import RBF, Linear
    >>> from dormie.rules import Value
    >>> two = [dormie.Machine(kernel, X, y / 100, 0.0, Value()) for kernel in (RBF(0.5), Linear())]
    >>> mean = dormie.MachineSum(two, Value(), factors=(0.5, 0.5))
    >>> mean.n_outputs
    1
    >>> separate = [dormie.compile(each).predict(X) for each in two]
    >>> bool(abs(dormie.compile(mean).predict(X) - sum(separate) / 2).max() < 1e-12)
    True
    """

    members: tuple[Machine, ...]
    factors: tuple[float, ...] | None

    def __init__(
        self,
        members: Any,
        rule: Rule,
        feature_names: tuple[str, ...] | None = None,
        factors: Sequence[float] | None = None,
    ) -> None:
        members = tuple(map(_without_rule, members))
        if not members:
            raise ValueError("MachineSum: there must be at least one machine")
        if any(member.kernel.is_python or not member.of_vectors for member in members):
            raise ValueError("MachineSum: the kernel of a member is a Python function; compile the members one by one")
        widths = {member.n_columns for member in members}
        if len(widths) > 1:
            raise ValueError(f"MachineSum: the members have {min(widths)} to {max(widths)} features")
        object.__setattr__(self, "members", members)
        outputs = [member.n_outputs for member in members]
        object.__setattr__(self, "factors", None if factors is None else checked_factors(factors, outputs))
        bias = self.joined([member.bias[None] for member in members])[0]
        super().__init__(
            SeveralKernels(tuple(member.kernel for member in members)),
            np.empty((0, members[0].n_columns)),
            np.empty((0, len(bias))),
            bias,
            rule,
            feature_names=feature_names,
        )

    def joined(self, parts: Sequence[Floats]) -> Floats:
        """
        Make the outputs of the sum from those of its members.

        Parameters
        ----------
        parts : sequence of ndarray of shape (n_rows, c)
            The outputs of each member.

        Returns
        -------
        ndarray of shape (n_rows, n_outputs)
            The outputs side by side; with factors, their sum, added in the order of the members.
        """
        return np.hstack(parts) if self.factors is None else added(self.factors, parts)

    def joined_ends(self, ends: Sequence[tuple[Floats, Floats]]) -> tuple[Floats, Floats]:
        """
        Make intervals of the outputs of the sum from those of its members.

        Parameters
        ----------
        ends : sequence of pairs of ndarray of shape (n_rows, c)
            The low and the high ends of the outputs of each member.

        Returns
        -------
        low, high : ndarray of shape (n_rows, n_outputs)
            Intervals that contain the real-number outputs, and what `joined` makes of any outputs of the members
            within their intervals.
        """
        if self.factors is not None:
            return added_ends(self.factors, ends)
        lows, highs = zip(*ends, strict=True)
        return np.hstack(lows), np.hstack(highs)

    def joined_widths(self, widths: Sequence[Floats]) -> Floats:
        """
        Bound how far outputs of the sum move where those of its members move.

        Parameters
        ----------
        widths : sequence of ndarray of shape (n_rows, c)
            How far each output of each member may move.

        Returns
        -------
        ndarray of shape (n_rows, n_outputs)
            How far the outputs of the sum may move then, rounding included.
        """
        return np.hstack(widths) if self.factors is None else added_widths(self.factors, widths)

    @property
    def may_be_nan(self) -> Booleans | None:
        """Which columns of a row may be NaN: those that every member imputes."""
        found = [member.may_be_nan for member in self.members]
        allowed = [each for each in found if each is not None]
        return np.logical_and.reduce(allowed) if len(allowed) == len(found) else None

    @property
    def n_points(self) -> int:
        """The number of points of all members."""
        return sum(member.n_points for member in self.members)

    def changed(self, **changes: Any) -> MachineSum:
        """
        Copy the sum with another rule or other feature names.

        Parameters
        ----------
        **changes : dict
            New values of `rule` or `feature_names`.

        Returns
        -------
        MachineSum
            The changed copy.
        """
        rule, names = changes.pop("rule", self.rule), changes.pop("feature_names", self.feature_names)
        if changes:
            raise ValueError(f"MachineSum: {min(changes)} is that of each member, and cannot be changed here")
        copy = MachineSum(self.members, rule, names, self.factors)
        return copy if rule is not self.rule else copy._copied(None, self.probability)

    def behind(self, preparation: Preparation, feature_names: Sequence[str] | None = None) -> MachineSum:
        """
        Copy the sum so that rows go through a preparation first.

        Parameters
        ----------
        preparation : Preparation
            What is done to rows before all that the members do to them.
        feature_names : sequence of str or None, default=None
            The names of the columns before it.

        Returns
        -------
        MachineSum
            The sum for rows that are not prepared.
        """
        members = [member.behind(preparation) for member in self.members]
        names = None if feature_names is None else tuple(feature_names)
        return MachineSum(members, self.rule, names, self.factors)._copied(None, self.probability)

    def _copied(self, origin: Origin | None, probability: Probability | None) -> MachineSum:
        if origin is not None:
            raise ValueError("MachineSum: each member has an origin of its own")
        copy = MachineSum(self.members, self.rule, self.feature_names, self.factors)
        object.__setattr__(copy, "probability", probability)
        return copy

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return _restored, (self.members, self.rule, self.feature_names, self.factors, self.probability)

    def __repr__(self) -> str:
        return (
            f"MachineSum({len(self.members)} machines, {self.n_points:,} points of {self.n_features} features, "
            f"{self.n_outputs:,} outputs, {type(self.rule).__name__})"
        )


def _without_rule(member: Machine) -> Machine:
    """The member with the rule that all members have; it answers by its outputs."""
    return member if member.rule == _OUTPUTS else member.changed(rule=_OUTPUTS)


def require_one_machine(machine: Machine, what: str) -> None:
    """Raise ValueError for a sum of machines, of which only the members can be taken."""
    if isinstance(machine, MachineSum):
        raise ValueError(
            f"{what} takes one machine, and this is a sum of {len(machine.members)}, each with a kernel or scaling of "
            "its own. Take its members one by one, or train with ensemble=False, or with a fixed gamma and rows scaled "
            "beforehand"
        )


def members_of(machine: Machine) -> tuple[Machine, ...]:
    """The members of a sum; of any other machine, itself alone."""
    return machine.members if isinstance(machine, MachineSum) else (machine,)


def joined_widths(machine: Machine, widths: Sequence[Floats]) -> Floats:
    """`MachineSum.joined_widths` of a sum; of any other machine, the widths of itself alone."""
    return machine.joined_widths(widths) if isinstance(machine, MachineSum) else widths[0]


def _restored(
    members: tuple[Machine, ...], rule: Rule, names: Any, factors: Any, probability: Probability | None
) -> MachineSum:
    """Rebuild a sum from its pickle."""
    return MachineSum(members, rule, names, factors)._copied(None, probability)
