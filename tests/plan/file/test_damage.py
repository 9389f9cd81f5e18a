"""Files damaged by chance: every single byte of a plan file counts."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dormie.errors import PlanFileError
from dormie.plan.file import load, save
from tests.plan.file.plans import plan_of, written

SHARED_FOLDER = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("good") / "plan.dormie"
    save(plan_of(names=("a", "b")), path)
    return path.read_bytes()


def _is_refused(folder: Path, data: bytes) -> None:
    with pytest.raises(PlanFileError, match=r"crafted\.dormie: "):
        load(written(folder, data))


@pytest.mark.parametrize("step", [7, pytest.param(1, marks=pytest.mark.slow)])
def test_one_bit_flipped_in_any_byte_is_noticed(good: bytes, tmp_path: Path, step: int) -> None:
    for position in range(0, len(good), step):
        damaged = bytearray(good)
        damaged[position] ^= 1 << position % 8
        _is_refused(tmp_path, bytes(damaged))


@SHARED_FOLDER
@given(data=st.data())
def test_any_byte_changed_is_noticed(good: bytes, tmp_path: Path, data: st.DataObject) -> None:
    position, change = data.draw(st.integers(0, len(good) - 1)), data.draw(st.integers(1, 255))
    _is_refused(tmp_path, good[:position] + bytes([good[position] ^ change]) + good[position + 1 :])


def test_a_file_cut_off_anywhere_is_noticed(good: bytes, tmp_path: Path) -> None:
    for length in range(0, len(good), 7):
        _is_refused(tmp_path, good[:length])
    _is_refused(tmp_path, good[:-1])


@SHARED_FOLDER
@given(extra=st.binary(min_size=1, max_size=80), in_front=st.booleans())
def test_bytes_added_at_either_end_are_noticed(good: bytes, tmp_path: Path, extra: bytes, in_front: bool) -> None:
    _is_refused(tmp_path, extra + good if in_front else good + extra)


@SHARED_FOLDER
@given(data=st.data())
def test_pieces_moved_about_are_noticed(good: bytes, tmp_path: Path, data: st.DataObject) -> None:
    start, end, to = (data.draw(st.integers(0, len(good))) for _ in range(3))
    spliced = good[:to] + good[start:end] + good[to + data.draw(st.integers(0, 200)) :]
    if spliced != good:
        _is_refused(tmp_path, spliced)


@SHARED_FOLDER
@given(noise=st.binary(max_size=2000), zip_like=st.booleans())
def test_noise_is_no_plan_file(tmp_path: Path, noise: bytes, zip_like: bool) -> None:
    _is_refused(tmp_path, b"PK\3\4" + noise if zip_like else noise)
