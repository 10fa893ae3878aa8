"""The surface of the mean face: where its pixels face."""

from __future__ import annotations

import numpy as np
import pytest

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.surface import surface_normals, vertex_slopes
from streamdeid.core.arrays import Points
from streamdeid.core.ibug68 import FOREHEAD, JAW, LEFT_EYE, RIGHT_EYE


def _on(model: AppearanceModel, depth: Points) -> Points:
    """The mean mesh (468, 3) with other depths (468,)."""
    return np.column_stack([model.mean_mesh[:, :2], depth])


def _from_middle(model: AppearanceModel) -> tuple[Points, Points]:
    width, height = model.frame_size
    x, y = (model.mean_mesh[:, :2] - (width / 2, height / 2)).T
    return x, y


def test_normals_have_length_one_and_face_the_camera(model: AppearanceModel) -> None:
    width, height = model.frame_size
    normals = surface_normals(model.mean_mesh, model.frame_size)
    assert normals.shape == (height, width, 3) and normals.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(normals, axis=2), 1, atol=1e-5)
    assert (normals[:, :, 2] > 0).all()


def test_normals_of_a_sphere_are_its_radii(model: AppearanceModel) -> None:
    width, height = model.frame_size
    radius = 1.0 * width
    x, y = _from_middle(model)
    normals = surface_normals(_on(model, radius - np.sqrt(radius**2 - x**2 - y**2)), model.frame_size)
    rows, columns = np.mgrid[0:height, 0:width]
    u, v = (columns - width / 2) / radius, (rows - height / 2) / radius
    wanted = np.dstack([u, v, np.sqrt(1 - u**2 - v**2)])
    inner = np.hypot(u, v) < 0.35
    assert np.degrees(np.arccos(np.clip((normals * wanted).sum(axis=2)[inner], -1, 1))).max() < 3


@pytest.mark.parametrize("slope", [(0.0, 0.0), (0.5, 0.0), (-0.2, 0.4)])
def test_a_plane_has_one_normal_everywhere(model: AppearanceModel, slope: tuple[float, float]) -> None:
    x, y = _from_middle(model)
    normals = surface_normals(_on(model, slope[0] * x + slope[1] * y), model.frame_size)
    wanted = np.array([*slope, 1]) / np.linalg.norm([*slope, 1])
    # Beyond the mesh, too; a blur repeats what lies at the border of the frame.
    inner = normals[20:-20, 20:-20]
    np.testing.assert_allclose(inner, np.broadcast_to(wanted, inner.shape), atol=0.05)


def test_a_face_looks_right_on_the_right_and_down_below_the_nose(model: AppearanceModel) -> None:
    normals = surface_normals(model.mean_mesh, model.frame_size)
    x, y = model.mean_shape[[2, 14, 33, 8]].round().astype(int).T
    assert normals[y[0], x[0] + 10, 0] < -0.3 and normals[y[1], x[1] - 10, 0] > 0.3
    assert normals[y[2] + 3, x[2], 1] > 0.2, "the bottom of the nose"
    np.testing.assert_allclose(normals[:, :, 0], -normals[:, ::-1, 0], atol=0.15)


def test_depths_from_an_origin_elsewhere_are_the_same_surface(model: AppearanceModel) -> None:
    moved = model.mean_mesh + np.array([0.0, 0.0, 500.0])
    np.testing.assert_allclose(
        surface_normals(moved, model.frame_size), surface_normals(model.mean_mesh, model.frame_size), atol=1e-3
    )


def test_slopes_are_those_of_the_surface_and_none_on_nose_and_outline(model: AppearanceModel) -> None:
    x, y = _from_middle(model)
    normals = surface_normals(_on(model, 0.3 * x - 0.2 * y), model.frame_size)
    slopes = vertex_slopes(normals, model.mean_shape)
    assert slopes.shape == (81, 2)
    for part in (LEFT_EYE, RIGHT_EYE):
        np.testing.assert_allclose(slopes[part], np.broadcast_to((0.3, -0.2), slopes[part].shape), atol=0.02)
    for still in (JAW, slice(27, 36), FOREHEAD):
        assert not slopes[still].any()


def test_slopes_are_bounded(model: AppearanceModel) -> None:
    x, _ = _from_middle(model)
    slopes = vertex_slopes(surface_normals(_on(model, 9 * x), model.frame_size), model.mean_shape)
    assert np.abs(slopes).max() == pytest.approx(1.2)
