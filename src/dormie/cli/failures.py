"""What goes wrong, in one line and an exit code: no command ends in a traceback because of a user's file."""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Iterable, Iterator
from enum import IntEnum
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from typer.core import TyperGroup

from dormie.errors import OutputError


class Exit(IntEnum):
    """The exit codes of `dormie`; docs/command-line.md lists them."""

    DONE = 0
    BROKEN_PROMISE = 1  # the command did its work, and what was promised does not hold; also a benchmark that failed
    USAGE = 2  # the command line is wrong, or an option cannot be met
    MODEL = 3  # a model or plan file cannot be read
    ROWS = 4  # rows, or a scene, cannot be read, or do not fit the model
    OUTPUT = 5  # an output cannot be written
    INTERRUPTED = 130


class Failure(Exception):
    """The end of a command: an exit code, and one line for people."""

    def __init__(self, code: Exit, message: str) -> None:
        super().__init__(message)
        self.code = code


@contextlib.contextmanager
def blaming(code: Exit, subject: object = "") -> Iterator[None]:
    """Turn the errors of users' files and options into a failure; what only a mistake of ours can raise is let through.

    subject: the file that the work is about, named where the error does not name it.
    """
    try:
        yield
    except Failure:
        raise
    except (ValueError, TypeError, OSError, EOFError, ModuleNotFoundError) as error:
        text = _text(error)
        if isinstance(error, OutputError):
            raise Failure(Exit.OUTPUT, text) from error
        raise Failure(code, text if str(subject) in text else f"{subject}: {text}") from error
    except MemoryError as error:
        raise Failure(code, f"{subject}: there is too little memory") from error


def require_place(output: Path, *inputs: Path | None) -> None:
    """Fail, before any work, where an output has no place, or would replace what it is made of."""
    if not output.parent.is_dir():
        raise Failure(Exit.OUTPUT, f"{output} cannot be written: there is no folder {output.parent}")
    if output.is_dir():
        raise Failure(Exit.OUTPUT, f"{output} cannot be written: it is a folder")
    for given in inputs:
        if given is not None and given.exists() and output.exists() and given.samefile(output):
            raise Failure(Exit.USAGE, f"{output} is an input of this command, which it would replace: write elsewhere")


def require_known(what: str, names: Iterable[str], known: Iterable[str]) -> None:
    """Fail where a name is none of those that there are."""
    known = list(known)
    for name in names:
        if name not in known:
            raise Failure(Exit.USAGE, f"unknown {what} {name!r}; there are {', '.join(known)}")


def _text(error: Exception) -> str:
    """What an error says, in one line."""
    if isinstance(error, FileNotFoundError) and error.filename is not None:
        return f"{error.filename}: there is no such file"
    text = error.strerror if isinstance(error, OSError) and error.strerror and error.filename is None else str(error)
    return " ".join(text.split()) or type(error).__name__


class Commands(TyperGroup):
    """The commands of `dormie`: a failure becomes one line on standard error, and the exit code; a warning one line."""

    def invoke(self, ctx: Any) -> Any:
        try:
            with warnings.catch_warnings():
                warnings.showwarning = _show_warning
                return super().invoke(ctx)
        except Failure as failure:
            Console(stderr=True).print(f"dormie: {failure}", markup=False, highlight=False, style="red", soft_wrap=True)
            raise typer.Exit(failure.code) from None
        except BrokenPipeError:
            raise  # by whoever reads what is printed, who has seen enough
        except OSError as error:  # of what is printed: errors of files have become failures
            print(f"dormie: {_text(error)}", file=sys.stderr)
            raise typer.Exit(Exit.OUTPUT) from None
        except KeyboardInterrupt:
            Console(stderr=True).print("dormie: interrupted", style="red")
            raise typer.Exit(Exit.INTERRUPTED) from None


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    text = " ".join(str(message).split())
    Console(stderr=True).print(
        f"dormie: warning: {text}", markup=False, highlight=False, style="yellow", soft_wrap=True
    )
