"""The guarantee of a plan in plain words: what is promised, on which grounds, and for which rows."""

from __future__ import annotations

from dormie.machine.rules import Probability
from dormie.plan.guarantee import Evidence, Exact, Guarantee, Risk, Tolerance
from dormie.plan.plan import Plan
from dormie.plan.text import percent


def guarantees(plan: Plan) -> list[tuple[str, list[str]]]:
    """Headings, each with sentences: the promise of the answers, and that of values if they have one of their own."""
    found = [("What is promised", _words(plan))]
    if plan.values is not None:
        kind = "probabilities" if isinstance(plan.values.machine.rule, Probability) else "decision values"
        found.append((f"What is promised of {kind}", _words(plan.values)))
    return found


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
        f"The evidence: {_counted(evidence)} on {evidence.rows:,} held-out rows that were used for nothing else. If "
        f"the true rate were above {percent(risk.alpha)}, so few would be found with a probability of at most "
        f"{evidence.p_value:.2g}. Certified on {evidence.date}.",
        *(f"Class {count.label}: {count.disagreements:,} of {count.rows:,} rows." for count in evidence.classes),
        "It holds for rows drawn from the same population in the same way as the held-out ones, and for no others. "
        "Predictor.audited() checks in service whether it still holds.",
    ]


def _counted(evidence: Evidence) -> str:
    return f"{evidence.disagreements:,} disagreement{'' if evidence.disagreements == 1 else 's'}"
