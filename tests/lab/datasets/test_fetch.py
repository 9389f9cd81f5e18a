"""Reading a part: contents are checked each time, homes are tried in turn, and only what is right is kept."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import numpy as np
import pytest

from dormie.lab.datasets import fetch, parse
from dormie.lab.datasets.contents import digest
from dormie.lab.datasets.fetch import read
from dormie.lab.datasets.openml import OpenML
from dormie.lab.datasets.places import Form, Part

X, Y = np.array([[1.5, 2.0], [3.5, 0.0]]), np.array([1, -1])
TEXT, OTHER = b"1.5,2,1\n3.5,0,-1\n", b"1.5,2,1\n3.5,1,-1\n"
SVMLIGHT = b"1 1:1.5 2:2\n-1 1:3.5\n"
URL, MIRROR, SECOND = "https://data.example/small.csv", "https://mirror.example/small.csv", "https://home.example/small"


def _part(*origins: str, openml: OpenML | None = None, text_origins: tuple[str, ...] = ()) -> Part:
    table = Form(("small.csv",), parse.table, tuple((url,) for url in origins))
    text = Form(
        ("small",), lambda content: parse.dense_svmlight(content, features=2), tuple((u,) for u in text_origins)
    )
    return Part("set", digest(X, Y), (table, text), openml)


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """An empty data folder and an empty cache folder."""
    monkeypatch.setenv("DORMIE_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "data", tmp_path / "cache" / "dormie"


def _put(folder: Path, content: bytes, name: str = "small.csv") -> Path:
    place = folder / "set" / name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(content)
    return place


def _serve(monkeypatch: pytest.MonkeyPatch, pages: dict[str, bytes]) -> list[str]:
    """Replace the network by `pages`; the addresses asked for are recorded."""
    asked: list[str] = []

    def open_page(url: str, timeout: float) -> io.BytesIO:
        assert timeout > 0
        asked.append(url)
        if url not in pages:
            raise OSError("no such page")
        return io.BytesIO(pages[url])

    monkeypatch.setattr(fetch, "urlopen", open_page)
    return asked


def _is_right(contents: tuple[np.ndarray, np.ndarray]) -> bool:
    return np.array_equal(contents[0], X) and np.array_equal(contents[1], Y)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("small.csv", TEXT),
        ("small.csv.gz", gzip.compress(TEXT, mtime=0)),
        ("small.csv", TEXT.replace(b",", b"\t").replace(b"\n", b" \r\n") + b"\n"),
        ("small", SVMLIGHT),
    ],
)
def test_any_copy_in_any_form_will_do(folders: tuple[Path, Path], name: str, content: bytes) -> None:
    _put(folders[0], content, name)
    assert _is_right(read(_part()))


@pytest.mark.parametrize("which", [0, 1])
def test_a_copy_comes_before_the_network(
    folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, which: int
) -> None:
    asked = _serve(monkeypatch, {})
    _put(folders[which], TEXT)
    assert _is_right(read(_part(URL)))
    assert asked == []


def test_a_download_is_kept_in_the_cache(folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    asked = _serve(monkeypatch, {URL: TEXT})
    assert _is_right(read(_part(URL)))
    assert _is_right(read(_part(URL)))
    assert asked == [URL]
    assert [path.name for path in (folders[1] / "set").iterdir()] == ["small.csv"]
    assert not folders[0].exists()


def test_a_home_that_fails_is_followed_by_the_next_and_the_next_form(
    folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = _serve(monkeypatch, {MIRROR: b"<html>moved</html>", SECOND: SVMLIGHT})
    assert _is_right(read(_part(URL, MIRROR, text_origins=(SECOND,))))
    assert asked == [URL, MIRROR, SECOND]
    assert [path.name for path in (folders[1] / "set").iterdir()] == ["small"]


@pytest.mark.parametrize("served", [TEXT[:-3], TEXT[:-5], b"", OTHER, gzip.compress(TEXT, mtime=0)[:-9]])
def test_a_truncated_or_altered_download_is_refused_and_leaves_nothing_behind(
    folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, served: bytes
) -> None:
    _serve(monkeypatch, {URL: served})
    with pytest.raises(
        FileNotFoundError, match=r"set: .*data\.example/small\.csv: .*(sha256|cannot be read).*DORMIE_DATA"
    ):
        read(_part(URL))
    assert not folders[1].exists()


@pytest.mark.usefixtures("folders")
def test_a_download_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "_LARGEST", len(TEXT) - 1)
    _serve(monkeypatch, {URL: TEXT})
    with pytest.raises(FileNotFoundError, match="more than 16 bytes"):
        read(_part(URL))


@pytest.mark.usefixtures("folders")
def test_a_missing_set_says_how_to_get_it_and_where_to_put_it() -> None:
    with pytest.raises(
        FileNotFoundError, match=r"set: .* no public address .*folder set of the folder named by .*DORMIE_DATA"
    ):
        read(_part())


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("content", [TEXT[:-5], OTHER, b"a,b,c\n", b"\x1f\x8bno gzip"])
def test_a_copy_that_holds_something_else_is_an_error_that_names_it_and_is_left_alone(
    folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, which: int, content: bytes
) -> None:
    asked = _serve(monkeypatch, {URL: TEXT})
    place = _put(folders[which], content)
    with pytest.raises(ValueError, match=r"small\.csv: not what it should be: (its contents|cannot be read)"):
        read(_part(URL))
    assert place.read_bytes() == content
    assert asked == []


class _Stub(OpenML):
    def fetch(self) -> tuple[np.ndarray, np.ndarray]:
        if self.name == "no pandas":
            raise ImportError("pandas is missing")
        return (X if self.name == "right" else X[::-1]), Y


@pytest.mark.usefixtures("folders")
def test_openml_is_the_last_home_and_is_checked_too(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = _serve(monkeypatch, {})
    assert _is_right(read(_part(URL, openml=_Stub("right", 1, "1"))))
    assert asked == [URL]
    for name, why in (("wrong", "sha256"), ("no pandas", "pandas is missing")):
        with pytest.raises(FileNotFoundError, match=f"OpenML's {name}: .*{why}"):
            read(_part(openml=_Stub(name, 1, "1")))
