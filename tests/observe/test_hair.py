"""How dark somebody's hair is, read above the forehead."""

from __future__ import annotations

import numpy as np
import pytest

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.core.ibug68 import FOREHEAD
from streamdeid.observe.observation import _hair

_SKIN, _SIDE, _ROOM = 160, 300, 60


def _portrait(model: AppearanceModel, begins: float, hair: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Picture (h, w, 3) of skin with hair of a grey level beyond so many times the distance of the forehead's rim from
    the middle of the face, its points, and the small texture of the skin."""
    points = model.mean_shape + _ROOM
    centre = points.mean(axis=0)
    rim = float(np.linalg.norm(points[FOREHEAD][2:11] - centre, axis=1).min())
    rows, columns = np.mgrid[0 : _SIDE + _ROOM, 0:_SIDE]
    picture = np.full((*rows.shape, 3), _SKIN, np.uint8)
    picture[(np.hypot(columns - centre[0], rows - centre[1]) > begins * rim) & (rows < centre[1])] = hair
    return picture, points, np.full((50, 3), _SKIN, np.float32)


@pytest.mark.parametrize("begins", [1.0, 1.08, 1.15])
@pytest.mark.parametrize("hair", [8, 40, 90])
def test_hair_is_as_dark_as_it_is_however_high_it_begins(model: AppearanceModel, begins: float, hair: int) -> None:
    assert _hair(*_portrait(model, begins, hair)) == pytest.approx(np.log((hair + 8) / (_SKIN + 8)), abs=1e-6)


def test_a_shine_on_black_hair_leaves_it_black(model: AppearanceModel) -> None:
    picture, points, small = _portrait(model, 1.0, 20)
    middle = int(points.mean(axis=0)[0])
    picture[:, middle - 25 : middle + 26][picture[:, middle - 25 : middle + 26] == 20] = 140
    found = _hair(picture, points, small)
    assert found is not None and found < -1.5


def test_a_dark_room_beside_fair_hair_makes_it_no_darker(model: AppearanceModel) -> None:
    picture, points, small = _portrait(model, 1.0, 150)
    centre, side = points.mean(axis=0), np.ptp(points[:, 0])
    columns = np.arange(picture.shape[1])
    picture[:, np.abs(columns - centre[0]) > 0.42 * side] = 10
    found = _hair(picture, points, small)
    assert found is None or found > -0.1


@pytest.mark.parametrize("hair", [_SKIN - 5, _SKIN, 230])
def test_nothing_darker_is_no_hair(model: AppearanceModel, hair: int) -> None:
    assert _hair(*_portrait(model, 1.0, hair)) is None


def test_above_the_picture_nothing_is_known(model: AppearanceModel) -> None:
    picture, points, small = _portrait(model, 1.0, 20)
    assert _hair(picture, points - (0, 2 * _ROOM), small) is None
