"""The posed face: nothing original in its region but the light's numbers, and a face that sits in its place."""

from __future__ import annotations

from dataclasses import replace

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.solid_face import seen as seen_by
from streamdeid.core.arrays import Points
from streamdeid.core.frames import Planes
from streamdeid.core.ibug68 import LEFT_EYE, RIGHT_EYE
from streamdeid.observe.keypoint_pose import KeypointPose
from streamdeid.observe.turned_view import Gesture
from streamdeid.render import posed_face
from streamdeid.render.new_face import NewFace
from streamdeid.render.posed_face import STILL, PosedFrame, PosedHead, PosedMemory, render_posed_face
from streamdeid.render.posed_light import PosedLight
from streamdeid.render.posed_region import face_ellipse, holding
from streamdeid.render.turned_rim import CHIN, NOSE_TIP, TOP, RimProfile
from streamdeid.render.worn import Worn
from tests.drawn_faces import SIZE, Scene, scene, some_identity

X, Y = 160.0, 165.0


def _head(size: float, yaw: float = 0.0, roll: float = 0.0, nod: float = 0.0) -> PosedHead:
    across, down = 0.49 * size, 0.6 * size
    pose = KeypointPose(X, Y, size, *np.radians([yaw, nod, roll]))
    return PosedHead(pose, face_ellipse((X - across, Y - down, X + across, Y + down)))


def _seen(model: AppearanceModel, frame: PosedFrame, head: PosedHead, gain: float = 1.0, seed: int = 3) -> Scene:
    shape, texture = model.decode(some_identity(model, seed))
    return scene(model, shape, np.clip(gain * texture, 0, 255), head.pose.head_pose(frame.outline.head))


def _mask(region: Points, grown: float = 0.0) -> NDArray[np.bool_]:
    """Which pixels lie in a region, or so many pixels beside it."""
    mask = np.zeros((SIZE[1], SIZE[0]), np.uint8)
    cv2.fillConvexPoly(mask, np.round(region * 16).astype(np.int32), (1,), cv2.LINE_8, 4)
    return np.asarray(cv2.distanceTransform(1 - mask, cv2.DIST_L2, 5) <= grown)


def _noisy(planes: Planes, mask: NDArray[np.bool_]) -> Planes:
    """The picture with noise in every sample that touches a mask of luma pixels."""
    rng, out = np.random.default_rng(5), planes.copy()
    half = cv2.dilate(mask.astype(np.uint8), np.ones((2, 2), np.uint8), anchor=(0, 0))[::2, ::2] > 0
    for plane, where in ((out.y, mask), (out.u, half), (out.v, half)):
        plane[where] = rng.integers(0, 256, int(where.sum()), dtype=np.uint8)
    return out


def _same(a: Planes, b: Planes) -> bool:
    return all(np.array_equal(x, y) for x, y in ((a.y, b.y), (a.u, b.u), (a.v, b.v)))


@pytest.fixture
def drawn(frame: PosedFrame, face: NewFace):  # type: ignore[no-untyped-def]
    """Renders a head over a picture: the result, and the region."""

    def render(  # type: ignore[no-untyped-def]
        planes: Planes, head: PosedHead, memory: PosedMemory | None = None, others: tuple[Points, ...] = (), dim=False
    ):
        out, memory = planes.copy(), memory or PosedMemory()
        if dim:  # a light of its own, of which nothing is read
            memory.shape(face, head.gesture, frame)
            memory.light = PosedLight(np.array([-0.3, 0.0, 0.0, 0.0, 0.0, 0.0]), frames=1)
        region = render_posed_face(out, planes, head, face, frame, memory, lambda _corners: others)
        assert region is not None
        return out, region

    return render


