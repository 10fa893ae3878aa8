"""The solid face: its mesh, its pose, and the z-buffer beside a slow twin."""

from __future__ import annotations

import hashlib
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.fit import FitModel
from streamdeid.aam.mesh_render import render_turned
from streamdeid.aam.pose import HeadPose
from streamdeid.aam.solid_face import seen
from streamdeid.core.mesh_triangles import BESIDE, FILLED, LEFT_EYE, RIGHT_EYE, RIGID_VERTICES, SKIN, TRIANGLES
from tests.drawn_faces import rotation
from tests.slow_twins import barycentric, bilinear

_SIZE = (16, 14)
_PUBLISHED = "b4c6957187e57233099ad3a93db7158f7b9ce04ec8ea2f3b76ecd2651119d0e0"
"""SHA-256 of mediapipe 0.10.18's FACEMESH_TESSELATION: `repr` of the sorted list of its edges, each sorted."""


def _edges(triangles: np.ndarray[tuple[int, ...], np.dtype[np.int32]]) -> list[tuple[int, int]]:
    return [(int(t[k]), int(t[(k + 1) % 3])) for t in triangles for k in range(3)]


def test_triangles_are_those_of_the_landmarkers_tessellation() -> None:
    skin = sorted({(min(edge), max(edge)) for edge in _edges(TRIANGLES[FILLED == SKIN])})
    assert (FILLED == SKIN).sum() == 852
    assert hashlib.sha256(repr(skin).encode()).hexdigest() == _PUBLISHED


def test_the_mesh_is_one_sheet_wound_alike() -> None:
    directed = Counter(_edges(TRIANGLES))
    assert max(directed.values()) == 1, "no two triangles run the same way along an edge"
    border = [edge for edge in directed if edge[::-1] not in directed]
    ends = Counter(vertex for edge in border for vertex in edge)
    assert set(ends.values()) == {2}, "openings are filled: the only border is a ring"
    assert len(border) == 36, "the oval of the face"


def test_the_mesh_at_rest_is_the_mean(fitting: FitModel) -> None:
    model, solid = fitting.model, fitting.solid
    np.testing.assert_allclose(solid.solid(model.mean_shape, model.depth), solid.mesh, atol=1e-9)
    np.testing.assert_allclose(solid.flattened(model.mean_shape), solid.mesh[:, :2], atol=1e-9)


def test_a_mesh_follows_its_points(fitting: FitModel) -> None:
    """A shift of all points is one of all vertices; the lower lip alone does not take the upper one along."""
    model, solid = fitting.model, fitting.solid
    moved = solid.solid(model.mean_shape + np.array([5.0, -3.0]), model.depth + 2.0)
    np.testing.assert_allclose(moved - solid.mesh, np.tile([5.0, -3.0, 2.0], (468, 1)), atol=1e-6)
    opened = model.mean_shape.copy()
    opened[[55, 56, 57, 58, 59, 65, 66, 67], 1] += 20.0
    down = (solid.solid(opened, model.depth) - solid.mesh)[:, 1]
    assert down[14] > 18, "the lower lip"
    assert abs(down[13]) < 1.5, "the upper lip"
    assert abs(down[4]) < 1.5, "the tip of the nose"


