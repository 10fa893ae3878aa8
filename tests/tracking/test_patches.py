"""A patch cut from a level of the pyramid looks like the one cut from the whole picture."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from streamdeid.core.arrays import Floats
from streamdeid.core.luma_pyramid import luma_pyramid
from streamdeid.tracking.patches import _cut, found_again, small

_LUMA = np.random.default_rng(5).normal(128, 60, (540, 960)).clip(0, 255).astype(np.uint8)
"""Noise: as much detail as a picture can have, so that any smoothing shows."""


def _slow_cut(luma: NDArray[np.uint8], centre: Floats, half: Floats, scale: float) -> NDArray[np.uint8]:
    """The window of the whole picture, its border repeated, each pixel the mean of those that it covers."""
    x0, y0 = np.floor(centre - half).astype(int)
    x1, y1 = np.ceil(centre + half).astype(int)
    rows = [min(max(y, 0), luma.shape[0] - 1) for y in range(y0, y1)]
    columns = [min(max(x, 0), luma.shape[1] - 1) for x in range(x0, x1)]
    width, height = np.round(2 * half * scale).astype(int)
    return np.asarray(cv2.resize(luma[rows][:, columns], (width, height), interpolation=cv2.INTER_AREA), np.uint8)


@pytest.mark.parametrize("side", [50, 100, 191])
@pytest.mark.parametrize("centre", [(400.3, 260.8), (20.0, 500.0)])
def test_face_of_usual_size_is_cut_from_the_whole_picture(side: int, centre: tuple[float, float]) -> None:
    place, half, scale = np.array(centre), np.array([0.65 * side, 0.65 * side]), 24 / side
    assert np.array_equal(_cut(luma_pyramid(_LUMA), place, half, scale), _slow_cut(_LUMA, place, half, scale))


@pytest.mark.parametrize("centre", [(3.0, 3.0), (958.2, 535.5), (-300.0, 260.0), (480.0, 1200.0), (1500.0, -700.0)])
@pytest.mark.parametrize("half", [(80.0, 60.0), (900.0, 700.0), (300.0, 1500.0)])
def test_what_lies_outside_the_picture_repeats_its_border(
    centre: tuple[float, float], half: tuple[float, float]
) -> None:
    place, sides = np.array(centre), np.array(half)
    cut, slow = (each(picture, place, sides, 0.26) for each, picture in ((_cut, [_LUMA]), (_slow_cut, _LUMA)))
    assert np.array_equal(cut, slow)


@pytest.mark.parametrize("side", [200, 300, 383])
def test_large_face_is_cut_no_smoother(side: int) -> None:
    place, half, scale = np.array([480.0, 270.0]), np.array([0.65 * side, 0.65 * side]), 24 / side
    fast, slow = (
        cut.astype(float)
        for cut in (_cut(luma_pyramid(_LUMA), place, half, scale), _slow_cut(_LUMA, place, half, scale))
    )
    assert fast.shape == slow.shape
    assert fast.std() > 0.93 * slow.std()
    assert np.corrcoef(fast.ravel(), slow.ravel())[0, 1] > 0.9


def test_large_face_is_found_where_it_went() -> None:
    soft = cv2.GaussianBlur(_LUMA.astype(np.float32), (0, 0), 15)
    picture = np.asarray(255 * (soft - soft.min()) / np.ptp(soft), np.uint8)
    after = np.roll(picture, (8, -12), axis=(0, 1))
    box = np.array([300.0, 100.0, 600.0, 400.0])
    found = found_again(small(luma_pyramid(picture)), small(luma_pyramid(after)), box, np.zeros(2))
    assert found is not None
    assert np.abs(found - box - [-12, 8, -12, 8]).max() < 3
