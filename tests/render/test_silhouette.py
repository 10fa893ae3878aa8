"""Redactions reach the silhouette of a turned head: nothing of the face between the outline of the mesh and its end."""

from __future__ import annotations

from dataclasses import replace

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.fit import FitModel
from streamdeid.aam.piecewise_affine import triangulate
from streamdeid.aam.surface import OVAL
from streamdeid.core.arrays import Flags, Points
from streamdeid.core.faces import Face, Track
from streamdeid.core.frames import Planes
from streamdeid.core.ibug68 import OUTLINE
from streamdeid.observe.neutral import Neutral
from streamdeid.observe.observation import Observation, Observer
from streamdeid.observe.outline import bulge, bulged
from streamdeid.protect.levels import Level
from streamdeid.protect.mask_faces import face_extent, grown
from streamdeid.protect.soft_head import head_of
from streamdeid.protect.soft_redaction import SoftMemory, soft_redaction
from streamdeid.render import blend, turned_face
from streamdeid.render import face as flat_face
from streamdeid.render.blend import Feather
from streamdeid.render.face import Blending, render_surrogate
from streamdeid.render.light import LightFrame
from streamdeid.render.masks import fill
from streamdeid.render.new_face import NewFace
from streamdeid.render.posed_face import PosedFrame, PosedMemory
from tests.drawn_faces import SIZE, Scene, face_at, inside_hull, inside_lips, mesh_at, pose_at, scene, some_identity
from tests.posed_heads import lit_alike, pose_face

_WIDTH = 150.0
_FEATHER = 0.07
"""That of an own face, on its rim all around, share of its width: at half of it the original shows as much as the
cover."""
_NODS = {3: 0.0, 5: 0.3, 7: -0.3}
"""People, and how they nod, radians."""


def filled(mesh: Points, model: AppearanceModel) -> Flags:
    """What of a picture the turned surface of a face covers, mesh (468, 3): all its triangles."""
    covered = np.zeros((SIZE[1], SIZE[0]), np.uint8)
    for triangle in triangulate(np.ascontiguousarray(model.mean_mesh[:, :2]), OVAL):
        cv2.fillConvexPoly(covered, np.round(mesh[triangle, :2] * 16).astype(np.int32), (1,), cv2.LINE_8, 4)
    return covered > 0


def turned_head(model: AppearanceModel, person: int, degrees: float, width: float = _WIDTH) -> Scene:
    shape, texture = model.decode(some_identity(model, person))
    return scene(model, shape, texture, pose_at(model, width, yaw=np.deg2rad(degrees), pitch=_NODS[person]))


def boxed_tight(made: Scene) -> Face:
    """The face in a box from brows to chin and between the outermost landmarks."""
    low, high = made.points[:68].min(axis=0), made.points[:68].max(axis=0)
    return replace(made.face, box=(float(low[0]), float(low[1]), float(high[0]), float(high[1])))


def redacted(
    level: Level,
    original: Planes,
    lit_by: Planes,
    seen: Observation,
    face: Face,
    fitting: FitModel,
    light: LightFrame,
) -> Planes:
    """lit_by: the picture from which the light of a posed face is taken."""
    new = NewFace.of(np.zeros(len(fitting.model.variances)), fitting)
    out = original.copy()
    extent = face_extent(Track(1, face.box, face, 0, False), face)
    if level is Level.OWN_FACE:
        neutral = Neutral(seen.frontal, seen.small_texture)
        assert render_surrogate(out, original, seen, neutral, new, fitting, light, Blending())
    elif level is Level.SOLID:
        fill(out, grown(extent, out.size))
    elif level is Level.POSED:
        frame, memory = PosedFrame.of(fitting, light), PosedMemory()
        assert pose_face(lit_by.copy(), lit_by, face, new, frame, memory)
        assert pose_face(out, original, face, new, frame, lit_alike(memory, new, frame))
    else:
        soft_redaction(out, original, head_of(extent, seen.raw, out.size), SoftMemory())
    return out


def shown(
    level: Level, made: Scene, face: Face, fitting: FitModel, light: LightFrame
) -> tuple[NDArray[np.float64], Flags]:
    """Share (h, w) of a fine pattern on the whole head that a redaction lets through, NaN beside it, and the head."""
    assert made.face.mesh is not None
    head = filled(made.face.mesh, fitting.model)
    seen = Observer(fitting)(made.planes, face, 0.0)
    assert seen is not None
    marked = made.planes.copy()
    marked.y[:] = np.where(head, np.where(made.planes.y < 128, made.planes.y + 40, made.planes.y - 40), made.planes.y)
    speckled = np.random.default_rng(0).uniform(size=head.shape) < 0.5
    marked.y[~speckled] = made.planes.y[~speckled]
    outs = [
        redacted(level, one, made.planes, seen, face, fitting, light).y.astype(float) for one in (made.planes, marked)
    ]
    added = marked.y.astype(float) - made.planes.y
    share: NDArray[np.float64] = np.full(head.shape, np.nan)
    told = np.abs(added) > 20
    share[told] = (outs[1] - outs[0])[told] / added[told]
    return share, head


