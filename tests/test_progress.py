"""Progress is shown on a terminal, wiped at the end, and nowhere else."""

from __future__ import annotations

import io

import numpy as np
import pytest

import dormie
from dormie.machine import Machine
from dormie.machine.kernels import RBF
from dormie.machine.rules import Sign
from dormie.progress import Progress, duration


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


def test_a_note_follows_every_text(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = _Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    with Progress("about 3 minutes") as progress:
        progress.say("fitting")
    assert "dormie: fitting (about 3 minutes)" in terminal.getvalue()


def test_how_long_it_takes_is_said_where_it_is_long() -> None:
    assert duration(59.0, "fits") == ""
    assert duration(61.0, "fits") == "fits: about 1 minute"
    assert duration(180.0, "fits") == "fits: about 3 minutes"
    assert duration(1e6, "fits") == "fits: about 16,667 minutes"
