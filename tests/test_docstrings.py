"""Everything public is documented in numpydoc form, and its examples run."""

from __future__ import annotations

import doctest
import inspect
from collections.abc import Iterator
from typing import Any

import pytest
from numpydoc.validate import validate

import dormie
from dormie import estimators, kernels, rules, tree
from dormie.estimators import invariances
from dormie.lab import datasets
from dormie.scale import tables

# What numpydoc calls: a summary that is a sentence (SS), sections in order (GL), every parameter with its type and what
# it means (PR), what is returned (RT) or yielded (YD), and an example (EX).
CHECKS = {"GL03", "GL06", "GL07", "GL08", "SS01", "SS02", "SS03", "SS04", "PR01", "PR02", "PR03", "PR04", "PR07"}
CHECKS |= {"RT01", "RT03", "YD01", "EX01"}


def public() -> Iterator[tuple[str, Any]]:
    """Every public class and function by its importable name, and the methods and properties of the classes."""
    for module, names in (
        (dormie, dormie.__all__),
        (estimators, estimators.__all__),
        (invariances, invariances.__all__),
        (tree, tree.__all__),
        (kernels, kernels.__all__),
        (rules, rules.__all__),
        (datasets, datasets.__all__),
        (tables, tables.__all__),
        (dormie.dask, dormie.dask.__all__),
    ):
        for name in names:
            found = getattr(module, name)
            if inspect.isclass(found) or inspect.isfunction(found):
                yield f"{found.__module__}.{found.__qualname__}", found


PUBLIC = dict(public())


def members(name: str) -> Iterator[str]:
    """The public methods that a class itself defines, but for overrides, which inherit their documentation."""
    found = PUBLIC[name]
    if inspect.isclass(found):
        for member, value in vars(found).items():
            function = inspect.unwrap(value) if callable(value) else value
            inherits = value.__doc__ is None and inspect.getdoc(value) is not None
            if not member.startswith("_") and inspect.isfunction(function) and not inherits:
                yield f"{name}.{member}"


@pytest.mark.parametrize("name", PUBLIC)
def test_public_things_are_documented(name: str) -> None:
    wanted = CHECKS - ({"EX01"} if _is_exception(PUBLIC[name]) else set())
    assert not [error for error in validate(name)["errors"] if error[0] in wanted]


@pytest.mark.parametrize("name", [member for name in PUBLIC for member in members(name)])
def test_methods_are_documented(name: str) -> None:
    assert not [error for error in validate(name)["errors"] if error[0] in CHECKS - {"EX01"}]


def _is_exception(found: Any) -> bool:
    return inspect.isclass(found) and issubclass(found, Exception)


@pytest.mark.parametrize("name", PUBLIC)
def test_examples_run(name: str) -> None:
    tests = [test for test in doctest.DocTestFinder(recurse=True).find(PUBLIC[name], name) if test.examples]
    assert tests or _is_exception(PUBLIC[name])
    for test in tests:
        results = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE).run(test)
        assert not results.failed
