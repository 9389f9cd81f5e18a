"""The page: it tells the plan's numbers, loads nothing, and shows what files hold without obeying it."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import numpy as np
import pytest
from sklearn.svm import SVC

import dormie
from dormie.show.report.drawn import text
from dormie.show.report.measured import measure
from dormie.show.report.page import page
from tests.show.plans import MODEL, X, bold, exact, regressor, y

VOID = {"meta", "input", "img", "rect"}


class _Tags(HTMLParser):
    """All tags with their attributes; complains of those that do not match."""

    def __init__(self, document: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(document)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def _evil() -> dormie.Predictor:
    labels = np.array(["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>'])
    return dormie.compile(SVC().fit(X[:200], labels[y[:200]]), effort="quick")


@pytest.mark.parametrize("make", [exact, bold, regressor, _evil])
def test_it_loads_nothing_and_its_tags_match(make: object) -> None:
    assert callable(make)
    made = page(measure(make(), X[:60], image=(1, 2)))
    assert "http:" not in made
    assert "https:" not in made
    assert "//" not in re.sub("base64,[^\"]*|sha256-[^']*", "", made)
    assert "@import" not in made
    assert "url(" not in made
    tags = _Tags(made).found
    assert all(not name.startswith("on") for _, attributes in tags for name in attributes)
    assert all((attributes.get("src") or "data:").startswith("data:") for _, attributes in tags)
    assert not any("href" in attributes for _, attributes in tags)
    assert [tag for tag, _ in tags].count("script") == 1
    assert not {tag for tag, _ in tags} & {"link", "iframe", "object", "embed", "base", "form"}


def test_labels_are_shown_and_not_obeyed() -> None:
    made = page(measure(_evil(), X[:60]))
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in made
    assert made.count("<script>") == 1
    assert "<img" not in made


def test_numbers_are_the_plans() -> None:
    fast, rows = exact(), X[600:1600]
    found = measure(fast, rows, against=MODEL)
    made, trace = page(found), fast.trace(rows)
    assert f"<b>{np.mean(trace.stage == 'geometry'):.2%}</b>of the rows stop before the full sum" in made
    assert f"<b>{trace.evaluations.mean():,.1f}</b>" in made
    assert f"the full sum takes {fast.plan.machine.n_points:,}" in made
    assert f"Trained with {fast.plan.source.points:,} support vectors." in made
    assert f"{fast.plan.machine.n_points:,} points of 2 features and the kernel RBF(gamma=1.0)." in made
    assert all(text(stage.words) in made for stage in fast.plan.stages)
    for name, reached, settled, _ in zip(*found.funnel, strict=True):
        assert f"{name}: {round(reached * 1000):,} rows reach it" in made
        assert f"{round(settled * 1000):,} are settled by it" in made
    counts = [int(count.replace(",", "")) for count in re.findall(r"<span>([\d,]+) rows?, [\d.]+%</span>", made)]
    assert sum(counts) == 1000
    assert "no answer differs" in made
    assert "the source model" in made


def test_rows_by_their_evaluations_lie_within_the_limits_named() -> None:
    fast = exact()
    trace = fast.trace(X)
    made = page(measure(fast, X))
    for low, high, count in re.findall(r"<span>([\d,]+) to ([\d,]+)</span><span>([\d,]+) rows?,", made):
        least, most, rows = (int(number.replace(",", "")) for number in (low, high, count))
        assert np.sum((trace.evaluations >= least) & (trace.evaluations <= most)) == rows


def test_both_colours_and_small_screens_are_thought_of() -> None:
    made = page(measure(exact(), X[:60]))
    assert "prefers-color-scheme: dark" in made
    assert 'name="viewport"' in made