@pytest.mark.parametrize("yaw", [-1.1, -0.4, 0.0, 0.7, 1.2])
def test_the_pose_of_a_mesh_is_found_again(fitting: FitModel, yaw: float) -> None:
    solid = fitting.solid
    true = HeadPose(0.7, rotation(yaw, 0.2, -0.3), np.array([40.0, 25.0]))
    mesh = seen(solid.mesh, true)
    found = solid.pose(mesh + np.array([0, 0, 33.0]))  # the landmarker's depth has an origin of its own
    np.testing.assert_allclose(found.rotation, true.rotation, atol=1e-9)
    np.testing.assert_allclose([found.scale, *found.shift], [true.scale, *true.shift], atol=1e-9)
    np.testing.assert_allclose(solid.undone(mesh, found, mesh), solid.mesh, atol=1e-6)
    smiling = mesh.copy()
    smiling[np.setdiff1d(np.arange(468), RIGID_VERTICES)] += 3.0
    np.testing.assert_allclose(
        solid.pose(smiling).rotation, true.rotation, atol=1e-9, err_msg="expressions do not count"
    )


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6))
def test_the_nearest_triangle_is_seen_as_in_the_twin(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count = int(rng.integers(3, 8))
    mesh = np.column_stack([rng.uniform(-3, 18, (3 * count, 2)), rng.uniform(0, 40, 3 * count)])
    triangles = np.arange(3 * count, dtype=np.int32).reshape(-1, 3)
    frame = rng.uniform(0, 9, (3 * count, 2))
    texture = rng.uniform(16, 235, (10, 10, 3)).astype(np.float32)
    corners = np.array([[0.0, 0.0], [_SIZE[0] - 1.0, _SIZE[1] - 1.0]])
    drawn = render_turned(texture, frame, mesh, triangles, _SIZE, corners)
    assert drawn is not None
    step = 0.03 * float(np.ptp(mesh[:, 0]))
    owner, near, colours = _twin(texture, frame, mesh, triangles)
    np.testing.assert_array_equal(drawn.owner, owner)
    np.testing.assert_array_equal(drawn.patch.covered_luma, owner >= 0)
    for row in range(_SIZE[1]):
        for column in range(_SIZE[0]):
            around = [(row, column - 1), (row, column + 1), (row - 1, column), (row + 1, column)]
            inner = 0 < row < _SIZE[1] - 1 and 0 < column < _SIZE[0] - 1
            known = [place for place in around if inner and owner[place] >= 0]
            expected = colours[row, column]
            if owner[row, column] >= 0 and any(abs(near[place] - near[row, column]) > step for place in known):
                expected = (2 * expected + sum(colours[place] for place in known)) / (len(known) + 2)
            assert drawn.patch.y[row, column] == pytest.approx(expected, abs=0.02), (row, column)


def _twin(texture, frame, mesh, triangles):  # type: ignore[no-untyped-def]
    """Triangle, depth and luma of each pixel: all triangles that it lies in are asked."""
    owner = np.full((_SIZE[1], _SIZE[0]), -1)
    near, colours = np.full(owner.shape, np.inf), np.zeros(owner.shape)
    for row in range(_SIZE[1]):
        for column in range(_SIZE[0]):
            for number, triangle in enumerate(triangles):
                weights = barycentric(mesh[triangle, :2], np.array([column, row], float))
                if weights is None or weights.min() < 0:
                    continue
                depth = float(weights @ mesh[triangle, 2])
                if depth < near[row, column]:
                    near[row, column], owner[row, column] = depth, number
                    colours[row, column] = bilinear(texture[:, :, :1], *(weights @ frame[triangle]))[0]
    return owner, near, colours


@pytest.mark.parametrize("yaw", [1.1, -1.1])
def test_a_nose_hides_the_far_eye(model: AppearanceModel, fitting: FitModel, yaw: float) -> None:
    solid = fitting.solid
    mesh = seen(solid.mesh, HeadPose(0.6, rotation(yaw), np.array([60.0, 40.0])))
    texture = np.full((237, 200, 3), 128, np.float32)
    corners = np.array([[0.0, 0.0], [255.0, 255.0]])
    far, near = (LEFT_EYE, RIGHT_EYE) if yaw > 0 else (RIGHT_EYE, LEFT_EYE)
    shown = {}
    for part in (far, near):
        alone = TRIANGLES[part == BESIDE]
        whole, own = (
            render_turned(texture, solid.mesh[:, :2], mesh, t, (256, 256), corners) for t in (TRIANGLES, alone)
        )
        assert whole is not None and own is not None
        shown[part] = (BESIDE[whole.owner[whole.owner >= 0]] == part).sum() / (own.owner >= 0).sum()
    assert shown[far] < 0.6
    assert shown[near] > 0.97


def test_nothing_is_rendered_outside_the_picture(fitting: FitModel) -> None:
    texture = np.zeros((237, 200, 3), np.float32)
    mesh = fitting.solid.mesh + np.array([900.0, 0.0, 0.0])
    corners = np.stack([mesh[:, :2].min(axis=0), mesh[:, :2].max(axis=0)])
    assert render_turned(texture, fitting.solid.mesh[:, :2], mesh, TRIANGLES, (320, 320), corners) is None
