"""The quiet face: the surrogate at rest where the head is, of nothing but the head's pose and what is published."""

from __future__ import annotations

from dataclasses import replace

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.fit import FitModel
from streamdeid.aam.piecewise_affine import Points
from streamdeid.core.frames import Planes
from streamdeid.core.ibug68 import LEFT_EYE, RIGHT_EYE
from streamdeid.observe.observation import Observation, Observer
from streamdeid.protect.soft_redaction import SoftMemory, head_of, soft_redaction
from streamdeid.render.light import LightFrame
from streamdeid.render.new_face import NewFace
from streamdeid.render.quiet_face import render_quiet_face
from tests.drawn_faces import Scene, inside_hull, pose_at, rotation, scene, some_identity, with_mouth


@pytest.fixture(scope="module")
def face(model: AppearanceModel, fitting: FitModel) -> NewFace:
    return NewFace.of(some_identity(model, 8), fitting)


def _seen(
    model: AppearanceModel, fitting: FitModel, width: float = 120.0, **angles: float
) -> tuple[Scene, Observation]:
    shape, texture = model.decode(some_identity(model, 3))
    made = scene(model, shape, texture, pose_at(model, width, **angles))
    observed = Observer(fitting)(made.planes, made.face, 0.0)
    assert observed is not None
    return made, observed


def _softened(made: Scene) -> Planes:
    out = made.planes.copy()
    assert soft_redaction(out, made.planes, head_of(made.face.box, made.points, out.size), SoftMemory()) is not None
    return out


def _same(a: Planes, b: Planes) -> bool:
    return all(np.array_equal(x, y) for x, y in ((a.y, b.y), (a.u, b.u), (a.v, b.v)))


def _detail(planes: Planes, sigma: float = 4.0) -> NDArray[np.float64]:
    picture = planes.y.astype(np.float64)
    return picture - cv2.GaussianBlur(picture, (0, 0), sigma)


def _silhouette(laid: Points, shrink: float = 0.0) -> NDArray[np.bool_]:
    """Mask of everything within the points' convex hull: a turned nose and brow reach beyond the outline."""
    mask = np.zeros((320, 320), np.uint8)
    cv2.fillConvexPoly(mask, cv2.convexHull(np.round(laid).astype(np.int32)), 1)
    inside = cv2.distanceTransform(mask, cv2.DIST_L2, 5) - cv2.distanceTransform(1 - mask, cv2.DIST_L2, 5)
    return np.asarray(inside > shrink)


@pytest.mark.parametrize("width", [24.0, 40.0, 60.0, 120.0, 200.0])
@pytest.mark.parametrize("yaw", [0.0, 0.6, -1.0])
def test_a_face_is_drawn_softly_inside_the_head(
    model: AppearanceModel, fitting: FitModel, light: LightFrame, face: NewFace, width: float, yaw: float
) -> None:
    made, seen = _seen(model, fitting, width, yaw=yaw)
    soft = _softened(made)
    out = soft.copy()
    assert render_quiet_face(out, seen, face, fitting, light)
    change = np.abs(out.y.astype(int) - soft.y)
    laid = seen.pose.to_image(face.shape, model.depth)
    assert change[~_silhouette(laid, -2.0)].max() == 0, "nothing beside the face"
    rim = _silhouette(laid) & ~_silhouette(laid, max(2.0, 0.02 * width))
    assert change[rim].mean() < 0.35 * change[_silhouette(laid, 0.2 * width)].mean() + 1, "no edge"
    assert (
        _detail(out)[inside_hull(laid, shrink=0.1 * width)].std()
        > 1.3 * _detail(soft)[inside_hull(laid, shrink=0.1 * width)].std()
    ), "eyes, brows and mouth are there"


