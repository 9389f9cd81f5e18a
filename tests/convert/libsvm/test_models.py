"""Which reader a model of LIBSVM or LIBLINEAR comes to, and what may be said of its rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from libsvm.svmutil import svm_load_model, svm_predict
from sklearn.svm import SVC

import dormie
from dormie.convert.libsvm.writer import write_libsvm

X = np.random.default_rng(0).normal(size=(40, 3))
X[:, 2] = 0.0
LABELS = np.where(X[:, 0] > 0, 3, 4)


def model_of_two_columns(folder: Path) -> Path:
    """A file that does not know of the third column, which is 0 in all support vectors."""
    write_libsvm(dormie.read(SVC(gamma=0.5).fit(X, LABELS)), folder / "model")
    return folder / "model"


def test_the_number_of_features_is_told_where_the_file_does_not_know_it(tmp_path: Path) -> None:
    path = model_of_two_columns(tmp_path)
    new = np.random.default_rng(1).normal(size=(100, 3))
    assert dormie.read(path).n_features == 2
    fast = dormie.compile(dormie.read(path, n_features=3))
    expected, _, _ = svm_predict([], new, svm_load_model(str(path)), "-q")
    np.testing.assert_array_equal(fast.predict(new), expected)


@pytest.mark.parametrize("given", [{"n_features": 3}, {"scale": "x"}, {"y_scale": "y"}])
@pytest.mark.parametrize("model", [SVC(), dormie.read(SVC(gamma=0.5).fit(X, LABELS))])
def test_what_is_known_of_other_models_is_not_told(model: object, given: dict[str, object]) -> None:
    with pytest.raises(TypeError, match="are for models of LIBSVM and LIBLINEAR; others know their rows"):
        dormie.read(model, **given)  # type: ignore[arg-type]
