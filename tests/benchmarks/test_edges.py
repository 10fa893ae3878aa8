"""Nothing of the original between the face and its cover when the head is quick, smeared, or new after a cut."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.fit import FitModel
from streamdeid.aam.pose import HeadPose
from streamdeid.core.arrays import Points
from streamdeid.core.camera_motion import CameraMotion
from streamdeid.core.faces import Face
from streamdeid.core.frames import Planes
from streamdeid.core.ibug68 import OUTLINE
from streamdeid.observe.neutral import Neutral
from streamdeid.observe.observation import Observation, Observer
from streamdeid.observe.outline import reaching
from streamdeid.observe.signals import relative_sharpness
from streamdeid.protect.levels import Level
from streamdeid.render.face import Blending, render_surrogate
from streamdeid.render.light import LightFrame
from streamdeid.render.masks import fill, fill_ellipse, solid_fill
from streamdeid.render.new_face import NewFace
from streamdeid.render.posed_face import PosedFrame, PosedMemory
from tests.drawn_faces import inside_hull, pose_at, scene, some_identity
from tests.posed_heads import lit_alike, pose_face

_STEP = 0.04
_WIDTH = 100.0


def outside(points: Points, cover: Points) -> float:
    """By how many pixels the outline of points (81, 2) reaches beyond that of another mesh, at its vertices."""
    polygon = cover[OUTLINE].astype(np.float32).reshape(-1, 1, 2)
    return max(-cv2.pointPolygonTest(polygon, (float(x), float(y)), True) for x, y in points[OUTLINE])


def turned(
    model: AppearanceModel, x: float = 160.0, y: float = 160.0, width: float = _WIDTH, **angles: float
) -> Points:
    return pose_at(model, width, (x, y), **angles).to_image(model.mean_shape, model.depth)


@settings(max_examples=60, deadline=None)
@given(
    st.floats(-40, 40), st.floats(-40, 40), st.floats(0.8, 1.25), st.floats(-0.6, 0.6), st.floats(-0.4, 0.4),
    st.floats(-0.5, 0.5),
)  # fmt: skip
def test_a_grown_outline_contains_both(
    model: AppearanceModel, x: float, y: float, size: float, yaw: float, pitch: float, roll: float
) -> None:
    slow = turned(model)
    quick = turned(model, 160 + x, 160 + y, size * _WIDTH, yaw=yaw, pitch=pitch, roll=roll)
    grown = reaching(slow, (quick,), (quick,), _WIDTH)
    assert outside(slow, grown) <= 0.2
    if grown is slow:
        assert outside(quick, slow) <= 0.03 * _WIDTH + 0.2, "left alone only where it overhangs by less"
    else:
        assert outside(quick, grown) <= 0.2
    inner = np.setdiff1d(np.arange(len(slow)), OUTLINE)
    np.testing.assert_array_equal(grown[inner], slow[inner])


def test_a_slow_head_changes_nothing(model: AppearanceModel) -> None:
    slow = turned(model)
    assert reaching(slow, (turned(model, 161.0, 159.0, 101.0), slow), (slow,), _WIDTH) is slow


def smeared(model: AppearanceModel, poses: Sequence[HeadPose]) -> Planes:
    """What a camera films whose shutter is open while a face of the model goes through poses."""
    shape, texture = model.decode(some_identity(model, 3))
    moments = [scene(model, shape, texture, pose).planes for pose in poses]
    y, u, v = (np.mean([getattr(m, p) for m in moments], axis=0).round().astype(np.uint8) for p in ("y", "u", "v"))
    return Planes(y, u, v)


def follow(
    model: AppearanceModel, fitting: FitModel, poses: list[HeadPose], filmed: Sequence[HeadPose] | None = None
) -> list[Observation]:
    """A face of the model observed in a row of poses; filmed: what it went through while the last picture was taken."""
    shape, texture = model.decode(some_identity(model, 3))
    observe, seen = Observer(fitting), []
    for i, pose in enumerate(poses):
        made = scene(model, shape, texture, pose)
        if filmed is not None and i == len(poses) - 1:
            made = replace(made, planes=smeared(model, filmed))
        found = observe(made.planes, made.face, i * _STEP)
        assert found is not None
        seen.append(found)
    return seen


def test_the_sweep_is_half_the_motion_and_all_of_it_while_it_begins(model: AppearanceModel, fitting: FitModel) -> None:
    places = [100, 100, 105, 110, 110]
    seen = follow(model, fitting, [pose_at(model, _WIDTH, (x, 160.0)) for x in places])
    np.testing.assert_allclose([s.sweep[0, 0] for s in seen], [0, 0, 2.5, 2.5, 2.5], atol=1e-6)
    assert [s.onset for s in seen[2:]] == [True, False, False]
    assert seen[0].fresh and not any(s.fresh for s in seen[1:])


def test_a_sharp_face_was_not_smeared_however_far_it_moved(model: AppearanceModel, fitting: FitModel) -> None:
    poses = [pose_at(model, _WIDTH, (x, 160.0)) for x in (120.0, 120.0, 150.0)]
    shutter = [pose_at(model, _WIDTH, (x, 160.0)) for x in np.linspace(135.0, 165.0, 31)]
    sharp, smear = follow(model, fitting, poses)[-1], follow(model, fitting, poses, shutter)[-1]
    assert np.linalg.norm(sharp.sweep, axis=1).max() < 0.035 * _WIDTH
    assert np.linalg.norm(smear.sweep, axis=1).min() == pytest.approx(15, abs=0.1)


def test_a_face_that_is_soft_where_it_stands_was_not_smeared_as_far_as_it_moved(
    model: AppearanceModel, fitting: FitModel
) -> None:
    """Out of focus; it stands, and is moved by a fifth of its width, as by a camera that is turned. Smeared, too, it
    has all of its sweep, and so it has where nobody ever saw it stand."""

    def last(places: Sequence[float], smear: Sequence[float] = ()) -> Observation:
        shape, texture = model.decode(some_identity(model, 3))
        observe = Observer(fitting)
        for index, x in enumerate(places):
            made = scene(model, shape, texture, pose_at(model, _WIDTH, (x, 160.0)))
            planes = made.planes
            if smear and index == len(places) - 1:
                planes = smeared(model, [pose_at(model, _WIDTH, (at, 160.0)) for at in smear])
            soft = np.asarray(cv2.GaussianBlur(planes.y, (0, 0), 0.022 * _WIDTH), np.uint8)
            seen = observe(replace(planes, y=soft), made.face, index * _STEP)
        assert seen is not None and relative_sharpness(seen.signals.sharpness, _WIDTH) < 0.75
        return seen

    places = [120.0] * 6 + [120.0 + 0.2 * _WIDTH]
    half = 0.1 * _WIDTH
    smear = np.linspace(places[-1] - half, places[-1] + half, 31).tolist()
    assert np.linalg.norm(last(places).sweep, axis=1).max() < 0.05 * _WIDTH
    assert np.linalg.norm(last(places, smear).sweep, axis=1).min() > 0.9 * half
    assert np.linalg.norm(last([places[0], places[-1]]).sweep, axis=1).min() > 0.9 * half


def test_one_frame_out_of_focus_holds_no_smear_back(model: AppearanceModel, fitting: FitModel) -> None:
    observer, half = Observer(fitting), np.tile([0.12 * _WIDTH, 0.0], (81, 1))
    for sharpness in (0.95, 0.95, 0.5, 0.95):  # it stands
        observer._bounded(0 * half, _WIDTH, sharpness, False)
    assert np.linalg.norm(observer._bounded(half, _WIDTH, 0.45, False), axis=1).min() > 0.11 * _WIDTH


def test_a_face_that_was_not_seen_while_the_camera_moved_twice_is_expected_where_both_took_it(
    model: AppearanceModel, fitting: FitModel
) -> None:
    shape, texture = model.decode(some_identity(model, 3))
    observe = Observer(fitting)
    right = CameraMotion(np.eye(2), np.array([0.4 * _WIDTH, 0.0]))
    first = scene(model, shape, texture, pose_at(model, _WIDTH, (80.0, 160.0)))
    observe(first.planes, first.face, 0.0)
    observe.carried(right)
    observe.carried(right)
    there = scene(model, shape, texture, pose_at(model, _WIDTH, (80.0 + 0.8 * _WIDTH, 160.0)))
    seen = observe(there.planes, there.face, 2 * _STEP)
    assert seen is not None and not seen.fresh


def test_pictures_that_lie_seconds_apart_are_no_motion(model: AppearanceModel, fitting: FitModel) -> None:
    shape, texture = model.decode(some_identity(model, 3))
    observe = Observer(fitting)
    for i, x in enumerate((150.0, 165.0)):
        made = scene(model, shape, texture, pose_at(model, _WIDTH, (x, 160.0)))
        seen = observe(made.planes, made.face, 10.0 * i)
    assert seen is not None and np.abs(seen.sweep).max() < 0.1


def test_after_a_jump_nothing_of_the_last_scene_is_used(model: AppearanceModel, fitting: FitModel) -> None:
    """A cut that nobody noticed: another face, elsewhere, under the same track."""
    first = [pose_at(model, 80.0, (90.0, 160.0), yaw=0.3)] * 4
    second = pose_at(model, 120.0, (220.0, 150.0), yaw=-0.3)
    seen = follow(model, fitting, [*first, second])[-1]
    alone = follow(model, fitting, [second])[0]
    assert seen.fresh
    np.testing.assert_array_equal(seen.points, alone.points)
    np.testing.assert_array_equal(seen.fit.points, alone.fit.points)
    assert seen.signals == alone.signals


def patterned(planes: Planes, points: Points, rng: np.random.Generator) -> tuple[Planes, NDArray[np.float64]]:
    """The picture with a fine pattern over the whole face, and what it adds, (h, w)."""
    marked = planes.copy()
    noise = rng.choice([-40, 40], planes.y.shape) * inside_hull(points, planes.size)
    marked.y[:] = np.clip(planes.y.astype(int) + noise, 0, 255)
    return marked, marked.y.astype(np.float64) - planes.y


def survived(
    model: AppearanceModel, fitting: FitModel, light: LightFrame, seen: Observation, original: Planes, points: Points,
    level: Level, found: Face | None = None,
) -> NDArray[np.float64]:  # fmt: skip
    """Share of a pattern on the face at points (81, 2) that a cover lets through, (h, w); NaN beside the face. found:
    what the detector says of that frame, where a posed face is asked for."""
    marked, added = patterned(original, points, np.random.default_rng(0))
    face = NewFace.of(np.zeros(len(model.variances)), fitting)
    frame, memory = PosedFrame.of(fitting, light), PosedMemory()
    outs = []
    for picture in (original, marked):
        out = picture.copy()
        if level is Level.OWN_FACE:
            neutral = Neutral(seen.frontal, seen.small_texture, seen.hair)
            assert render_surrogate(out, picture, seen, neutral, face, fitting, light, Blending())
        else:
            assert found is not None
            assert pose_face(out, picture, found, face, frame, memory)
            memory = lit_alike(memory, face, frame)
        outs.append(out.y.astype(np.float64))
    told = outs[1] - outs[0]
    if level is Level.POSED:  # its light follows that of the head: the pattern alone is asked for
        told, added = (one - cv2.GaussianBlur(one, (0, 0), 2.0) for one in (told, added.astype(np.float64)))
        power = cv2.blur(added * added, (9, 9))
        slope: NDArray[np.float64] = cv2.blur(told * added, (9, 9)) / np.maximum(power, 1e-9)
        return np.where(power > 50, slope, np.nan)
    share: NDArray[np.float64] = np.where(np.abs(added) > 20, told / np.where(added == 0, 1, added), np.nan)
    return share


def alive(share: NDArray[np.float64]) -> float:
    """Share of the face's pixels that show the original more than the cover."""
    return float((share > 0.5).sum() / np.isfinite(share).sum())