@pytest.mark.parametrize("person", _NODS)
@pytest.mark.parametrize("degrees", [0, 10, 20, 30, 38, -27, -38])
def test_an_own_face_shows_no_more_of_the_head_than_its_feather_does(
    model: AppearanceModel, fitting: FitModel, light: LightFrame, person: int, degrees: int
) -> None:
    made = turned_head(model, person, degrees)
    share, head = shown(Level.OWN_FACE, made, made.face, fitting, light)
    depth = cv2.distanceTransform(head.astype(np.uint8), cv2.DIST_L2, 5)
    # What shows between open lips is the person's, and the new lips may be wider.
    share[inside_lips(made.points, shrink=-8.0)] = np.nan
    # Half-size weights and the head's ragged rim are worth a pixel and a half.
    assert np.nanmax(share[depth > _FEATHER * _WIDTH / 2 + 1.5]) < 0.5
    assert np.nanmax(share[depth > _FEATHER * _WIDTH + 1.5]) < 0.1
    strip = head & ~inside_hull(made.points)
    if abs(degrees) >= 20:
        assert strip.sum() > 400, "there is something to cover beyond the outline"
        assert np.nanmean(share[strip] > 0.5) < 0.2 and np.nanmean(share[strip]) < 0.25


def test_the_measure_notices_an_outline_that_ends_before_the_head(
    model: AppearanceModel, fitting: FitModel, light: LightFrame
) -> None:
    made = turned_head(model, 3, 27)
    share, head = shown(Level.OWN_FACE, made, replace(made.face, mesh=None), fitting, light)
    strip = head & ~inside_hull(made.points)
    assert np.nanmean(share[strip]) > 0.9


@pytest.mark.parametrize("level", [Level.POSED, Level.SOFT, Level.SOLID])
@pytest.mark.parametrize("person", _NODS)
@pytest.mark.parametrize("degrees", [0, 20, 38, 50, 60, -60])
def test_lower_levels_show_nothing_of_the_head(
    model: AppearanceModel, fitting: FitModel, light: LightFrame, level: Level, person: int, degrees: int
) -> None:
    made = turned_head(model, person, degrees)
    share, _ = shown(level, made, boxed_tight(made), fitting, light)
    assert np.nanmax(np.abs(share)) < 0.03, "what is left is the redaction's own tone"


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 1000), st.floats(-60, 60), st.floats(-25, 25), st.floats(-40, 40), st.floats(20, 250))
def test_the_ellipse_of_a_soft_redaction_contains_the_silhouette(
    model: AppearanceModel, person: int, yaw: float, pitch: float, roll: float, width: float
) -> None:
    shape, _ = model.decode(some_identity(model, person))
    angles = {name: float(np.deg2rad(angle)) for name, angle in (("yaw", yaw), ("pitch", pitch), ("roll", roll))}
    pose = pose_at(model, width, (600.0, 500.0), **angles)
    points = pose.to_image(shape, model.depth)
    face = replace(face_at(points, model, pose.scale), mesh=mesh_at(shape, model, pose))
    assert face.silhouette is not None
    x0, y0 = points[:68].min(axis=0)
    x1, y1 = points[:68].max(axis=0)
    head = head_of((float(x0), float(y0), float(x1), float(y1)), points, (1200, 1000))
    assert head.radii(*face.silhouette.T).max() <= 1
    ends = face_extent(Track(1, face.box, face, 0, False), face)
    low, high = face.silhouette.min(axis=0), face.silhouette.max(axis=0)
    assert (low >= ends[:2]).all() and (high <= ends[2:]).all()


# --- the outline grown


def test_without_a_silhouette_nothing_bulges(model: AppearanceModel) -> None:
    factors = bulge(model.mean_shape, None)
    np.testing.assert_array_equal(factors, np.ones(30))
    np.testing.assert_allclose(bulged(model.mean_shape, factors), model.mean_shape, atol=1e-12)


def test_a_silhouette_inside_the_outline_bulges_nothing(model: AppearanceModel) -> None:
    ring = model.mean_shape[OUTLINE]
    small = ring.mean(axis=0) + 0.9 * (ring - ring.mean(axis=0))
    np.testing.assert_allclose(bulge(model.mean_shape, small), 1)


