"""What an install needs: a light import, and a working fallback where the native core is missing."""

from __future__ import annotations

from typing import Any

import pytest

import dormie
from tests.fresh_process import printed


@pytest.mark.parametrize(
    "module",
    [
        *("sklearn", "scipy.sparse", "scipy.optimize", "scipy.spatial", "scipy.linalg"),
        *("dask", "joblib", "pandas", "rich", "typer"),
    ],
)
def test_import_leaves_heavy_modules_alone(module: str) -> None:
    assert printed(f"import sys, dormie; print({module!r} in sys.modules)").strip() == "False"


def test_estimators_are_there_without_an_import_of_their_own() -> None:
    code = (
        "import sys, dormie; print('sklearn' in sys.modules, 'estimators' in dir(dormie)); "
        "print(dormie.estimators.VirtualSVC.__name__, 'sklearn' in sys.modules, hasattr(dormie, 'estimator'))"
    )
    assert printed(code).splitlines() == ["False True", "VirtualSVC True False"]


@pytest.mark.parametrize("asked", ["dormie.estimators", "from dormie.estimators import VirtualSVC"])
def test_estimators_say_what_to_install_where_scikit_learn_is_missing(asked: str) -> None:
    code = f"""
import sys
sys.modules["sklearn"] = None
import dormie
try:
    {asked}
except ModuleNotFoundError as error:
    print(error)
"""
    assert printed(code).strip() == "dormie.estimators needs scikit-learn: pip install 'dormie[sklearn]'"


def test_build_info_tells_version_compiler_instruction_set_and_threads() -> None:
    info: dict[str, Any] = dormie.build_info()
    assert info["version"] == dormie.__version__
    assert info["native"] is True
    assert info["instruction_set"] in info["instruction_sets"]
    assert info["compiler"]
    assert info["threads"] >= 1


_WITHOUT_NATIVE = """
import sys, warnings

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name == "dormie.numerics._native":
            raise ModuleNotFoundError(name, name=name)

sys.meta_path.insert(0, Blocked())
"""
_USE = """
import warnings
warnings.simplefilter("ignore")
import numpy as np
import scipy.sparse
from sklearn.svm import SVC, SVR
import dormie
warnings.resetwarnings()

rng = np.random.default_rng(2)
X, rows = rng.normal(size=(150, 4)), rng.normal(size=(300, 4))
rows[rng.random(rows.shape) < 0.3] = 0
kinds = np.array(["ash", "elm", "oak"])[(X[:, 0] > 0).astype(int) + (X[:, 1] > 0)]
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for kernel in ("rbf", "poly", "linear", "sigmoid"):
        model = SVC(kernel=kernel).fit(X, kinds)
        for methods in ([], ["geometry"], ["fast_stopping"]) if kernel in ("rbf", "poly") else ([],):
            fast = dormie.compile(model, methods=methods)
            print(*fast.predict(rows), *fast.predict(scipy.sparse.csr_array(rows)))
        fast = dormie.compile(model, methods=["dense"])
        print(*np.round(fast.decision_function(rows.astype(np.float32)), 6).ravel() + 0.0)
        print(*fast.trace(rows).stage)
    print(*np.round(dormie.compile(SVR().fit(X, X[:, 0])).predict(rows), 6) + 0.0)
    stopping = dormie.compile(SVC().fit(X, kinds), methods=["fast_stopping"])
    broken = scipy.sparse.csr_array(np.ones((3, 4)))
    broken.indices[5] = 10**8
    for bad in (np.full((3, 4), np.nan), scipy.sparse.csr_array(np.full((3, 4), np.inf)), np.zeros((2, 3)), broken):
        for ask in (fast.predict, fast.interval, lambda X: fast.predict(X, deadline=0), stopping.predict):
            try:
                print(ask(bad))
            except ValueError as error:
                print(error)
    print(len(fast.predict(rows[:0])))
for warning in caught:
    print("WARNED", warning.category.__name__, warning.message)
"""


_IMPORT = """
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import dormie
print(dormie.build_info()["native"])
for warning in caught:
    print(warning.category.__name__, warning.message)
"""


def test_without_the_native_core_the_import_warns_and_says_what_to_do() -> None:
    native, warning = printed(_WITHOUT_NATIVE + _IMPORT).splitlines()
    assert native == "False"
    assert warning.startswith("RuntimeWarning dormie is installed without its native core (cannot import name")
    assert "install a C++20 compiler" in warning
    assert "--force-reinstall" in warning


def test_without_the_native_core_all_works_and_nothing_more_is_warned_of() -> None:
    assert printed(_WITHOUT_NATIVE + _USE).splitlines() == printed(_USE).splitlines()
