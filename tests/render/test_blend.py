"""Blending: a feather inside the hull, nothing outside it, a membrane from outside alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.synthesise import Patch, render_patch
from streamdeid.core.frames import Planes
from streamdeid.render.blend import Blend, composed, feathered, membrane, no_membrane
from tests.drawn_faces import inside_hull, pose_at


def _planes(y: int = 150, u: int = 128, v: int = 128, size: tuple[int, int] = (160, 170)) -> Planes:
    width, height = size
    half = ((height + 1) // 2, (width + 1) // 2)
    return Planes(np.full((height, width), y, np.uint8), np.full(half, u, np.uint8), np.full(half, v, np.uint8))


def _patch(
    model: AppearanceModel, width: float, yuv: tuple[float, float, float], size: tuple[int, int] = (160, 170)
) -> Patch:
    """The mean face in one colour."""
    points = pose_at(model, width, (80.3, 83.2)).to_image(model.mean_shape, model.depth)
    texture = np.empty((*model.frame_size[::-1], 3), np.float32)
    texture[:] = yuv
    patch = render_patch(texture, model.mean_shape, points, model.closed_triangles, size, 0.08 * width)
    assert patch is not None
    return patch


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.5, 9))
def test_feather_lies_inside(seed: int, feather: float) -> None:
    rng = np.random.default_rng(seed)
    covered = np.zeros((40, 44), np.uint8)
    x, y, w, h = rng.integers(2, 10), rng.integers(2, 10), rng.integers(12, 28), rng.integers(12, 26)
    covered[y : y + h, x : x + w] = 1
    alpha = feathered(covered, feather)
    assert (alpha[covered == 0] == 0).all(), "never outside"
    assert (alpha[covered == 1] > 0).all() and alpha.max() <= 1
    depth = int(np.ceil(max(feather, 1.0))) + 1  # it is drawn in for the steps of the rim
    core = alpha[y + depth : y + h - depth, x + depth : x + w - depth]
    assert (core > 0.99).all(), "whole from the feather's width on"
    row = alpha[y + h // 2, x : x + w // 2]
    assert (np.diff(row) >= -1e-6).all(), "rises inwards"


@pytest.mark.parametrize("degrees", [10, 20, 33])
@pytest.mark.parametrize("feather", [1.3, 1.6, 3.0])
def test_a_slanted_rim_has_no_steps(degrees: int, feather: float) -> None:
    """Half the weight lies on a straight line, though the mask's rim is whole pixels; the rim itself has little."""
    across, down = np.sin(np.deg2rad(degrees)), np.cos(np.deg2rad(degrees))
    rows, columns = np.mgrid[:60, :60]
    inside = (columns - 30) * across + (rows - 30) * down
    alpha = feathered((inside > 0).astype(np.uint8), feather)
    places = []
    for column in range(15, 45):
        first = int(np.argmax(alpha[:, column] >= 0.5))
        before, after = alpha[first - 1, column], alpha[first, column]
        row = first - (after - 0.5) / (after - before)
        places.append((column - 30) * across + (row - 30) * down)
        assert alpha[np.argmax(alpha[:, column] > 0), column] < 0.6  # 0.83 of the narrowest before it was drawn in
    assert np.std(places) < 0.15  # up to 0.24 pixels with the distances as they are


def test_a_face_cut_by_the_frame_is_not_feathered_there() -> None:
    covered = np.zeros((30, 30), np.uint8)
    covered[10:, :15] = 1  # leaves the picture on the left and below
    alpha = feathered(covered, 5.0)
    assert (alpha[20:, :8] == 1).all()
    assert alpha[10, 5] < 0.5 and alpha[25, 14] < 0.5


@pytest.mark.parametrize("width", [40.0, 120.0])
def test_nothing_outside_the_hull_changes(model: AppearanceModel, width: float) -> None:
    planes = _planes(90, 100, 160)
    out = planes.copy()
    patch = _patch(model, width, (200, 140, 110))
    composed(patch, Blend(feathered(patch.covered, 0.07 * width / 2), no_membrane()), out)
    points = pose_at(model, width, (80.3, 83.2)).to_image(model.mean_shape, model.depth)
    outside = ~inside_hull(points, out.size, shrink=-3.0)  # a chroma pixel is two wide
    assert (out.y[outside] == 90).all()
    assert (out.u[outside[::2, ::2]] == 100).all() and (out.v[outside[::2, ::2]] == 160).all()
    core = inside_hull(points, out.size, shrink=0.09 * width + 2)
    assert core.sum() > 20
    assert (out.y[core] == 200).all() and (out.u[core[::2, ::2]] == 140).all() and (out.v[core[::2, ::2]] == 110).all()