@settings(max_examples=30, deadline=None)
@given(st.floats(-45, 45), st.integers(0, 100))
def test_a_bulged_outline_contains_the_silhouette(model: AppearanceModel, degrees: float, person: int) -> None:
    shape, _ = model.decode(some_identity(model, person))
    pose = pose_at(model, _WIDTH, yaw=np.deg2rad(degrees))
    points = pose.to_image(shape, model.depth)
    face = replace(face_at(points, model, pose.scale), mesh=mesh_at(shape, model, pose))
    factors = bulge(points, face.silhouette)
    assert factors.shape == (30,) and (factors >= 1).all()
    grown_points = bulged(points, factors)
    inner = np.setdiff1d(np.arange(81), OUTLINE)
    np.testing.assert_array_equal(grown_points[inner], points[inner])
    width = float(np.ptp(points[:, 0]))
    moved = np.linalg.norm(grown_points - points, axis=1)
    assert moved.max() <= 0.26 * width + 1e-6
    if abs(degrees) <= 38:
        polygon = grown_points[OUTLINE].astype(np.float32).reshape(-1, 1, 2)
        assert face.silhouette is not None
        inside = [cv2.pointPolygonTest(polygon, (float(x), float(y)), True) for x, y in face.silhouette]
        assert min(inside) > -0.02 * width, "no farther beyond than the polygon cuts its corners"


def test_a_silhouette_that_is_astray_does_not_tear_the_outline_away(model: AppearanceModel) -> None:
    points = pose_at(model, _WIDTH).to_image(model.mean_shape, model.depth)
    huge = points[OUTLINE].mean(axis=0) + 9 * (points[OUTLINE] - points[OUTLINE].mean(axis=0))
    moved = np.linalg.norm(bulged(points, bulge(points, huge)) - points, axis=1)[OUTLINE]
    np.testing.assert_allclose(moved, 0.26 * np.ptp(points[:, 0]))


def test_a_mesh_that_is_no_numbers_is_no_silhouette(model: AppearanceModel) -> None:
    made = turned_head(model, 3, 20)
    assert made.face.mesh is not None and made.face.silhouette is not None
    broken = made.face.mesh.copy()
    broken[7, 0] = np.nan
    assert replace(made.face, mesh=broken).silhouette is None


def test_the_bulge_grows_at_once_and_shrinks_slowly(model: AppearanceModel, fitting: FitModel) -> None:
    observe = Observer(fitting)
    made = turned_head(model, 3, 27)
    flat = replace(made.face, mesh=None)
    factors = []
    for i, face in enumerate([flat, made.face, flat, flat, made.face]):
        seen = observe(made.planes, face, 0.04 * i)
        assert seen is not None
        factors.append(float(seen.bulge.max()))
    assert factors[0] == 1 and factors[1] == factors[4] > 1.2
    assert 1 < factors[3] < factors[2] < factors[1]


class Step(Feather):
    """Feathers of their shares alone, which are steps in small faces."""

    @classmethod
    def of(cls, width: float) -> Feather:
        return Feather(0.07 * width, 0.03 * width, 0.0)


@pytest.mark.parametrize("width", [24, 34, 48, 62, 84, 150])
@pytest.mark.parametrize("degrees", [0, 24, 26, 28, 32])
def test_a_small_own_face_has_a_soft_rim_and_shows_no_more_for_it(
    model: AppearanceModel,
    fitting: FitModel,
    light: LightFrame,
    monkeypatch: pytest.MonkeyPatch,
    width: int,
    degrees: int,
) -> None:
    made = turned_head(model, 3, degrees, width)
    seen = Observer(fitting)(made.planes, made.face, 0.0)
    assert seen is not None and made.face.mesh is not None
    quick = replace(seen, sweep=np.full_like(seen.sweep, 0.04 * width))
    head = inside_hull(made.points) | filled(made.face.mesh, model)
    head[inside_lips(made.points, shrink=-0.1 * width)] = False
    depth = cv2.distanceTransform(head.astype(np.uint8), cv2.DIST_L2, 5)
    for one in (seen, quick):
        soft = kept_of_the_original(made, one, fitting, light)
        with monkeypatch.context() as patched:
            for module in (flat_face, turned_face):
                patched.setattr(module, "Feather", Step)
            for evened in ("_EVEN", "_DRAWN"):
                patched.setattr(blend, evened, 1e-3)
            step = kept_of_the_original(made, one, fitting, light)
        for there, before, deep in zip(soft, step, (depth, depth[::2, ::2]), strict=True):
            assert there[deep > 0].mean() <= before[deep > 0].mean() + 0.001
            assert (there - before)[deep > 1.5].max() < 0.4
    partly = ((soft[0] > 0.1) & (soft[0] < 0.9)).sum() / ((step[0] > 0.1) & (step[0] < 0.9)).sum()
    assert partly > (1.15 if width < 40 else 0.9)


def kept_of_the_original(
    made: Scene, seen: Observation, fitting: FitModel, light: LightFrame
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Shares of luma (h, w) and chroma (h / 2, w / 2) that blending keeps of what was there before."""
    new = NewFace.of(np.zeros(len(fitting.model.variances)), fitting)
    outs = []
    for before in (60, 160):
        out = Planes(*(np.full_like(plane, before) for plane in (made.planes.y, made.planes.u, made.planes.v)))
        neutral = Neutral(seen.frontal, seen.small_texture)
        assert render_surrogate(out, made.planes, seen, neutral, new, fitting, light, Blending())
        outs.append((out.y.astype(float), out.u.astype(float)))
    (y0, u0), (y1, u1) = outs
    return (y1 - y0) / 100, (u1 - u0) / 100