def test_landmarks_of_two_people_in_one_pose_give_the_same_pixels(
    model: AppearanceModel, fitting: FitModel, light: LightFrame, face: NewFace
) -> None:
    """Position, size and turn are all that is taken: other landmarks, textures and expressions change nothing."""
    made, seen = _seen(model, fitting, yaw=0.3)
    shape = with_mouth(model.decode(some_identity(model, 77))[0], 0.6)
    points = seen.pose.to_image(shape, model.depth)
    rng = np.random.default_rng(3)
    other = replace(
        seen, points=points, frontal=shape, raw=points + rng.normal(0, 3, points.shape), iris=np.zeros((2, 2)),
        small_texture=rng.uniform(0, 255, seen.small_texture.shape).astype(np.float32), hair=-0.9,
        sweep=np.ones_like(points), onset=True,
    )  # fmt: skip
    assert other.width != pytest.approx(seen.width, rel=0.01)
    soft = _softened(made)
    one, two = soft.copy(), soft.copy()
    assert render_quiet_face(one, seen, face, fitting, light) and render_quiet_face(two, other, face, fitting, light)
    assert _same(one, two)
    turned = replace(seen, pose=replace(seen.pose, shift=seen.pose.shift + 3.0))
    three = soft.copy()
    assert render_quiet_face(three, turned, face, fitting, light) and not _same(one, three), "the test notices a pose"


def test_eyes_are_open_and_look_straight_ahead(
    model: AppearanceModel, fitting: FitModel, light: LightFrame, face: NewFace
) -> None:
    made, seen = _seen(model, fitting, 200.0)
    out = _softened(made)
    assert render_quiet_face(out, seen, face, fitting, light)
    laid = seen.pose.to_image(face.shape, model.depth)
    for lids in (LEFT_EYE, RIGHT_EYE):
        eye = laid[lids]
        mask = np.zeros(out.y.shape, np.uint8)
        cv2.fillPoly(mask, [np.round(eye).astype(np.int32)], 1)
        values = out.y[mask > 0].astype(float)
        assert values.max() - values.min() > 40, "white and pupil"
        rows, columns = np.nonzero((mask > 0) & (out.y <= np.percentile(values, 20)))
        assert abs(columns.mean() - eye[:, 0].mean()) < 0.15 * np.ptp(eye[:, 0])
        assert abs(rows.mean() - eye[:, 1].mean()) < 0.3 * np.ptp(eye[:, 1])


def test_brightness_and_colour_are_those_of_the_published_field(
    model: AppearanceModel, fitting: FitModel, light: LightFrame, face: NewFace
) -> None:
    made, seen = _seen(model, fitting)
    laid = seen.pose.to_image(face.shape, model.depth)
    where = inside_hull(laid, shrink=20.0)
    for level in (60, 120, 180):
        field = Planes(
            np.full_like(made.planes.y, level), np.full_like(made.planes.u, 118), np.full_like(made.planes.v, 140)
        )
        out = field.copy()
        assert render_quiet_face(out, seen, face, fitting, light)
        assert abs(float(np.median(out.y[where])) - level) < 0.15 * level
        assert abs(float(np.median(out.u[where[::2, ::2]])) - 118) < 6
        assert abs(float(np.median(out.v[where[::2, ::2]])) - 140) < 6


def _pose_turned(model: AppearanceModel, width: float, yaw: float, pitch: float = 0.0) -> Points:
    return pose_at(model, width, yaw=yaw, pitch=pitch).rotation


