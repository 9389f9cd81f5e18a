"""A sum of machines: members with kernels and input maps of their own, and one rule over all their outputs.

The members of an ensemble are fitted on different rows, and so have different scalings and kernel parameters. Their
outputs lie side by side, member after member. Intervals are those of the members, side by side too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dormie.machine.kernels import Kernel
from dormie.machine.machine import Machine, Origin
from dormie.machine.rules import Probability, Rule, Value
from dormie.machine.typing import Floats

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
        How all outputs together, those of the first member first, become an answer.
    feature_names : sequence of str or None, default=None
        The columns that a data frame must have, in order.

    Raises
    ------
    ValueError
        If there is no member, if members have other numbers of features, or if a kernel is a Python function.

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
    """

    members: tuple[Machine, ...]

    def __init__(self, members: Any, rule: Rule, feature_names: tuple[str, ...] | None = None) -> None:
        members = tuple(map(_without_rule, members))
        if not members:
            raise ValueError("MachineSum: there must be at least one machine")
        if any(member.kernel.is_python or not member.of_vectors for member in members):
            raise ValueError("MachineSum: the kernel of a member is a Python function; compile the members one by one")
        widths = {member.n_features for member in members}
        if len(widths) > 1:
            raise ValueError(f"MachineSum: the members have {min(widths)} to {max(widths)} features")
        object.__setattr__(self, "members", members)
        super().__init__(
            SeveralKernels(tuple(member.kernel for member in members)),
            np.empty((0, members[0].n_features)),
            np.empty((0, sum(member.n_outputs for member in members))),
            np.concatenate([member.bias for member in members]),
            rule,
            feature_names=feature_names,
        )

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
        copy = MachineSum(self.members, rule, names)
        return copy if rule is not self.rule else copy._copied(None, self.probability)

    def _copied(self, origin: Origin | None, probability: Probability | None) -> MachineSum:
        if origin is not None:
            raise ValueError("MachineSum: each member has an origin of its own")
        copy = MachineSum(self.members, self.rule, self.feature_names)
        object.__setattr__(copy, "probability", probability)
        return copy

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return _restored, (self.members, self.rule, self.feature_names, self.probability)

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


def _restored(members: tuple[Machine, ...], rule: Rule, names: Any, probability: Probability | None) -> MachineSum:
    """Rebuild a sum from its pickle."""
    return MachineSum(members, rule, names)._copied(None, probability)
