"""The inside of an open mouth: moved with the lips, only there, and not at all when closed."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from streamdeid.aam.synthesise import Patch
from streamdeid.core.frames import Planes
from streamdeid.render.mouth import render_mouth

_CENTRE = np.array([60.0, 50.0])


def _lips(opening: float, width: float = 48.0, centre: NDArray[np.float64] = _CENTRE) -> NDArray[np.float64]:
    """Inner lips (8, 2): corners 0 and 4, upper lip 1 to 3, lower lip 5 to 7 from the right."""
    half = width / 2
    drop = opening * half
    shape = [(-half, 0), (-half / 2, -0.8 * drop), (0, -drop), (half / 2, -0.8 * drop),
             (half, 0), (half / 2, 0.8 * drop), (0, drop), (-half / 2, 0.8 * drop)]  # fmt: skip
    return np.array(shape) + centre


def _patch(x0: int = 0, y0: int = 0) -> Patch:
    half = (50, 60)
    return Patch(
        x0,
        y0,
        np.full((100, 120), 10, np.float32),
        np.full((*half, 2), 128, np.float32),
        np.ones(half, np.uint8),
        np.ones((100, 120), np.uint8),
    )


def _picture(size: tuple[int, int] = (120, 100)) -> Planes:
    """Luma that rises to the right, chroma that tells it was copied."""
    width, height = size
    y = np.broadcast_to(np.linspace(60, 240, width).astype(np.uint8), (height, width)).copy()
    half = ((height + 1) // 2, (width + 1) // 2)
    return Planes(y, np.full(half, 90, np.uint8), np.full(half, 170, np.uint8))


@pytest.mark.parametrize("opening", [0.0, 0.01, 0.025])
def test_a_closed_mouth_is_left_alone(opening: float) -> None:
    patch = _patch()
    render_mouth(patch, _picture(), _lips(opening), _lips(0.5))
    assert (patch.y == 10).all() and (patch.uv == 128).all()


def test_an_opening_mouth_fades_in() -> None:
    shown = []
    for opening in (0.035, 0.045, 0.055, 0.08):
        patch = _patch()
        render_mouth(patch, _picture(), _lips(opening), _lips(0.5))
        shown.append(float(patch.y[50, 60]))
    assert 10 < shown[0] < shown[1] < shown[2] < shown[3]


def test_pixels_stay_where_they_are_when_the_lips_do() -> None:
    patch, picture = _patch(), _picture()
    render_mouth(patch, picture, _lips(0.6), _lips(0.6))
    inside = np.s_[46:55, 48:73]
    np.testing.assert_allclose(patch.y[inside], picture.y[inside], atol=1.5)
    assert patch.uv[25, 30, 0] == pytest.approx(90, abs=1) and patch.uv[25, 30, 1] == pytest.approx(170, abs=1)


def test_pixels_move_and_grow_with_the_lips() -> None:
    patch, picture = _patch(), _picture()
    render_mouth(patch, picture, _lips(0.6, 24.0, np.array([40.0, 40.0])), _lips(0.6))
    for x in (52, 60, 68):
        assert patch.y[50, x] == pytest.approx(float(picture.y[40, 40 + (x - 60) // 2]), abs=2.5)


def test_nothing_beyond_the_new_lips_changes() -> None:
    patch = _patch()
    render_mouth(patch, _picture(), _lips(0.4), _lips(0.4))
    rows, columns = np.nonzero(np.abs(patch.y - 10) > 0.5)
    assert columns.min() >= 60 - 24 - 4 and columns.max() <= 60 + 24 + 4
    assert rows.min() >= 50 - 10 - 5 and rows.max() <= 50 + 10 + 5


def test_patch_origin_counts() -> None:
    near, far = _patch(), _patch(20, 10)
    render_mouth(near, _picture(), _lips(0.5), _lips(0.5))
    render_mouth(far, _picture(), _lips(0.5), _lips(0.5))
    np.testing.assert_allclose(far.y[20:60, 0:80], near.y[30:70, 20:100], atol=1e-3)


@pytest.mark.parametrize("centre", [(2.0, 50.0), (118.0, 98.0), (-300.0, 40.0), (60.0, 1.0)])
def test_a_mouth_at_or_beyond_the_border_writes_nothing_outside(centre: tuple[float, float]) -> None:
    canvas, uv = np.full((140, 160), 10, np.float32), np.full((70, 80, 2), 128, np.float32)
    patch = Patch(
        0, 0, canvas[20:120, 20:140], uv[10:60, 10:70], np.ones((50, 60), np.uint8), np.ones((100, 120), np.uint8)
    )
    render_mouth(patch, _picture(), _lips(0.5), _lips(0.5, centre=np.array(centre)))
    canvas[20:120, 20:140], uv[10:60, 10:70] = 10, 128
    assert (canvas == 10).all() and (uv == 128).all()


def test_lips_beyond_the_picture_repeat_its_border() -> None:
    patch, picture = _patch(), _picture()
    render_mouth(patch, picture, _lips(0.5, centre=np.array([-200.0, 50.0])), _lips(0.5))
    assert patch.y[50, 60] == pytest.approx(float(picture.y[50, 0]), abs=1)
