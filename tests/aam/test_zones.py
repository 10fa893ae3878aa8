"""Masks of the parts of a face: each where its part is, in a frame of any size."""

from __future__ import annotations

import numpy as np
import pytest

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.zones import Zones
from streamdeid.core.arrays import Pixels, Points
from streamdeid.core.ibug68 import CHIN, LEFT_BROW, LEFT_EYE, NOSTRILS, OUTER_LIP, RIGHT_BROW, RIGHT_EYE


def _zones(model: AppearanceModel, width: int) -> tuple[Zones, float]:
    """Zones in a frame of that width, and the scale of points in it."""
    full = model.frame_size
    size = width, round(full[1] * width / full[0])
    return Zones.of(model.mean_shape, full[0], size), width / full[0]


def _at(mask: Pixels, place: Points) -> float:
    column, row = place.round().astype(int)
    return float(mask[row, column])


@pytest.mark.parametrize("width", [64, 100, 200])
def test_each_part_lies_in_its_mask(model: AppearanceModel, width: int) -> None:
    zones, scale = _zones(model, width)
    points = scale * model.mean_shape
    eyes = [points[part].mean(axis=0) for part in (LEFT_EYE, RIGHT_EYE)]
    brows = [points[part].mean(axis=0) for part in (LEFT_BROW, RIGHT_BROW)]
    mouth, nostrils = points[OUTER_LIP].mean(axis=0), points[NOSTRILS].mean(axis=0)
    for place in eyes:
        assert _at(zones.eyes, place) > 0.9 and _at(zones.lips, place) < 0.01
    for place in brows:
        assert _at(zones.brows, place) > 0.9 and _at(zones.eyes, place) < 0.05
    assert _at(zones.lips, mouth) > 0.9
    for place in (*eyes, *brows, mouth, nostrils):
        assert _at(zones.skin, place) == 0
    cheeks = [points[[2, 31]].mean(axis=0), points[[14, 35]].mean(axis=0)]
    forehead = points[[21, 22, 74]].mean(axis=0)
    for place in (*cheeks, forehead, points[30]):
        assert _at(zones.skin, place) == 1
        assert max(_at(mask, place) for mask in (zones.eyes, zones.lips, zones.brows)) < 0.05
    assert _at(zones.lower, points[CHIN] - (0, 3)) == 1 and _at(zones.lower, points[OUTER_LIP].mean(axis=0)) == 1
    assert _at(zones.lower, points[30]) == 0 and _at(zones.lower, forehead) == 0


@pytest.mark.parametrize("width", [64, 200])
def test_masks_are_shares_and_the_same_on_both_sides(model: AppearanceModel, width: int) -> None:
    zones, _ = _zones(model, width)
    for name in ("skin", "lower", "lips", "eyes", "brows"):
        mask = getattr(zones, name)
        assert mask.dtype == np.float32 and mask.shape == (round(model.frame_size[1] * width / 200), width)
        assert mask.min() >= 0 and mask.max() == pytest.approx(1, abs=0.05)
        assert np.abs(mask - mask[:, ::-1]).mean() < 0.02, name


def test_masks_of_a_smaller_frame_are_the_larger_ones_reduced(model: AppearanceModel) -> None:
    large, small = _zones(model, 200)[0], _zones(model, 100)[0]
    for name in ("skin", "lower", "lips", "eyes", "brows"):
        one, other = getattr(large, name), getattr(small, name)
        assert float(other.mean()) == pytest.approx(float(one.mean()), abs=0.03), name


def test_lower_only_rises_downwards(model: AppearanceModel) -> None:
    lower = _zones(model, 200)[0].lower
    assert (np.diff(lower, axis=0) >= 0).all() and (np.diff(lower, axis=1) == 0).all()