@pytest.mark.parametrize("size", [12.0, 30.0, 64.0, 140.0])
@pytest.mark.parametrize(("yaw", "roll"), [(0.0, 0.0), (35.0, 100.0), (-70.0, -20.0), (88.0, 180.0)])
def test_nothing_of_the_region_passes_but_the_lights_numbers(  # type: ignore[no-untyped-def]
    model: AppearanceModel, frame: PosedFrame, face: NewFace, drawn, size: float, yaw: float, roll: float
) -> None:
    head = _head(size, yaw, roll)
    made = _seen(model, frame, head)
    memory = PosedMemory()
    one, region = drawn(made.planes, head, memory)
    noisy = _noisy(made.planes, _mask(region))
    assert not _same(noisy, made.planes)
    free = PosedMemory()
    drawn(noisy, head, free)
    assert free.light.numbers is not None and memory.light.numbers is not None
    assert not np.allclose(free.light.numbers, memory.light.numbers), "the light is read there"
    fixed = PosedMemory()
    fixed.shape(face, STILL, frame)
    fixed.light = PosedLight(memory.light.numbers.copy(), frames=1)
    three, _ = drawn(noisy, head, fixed)
    assert np.array_equal(fixed.light.numbers, memory.light.numbers), "not due: nothing was read"
    assert _same(one, three)


@pytest.mark.parametrize("size", [14.0, 45.0, 120.0])
@pytest.mark.parametrize("yaw", [0.0, 50.0])
def test_nothing_beside_the_regions_soft_rim_changes(  # type: ignore[no-untyped-def]
    model: AppearanceModel, frame: PosedFrame, drawn, size: float, yaw: float
) -> None:
    head = _head(size, yaw)
    made = _seen(model, frame, head)
    out, region = drawn(made.planes, head)
    far = ~_mask(region, max(3.0, 0.08 * size) + 4)
    assert np.array_equal(out.y[far], made.planes.y[far])
    half = far[::2, ::2] & far[1::2, 1::2]
    assert np.array_equal(out.u[half], made.planes.u[half]) and np.array_equal(out.v[half], made.planes.v[half])
    rim = _mask(region, 3.0) & ~_mask(region)
    assert np.abs(out.y[rim].astype(int) - made.planes.y[rim]).mean() < 25, "no edge"


