"""A plan in words: what came in, what was simplified, what was tried and chosen, what is promised."""

from __future__ import annotations

from dormie.plan.guarantee import Evidence, Risk
from dormie.plan.plan import Plan, describe_cascade
from dormie.plan.text import printable

_REWRITES = {
    "fold_linear": "a linear kernel needs one vector an output",
    "fold_input_map": "the scaling of the input went into the weights",
    "merge_duplicates": "equal support vectors became one",
    "drop_zero_weights": "support vectors without weight were dropped",
    "quadratic": "a quadratic kernel needs no more vectors than features and one",
    "dependent": "support vectors that others can express were dropped",
    "center": "the origin was moved to the middle of the support vectors",
}


def explain(plan: Plan) -> str:
    """Several lines for a person to read."""
    source = plan.source
    took = "" if source.seconds is None else f" in {source.seconds:.3g} s"
    lines = [f"Compiled from {source.description} ({source.points:,} support vectors){took}."]
    lines += [f"  simplified exactly: {_REWRITES.get(name, name)}" for name in plan.rewrites]
    lines.append(f"Machine: {plan.machine}")
    lines.append(f"A row goes through: {describe_cascade(plan.stages)}")
    lines += [f"  {stage}: {stage.words}" for stage in plan.stages]
    lines += _choice(plan)
    lines.append(f"Promise: {plan.guarantee}.")
    lines += [f"  {plan.note}"] if plan.note else []
    if isinstance(plan.guarantee, Risk):
        lines += _grounds(plan.guarantee.evidence)
    return "\n".join(printable(line) for line in lines)


def _choice(plan: Plan) -> list[str]:
    if not plan.trials:
        return [] if plan.note else ["Nothing else was tried: no other stage can help this machine."]
    chosen = describe_cascade(plan.stages)
    width = max(len(trial.stages) for trial in plan.trials)
    lines = ["Tried on sample rows, on the computer that compiled it:"]
    for trial in plan.trials:
        mark = "  <- chosen" if trial.stages == chosen else ""
        early = f"{trial.settled:6.1%} settled before the dense stage"
        lines.append(f"  {trial.stages:<{width}}  {trial.microseconds:8.2f} us a row  {early}{mark}")
    return lines


def _grounds(evidence: Evidence) -> list[str]:
    """What a risk rests on, and for whom it holds."""
    versions = ", ".join(f"{name} {version}" for name, version in evidence.versions.items())
    return [
        f"  evidence: disagreement on {evidence.disagreements:,} of {evidence.rows:,} rows that nothing was fitted on "
        f"or chosen by, p-value {evidence.p_value:.2g}",
        *(f"    class {count.label}: on {count.disagreements:,} of {count.rows:,}" for count in evidence.classes),
        f"  {evidence.tested:,} plans were tested, from the most cautious on, in an order fixed before; this is the "
        "last that passed",
        f"  {evidence.date}, seed {evidence.seed}, {versions}",
        "  it holds for rows exchangeable with those: of the same source, drawn the same way"
        + (", of the classes listed" if evidence.classes else ""),
        "  Predictor.audited() watches whether rows in service still keep to it",
    ]
