"""A plan in plain words: what it is made of, what is promised, on which grounds, and for which rows."""

from __future__ import annotations

import re

from dormie.machine.machine_sum import MachineSum
from dormie.machine.rules import Probability
from dormie.plan.guarantee import Exact, Guarantee, Risk, Tolerance
from dormie.plan.plan import Plan
from dormie.plan.text import percent

_LONG_NUMBER = re.compile(r"\d+\.\d{6,}(e[-+]\d+)?")

SOURCE = "the model's own sum, repeated operation by operation, for rows within rounding of the decision boundary"


def machine(plan: Plan) -> str:
    """What the plan was compiled from, and what is left of it."""
    of = f" of {counted(plan.machine.n_features, 'feature')}" if plan.machine.of_vectors else ""
    kernel = f"the kernel {_LONG_NUMBER.sub(lambda number: f'{float(number[0]):.4g}', str(plan.machine.kernel))}"
    if isinstance(plan.machine, MachineSum):
        kernel = f"{len(plan.machine.members)} kernels"
    left = f"The plan works with {counted(plan.machine.n_points, 'point')}{of} and {kernel}."
    words = (f"Trained with {counted(plan.source.points, 'support vector')}.", left, plan.source.in_words)
    return " ".join(filter(None, words))


def stages(plan: Plan) -> list[str]:
    """What each stage does, and last the model's own sum."""
    return [*(stage.words for stage in plan.stages), SOURCE]


def guarantees(plan: Plan) -> list[tuple[str, list[str]]]:
    """Headings, each with sentences: the promise of the answers, and that of values if they have one of their own."""
    if plan.values is None:
        return [("What is promised", _words(plan))]
    kind = "probabilities" if isinstance(plan.values.machine.rule, Probability) else "decision values"
    if plan.values.guarantee == plan.guarantee and plan.values.note == plan.note:
        return [(f"What is promised of labels and {kind}", _words(plan))]
    return [("What is promised of labels", _words(plan)), (f"What is promised of {kind}", _words(plan.values))]


def _words(plan: Plan) -> list[str]:
    return [*_of(plan.guarantee), *([f"Note: {plan.note}"] if plan.note else [])]


def _of(guarantee: Guarantee) -> list[str]:
    match guarantee:
        case Exact():
            return [
                "Every answer is the model's own.",
                "This is proved for each row while it is answered: a row stops early only when bounds on its output, "
                "rounding included, leave one possible answer. All other rows get the full sum.",
                "The proof needs no assumption about the rows: it holds for any of them.",
            ]
        case Tolerance(epsilon):
            return [
                f"Every value is within {epsilon:g} of the full sum.",
                "This is proved for each row while it is answered: a row stops early only when bounds on its value, "
                "rounding included, are narrow enough.",
                "The proof needs no assumption about the rows: it holds for any of them.",
            ]
        case Risk():
            return _of_risk(guarantee)


def _of_risk(risk: Risk) -> list[str]:
    evidence = risk.evidence
    what = (
        "another answer than the full sum gives"
        if risk.tolerance is None
        else f"a value more than {risk.tolerance:g} from the full sum's"
    )
    whose = "the rows of each class listed below" if risk.per_class else "all rows"
    return [
        f"At most {percent(risk.alpha)} of {whose} get {what}, with {percent(risk.confidence)} confidence.",
        f"The evidence: {counted(evidence.disagreements, 'disagreement')} on {evidence.rows:,} held-out rows that were "
        f"used for nothing else. If the true rate were above {percent(risk.alpha)}, so few would be found with a "
        f"probability of at most {evidence.p_value:.2g}. Certified on {evidence.date}.",
        *(f"Class {count.label}: {count.disagreements:,} of {count.rows:,} rows." for count in evidence.classes),
        "It holds for rows drawn from the same population in the same way as the held-out ones, and for no others. "
        "Predictor.audited() checks in service whether it still holds.",
    ]


def counted(count: int, noun: str) -> str:
    """A number of things."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
