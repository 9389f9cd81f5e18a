"""The pieces of the page: whatever they are told is escaped, lengths are shares, pictures are readable files."""

from __future__ import annotations

import base64
import io
import re

import numpy as np
import pytest

from dormie.show.report.drawn import Bar, bars, paragraphs, picture, table, text, tiles

EVIL = "<script>alert('x')</script>\"&\u202e"


def test_words_are_shown_and_not_obeyed() -> None:
    for made in (
        text(EVIL),
        bars([Bar(EVIL, EVIL, 0.5)]),
        bars([Bar("a", "b", 0.5, tip=EVIL)]),
        table([EVIL], [[EVIL]]),
        paragraphs([EVIL, EVIL]),
        tiles([(EVIL, EVIL)]),
        picture(np.eye(2), EVIL).text,
    ):
        assert "<script" not in made
        assert "alert('" not in made
        assert "\u202e" not in made
        assert "&lt;script&gt;alert(&#x27;x&#x27;)&lt;/script&gt;&quot;&amp;\\u202e" in made


@pytest.mark.parametrize(("share", "width"), [(0.0, "0.00%"), (0.25, "25.00%"), (1e-9, "0.40%"), (1.0, "100.00%")])
def test_bars_are_as_long_as_their_share(share: float, width: str) -> None:
    assert f'<rect class="front" width="{width}"' in bars([Bar("a", "b", share)])
    assert ('class="behind"' in bars([Bar("a", "b", 0.1, behind=share)])) == (share > 0)


def test_pictures_hold_the_pixels() -> None:
    image = pytest.importorskip("matplotlib.image")
    pixels = np.array([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]])
    (data,) = re.findall('src="data:image/png;base64,([^"]*)"', picture(pixels, "row 3").text)
    read = image.imread(io.BytesIO(base64.b64decode(data)))
    np.testing.assert_allclose(read, pixels / 5, atol=1 / 255)
    for flat in (np.full((2, 2), 7.0), np.array([[-1.7e308, 1.7e308]])):
        assert "base64," in picture(flat, "x").text
