"""Warnings point at the user's line, however deep in dormie their cause was found."""

from __future__ import annotations

import inspect
import warnings

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.svm import SVC

import dormie
from dormie.errors import warn_user


def test_a_warning_from_user_code_itself_points_at_it() -> None:
    with pytest.warns(UserWarning, match="look here") as caught:
        warn_user("look here", UserWarning)
    assert caught[0].filename == __file__


def test_warnings_of_compile_point_at_the_call() -> None:
    X, y = make_moons(600, noise=0.3, random_state=0)
    svc = SVC().fit(X, y)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        frame = inspect.currentframe()
        assert frame is not None
        line = frame.f_lineno + 1
        dormie.compile(svc, np.vstack([svc.support_vectors_, X]), risk=0.1, methods=["linear_filter"])
    told = [warning for warning in caught if warning.category is dormie.TrainingRowsWarning]
    assert [(warning.filename, warning.lineno) for warning in told] == [(__file__, line)]
