"""The heat map: the factor of every case and peer in its cell, and none where nothing was measured."""

from __future__ import annotations

from dataclasses import replace

from dormie.lab.bench.heat_map import draw
from tests.lab.bench.test_page import EXACT, RISKY


def test_cells_have_factors_and_the_fastest_case_comes_first() -> None:
    slower = {"scikit-learn": 10.0, "onnxruntime": 20.0, "dormie": 1.0}
    risky = {"scikit-learn": 60.0, "dormie": 0.3, "dormie, risk 0.001": 0.1}
    results = [replace(EXACT, case="slow", microseconds=slower), replace(RISKY, microseconds=risky), EXACT]
    axes = draw(results).axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a (1,200 × 30)", "slow (1,200 × 30)"]  # noqa: RUF001
    cells = {(text.get_position()[1], text.get_position()[0]): text.get_text() for text in axes.texts}
    # NumPy, the exact plan (from the run without a risk), the risk; then ONNX Runtime, slower, and the exact plan.
    assert cells == {(0, 2): "25", (0, 3): "200", (0, 4): "600", (1, 1): "0.5", (1, 3): "10"}
