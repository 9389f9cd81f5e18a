"""Legends: small types, a value for no data that is no class, colours that differ."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dormie.machine import Machine
from dormie.machine.kernels import RBF
from dormie.machine.rules import Argmax, SeveralLabels, Sign, Value
from dormie.scale.raster.legend import legend_of


def _machine(labels: Any) -> Machine:
    count = len(labels)
    return Machine(RBF(1.0), np.eye(2), np.ones((2, count)), np.zeros(count), Argmax(labels))


@pytest.mark.parametrize(
    ("labels", "dtype", "values", "nodata"),
    [
        ([1, 2, 3], "uint8", [1, 2, 3], 0),
        ([0, 1, 7], "uint8", [0, 1, 7], 255),
        ([0, 255, 7], "uint16", [0, 255, 7], 65535),
        ([-1, 1, 2], "int16", [-1, 1, 2], 0),
        ([0, 100_000, 3], "int32", [0, 100_000, 3], 2**31 - 1),
        ([1.0, 2.0, 4.0], "uint8", [1, 2, 4], 0),
        ([1.5, 2.0, 4.0], "uint8", [1, 2, 3], 0),
        ([2**40, 1, 2], "uint8", [1, 2, 3], 0),
        (["b", "a", "c"], "uint8", [1, 2, 3], 0),
        (list(map(str, range(300))), "uint16", list(range(1, 301)), 0),
    ],
)
def test_labels_are_numbers_of_the_smallest_type_and_no_data_is_none_of_them(
    labels: list[Any], dtype: str, values: list[int], nodata: int
) -> None:
    legend = legend_of(_machine(labels))
    assert legend.values is not None
    assert (legend.dtype, legend.values.tolist(), legend.nodata) == (np.dtype(dtype), values, nodata)
    assert nodata not in legend.values
    assert legend.names == dict(zip(values, map(str, np.array(labels)), strict=True))


def test_truth_values_are_0_and_1() -> None:
    legend = legend_of(_machine(np.array([False, True])))
    assert legend.values is not None
    assert legend.values.tolist() == [0, 1]
    assert legend.nodata == 255


def test_every_class_has_a_colour_of_its_own_and_given_ones_are_kept() -> None:
    legend = legend_of(_machine(list(range(1, 41))), {3: (1, 2, 3)})
    assert legend.colours[3] == (1, 2, 3)
    assert len(set(legend.colours.values())) == 40


def test_values_of_regressors_are_floats_without_colours() -> None:
    machine = Machine(RBF(1.0), np.eye(2), np.ones(2), 0.0, Value())
    legend = legend_of(machine)
    assert legend.dtype == np.float32
    assert np.isnan(legend.nodata)
    assert (legend.values, legend.colours, legend.names) == (None, {}, {})
    with pytest.raises(ValueError, match="colours are for classes"):
        legend_of(machine, {"a": (0, 0, 0)})


@pytest.mark.parametrize("colour", [(0, 0), (0, 0, 256), (0, 0, -1), (0.5, 0, 0), "red", None])
def test_what_is_no_colour_is_refused(colour: Any) -> None:
    with pytest.raises(ValueError, match="whole number from 0 to 255"):
        legend_of(_machine(["a", "b"]), {"a": colour})


def test_colours_of_unknown_classes_are_refused_with_the_classes_there_are() -> None:
    with pytest.raises(ValueError, match=r"'c', which is not a class; classes are \['a', 'b'\]"):
        legend_of(_machine(["a", "b"]), {"c": (0, 0, 0)})


def test_several_labels_a_pixel_are_refused() -> None:
    rule = SeveralLabels([Sign([0, 1])] * 2, [1, 1])
    with pytest.raises(ValueError, match="this model gives several"):
        legend_of(Machine(RBF(1.0), np.eye(2), np.ones((2, 2)), np.zeros(2), rule))