@pytest.mark.parametrize("level", [Level.OWN_FACE, Level.POSED])
@pytest.mark.parametrize("angle", [{"x": 12.0}, {"yaw": 0.28}, {"pitch": -0.28}, {"roll": 0.28}])
def test_a_quick_head_stays_inside_its_cover(
    model: AppearanceModel, fitting: FitModel, light: LightFrame, level: Level, angle: dict[str, float]
) -> None:
    """400 degrees a second, or an eighth of the width a frame: wherever it was while the shutter was open."""

    def pose(t: float) -> HeadPose:
        turn = {name: t * value for name, value in angle.items() if name != "x"}
        return pose_at(model, _WIDTH, (160.0 + t * angle.get("x", 0.0), 160.0), **turn)

    shape, texture = model.decode(some_identity(model, 3))
    shutter = [pose(t) for t in np.linspace(1.5, 2.5, 17)]
    seen = follow(model, fitting, [pose(0.0)] * 5 + [pose(1.0), pose(2.0)], shutter)[-1]
    made = scene(model, shape, texture, pose(2.0))
    for moment in (1.5, 2.0, 2.5):
        points = pose(moment).to_image(shape, model.depth)
        share = survived(model, fitting, light, seen, made.planes, points, level, made.face)
        core = inside_hull(points, shrink=0.08 * _WIDTH)
        assert np.nanmax(np.abs(share[core])) < (0.3 if level is Level.OWN_FACE else 0.1)
        if reaching(seen.points, seen.places, seen.farthest, seen.width) is not seen.points:
            assert alive(share) < 0.03, moment


