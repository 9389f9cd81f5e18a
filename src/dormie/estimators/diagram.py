"""The plan of a compiled estimator as HTML, to stand below scikit-learn's diagram of the estimator in a notebook."""

from __future__ import annotations

from html import escape

from dormie.plan.plan import Plan
from dormie.plan.text import printable

_STYLE = "margin: 0.5em 0; padding: 0.5em 0.8em; border: 1px solid #8888; border-radius: 4px; width: fit-content"


def diagram(plan: Plan) -> str:
    """The stages that rows flow through, in order, and what is guaranteed of the answers."""
    stages = "".join(
        f"<li><b>{_shown(stage.described(caution))}</b>: {_shown(stage.words)}</li>" for stage, caution in plan.cascade
    )
    note = f"<br>{_shown(plan.note)}" if plan.note else ""
    return (
        f'<div class="dormie-plan" style="{_STYLE}">{_shown(str(plan.machine))}'
        f'<ol style="margin: 0.4em 0">{stages}</ol>{_shown(str(plan.guarantee))}{note}</div>'
    )


def _shown(text: str) -> str:
    return escape(printable(text))
