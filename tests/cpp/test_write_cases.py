"""The cases for the C++ tests can be written: what the native objects are made with changes now and then."""

from itertools import islice

import pytest

from dormie.numerics import backend
from tests.cpp.write_cases import cases

_METHODS = {"dense", "fast_stopping", "geometry", "reduced_set", "champion"}


@pytest.mark.skipif(backend.extension is None, reason="there is no native core")
def test_the_first_machines_give_cases_of_every_method() -> None:
    named = {}
    for case in islice(cases(), 20):
        first, *lines, last = case.splitlines()
        assert last == "end"
        for number in (number for line in lines for number in line.split()[1:]):
            float.fromhex(number)
        named[first.removeprefix("case ")] = {line.split()[0] for line in lines}
    assert named.keys() == _METHODS | {"exp2"}
    assert all(lines >= {"rows", "near", "left"} for lines in named.values())
    assert all(named[method] >= {"kernel", "rule", "points", "weights", "bias", "answers"} for method in _METHODS)