@pytest.mark.parametrize(("yaw", "pitch"), [(1.2, 0.0), (-1.4, 0.0), (0.0, 1.3), (1.0, 0.8), (-1.56, 0.0)])
def test_a_head_turned_farther_than_60_degrees_is_posed_at_60(
    model: AppearanceModel, fitting: FitModel, light: LightFrame, face: NewFace, yaw: float, pitch: float
) -> None:
    made, seen = _seen(model, fitting)
    far = pose_at(model, 120.0, yaw=yaw, pitch=pitch)
    direction = far.rotation[:2, 2] / np.linalg.norm(far.rotation[:2, 2])
    soft = _softened(made)
    out = soft.copy()
    assert render_quiet_face(out, replace(seen, pose=far), face, fitting, light)
    changed = np.argwhere(np.abs(out.y.astype(int) - soft.y) > 2)[:, ::-1]
    assert len(changed) > 400, "not a crumpled mesh"
    middle = far.to_image(model.mean_shape.mean(axis=0)[None], model.depth.mean(keepdims=True))[0]
    assert np.linalg.norm(changed.mean(axis=0) - middle) < 25, "where the head is"
    if not pitch:
        limit = replace(far, rotation=rotation(yaw=float(np.sign(yaw) * np.deg2rad(60.0))))
        wide = np.ptp(limit.to_image(face.shape, model.depth)[:, 0])
        assert np.ptp(changed[:, 0]) < wide + 3
    assert np.isfinite(direction).all()


@pytest.mark.parametrize("part", ["scale", "rotation", "shift"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_pose_that_is_none_is_not_drawn(
    model: AppearanceModel, fitting: FitModel, light: LightFrame, face: NewFace, part: str, value: float
) -> None:
    made, seen = _seen(model, fitting)
    old = getattr(seen.pose, part)
    broken = replace(seen, pose=replace(seen.pose, **{part: value if part == "scale" else np.full_like(old, value)}))
    soft = _softened(made)
    out = soft.copy()
    assert not render_quiet_face(out, broken, face, fitting, light) and _same(out, soft)


def test_what_is_seen_from_behind_too_small_or_outside_is_not_drawn(
    model: AppearanceModel, fitting: FitModel, light: LightFrame, face: NewFace
) -> None:
    made, seen = _seen(model, fitting)
    soft = _softened(made)
    pose = seen.pose
    behind = replace(pose, rotation=np.diag([-1.0, 1.0, -1.0]))
    small = replace(pose, scale=8.0 / model.frame_size[0])
    outside = [replace(pose, shift=pose.shift + shift) for shift in ((400, 0), (0, 400), (-400, 0), (0, -400))]
    for one in (behind, small, *outside):
        out = soft.copy()
        assert not render_quiet_face(out, replace(seen, pose=one), face, fitting, light) and _same(out, soft)


def test_a_surrogate_that_is_no_number_is_not_drawn(
    model: AppearanceModel, fitting: FitModel, light: LightFrame, face: NewFace
) -> None:
    made, seen = _seen(model, fitting)
    soft = _softened(made)
    out = soft.copy()
    broken = replace(face, picture=np.full_like(face.picture, np.nan))
    assert not render_quiet_face(out, seen, broken, fitting, light) and _same(out, soft)


@pytest.mark.parametrize("shift", [(-70.0, 0.0), (75.0, 0.0), (0.0, 80.0), (0.0, -85.0)])
@pytest.mark.parametrize("size", [(200, 200), (201, 199)])
def test_a_face_cut_by_the_border_is_drawn_up_to_it(
    model: AppearanceModel, fitting: FitModel, light: LightFrame, face: NewFace, shift: Points, size: tuple[int, int]
) -> None:
    _, seen = _seen(model, fitting)
    half = ((size[1] + 1) // 2, (size[0] + 1) // 2)
    field = Planes(np.full(size[::-1], 120, np.uint8), np.full(half, 118, np.uint8), np.full(half, 140, np.uint8))
    pose = replace(seen.pose, shift=seen.pose.shift - 60 + np.array(shift))
    out = field.copy()
    assert render_quiet_face(out, replace(seen, pose=pose), face, fitting, light)
    edge = {(-1, 0): out.y[:, 0], (1, 0): out.y[:, -1], (0, 1): out.y[-1], (0, -1): out.y[0]}
    sign = (int(np.sign(shift[0])), int(np.sign(shift[1])))
    assert (edge[sign] != 120).sum() > 20
