"""A plan described for a person: the model, its simplifications, the stages, what was timed, and the guarantee."""

from __future__ import annotations

from dormie.machine.rules import Probability
from dormie.methods.dense import Dense
from dormie.plan.guarantee import Evidence, Risk
from dormie.plan.plan import CLEAR_WIN, Plan, Source, why_dense_alone
from dormie.plan.text import printable

_REWRITES = {
    "fold_linear": "a linear kernel needs one vector per output",
    "fold_input_map": "the scaling of the input was moved into the vector of each output",
    "merge_duplicates": "equal support vectors were merged",
    "drop_zero_weights": "support vectors with zero weight were dropped",
    "quadratic": "a quadratic kernel needs at most one vector more per output than there are features",
    "dependent": "support vectors that are linear combinations of others in feature space were dropped",
    "center": "the origin was moved to the middle of the support vectors",
}


def explain(plan: Plan) -> str:
    """Several lines: headings, and indented below each what belongs to it."""
    source = plan.source
    took = "" if source.seconds is None else f" in {source.seconds:.3g} s"
    lines = [f"Compiled from {source.description} ({source.points:,} support vectors){took}."]
    lines += [source.in_words] if source.before else []
    lines += ["Simplified exactly:"] if plan.rewrites else []
    lines += [f"  {_REWRITES.get(name, name)}" for name in plan.rewrites]
    lines += ["Kernel machine:", f"  {plan.machine}"]
    lines += ["Stages, in order (each takes the rows that the stages before it could not settle):"]
    lines += [f"  {stage.described(caution)}: {stage.words}" for stage, caution in plan.cascade]
    if plan.guess is not None:
        lines += ["Where a deadline is too short for the first stage, estimates come from:", f"  {plan.guess}"]
    lines += _trials(plan)
    lines += _guarantee(plan, "Guarantee:")
    if plan.values is not None:
        words = "probabilities" if isinstance(plan.values.machine.rule, Probability) else "decision values"
        lines += [f"Stages for {words}:"]
        lines += [f"  {stage.described(caution)}: {stage.words}" for stage, caution in plan.values.cascade]
        lines += _trials(plan.values) if plan.values.trials else []
        lines += _guarantee(plan.values, f"Guarantee for {words}:")
    return "\n".join(printable(line) for line in lines)


def _guarantee(plan: Plan, heading: str) -> list[str]:
    lines = [heading, f"  {plan.guarantee}"]
    lines += [f"  {plan.note}"] if plan.note else []
    return lines + (_grounds(plan.guarantee.evidence) if isinstance(plan.guarantee, Risk) else [])


def _trials(plan: Plan) -> list[str]:
    """A table of the cascades that were timed."""
    if not plan.trials:
        reason = why_dense_alone(plan.machine) or "no methods were asked for"
        return [] if plan.note else [f"No other stages were tried: {reason}."]
    chosen = str(plan.cascade)
    width = max(len(trial.stages) for trial in plan.trials)
    lines = [
        _how(plan.source),
        f"  {'cascade':<{width}}  us per row  settled before the dense stage",
    ]
    for place, trial in enumerate(plan.trials):
        # A plan with a risk comes first, whatever words an earlier version had for its stages.
        first = isinstance(plan.guarantee, Risk) and place == 0
        mark = "  <- chosen" if first or trial.stages == chosen else ""
        lines.append(f"  {trial.stages:<{width}}  {trial.microseconds:10.2f}  {trial.settled:30.1%}{mark}")
    fastest = min(plan.trials, key=lambda trial: trial.microseconds)
    if chosen == Dense.name != fastest.stages:
        lines.append(f"  A cascade is chosen over dense only if it takes at most {CLEAR_WIN:g} of its time.")
    return lines


def _how(source: Source) -> str:
    """How the trials came about."""
    singly = ", one row at a time" if source.fast_at == "row" else ""
    if source.estimated:
        return f"Cascades on sample rows{singly}, estimated by a profile, not timed:"
    return f"Cascades timed on sample rows{singly}, on the computer that compiled the model:"


def _grounds(evidence: Evidence) -> list[str]:
    """What a risk was certified on, and for which rows it holds."""
    versions = ", ".join(f"{name} {version}" for name, version in evidence.versions.items())
    noun = "disagreement" if evidence.disagreements == 1 else "disagreements"
    return [
        f"  evidence: {evidence.disagreements:,} {noun} on {evidence.rows:,} held-out rows that were used for nothing "
        f"else (p-value {evidence.p_value:.2g})",
        *(f"    class {count.label}: on {count.disagreements:,} of {count.rows:,}" for count in evidence.classes),
        f"  {evidence.tested:,} plans were tested in an order fixed beforehand, from the most cautious to bolder ones; "
        "this is the last that passed",
        f"  certified on {evidence.date}, seed {evidence.seed}, {versions}",
        "  it holds for rows exchangeable with the held-out ones: drawn from the same population in the same way"
        + (", and of the classes listed" if evidence.classes else ""),
        "  Predictor.audited() checks in service whether it still holds",
    ]
