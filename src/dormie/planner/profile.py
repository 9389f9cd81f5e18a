"""The profile of a computer: what a unit of each method's work costs there, so that plans can be made without a clock.

The seconds of a row in a stage are modelled as a sum over units of work (`work.py`), and a profile has the cost of each
unit, for every method, for dense and for sparse rows, and for batches and single rows. `profiling.py` measures them.

A profile is a small table and nothing else. That it is not quite right costs some speed and no answer: whatever plan
is chosen, its guarantee holds.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import numpy as np

from dormie._version import __version__
from dormie.methods.dense import Dense
from dormie.numerics import backend
from dormie.planner.cache_folder import cache_folder, keep
from dormie.planner.profiling import measured
from dormie.planner.work import UNITS

_FORMAT = 1
_PYTHON_VALUE = 1e-5  # seconds: the strands of examples/strings.py take 2 to 3 microseconds a value, graphs a thousand


@dataclass(frozen=True, eq=False)
class Profile:
    """What the work of each method costs on a computer, measured once: for plans that can be made again.

    With a profile `dormie.compile` chooses stages by these costs and asks no clock, so that the same model, rows, seed
    and versions give the same plan file, but for its date. `Profile.of_this_computer` is what `profile=True` means.

    Parameters
    ----------
    computer : str
        What was measured: the versions, the instruction set.
    costs : mapping of str to mapping of str to float
        For names such as ``"geometry/batch/dense"`` the seconds that a unit of work takes.
    python_value : float, default=1e-5
        The seconds that one value of a Python function as kernel is taken to cost. No profile can know that.

    Raises
    ------
    ValueError
        If a cost is not a finite number of at least 0, or if the costs of the full sum are missing.

    See Also
    --------
    dormie.compile : Its parameter `profile` takes one.

    Examples
    --------
    >>> import dormie
    >>> costs = {"dense/batch/dense": {"row": 1e-7, "value": 1e-9, "product": 2e-11}}
    >>> profile = dormie.Profile("a computer by hand", costs)
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.svm import SVC
    >>> svc = SVC(gamma=1.0).fit(*make_moons(600, noise=0.3, random_state=0))
    >>> first, second = (dormie.compile(svc, profile=profile) for _ in range(2))
    >>> str(first.plan.cascade) == str(second.plan.cascade)
    True
    """

    computer: str
    costs: Mapping[str, Mapping[str, float]]
    python_value: float = _PYTHON_VALUE

    def __post_init__(self) -> None:
        frozen = {name: MappingProxyType(_checked(name, units)) for name, units in self.costs.items()}
        object.__setattr__(self, "costs", MappingProxyType(frozen))
        if not any(name.startswith(f"{Dense.name}/") for name in frozen):
            raise ValueError(f"a profile needs the costs of the full sum, such as '{Dense.name}/batch/dense'")
        if not (isinstance(self.python_value, float | int) and 0 < self.python_value < math.inf):
            raise ValueError(f"python_value must be a positive number of seconds, got {self.python_value!r}")

    @classmethod
    def of_this_computer(cls) -> Profile:
        """Return the profile in the cache folder; measure it and keep it there if there is none of these versions.

        The folder is ``$XDG_CACHE_HOME/dormie``, or ``~/.cache/dormie``.

        Returns
        -------
        Profile
            The profile of this computer.
        """
        place = cache_folder() / f"profile-{_name_of_this_computer().replace(' ', '-')}.json"
        if not place.is_file():
            keep(cls.measure()._json(), place)
        return cls.load(place)

    @classmethod
    def measure(cls) -> Profile:
        """Measure this computer, on one core: it takes a minute or two.

        Returns
        -------
        Profile
            The profile. Two measurements differ a little: to make the same plans again, keep one.
        """
        return cls(_name_of_this_computer(), measured())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Profile:
        """Read a profile from a file.

        Parameters
        ----------
        path : str or path-like
            A file that `Profile.save` wrote.

        Returns
        -------
        Profile
            The profile.

        Raises
        ------
        ValueError
            If the file is no profile, or one of another format.
        FileNotFoundError
            If there is no such file.
        """
        try:
            found = json.loads(Path(path).read_bytes())
            if found.pop("format") != _FORMAT:
                raise ValueError("it is of another format")
            return cls(**found)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise ValueError(f"{path} is not a profile that Profile.save wrote ({error}): measure another") from error

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the profile to a file of JSON text.

        Parameters
        ----------
        path : str or path-like
            The file.
        """
        keep(self._json(), Path(path))

    def _json(self) -> bytes:
        costs = {name: dict(units) for name, units in self.costs.items()}
        parts = {"format": _FORMAT, "computer": self.computer, "costs": costs, "python_value": self.python_value}
        return (json.dumps(parts, indent=1, sort_keys=True) + "\n").encode()


def _checked(name: str, units: Mapping[str, float]) -> dict[str, float]:
    if not isinstance(units, Mapping):
        raise ValueError(f"the costs of {name} must be numbers by unit, got {units!r}")
    for unit, cost in units.items():
        if unit not in UNITS:
            raise ValueError(f"{name}: no unit of work is called {unit!r}; there are {', '.join(UNITS)}")
        if isinstance(cost, bool) or not isinstance(cost, float | int) or not 0 <= cost < math.inf:
            raise ValueError(f"{name}: the cost of a {unit} must be a finite number of at least 0, got {cost!r}")
    return {unit: float(cost) for unit, cost in units.items()}


def _name_of_this_computer() -> str:
    """The versions and the instruction set, on which costs depend."""
    built = backend.info()
    return f"dormie {__version__} numpy {np.__version__} {built.get('instruction_set', 'without native core')}"
