"""The mesh that is drawn: nothing of it lies across the opening of the mouth."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.core.arrays import Floats
from streamdeid.core.ibug68 import INNER_LIP, LIP_TRIANGLES, MIRROR, MOUTH, MOUTH_TRIANGLES, OUTER_LIP, OUTLINE


def _areas(points: Floats, triangles: Floats) -> Floats:
    """Twice the area of each triangle, positive where it is wound like the screen's axes."""
    a, b, c = (points[triangles[:, i]] for i in range(3))
    areas: Floats = (b - a)[:, 0] * (c - a)[:, 1] - (b - a)[:, 1] * (c - a)[:, 0]
    return areas


def _area(polygon: Floats) -> float:
    """Twice the area of a polygon (n, 2)."""
    x, y = polygon.T
    return abs(float(x @ np.roll(y, -1) - y @ np.roll(x, -1)))


def test_the_drawn_mesh_covers_the_face_once(model: AppearanceModel) -> None:
    areas = _areas(model.mean_shape, model.closed_triangles)
    assert (areas > 0).all()
    assert areas.sum() == pytest.approx(_area(model.mean_shape[OUTLINE]), rel=1e-3)


def test_lips_and_opening_are_what_is_within_the_outer_lips(model: AppearanceModel) -> None:
    shape = model.mean_shape
    assert _areas(shape, MOUTH_TRIANGLES).sum() == pytest.approx(_area(shape[INNER_LIP]))
    whole = _area(shape[OUTER_LIP])
    assert _areas(shape, LIP_TRIANGLES).sum() == pytest.approx(whole - _area(shape[INNER_LIP]))


def test_no_triangle_of_the_mesh_joins_upper_and_lower_lip(model: AppearanceModel) -> None:
    upper, lower = {*range(49, 54), 61, 62, 63}, {*range(55, 60), 65, 66, 67}
    drawn = model.closed_triangles[len(MOUTH_TRIANGLES) :].tolist()
    assert not [t for t in drawn if set(t) & upper and set(t) & lower]
    mirrored = {frozenset(MIRROR[t].tolist()) for t in LIP_TRIANGLES}
    assert mirrored == {frozenset(t) for t in LIP_TRIANGLES.tolist()}


def test_a_mesh_whose_outer_lips_are_no_edges_is_drawn_as_it_is(model: AppearanceModel) -> None:
    odd = replace(model, triangles=model.triangles[(model.triangles != MOUTH.start).all(axis=1)])
    drawn = {tuple(t) for t in odd.closed_triangles[len(MOUTH_TRIANGLES) :].tolist()}
    assert drawn == {tuple(t) for t in odd.triangles.tolist()}
