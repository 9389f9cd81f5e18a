"""Second names of modules: short public ones, and old ones that warn."""

from __future__ import annotations

import importlib
import pickle
import sys
import warnings

import pytest

import dormie
from dormie import _aliases
from dormie.machine.kernels import RBF
from tests.fresh_process import printed


@pytest.mark.parametrize("name", _aliases.PUBLIC)
def test_public_names_are_the_modules_themselves(name: str) -> None:
    module = importlib.import_module(name)
    assert module is importlib.import_module(_aliases.PUBLIC[name])
    assert module.__spec__ is not None
    assert module.__spec__.name == _aliases.PUBLIC[name]


@pytest.mark.parametrize("name", _aliases.RENAMED)
def test_old_names_work_and_warn(name: str) -> None:
    sys.modules.pop(name, None)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        module = importlib.import_module(name)
    told = f"{name} is now {_aliases.RENAMED[name]}; the old name goes with the next release"
    assert told in [str(warning.message) for warning in caught if warning.category is FutureWarning]
    assert module is importlib.import_module(_aliases.RENAMED[name])


def test_what_lies_inside_is_no_second_copy() -> None:
    assert importlib.import_module("dormie.tree.structure").Tree is dormie.tree.Tree
    assert pickle.loads(pickle.dumps(dormie.kernels.RBF(0.5))) == RBF(0.5)


def test_nothing_else_is_found() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"dormie\.kernel'"):
        importlib.import_module("dormie.kernel")


def test_short_names_can_be_imported_first_and_without_a_warning() -> None:
    code = (
        "import importlib, warnings; warnings.simplefilter('error'); from dormie.tree import fitted; "
        "import dormie.datasets, dormie; importlib.reload(dormie); print(dormie.tree.fitted is fitted)"
    )
    assert printed(code).strip() == "True"


def test_trees_show_their_functions() -> None:
    assert {"fitted", "greedy", "plot"} <= set(dir(dormie.tree))
    with pytest.raises(AttributeError, match="no attribute 'grow'"):
        dormie.tree.grow  # noqa: B018 - the access itself is what fails


@pytest.mark.parametrize(
    "name",
    ["dormie.machine._restored", "dormie.machine.Affine", "dormie.margin.Margin", "dormie.plan.Count"]
    + [f"dormie.stages.{stage}" for stage in ("dense.Dense", "geometry.Geometry", "tree.TreeWalk", "nearest.Nearest")],
)
def test_pickles_of_before_the_move_find_their_classes(name: str) -> None:
    """A pickle names a class by its module: this one names nothing else."""
    module, _, thing = name.rpartition(".")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        assert callable(pickle.loads(f"c{module}\n{thing}\n.".encode()))
