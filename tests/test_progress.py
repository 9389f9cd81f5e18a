"""Progress is shown on a terminal, wiped at the end, and nowhere else."""

from __future__ import annotations

import io

import numpy as np
import pytest

import dormie
from dormie.machine import Machine
from dormie.machine.kernels import RBF
from dormie.machine.rules import Sign


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def _compile() -> None:
    rng = np.random.default_rng(0)
    dormie.compile(
        Machine(RBF(0.5), rng.normal(size=(200, 2)), rng.normal(size=200), np.zeros(1), Sign(np.array([0, 1])))
    )


def test_a_terminal_sees_what_is_being_done_and_a_clean_line_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = _Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    _compile()
    shown = terminal.getvalue()
    assert "trying 64 landmarks" in shown
    assert "candidates on" in shown
    assert shown.endswith("\r\x1b[2K")


def test_elsewhere_nothing_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    _compile()
    captured = capsys.readouterr()
    assert captured.out == captured.err == ""


def test_without_any_stderr_nothing_breaks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", None)
    _compile()
