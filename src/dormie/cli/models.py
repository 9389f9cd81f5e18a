"""Models and plans, as the command line takes them: files of several kinds, told by what is in them and their names."""

from __future__ import annotations

from dataclasses import dataclass
from json import JSONDecodeError
from pathlib import Path
from typing import Annotated, Any
from zipfile import BadZipFile

import typer

from dormie import planner
from dormie.cli.failures import Exit, Failure, blaming
from dormie.convert import read
from dormie.errors import PlanFileError
from dormie.machine import Machine
from dormie.plan import file
from dormie.predictor import Predictor

Model = Annotated[
    Path,
    typer.Argument(help="A text model of LIBSVM or LIBLINEAR, a .skops, .joblib or .pkl file, or a plan (.dormie)."),
]
PlanFile = Annotated[Path, typer.Argument(help="A plan that `dormie compile` or Predictor.save wrote.")]
Trust = Annotated[
    bool,
    typer.Option(
        "--trust", help="You trust whoever made the model: pickle and joblib files run code when they are loaded."
    ),
]
Features = Annotated[
    int | None,
    typer.Option(
        "--n-features", min=1, help="The columns of a row, where a text model does not know the last ones (all zeros)."
    ),
]
Scale = Annotated[Path | None, typer.Option("--scale", help="The range file of svm-scale that rows were scaled by.")]

_PICKLES = (".joblib", ".pkl", ".pickle")


@dataclass(frozen=True)
class TextModel:
    """What text models leave open, from the command line."""

    n_features: int | None = None
    scale: Path | None = None


def load_model(path: Path, trust: bool, text: TextModel = TextModel()) -> Any:  # it is frozen
    """What `dormie.compile` takes: an estimator, a machine or a predictor."""
    with blaming(Exit.MODEL, path):
        if not path.is_file():
            raise FileNotFoundError(None, "no such file", str(path))
        kind = path.suffix.lower()
        if kind in _PICKLES:
            return _unpickled(path, trust)
        if kind == ".skops":
            return _from_skops(path, trust)
        if kind == ".dormie":
            return Predictor(file.load(path))
        return read(path, n_features=text.n_features, scale=text.scale)


def load_answering(path: Path, trust: bool, text: TextModel) -> Any:
    """A model that answers as it was trained to: a machine is evaluated in full."""
    model = load_model(path, trust, text)
    if isinstance(model, Predictor) or not isinstance(model, Machine):
        with blaming(Exit.MODEL, path):
            read(model)  # refused if it is no model
        return model
    return planner.compile(model, methods=[])


def load_plan(path: Path) -> Predictor:
    """The predictor of a plan file."""
    with blaming(Exit.MODEL, path):
        try:
            return Predictor(file.load(path))
        except PlanFileError as error:
            if path.suffix.lower() == ".dormie":
                raise
            raise Failure(
                Exit.MODEL, f"{path} is not a plan: make one of a model by `dormie compile {path} -o PLAN`"
            ) from error


def _unpickled(path: Path, trust: bool) -> Any:
    if not trust:
        raise ValueError(
            f"{path} is a pickle, which can run any code when it is loaded. If you trust whoever made it, add --trust"
        )
    import joblib  # optional

    try:
        return joblib.load(path)
    except Exception as error:  # whatever the code in a damaged file raises
        raise ValueError(f"{path} cannot be loaded: {error}") from error


def _from_skops(path: Path, trust: bool) -> Any:
    try:
        from skops import io  # optional
    except ModuleNotFoundError:
        raise ValueError(f"{path} is a skops file: pip install skops to read it") from None
    try:
        unknown = io.get_untrusted_types(file=path)
        if unknown and not trust:
            names = ", ".join(sorted(unknown))
            raise ValueError(
                f"{path} holds types that skops does not know to be safe ({names}): if you trust it, --trust"
            )
        return io.load(path, trusted=unknown)
    except (KeyError, OSError, BadZipFile, JSONDecodeError) as error:
        raise ValueError(f"{path} is not a skops file, or damaged: {error}") from error
