"""What was measured, as one page that needs nothing else: no network, no file beside it."""

from __future__ import annotations

import base64
import hashlib

import numpy as np

from dormie import _version
from dormie.machine.typing import Integers
from dormie.plan.explain import explain
from dormie.show.report.drawn import Bar, Markup, bars, paragraphs, picture, table, text, tiles
from dormie.show.report.measured import Costly, Measured
from dormie.show.report.speed import Comparison, Times
from dormie.show.report.style import SCRIPT, STYLE
from dormie.show.report.words import counted, guarantees, machine, stages

_HASH = base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()
_POLICY = f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{_HASH}'"


def page(measured: Measured) -> str:
    """The whole page."""
    title = text(f"dormie report: {measured.plan.source.description}")
    sections = [_machine(measured), _promises(measured), _funnel(measured), _work(measured), _speed(measured)]
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
<title>{title}</title><style>{STYLE}</style></head><body>
{"".join(sections)}{_rows(measured.costly, measured.evaluations)}
<details><summary>The plan in full</summary><pre>{_lines(explain(measured.plan))}</pre></details>
<p class="note">Made by dormie {text(_version.__version__)} from {counted(measured.n_rows, "row")}.</p>
<div id="tip" hidden></div><script>{SCRIPT}</script></body></html>
"""


def _lines(words: str) -> str:
    return "\n".join(text(line) for line in words.split("\n"))


def _machine(measured: Measured) -> str:
    plan, speed, funnel = measured.plan, measured.speed, measured.funnel
    early = funnel.settled[: len(plan.stages) - 1].sum()
    points, mean = plan.machine.n_points, measured.evaluations.mean()
    rows = counted(measured.n_rows, "row")
    return f'<p class="soft">How a compiled model answered {rows}</p><h1>{text(plan.source.description)}</h1>' + (
        f'<p class="soft">{text(machine(plan))}</p>'
        + tiles(
            [
                (f"{early:.2%}", "of the rows stop before the full sum"),
                (f"{mean:,.1f}", f"kernel evaluations a row; the full sum takes {points:,}"),
                (_times(speed.batch), f"as fast as {measured.against}, many rows at once"),
                (_times(speed.single), f"as fast as {measured.against}, one row at a time"),
            ]
        )
    )


def _times(times: Times) -> str:
    return f"{times.ratio:,.0f} x" if times.ratio >= 20 else f"{times.ratio:.2g} x"


def _promises(measured: Measured) -> str:
    return "".join(f"<h2>{text(head)}</h2>{paragraphs(words)}" for head, words in guarantees(measured.plan))


def _funnel(measured: Measured) -> str:
    drawn = [
        Bar(
            name,
            f"settles {settled:.2%}" + (f" after {evaluations:,.0f} evaluations" if settled else ""),
            settled,
            behind=reached,
            tip=f"{name}: {reached * measured.n_rows:,.0f} rows reach it ({reached:.3%}), "
            f"{settled * measured.n_rows:,.0f} are settled by it ({settled:.3%})",
            note=words,
        )
        for name, reached, settled, evaluations, words in zip(
            *measured.funnel, stages(measured.plan)[: len(measured.funnel.stages)], strict=True
        )
    ]
    return f"<h2>Where rows stop</h2>{_how(measured)}{bars(drawn)}"


def _how(measured: Measured) -> str:
    """How to read the funnel."""
    if len(measured.plan.stages) == 1:
        return "<p class='note'>This plan has no stage that stops early: every row gets the full sum.</p>"
    kinds = (("behind", "rows that reach the stage"), ("front", "rows that it settles"))
    key = " ".join(
        f'<span><svg class="key"><rect class="{kind}" width="100%" height="100%"/></svg>{words}</span>'
        for kind, words in kinds
    )
    words = "A row goes through the stages in order, until one settles its answer."
    return f"<p class='note'>{words}</p><p class='note'>{key}</p>"


def _work(measured: Measured) -> str:
    """How many rows take how many evaluations, in steps of a factor of 2."""
    power = np.ceil(np.log2(np.maximum(measured.evaluations, 1))).astype(int)  # 2 ** power is the first not below
    power[measured.evaluations < 1] = -1
    first = int(power.min())
    counts = np.bincount(power - first)
    most = counts.max()
    drawn = [
        Bar(_up_to(first + step), f"{counted(count, 'row')}, {count / measured.n_rows:.2%}", count / most)
        for step, count in enumerate(counts)
        if count
    ]
    return f"<h2>What rows cost</h2><p class='note'>How many rows took how many kernel evaluations.</p>{bars(drawn)}"


def _up_to(power: int) -> str:
    if power < 1:
        return f"{power + 1}"
    return f"{2 ** (power - 1) + 1:,} to {2**power:,}" if power > 1 else "2"


def _speed(measured: Measured) -> str:
    speed = measured.speed
    parts = []
    for heading, times in (("Many rows at once", speed.batch), ("One row at a time", speed.single)):
        longest = max(times.ours, times.theirs)
        drawn = [
            Bar(name, _time(seconds), seconds / longest)
            for name, seconds in (("the plan", times.ours), (measured.against, times.theirs))
        ]
        parts.append(f"<p class='first'>{heading}</p>{bars(drawn)}")
    note = (
        "Time per row, the shorter the better: the best of a few rounds in turn, on the computer that made this page."
    )
    return f"<h2>Time</h2><p class='note'>{note}</p>{''.join(parts)}<p>{text(_agreement(speed, measured.against))}</p>"


def _time(seconds: float) -> str:
    micro = 1e6 * seconds
    shown = f"{micro:,.0f}" if micro >= 100 else f"{micro:.3g}"
    return f"{shown} µs a row, {float(f'{1 / seconds:.3g}'):,.0f} rows a second"


def _agreement(speed: Comparison, against: str) -> str:
    found = f"{speed.differing:,} of the answers differ" if speed.differing else "no answer differs"
    if speed.largest:
        found = f"the values differ by at most {speed.largest:.3g}"
    return f"The plan and {against} were compared on {speed.compared:,} rows, evenly chosen: {found}."


def _rows(costly: Costly, evaluations: Integers) -> str:
    headings = ["row", *(["picture"] if costly.images is not None else []), "answer", "stage", "cost"]
    headings += [] if costly.leads is None else ["distance"]
    lines = []
    for place, row in enumerate(costly.rows):
        line: list[str | Markup] = [f"{row}"]
        line += [] if costly.images is None else [picture(costly.images[place], f"row {row}")]
        line += [costly.answers[place], costly.stages[place], f"{costly.evaluations[place]:,}"]
        line += [] if costly.leads is None else [f"{costly.leads[place]:.3g}"]
        lines.append(line)
    explained = "Rows are counted from 0, their cost in kernel evaluations."
    explained += " All cost the same." if np.ptp(evaluations) == 0 else ""
    explained += "" if costly.leads is None else " The distance is how far the output is from another answer."
    if costly.leads is not None and (costly.leads < 0).any():
        explained += " It is below 0 where the class with the most votes loses against another one."
    return (
        f"<h2>The rows that cost most</h2><p class='note'>{explained}</p>"
        '<input id="wanted" type="search" placeholder="Filter, such as an answer or a stage" aria-label="Filter rows" '
        f'hidden> <span id="count" class="note" aria-live="polite"></span>{table(headings, lines)}'
    )
