"""What `posed_tone` compares: the middle of a redaction, published less original."""

from __future__ import annotations

import numpy as np

from benchmarks.looks.posed_tone import Tone, above, differences
from streamdeid.core.frames import Colour, Planes


def _grey(luma: int) -> Planes:
    return Planes(
        np.full((60, 80), luma, np.uint8), np.full((30, 40), 128, np.uint8), np.full((30, 40), 120, np.uint8), Colour()
    )


def test_the_middle_of_a_box_is_compared() -> None:
    old, new = _grey(100), _grey(100)
    new.y[20:40, 30:50] += 12
    new.v[10:20, 15:25] += 4
    box = 20.0, 10.0, 60.0, 50.0
    found = differences(old, new, box)
    assert found is not None and np.allclose(found, [12, 0, 4])
    assert differences(old, new, (-50.0, 10.0, 2.0, 50.0)) is None, "beside the picture"


def test_hair_is_compared_about_the_upper_side() -> None:
    old, new = _grey(100), _grey(100)
    new.y[6:20, 30:50] += 10
    found = differences(old, new, above((20.0, 16.0, 60.0, 56.0)))
    assert found is not None and np.allclose(found, [10, 0, 0]), "ten rows above and four below, half as wide"


def test_a_clip_without_posed_faces_has_a_row() -> None:
    empty, tone = (
        Tone("empty"),
        Tone("one", [np.array([-4.0, 1.0, 0.0]), np.array([2.0, 1.0, 2.0])], [1.0, 3.0], [7.0, 9.0]),
    )
    assert empty.row().keys() == tone.row().keys() and empty.row()["posed faces"] == 0
    assert list(tone.row().values()) == ["one", 2, 3.0, 3.8, -1.0, 1.0, 2.0, 8.0]