@pytest.mark.parametrize("size", [14.0, 24.0, 40.0])
def test_colours_pass_softly_into_what_is_beside_a_posed_face(drawn, size: float) -> None:  # type: ignore[no-untyped-def]
    y, half = np.full((SIZE[1], SIZE[0]), 40, np.uint8), (SIZE[1] // 2, SIZE[0] // 2)
    navy = Planes(y, np.full(half, 150, np.uint8), np.full(half, 118, np.uint8))
    navy.v[::2] += 2  # cloth of one hue is no picture without colours
    out, region = drawn(navy, _head(size), dim=True)
    row = out.u[int(Y) // 2].astype(int)
    assert 150 - row.min() > 15, "there is skin"
    assert np.abs(np.diff(row)).max() < 0.6 * (150 - row.min()), "dark cloth beside it would be orange"
    beyond = ~_mask(region, 0.5)[::2, ::2]
    assert np.abs(out.u[beyond].astype(int) - 150).max() <= 12, "nothing but what was filled is blurred in"


@pytest.mark.parametrize("yaw", [-60.0, -25.0, 0.0, 40.0, 85.0])
def test_the_region_holds_a_person_at_the_pose(  # type: ignore[no-untyped-def]
    model: AppearanceModel, frame: PosedFrame, drawn, yaw: float
) -> None:
    head = _head(60.0, yaw, 15.0, -10.0)
    made = _seen(model, frame, head, seed=21)
    _, region = drawn(made.planes, head)
    assert made.face.mesh is not None
    assert holding(region, made.face.mesh[:, :2]).all() and holding(region, head.ellipse).all()


def test_the_level_of_the_light_is_the_persons(model: AppearanceModel, frame: PosedFrame, drawn) -> None:  # type: ignore[no-untyped-def]
    head, levels = _head(80.0), []
    for gain in (0.35, 0.6, 1.0):
        made = _seen(model, frame, head, gain)
        out, _ = drawn(made.planes, head)
        cheeks = _mask(head.ellipse.mean(axis=0) + 0.5 * (head.ellipse - head.ellipse.mean(axis=0)))
        levels.append((out.y[cheeks].mean(), made.planes.y[cheeks].mean()))
    for shown, seen in levels:
        assert shown == pytest.approx(seen, rel=0.2)


def test_where_there_is_paper_the_face_is_not_white(  # type: ignore[no-untyped-def]
    model: AppearanceModel, frame: PosedFrame, drawn
) -> None:
    """The pose is beside the head: under its skin is white paper, and the detection's box says what the tone is."""
    head = _head(60.0)
    made = _seen(model, frame, head, 0.3)
    planes = made.planes.copy()
    planes.y[:, 200:], planes.u[:, 100:], planes.v[:, 100:] = 235, 128, 128
    beside = replace(head, pose=replace(head.pose, x=X + 80.0))
    out, _ = drawn(planes, beside)
    cheeks = _mask(np.array([X + 80, Y]) + 0.4 * (head.ellipse - (X, Y)))
    tone = np.median(made.planes.y[_mask(np.array([X, Y]) + 0.6 * (head.ellipse - (X, Y)))])
    assert out.y[cheeks].mean() < 2.3 * tone < 200


def test_the_light_is_slow(model: AppearanceModel, frame: PosedFrame, drawn) -> None:  # type: ignore[no-untyped-def]
    head, memory = _head(60.0), PosedMemory()
    bright, dark = (_seen(model, frame, head, gain) for gain in (1.0, 0.7))
    for _ in range(15):
        drawn(bright.planes, head, memory)
    assert memory.light.numbers is not None
    before = float(memory.light.numbers[0])
    wanted = PosedMemory()
    drawn(dark.planes, head, wanted)
    assert wanted.light.numbers is not None
    change = float(wanted.light.numbers[0]) - before
    for _ in range(3):
        drawn(dark.planes, head, memory)
    assert change < -0.2 and change / 2 < float(memory.light.numbers[0]) - before < 0
    for _ in range(60):
        drawn(dark.planes, head, memory)
    assert float(memory.light.numbers[0]) - before == pytest.approx(change, rel=0.1)


def test_light_from_one_side_falls_on_that_side(model: AppearanceModel, frame: PosedFrame, drawn) -> None:  # type: ignore[no-untyped-def]
    head = _head(100.0)
    made = _seen(model, frame, head)
    across = np.linspace(0.4, 1.6, SIZE[0])
    planes = made.planes.copy()
    planes.y[:] = np.clip(16 + (planes.y.astype(float) - 16) * across**2.5, 16, 235).astype(np.uint8)
    even, _ = drawn(made.planes, head)
    lit, _ = drawn(planes, head)
    left, right = (_mask(np.array([X + s * 22, Y]) + 0.25 * (head.ellipse - (X, Y))) for s in (-1, 1))
    assert lit.y[right].mean() / lit.y[left].mean() > 1.15 * even.y[right].mean() / even.y[left].mean()


def test_beyond_the_profile_is_background_and_behind_it_skin(  # type: ignore[no-untyped-def]
    model: AppearanceModel, frame: PosedFrame, face: NewFace, drawn
) -> None:
    head = _head(100.0, -75.0)
    made = _seen(model, frame, head)
    planes = made.planes.copy()
    _, region = drawn(planes, head)
    outside = ~_mask(region)
    planes.y[outside] = 30
    out, _ = drawn(planes, head, dim=True)
    view = head.pose.head_pose(frame.outline.head)
    memory = PosedMemory()
    solid, _ = memory.shape(face, STILL, frame)
    mesh = seen_by(solid, view)[:, :2]
    nose, chin, cheek = mesh[4], mesh[152], mesh[132]
    beyond = (nose + chin) / 2 + (0.1 * 100.0, 0.0)
    behind = cheek - np.array([1.0, 0.0])
    assert holding(region, np.array([beyond, behind])).all()
    there, here = (float(out.y[int(y) - 1 : int(y) + 2, int(x) - 1 : int(x) + 2].mean()) for x, y in (beyond, behind))
    assert there < 40 and here > 60


def test_of_other_heads_nothing_is_carried_in(model: AppearanceModel, frame: PosedFrame, drawn) -> None:  # type: ignore[no-untyped-def]
    head = _head(50.0)
    made = _seen(model, frame, head)
    other = np.array([[175.0, 40.0], [319.0, 40.0], [319.0, 300.0], [175.0, 300.0]])
    planes = made.planes.copy()
    _, region = drawn(planes, head)
    beside = _mask(other) & ~_mask(region, 12.0)
    changed = planes.copy()
    changed.y[beside] = 255
    near = other + np.array([region[:, 0].max() + 1 - 175, 0.0])
    barred = changed.copy()
    barred.y[_mask(near) & ~_mask(region)] = 255
    plain = planes.copy()
    plain.y[_mask(near) & ~_mask(region)] = 0
    a, b = (drawn(each, head, others=(near,), dim=True)[0] for each in (barred, plain))
    inside = _mask(region)
    assert np.abs(a.y[inside].astype(int) - b.y[inside]).max() <= 1
    c = drawn(barred, head, dim=True)[0]
    assert np.abs(c.y[inside].astype(int) - b.y[inside]).max() > 30, "the test notices what is carried"


def test_eyes_look_straight_ahead_and_close_when_told(  # type: ignore[no-untyped-def]
    model: AppearanceModel, frame: PosedFrame, face: NewFace, drawn
) -> None:
    head = _head(140.0)
    made = _seen(model, frame, head)
    out, _ = drawn(made.planes, head, dim=True)
    shut, _ = drawn(made.planes, replace(head, gesture=replace(STILL, lids=(0.0, 0.0))), dim=True)
    _, shape = PosedMemory().shape(face, STILL, frame)
    laid = head.pose.head_pose(frame.outline.head).to_image(shape.shape, shape.depth)
    for lids in (LEFT_EYE, RIGHT_EYE):
        mask = np.zeros(out.y.shape, np.uint8)
        cv2.fillPoly(mask, [np.round(laid[lids]).astype(np.int32)], (1,))
        values = out.y[mask > 0].astype(float)
        _, columns = np.nonzero((mask > 0) & (out.y <= np.percentile(values, 20)))
        assert np.ptp(values) > 40 and abs(columns.mean() - laid[lids][:, 0].mean()) < 0.15 * np.ptp(laid[lids][:, 0])
        assert np.median(shut.y[mask > 0]) > np.median(values) + 10, "no pupil, a line of lashes at most"


def test_a_gesture_comes_and_goes_softly_and_small_changes_of_it_are_none() -> None:
    told = Gesture(0.5, 4.0, 1.0, -4.0, (0.2, 0.4), (5.0, -5.0))
    memory = PosedMemory()
    first = memory.gesture(told)
    assert np.allclose(flat(first), flat(told), atol=0.11), "a face that begins has it at once"
    gone = [memory.gesture(None) for _ in range(4)]
    assert [round(one.smile, 2) for one in gone] == [0.66, 0.32, 0.0, 0.0] and gone[-1] == STILL
    assert gone[0].lids == pytest.approx((1 - 0.8 * 0.66, 1 - 0.6 * 0.66), abs=0.011)
    back = [memory.gesture(told) for _ in range(4)]
    assert [round(one.smile, 2) for one in back] == [0.34, 0.68, 1.0, 1.0] and back[-1] == first
    assert memory.gesture(replace(told, smile=0.995, gape=0.495, lids=(0.205, 0.395))) == first, "nothing is made anew"
    assert memory.gesture(replace(told, wider=-4.05, upper=4.05, raised=(5.05, -5.05))) == first
    memory.rest()
    assert memory.gesture(None) == STILL, "what was told before a break is not shown after it"
    memory.rest()
    assert memory.gesture(told) == first


def flat(gesture: Gesture) -> list[float]:
    return [gesture.gape, gesture.upper, gesture.smile, gesture.wider, *gesture.lids, *gesture.raised]


def test_an_open_mouth_is_dark_inside(model: AppearanceModel, frame: PosedFrame, drawn) -> None:  # type: ignore[no-untyped-def]
    head = _head(120.0)
    made = _seen(model, frame, head)
    shut, _ = drawn(made.planes, head, dim=True)
    open_mouth = replace(head, gesture=replace(STILL, gape=0.5))
    wide, _ = drawn(made.planes, open_mouth, dim=True)
    middle = (
        head.pose.head_pose(frame.outline.head).to_image(np.array([[99.5, 176.0]]), np.array([-20.0]))[0].astype(int)
    )
    where = slice(middle[1] - 3, middle[1] + 4), slice(middle[0] - 3, middle[0] + 4)
    assert wide.y[where].mean() < shut.y[where].mean() - 20


def test_the_inside_of_a_mouth_goes_as_a_mask_comes(  # type: ignore[no-untyped-def]
    model: AppearanceModel, frame: PosedFrame, face: NewFace, drawn, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = replace(_head(120.0), gesture=replace(STILL, gape=0.5))
    made, strengths = _seen(model, frame, head), []
    monkeypatch.setattr(posed_face, "render_inside", lambda *given: strengths.append(given[-1]))
    masks = [Worn(share, np.full(3, 200.0), True) for share in (0.0, 0.35, 0.45, 1.0)]
    for mask in masks:
        memory = PosedMemory()
        memory.shape(face, head.gesture, frame)
        memory.light = PosedLight(np.array([-0.3, 0.0, 0.0, 0.0, 0.0, 0.0]), frames=1, mask=mask)
        drawn(made.planes, head, memory)
    assert strengths == pytest.approx([1 - mask.shown for mask in masks if mask.shown < 1])
    assert 2 <= len(strengths) < 4


def test_what_cannot_be_drawn_changes_nothing(model: AppearanceModel, frame: PosedFrame, face: NewFace) -> None:
    head = _head(50.0)
    made = _seen(model, frame, head)
    for pose in (
        replace(head.pose, size=7.0),
        replace(head.pose, size=float("nan")),
        replace(head.pose, size=float("inf")),
        replace(head.pose, yaw=float("nan")),
        replace(head.pose, x=-500.0),
    ):
        out = made.planes.copy()
        far = replace(head, pose=pose, ellipse=head.ellipse + np.array([pose.x - X, 0.0]))
        assert render_posed_face(out, made.planes, far, face, frame, PosedMemory()) is None
        assert _same(out, made.planes)
    out = made.planes.copy()
    odd = replace(head, ellipse=np.full((32, 2), np.nan))
    assert render_posed_face(out, made.planes, odd, face, frame, PosedMemory()) is None and _same(out, made.planes)


def test_a_face_that_shrinks_does_not_flicker_about_the_smallest(
    model: AppearanceModel, frame: PosedFrame, face: NewFace
) -> None:
    memory, drawn = PosedMemory(), []
    made = _seen(model, frame, _head(8.0))
    for size in (7.9, 8.1, 7.9, 7.1, 6.9):
        out = made.planes.copy()
        drawn.append(render_posed_face(out, made.planes, _head(size), face, frame, memory) is not None)
    assert drawn == [False, True, True, True, False]


def test_a_surrogate_that_is_no_number_is_not_drawn(model: AppearanceModel, frame: PosedFrame, face: NewFace) -> None:
    head = _head(50.0)
    made = _seen(model, frame, head)
    out = made.planes.copy()
    broken = replace(face, picture=np.full_like(face.picture, np.nan))
    assert render_posed_face(out, made.planes, head, broken, frame, PosedMemory()) is None
    assert _same(out, made.planes)


@pytest.mark.parametrize(("x", "y"), [(2.0, 160.0), (318.0, 160.0), (160.0, 3.0), (160.0, 317.0), (1.0, 1.0)])
def test_a_head_at_the_border_is_covered_as_far_as_it_is_seen(  # type: ignore[no-untyped-def]
    model: AppearanceModel, frame: PosedFrame, drawn, x: float, y: float
) -> None:
    head = _head(60.0, 20.0)
    head = replace(head, pose=replace(head.pose, x=x, y=y), ellipse=head.ellipse + np.array([x - X, y - Y]))
    made = _seen(model, frame, head)
    one, region = drawn(made.planes, head, dim=True)
    two, _ = drawn(_noisy(made.planes, _mask(region)), head, dim=True)
    assert _same(one, two)


@pytest.mark.parametrize("size", [16.0, 30.0, 60.0])
def test_in_a_picture_without_colours_a_posed_face_has_none(  # type: ignore[no-untyped-def]
    model: AppearanceModel, frame: PosedFrame, drawn, size: float
) -> None:
    made = _seen(model, frame, _head(size))
    coloured, _ = drawn(made.planes, _head(size))
    assert np.ptp(coloured.v) > 2, "it has colours elsewhere"
    grey = Planes(made.planes.y, np.full_like(made.planes.u, 128), np.full_like(made.planes.v, 128))
    out, _ = drawn(grey, _head(size))
    assert not np.array_equal(out.y, grey.y)
    assert np.abs(out.u.astype(int) - 128).max() <= 1 and np.abs(out.v.astype(int) - 128).max() <= 1


def _width(planes: Planes, backdrop: float) -> float:
    """How wide a head is before a dark backdrop: where it is half as bright as in its middle, pixels."""
    rows = planes.y[int(Y) - 2 : int(Y) + 3].astype(float).mean(axis=0) - backdrop
    inside = np.flatnonzero(rows > 0.5 * np.median(rows[int(X) - 3 : int(X) + 4]))
    return float(inside[-1] - inside[0] + 1)


_DARK = Planes(np.full((320, 320), 30, np.uint8), *(np.full((160, 160), 128, np.uint8) for _ in range(2)))


@pytest.mark.parametrize("size", [12.0, 20.0, 40.0, 100.0])
def test_a_posed_head_is_about_as_wide_as_a_head(drawn, size: float) -> None:  # type: ignore[no-untyped-def]
    """Heads are 1.07 to 1.11 times as wide as the mesh; 1.5 pixels more are the softness of small ones."""
    head, reach = _head(size), 0.85 * size  # regions are large where a detector's box is
    out, _ = drawn(_DARK, replace(head, ellipse=face_ellipse((X - reach, Y - reach, X + reach, Y + reach))), dim=True)
    assert 0.98 * size - 1 <= _width(out, 30.0) <= 1.11 * size + 1.5


@pytest.mark.parametrize("yaw", [-6.0, -1.0, 0.0, 3.0])
def test_seen_from_the_front_it_does_not_matter_to_which_side_a_nose_points(  # type: ignore[no-untyped-def]
    drawn, monkeypatch: pytest.MonkeyPatch, yaw: float
) -> None:
    """Surrogates are not symmetric, and a nose that passes the line from forehead to chin is no jump."""
    profile_of = RimProfile.of

    def shown(side: float) -> tuple[Planes, float]:
        sides = []

        def pointing(mesh: Points, yaw: float) -> RimProfile:
            moved = mesh.copy()
            moved[NOSE_TIP, 0] = (mesh[TOP, 0] + mesh[CHIN, 0]) / 2 + side
            sides.append(profile_of(moved, yaw).beyond)
            return profile_of(moved, yaw)

        monkeypatch.setattr(RimProfile, "of", pointing)
        out, _ = drawn(_DARK, _head(20.0, yaw), dim=True)
        return out, sides[0]

    (left, one), (right, other) = shown(-1.0), shown(1.0)
    assert one == -other != 0 and _same(left, right)
