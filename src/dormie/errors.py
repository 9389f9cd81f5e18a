"""The errors and warnings that callers may want to catch by name; all others are plain ValueError or TypeError."""

from __future__ import annotations

import sys
import warnings


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn at the user's line: the first one outside dormie, however deep in dormie the cause was found."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == "dormie":
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


class UnreadableModelError(ValueError):
    """The model cannot be read as a kernel machine. The message says what to do instead."""


class PlanFileError(ValueError):
    """The plan file is damaged, of another protocol, or not a plan file at all."""


class OutputError(OSError):
    """An output cannot be written. The message names it."""


class TrainingRowsWarning(UserWarning):
    """The held-out rows look like rows that the model was trained on, so a certified risk would be too low."""


class MissingClassWarning(UserWarning):
    """The risk is certified for some classes only: the others do not occur among the certifying rows."""


class BrokenPromiseWarning(UserWarning):
    """An audit found more disagreements with the full machine than the plan's guarantee allows."""


def raise_if_sklearn_is_missing(error: ModuleNotFoundError, what: str) -> None:
    """Raise an error that says how to install scikit-learn, if that is the module that was not found."""
    if (error.name or "").split(".")[0] == "sklearn":
        raise ModuleNotFoundError(
            f"{what} needs scikit-learn: pip install 'dormie[sklearn]'", name="sklearn"
        ) from error
