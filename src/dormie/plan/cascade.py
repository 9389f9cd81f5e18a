"""The cascade: the stages that rows flow through, and the caution of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from dormie.methods.base import Stage
from dormie.methods.thresholds import require_caution
from dormie.numerics import backend


@dataclass(frozen=True)
class Cascade:
    """Stages in order, each with its caution.

    Parameters
    ----------
    stages : tuple of Stage
        Each sees only the rows that no stage before it has settled.
    cautions : tuple of float
        For each stage, how many times wider its half-widths are than first fitted. It is 1 for stages whose half-widths
        are proved, not measured.

    Raises
    ------
    ValueError
        If there is not one caution for each stage, if a caution is not a finite number of at least 0, or if a stage
        that has none is given one.

    Examples
    --------
    >>> import dormie
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.svm import SVC
    >>> svc = SVC().fit(*make_moons(600, noise=0.3, random_state=0))
    >>> cascade = dormie.compile(svc, methods=["fast_stopping"]).plan.cascade
    >>> print(cascade)
    fast_stopping -> dense
    >>> cascade.cautions
    (1.0, 1.0)
    """

    stages: tuple[Stage, ...]
    cautions: tuple[float, ...]

    @classmethod
    def of(cls, *stages: Stage) -> Cascade:
        """Make a cascade of stages as they were fitted.

        Parameters
        ----------
        *stages : Stage
            The stages in order.

        Returns
        -------
        Cascade
            These stages, each with a caution of 1.
        """
        return cls(stages, (1.0,) * len(stages))

    def __post_init__(self) -> None:
        object.__setattr__(self, "stages", tuple(self.stages))
        object.__setattr__(self, "cautions", tuple(self.cautions))
        if len(self.cautions) != len(self.stages):
            raise ValueError(f"there are {len(self.cautions)} cautions for {len(self.stages)} stages")
        for stage, caution in self:
            require_caution(caution)
            if caution != 1 and not stage.has_caution:
                raise ValueError(f"{stage} has no caution: its half-widths are not measured, so they cannot be scaled")

    def __reduce__(self) -> tuple[type[Cascade], tuple[tuple[Stage, ...], tuple[float, ...]]]:
        return Cascade, (self.stages, self.cautions)  # without the native one, which cannot be pickled

    def __iter__(self) -> Iterator[tuple[Stage, float]]:
        return zip(self.stages, self.cautions, strict=True)

    def __len__(self) -> int:
        return len(self.stages)

    def __str__(self) -> str:
        return " -> ".join(stage.described(caution) for stage, caution in self)

    @property
    def certified(self) -> bool:
        """Whether every answer is proved."""
        return all(stage.certified for stage in self.stages)

    @cached_property
    def native(self) -> backend.extension.Cascade | None:
        """The stages as the native core runs them, in one call; None if one of them is computed in Python."""
        if not backend.decides(self.stages[-1].machine):
            return None
        return backend.cascade_of([stage.native(caution) for stage, caution in self])

    def before(self, last: Stage) -> Cascade:
        """Add a stage at the end.

        Parameters
        ----------
        last : Stage
            The stage to add.

        Returns
        -------
        Cascade
            This cascade, followed by the stage at a caution of 1.
        """
        return Cascade((*self.stages, last), (*self.cautions, 1.0))

    @property
    def early(self) -> Cascade:
        """This cascade without its last stage."""
        return Cascade(self.stages[:-1], self.cautions[:-1])

    def scaled(self, factor: float) -> Cascade:
        """Make the stages more cautious, or bolder.

        Parameters
        ----------
        factor : float
            The factor on the caution of every stage that has one.

        Returns
        -------
        Cascade
            The same stages with other cautions.
        """
        return Cascade(self.stages, tuple(c * factor if stage.has_caution else c for stage, c in self))
