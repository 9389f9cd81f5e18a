"""Support vector trees as a method: rarely the fastest with native kernels, useful with slow Python kernels."""

from __future__ import annotations

from collections.abc import Iterator

from dormie.machine import Machine
from dormie.machine.rules import ValueRule
from dormie.methods.base import CalibratedStage, Method, Usable, needs_plain_rule
from dormie.methods.fitting import EFFORTS, CalibratedFitting, Sample, arithmetic, attempts
from dormie.methods.tree.stage import TreeWalk

_MOST_ROWS = 20_000  # for growing a tree
_LEAST_SHRINKING = 4  # least ratio of points to evaluations of a row


class _TreeMethod(Method):
    stages = (TreeWalk,)
    needs_risk = True

    def is_usable_for(self, machine: Machine) -> Usable:
        if isinstance(machine.rule, ValueRule):
            return Usable(
                f"{self.name} needs a risk, which regressors do not have; dormie.estimators.SupportVectorTree gives "
                "estimates"
            )
        if not (usable := needs_plain_rule(self.name, machine)):
            return usable
        least = _LEAST_SHRINKING * min(effort.tree_evaluations[0] for effort in EFFORTS.values())
        if machine.n_points < least:
            return Usable(
                f"{self.name} needs at least {least} points to save anything, and the machine has {machine.n_points}: "
                "leave it out"
            )
        return Usable()

    def calibrated_candidates(self, fitting: CalibratedFitting) -> Iterator[CalibratedStage]:
        machine = fitting.machine
        if not (fitting.named or fitting.effort.rarely_fastest or machine.kernel.is_python):
            return
        few = fitting.fitting.some(_MOST_ROWS, fitting.seed)
        most = machine.n_points // _LEAST_SHRINKING
        sizes = (evaluations for evaluations in fitting.effort.tree_evaluations if evaluations <= most)
        yield from attempts(_grown(fitting, few, evaluations) for evaluations in sizes)


def _grown(fitting: CalibratedFitting, sample: Sample, evaluations: int) -> Iterator[TreeWalk]:
    """The tree with so many evaluations per row, grown on the sample."""
    from dormie.methods.tree.fitted_tree import fitted  # here: start-up time, few plans grow a tree

    machine, measuring = fitting.machine, fitting.measuring
    fitting.progress.say(f"growing a tree of {evaluations} evaluations per row")
    with arithmetic():
        tree = fitted(machine, sample.rows, evaluations=evaluations, seed=fitting.seed, outputs=sample.outputs)
        stage = TreeWalk.calibrated(machine, tree, measuring.rows, measuring.outputs)
    yield stage


METHOD = _TreeMethod()
