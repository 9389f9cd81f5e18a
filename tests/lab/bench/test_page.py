"""The page of benchmarks: a run replaces the lines of its cases, and tables say what the results do."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from dormie.lab.bench import compare
from dormie.lab.bench.compare import as_record
from dormie.lab.bench.page import exact_table, main, risk_table, with_tables
from dormie.lab.bench.results import Result, merged, read_results, results_of, write_results
from tests import ROOT
from tests.lab.bench.models import MODELS, TEST

PAGE = ROOT / "docs" / "benchmarks.md"
EXACT = Result("a", 1200, 30, False, "a computer", {"scikit-learn": 50.0, "numpy-float32": 2.0, "dormie": 0.25}, {})
RISKY = replace(
    EXACT,
    microseconds={"scikit-learn": 60.0, "dormie": 0.3, "dormie, risk 0.01": 0.1},
    differ={"dormie, risk 0.01": (3, 4000)},
    compiled_in=12.4,
)


def test_the_page_has_the_tables_of_its_results() -> None:
    text = PAGE.read_text("utf-8")
    assert with_tables(text, read_results(PAGE.with_suffix(".json"))) == text
    assert text.count("end of the table") == 2


def test_a_line_has_the_times_and_factors_of_a_result() -> None:
    assert exact_table([EXACT, RISKY]).splitlines()[2:] == ["| a | 1,200 × 30 | 50 | | | 2 | **0.25** | **200** |"]  # noqa: RUF001
    assert risk_table([EXACT, RISKY]).splitlines()[2:] == [
        "| a | 1,200 × 30 | 60 | 0.3 | **0.1** | **600** | 3 of 4,000 | 12 s | 1 % |"  # noqa: RUF001
    ]


def test_a_new_result_takes_the_place_of_the_same_case_and_risk_alone() -> None:
    other, newer = replace(EXACT, case="b"), replace(EXACT, points=7)
    assert merged([EXACT, other, RISKY], [newer]) == [newer, RISKY, other]


def test_results_are_the_same_after_writing_and_reading(tmp_path: Path) -> None:
    path = tmp_path / "kept.json"
    assert read_results(path) == []
    write_results(path, [EXACT, RISKY])
    first, second = read_results(path)
    assert (first.microseconds, second.risk, second.compiled_in) == (EXACT.microseconds, 0.01, 12.4)


def test_a_factor_needs_both_peers() -> None:
    assert EXACT.times("dormie") == 200.0
    assert EXACT.times("onnxruntime") is None
    assert replace(EXACT, microseconds={"dormie": 1.0}).times("dormie") is None


def test_a_run_becomes_a_page_and_a_picture(tmp_path: Path) -> None:
    comparison = compare(
        MODELS["two classes"], TEST, seconds=0, title="digits", peers=["scikit-learn", "numpy-float32", "dormie"]
    )
    about = {"processor": "a processor", "cores": 2}
    record = json.loads(json.dumps({"environment": about, "comparisons": [as_record(comparison)]}))
    [result] = results_of(record)
    assert (result.case, result.points, result.features) == ("digits", comparison.points, 64)
    assert result.computer == "a processor, 2 cores"
    assert result.differ == {"dormie": (0, result.differ["dormie"][1])}
    run, page = tmp_path / "run.json", tmp_path / "page.md"
    run.write_text(json.dumps(record))
    page.write_text("# Page\n<!-- The exact table is made -->\nold\n<!-- end of the table -->\nrest\n")
    write_results(tmp_path / "page.json", [EXACT])
    main(run, page)
    text = page.read_text()
    assert "| digits |" in text and "| a | 1,200" in text  # noqa: PT018
    assert "old" not in text and text.endswith("rest\n")  # noqa: PT018
    assert [kept.case for kept in read_results(tmp_path / "page.json")] == ["a", "digits"]
    assert (tmp_path / "run.png").stat().st_size > 10_000