def test_the_measure_notices_a_cover_that_lags(model: AppearanceModel, fitting: FitModel, light: LightFrame) -> None:
    shape, texture = model.decode(some_identity(model, 3))
    poses = [pose_at(model, _WIDTH, (160.0 + x, 160.0)) for x in (0.0, 0.0, 0.0, 12.0)]
    seen = follow(model, fitting, poses)
    late = replace(
        seen[-1], points=seen[0].points, pose=seen[0].pose, raw=seen[0].raw, sweep=np.zeros_like(seen[0].raw)
    )
    points = poses[-1].to_image(shape, model.depth)
    share = survived(
        model, fitting, light, late, scene(model, shape, texture, poses[-1]).planes, points, Level.OWN_FACE
    )
    assert alive(share) > 0.1


def test_fills_in_place_are_the_fills() -> None:
    rng = np.random.default_rng(1)
    y, u, v = (rng.integers(0, 255, shape, dtype=np.uint8) for shape in ((61, 81), (31, 41), (31, 41)))
    planes = Planes(y, u, v)
    for box in (
        (10.3, 5.0, 50.7, 44.2),
        (-20.0, -20.0, 15.0, 9.0),
        (70.0, 50.0, 100.0, 90.0),
        (100.0, 0.0, 120.0, 9.0),
    ):
        there = planes.copy()
        fill(there, box, (90, 120, 140))
        wanted = solid_fill(planes, box, (90, 120, 140))
        for name in ("y", "u", "v"):
            np.testing.assert_array_equal(getattr(there, name), getattr(wanted, name))
    oval = planes.copy()
    fill_ellipse(oval, (20.0, 10.0, 60.0, 50.0), (90, 120, 140))
    changed = oval.y != planes.y
    assert (oval.y[30, 22:58] == 90).all() and (oval.u[15, 11:29] == 120).all()
    assert not changed[:, :20].any() and not changed[:10].any() and not changed[11, 21]
