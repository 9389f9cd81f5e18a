from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser

from sklearn.datasets import make_moons
from sklearn.svm import SVC

import dormie
from dormie.estimators.diagram import diagram


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.items = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002 - HTMLParser's
        self.items += tag == "li"
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def _plan() -> dormie.Plan:
    X, y = make_moons(300, noise=0.3, random_state=0)
    return dormie.compile(SVC().fit(X, y), methods=["geometry"], effort="quick").plan


def test_every_stage_has_a_line_and_the_guarantee_comes_last() -> None:
    plan = _plan()
    html = diagram(plan)
    tags = _Tags()
    tags.feed(html)
    assert tags.open == []
    assert tags.items == len(plan.stages)
    assert html.rindex(plan.stages[-1].name) < html.index("exact: every answer")


def test_texts_cannot_hold_markup() -> None:
    html = diagram(replace(_plan(), note="<script>alert(1)</script>\x1b[31m"))
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert "\x1b" not in html
