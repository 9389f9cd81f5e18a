"""Support vector trees as a method: rarely the fastest with native kernels, useful with slow Python kernels."""

from __future__ import annotations

from collections.abc import Iterator

from dormie.machine import Machine
from dormie.machine.rules import Value
from dormie.methods.base import EFFORTS, CalibratedFitting, CalibratedStage, Method, Usable
from dormie.methods.tree.stage import TreeWalk

_MOST_ROWS = 20_000  # for growing a tree
_LEAST_SHRINKING = 4  # least ratio of points to evaluations of a row


class _TreeMethod(Method):
    stages = (TreeWalk,)
    needs_risk = True

    def is_usable_for(self, machine: Machine) -> Usable:
        if isinstance(machine.rule, Value):
            return Usable(
                f"{self.name} needs a risk, which regressors do not have; dormie.estimators.SupportVectorTree gives "
                "estimates"
            )
        least = _LEAST_SHRINKING * min(effort.tree_evaluations[0] for effort in EFFORTS.values())
        if machine.n_points < least:
            return Usable(
                f"{self.name} needs at least {least} points to save anything, and the machine has {machine.n_points}: "
                "leave it out"
            )
        return Usable()

    def calibrated_candidates(self, fitting: CalibratedFitting) -> Iterator[CalibratedStage]:
        machine, measuring = fitting.machine, fitting.measuring
        if not (fitting.named or fitting.effort.rarely_fastest or machine.kernel.is_python):
            return
        from dormie.methods.tree.fitted_tree import fitted  # here: start-up time, few plans grow a tree

        few = fitting.fitting.some(_MOST_ROWS, fitting.seed)
        for evaluations in fitting.effort.tree_evaluations:
            if evaluations * _LEAST_SHRINKING <= machine.n_points:
                fitting.progress.say(f"growing a tree of {evaluations} evaluations per row")
                tree = fitted(machine, few.rows, evaluations=evaluations, seed=fitting.seed, outputs=few.outputs)
                yield TreeWalk.calibrated(machine, tree, measuring.rows, measuring.outputs)


METHOD = _TreeMethod()
