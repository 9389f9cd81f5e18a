"""The report in headless Chromium: no errors, no network, everything drawn and legible, and what moves works."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits
from sklearn.svm import SVC

import dormie
from dormie.show import report
from tests.show.plans import MODEL, X, bold, exact, regressor, y

pytestmark = pytest.mark.ecosystem

PHONE, DESK = 375, 1000
FLAGS = (
    "--headless",
    "--no-sandbox",  # Chromium refuses to run as root otherwise
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
LONG = "a_label_without_a_space_" * 8


class Browser:
    """Chromium, and what it says of a page."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def open(self, page: Path, width: int = DESK, colours: str = "light") -> None:
        """Load a page; what was said of those before is forgotten."""
        media = [{"name": "prefers-color-scheme", "value": colours}]
        size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width == PHONE}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": media})
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        self.driver.get("about:blank")
        self.driver.get_log("browser")
        self.driver.get_log("performance")
        self.driver.get(page.as_uri())

    def run(self, script: str) -> Any:
        """What a script returns; `all(selector)` gives elements."""
        return self.driver.execute_script(f"const all = (s) => [...document.querySelectorAll(s)]; {script}")

    def complaints(self) -> list[str]:
        """Errors and warnings on the console."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self) -> list[str]:
        """The addresses of all that was asked for, the page itself included; what a page holds is not asked for."""
        events = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        sent = [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"]
        return [address for address in sent if not address.startswith("data:")]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    programs = [shutil.which(name) for name in ("chromium", "chromedriver")]
    assert all(programs), "apt-get install chromium chromium-driver"
    options = webdriver.ChromeOptions()
    options.binary_location = programs[0]
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(programs[1]))
    try:
        yield Browser(driver)
    finally:
        driver.quit()


def _two_classes(path: Path) -> None:
    report(exact(), X, path, against=MODEL)


def _digits(path: Path) -> None:
    rows, labels = load_digits(return_X_y=True)
    svc = SVC().fit(rows[:600], labels[:600])
    report(dormie.compile(svc, effort="quick"), rows[600:], path, against=svc, image=(8, 8))


def _values(path: Path) -> None:
    report(dormie.compile(regressor(), tolerance=0.05, effort="quick"), X, path)


def _risk(path: Path) -> None:
    report(bold(), X, path)


def _sum_of_machines(path: Path) -> None:
    named = np.array(["yes", LONG])[y[:300]]
    model = CalibratedClassifierCV(SVC(), ensemble=True, cv=3).fit(X[:300], named)
    report(dormie.compile(model, effort="quick"), X[:800], path, against=model)


PAGES: dict[str, Callable[[Path], None]] = {
    "two classes": _two_classes,
    "digits": _digits,
    "values": _values,
    "risk": _risk,
    "sum of machines": _sum_of_machines,
}


@pytest.fixture(scope="module", params=list(PAGES))
def page(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Each of the reports."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    PAGES[request.param](path)
    return path


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of digits alone."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    _digits(path)
    return path


def test_complaints_and_requests_are_seen(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "bad.html"
    path.write_text("<title>x</title><img src='http://127.0.0.1:9/no.png'><script>console.error('oh'); no()</script>")
    browser.open(path)
    assert len([line for line in browser.complaints() if "oh" in line or "no is not defined" in line]) == 2
    assert browser.requests() == [path.as_uri(), "http://127.0.0.1:9/no.png"]


def test_nothing_is_complained_of_and_nothing_is_loaded(browser: Browser, page: Path) -> None:
    browser.open(page)
    assert browser.complaints() == []
    assert browser.requests() == [page.as_uri()]


def test_everything_is_drawn(browser: Browser, page: Path) -> None:
    browser.open(page)
    headings = browser.run("return all('h2').map(h => h.textContent)")
    assert headings[-4:] == ["Where rows stop", "What rows cost", "Time", "The rows that cost most"]
    widths = browser.run("return all('.bar').map(bar => bar.querySelector('.front').getBoundingClientRect().width)")
    assert len(widths) >= 6
    settles = browser.run("return all('.bar .words span + span').map(span => span.textContent)")
    assert [width > 1 for width in widths] == [" 0.00%" not in words for words in settles]
    assert browser.run("return all('h1, h2, p, .tiles div, .bar, tbody tr, td').every(e => e.offsetHeight > 10)")
    assert browser.run("return all('td img').every(i => i.complete && i.naturalWidth === 8 && i.offsetWidth > 40)")
    assert browser.run("return all('td img').length") in (0, browser.run("return all('tbody tr').length"))
    assert browser.run("return !document.getElementById('wanted').hidden && document.getElementById('tip').hidden")


# For every text: its colour against the first background behind it, as WCAG counts contrast.
CONTRAST = """
const numbers = colour => colour.match(/[\\d.]+/g).map(Number);
const light = colour => {
  const [r, g, b] = numbers(colour).map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const behind = element => {
  const colour = getComputedStyle(element).backgroundColor;
  return numbers(colour)[3] === 0 ? behind(element.parentElement) : colour;
};
all("details").forEach(d => { d.open = true; });
return all("h1, h2, p, b, .tiles div, .words span, .note, th, td, pre, summary, input").map(element => {
  const [low, high] = [light(getComputedStyle(element).color), light(behind(element))].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
});
"""


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_words_and_bars_stand_out_in_light_and_dark(browser: Browser, page: Path, colours: str) -> None:
    browser.open(page, colours=colours)
    ground = browser.run("return getComputedStyle(document.body).backgroundColor")
    assert ground == {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 24, 31)"}[colours]
    assert min(browser.run(CONTRAST)) >= 4.5
    fills = browser.run("return ['front', 'behind', 'track'].map(c => getComputedStyle(all('.bar .' + c)[0]).fill)")
    assert len({ground, *fills}) == 4


def test_a_phone_shows_the_whole_width(browser: Browser, page: Path) -> None:
    browser.open(page, width=PHONE)
    browser.run("all('details').forEach(d => { d.open = true; })")
    assert browser.run("return document.documentElement.scrollWidth") <= PHONE
    outside = "return all('body *').filter(e => !e.closest('table') && e.getBoundingClientRect().right > 375.5)"
    assert browser.run(f"{outside}.map(e => e.outerHTML)") == []


def test_a_phone_shows_all_columns_of_digits(browser: Browser, digits: Path) -> None:
    browser.open(digits, width=PHONE)
    assert browser.run("const wide = all('.wide')[0]; return wide.scrollWidth - wide.clientWidth") <= 0


@pytest.mark.parametrize("width", [PHONE, DESK])
def test_a_pointer_or_the_focus_on_a_bar_shows_its_numbers(browser: Browser, digits: Path, width: int) -> None:
    from selenium.webdriver import ActionChains

    browser.open(digits, width=width)
    bars = browser.driver.find_elements("css selector", ".bar")
    tip = browser.driver.find_element("id", "tip")
    for bar in bars[:3]:
        ActionChains(browser.driver).move_to_element(bar).perform()
        assert tip.text == bar.get_attribute("data-tip")
        assert browser.run(
            "const r = document.getElementById('tip').getBoundingClientRect(); "
            "return r.left >= 0 && r.top >= 0 && r.right <= innerWidth && r.bottom <= innerHeight"
        )
    assert "rows reach it" in bars[0].get_attribute("data-tip")
    ActionChains(browser.driver).move_to_element(browser.driver.find_element("css selector", "h2")).perform()
    assert not tip.is_displayed()
    browser.driver.execute_script("arguments[0].focus()", bars[1])
    assert tip.text == bars[1].get_attribute("data-tip")


def test_the_filter_leaves_the_rows_with_the_words(browser: Browser, digits: Path) -> None:
    browser.open(digits)
    rows = browser.run("return all('tbody tr').map(row => [...row.cells].map(cell => cell.textContent))")
    field = browser.driver.find_element("id", "wanted")
    answers = sorted({row[2] for row in rows})
    assert len(answers) > 1
    for words in (answers[0], answers[-1], f"DENSE {answers[0]}", "no such word"):
        field.clear()
        field.send_keys(words)
        shown = browser.run("return all('tbody tr').filter(r => r.offsetHeight).map(r => r.cells[0].textContent)")
        expected = [row[0] for row in rows if all(word.lower() in row for word in words.split())]
        assert shown == expected
        assert len(expected) < len(rows)
        count = browser.driver.find_element("id", "count").text
        assert count == f"{len(expected)} of {len(rows)} rows"
    field.clear()
    field.send_keys(" ")
    assert browser.run("return all('tbody tr').every(row => row.offsetHeight)")