@pytest.mark.parametrize("width", [24.0, 40.0, 120.0])
def test_a_face_like_its_surroundings_has_no_rim(model: AppearanceModel, width: float) -> None:
    """Neither the paint behind the mesh nor half-covered chroma pixels may show along the hull."""
    planes = _planes(150, 110, 140)
    out = planes.copy()
    patch = _patch(model, width, (150, 110, 140))
    composed(patch, Blend(feathered(patch.covered, 0.07 * width / 2), no_membrane()), out)
    for plane, level in ((out.y, 150), (out.u, 110), (out.v, 140)):
        assert np.abs(plane.astype(int) - level).max() <= 1


def test_membrane_of_equal_pictures_is_nothing(model: AppearanceModel) -> None:
    patch = _patch(model, 100, (150, 110, 140))
    np.testing.assert_allclose(membrane(patch, _planes(150, 110, 140)), 0, atol=0.05)


def test_membrane_brings_the_rim_nearer_to_the_skin_outside_and_fades_inwards(model: AppearanceModel) -> None:
    field = membrane(_patch(model, 100, (140, 110, 140)), _planes(150, 110, 140))
    luma = field[:, :, 0]
    assert 2.0 < luma.max() <= 10.5
    height, width = luma.shape
    # Cheeks and chin have the light of the scene already: a shadow beside a face darkens none of them.
    inner = luma[3 * height // 10 : 7 * height // 10, 3 * width // 10 : 7 * width // 10]
    assert np.abs(inner).max() < 0.05 * luma.max()
    np.testing.assert_allclose(field[:, :, 1:], 0, atol=0.05)


def test_membrane_does_not_trust_what_cannot_be_skin(model: AppearanceModel) -> None:
    near, far = (
        membrane(_patch(model, 100, (140, 110, 140)), _planes(level, 110, 140))[:, :, 0] for level in (155, 250)
    )
    assert np.abs(far).max() < 0.3 * np.abs(near).max()


def test_membrane_does_not_look_inside_the_hull(model: AppearanceModel) -> None:
    patch = _patch(model, 100, (140, 110, 140))
    planes = _planes(150, 110, 140)
    points = pose_at(model, 100, (80.3, 83.2)).to_image(model.mean_shape, model.depth)
    other = planes.copy()
    inside = inside_hull(points, planes.size, shrink=1.0)  # the rim belongs to chroma pixels that lie half outside
    other.y[inside] = np.random.default_rng(1).integers(0, 255, int(inside.sum()))
    np.testing.assert_array_equal(membrane(patch, planes), membrane(patch, other))


def test_a_face_that_fills_its_patch_has_no_membrane(model: AppearanceModel) -> None:
    patch = _patch(model, 100, (140, 110, 140))
    covered, covered_luma = np.ones_like(patch.covered), np.ones_like(patch.covered_luma)
    full = replace(patch, covered=covered, covered_luma=covered_luma)
    np.testing.assert_array_equal(membrane(full, _planes()), no_membrane())


@pytest.mark.parametrize("size", [(160, 170), (161, 171), (101, 99)])
def test_odd_and_cut_pictures_are_composed_whole(model: AppearanceModel, size: tuple[int, int]) -> None:
    planes = _planes(20, 128, 128, size)
    patch = _patch(model, 120, (220, 100, 100), size)
    composed(patch, Blend(np.ones(patch.covered.shape, np.float32), no_membrane()), planes)
    width, height = patch.size
    assert planes.y[patch.y0 : patch.y0 + height, patch.x0 : patch.x0 + width].mean() > 100
    assert np.abs(planes.y[: patch.y0].astype(int) - 20).max(initial=0) == 0


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("part", ["y", "uv", "membrane"])
def test_what_is_no_number_is_never_written(model: AppearanceModel, part: str, value: float) -> None:
    """A face that cannot be drawn must not leave the original in its place unnoticed."""
    planes, patch = _planes(), _patch(model, 100, (140, 110, 140))
    field = no_membrane()
    broken = field if part == "membrane" else getattr(patch, part)
    broken[tuple(side // 2 for side in broken.shape)] = value
    untouched = planes.copy()
    assert not composed(patch, Blend(feathered(patch.covered, 4.0), field), planes)
    np.testing.assert_array_equal(planes.y, untouched.y)
    np.testing.assert_array_equal(planes.u, untouched.u)
    assert composed(_patch(model, 100, (140, 110, 140)), Blend(feathered(patch.covered, 4.0), no_membrane()), planes)
