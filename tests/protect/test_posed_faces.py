"""Posed faces beside each other: nothing is taken from a head that is still to be replaced; the larger lies above."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, cast

import cv2
import numpy as np
import pytest

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.fit import FitModel
from streamdeid.aam.synthesise import Patch
from streamdeid.core.arrays import Box, Plane, Points
from streamdeid.core.faces import Face, Track
from streamdeid.core.frames import Colour, Frame, Planes
from streamdeid.observe.keypoint_pose import KeypointPose
from streamdeid.observe.posed_view import PosedView
from streamdeid.protect import posed_faces
from streamdeid.protect.levels import Cause, Level
from streamdeid.protect.pending import PendingFrame
from streamdeid.protect.plan import Plan
from streamdeid.protect.posed_faces import PosedFaces
from streamdeid.protect.replace_faces import _width
from streamdeid.render.light import LightFrame
from streamdeid.render.new_face import NewFace
from streamdeid.render.posed_face import PosedFrame, PosedHead
from streamdeid.render.posed_region import face_ellipse
from tests.drawn_faces import some_identity
from tests.filmed import Drawn, Filmed, drawer, keypoints, track

SIZE = 240, 240


@pytest.fixture(scope="module")
def drawn(model: AppearanceModel) -> Drawn:
    return drawer(model)


def plan(number: int, x: float, y: float, size: float, level: Level = Level.POSED, box: float = 0.45) -> Plan:
    """A head of a width at a place. box: half the width of the detector's box, as a share."""
    face_at = x - 0.45 * size, y - 0.6 * size, x + 0.45 * size, y + 0.6 * size
    seen = x - box * size, y - 0.6 * size, x + box * size, y + 0.6 * size
    view = PosedView(KeypointPose(x, y, size, 0.0, 0.0, 0.0), face_at, seen, True)
    track = Track(number, seen, Face(seen, 0.9, evidence=0.9), missed=0, ambiguous=False)
    return Plan(track, (seen, None, SIZE), level, posed=view, tracklet=number)


def _pending(picture: Planes, number: int = 0) -> PendingFrame[None]:
    """A frame of a stream of five pictures a second."""
    return PendingFrame(Frame(picture, Fraction(number, 5), number), [], None)


@pytest.mark.parametrize(
    ("small", "large", "apart"), [(14, 18, (0, -26)), (16, 20, (6, -28)), (20, 22, (0, -34)), (30, 40, (-52, -6))]
)
def test_nothing_is_taken_from_a_head_that_is_replaced_later_nor_remembered_of_it(
    model: AppearanceModel,
    fitting: FitModel,
    light: LightFrame,
    small: float,
    large: float,
    apart: tuple[float, float],
) -> None:
    """Of two heads, the second of which is rendered after the first and leaves, the original is black or white."""
    face, frame = NewFace.of(some_identity(model, 8), fitting), PosedFrame.of(fitting, light)
    first, second = plan(1, 120, 150, small), plan(2, 120 + apart[0], 150 + apart[1], large)
    assert second.posed is not None
    its = PosedHead(second.posed.pose, face_ellipse(second.posed.box)).region(frame)
    published: list[list[Plane]] = []
    for luma in (20, 230):
        posed, pictures = PosedFaces(fitting, light), []
        for number in range(16):
            heads = [first, second] if number < 9 else [first]
            original = Planes(
                *(np.full(shape, 128, np.uint8) for shape in ((240, 240), (120, 120), (120, 120))), Colour()
            )
            if len(heads) == 2:
                cv2.fillConvexPoly(original.y, np.round(its).astype(np.int32), (luma,))
            out = original.copy()
            pending = _pending(original, number)
            posed.begin(heads, pending)
            for one in heads:
                assert posed.render(out, original, one, face, heads)
            posed.end(out, pending, heads)
            inside = np.zeros((240, 240), np.uint8)
            cv2.fillConvexPoly(inside, np.round(its).astype(np.int32), (1,))
            away = cv2.dilate(inside, np.ones((17, 17), np.uint8)) == 0
            pictures.append(np.where(away | (number >= 9), out.y, 0))
        published.append(pictures)
    for black, white in zip(*published, strict=True):
        assert np.abs(black.astype(int) - white).max() <= 2


def _in_profile(head: Plan) -> Plan:
    """The same head in profile."""
    assert head.posed is not None
    return replace(head, posed=replace(head.posed, pose=replace(head.posed.pose, yaw=1.2)))


def _wall() -> Planes:
    cells = np.random.default_rng(2).integers(40, 220, (30, 30), dtype=np.uint8)
    return Planes(np.kron(cells, np.ones((8, 8), np.uint8)), *(np.full((120, 120), 128, np.uint8) for _ in "uv"))


class _Stream:
    """Five pictures a second of a wall, with or without heads."""

    def __init__(self, fitting: FitModel, light: LightFrame, face: NewFace) -> None:
        self.posed, self._face, self._number = PosedFaces(fitting, light), face, 0

    def show(
        self, *heads: Plan, times: int, strict: bool = False, found: Sequence[Face] = (), regions: Sequence[Box] = ()
    ) -> Plane:
        """The luma of the last of so many frames."""
        for _ in range(times):
            picture, self._number = _wall(), self._number + 1
            pending, out = _pending(picture, self._number), picture.copy()
            pending.found = found
            pending.regions.extend(regions)
            self.posed.begin(heads, pending)
            for one in heads:
                self.posed.render(out, out if strict else picture, one, self._face, heads)
            self.posed.end(out, pending, heads)
        return out.y

    def known(self, box: Box) -> float:
        """How much of a box is known as background, 0 to 1."""
        x0, y0, x1, y1 = (int(value) // 2 for value in box)
        return float(self.posed._background._known[y0:y1, x0:x1].mean())


@pytest.fixture
def stream(model: AppearanceModel, fitting: FitModel, light: LightFrame) -> Callable[[], _Stream]:
    face = NewFace.of(some_identity(model, 8), fitting)
    return lambda: _Stream(fitting, light, face)


def test_background_is_shown_beside_a_head_that_comes_and_not_about_one_that_may_have_been_there(
    stream: Callable[[], _Stream],
) -> None:
    """What was published of a head before it was followed is not shown again."""
    head = _in_profile(plan(1, 120, 120, 40))
    alone, stood, came = stream(), stream(), stream()
    wanted = alone.show(head, times=20)
    stood.show(times=20)
    assert np.array_equal(stood.show(head, times=20), wanted)
    came.show(times=20)
    for step in range(16):
        came.show(_in_profile(plan(1, 30 + 6 * step, 120, 40)), times=1)
    again, wall = came.show(head, times=20), _wall().y.astype(int)
    differs = np.abs(again.astype(int) - wanted) > 12
    apart = [np.abs(one - wall)[differs].mean() for one in (again, wanted)]
    assert differs.sum() > 40 and apart[0] < 0.5 * apart[1], (differs.sum(), apart)


def test_a_strict_face_shows_no_background(stream: Callable[[], _Stream], monkeypatch: pytest.MonkeyPatch) -> None:
    one, asked = stream(), list[Patch]()
    monkeypatch.setattr(one.posed._background, "behind", asked.append)
    one.show(plan(1, 120, 120, 40), times=3, strict=True)
    assert not asked
    one.show(plan(1, 120, 120, 40), times=3)
    assert len(asked) == 3


def test_what_is_filled_later_and_what_may_be_a_face_is_no_background(stream: Callable[[], _Stream]) -> None:
    one, region, face = stream(), (20.0, 20.0, 60.0, 60.0), (150.0, 150.0, 170.0, 174.0)
    one.show(times=9, found=[Face(face, 0.4, evidence=0.1)], regions=[region])
    assert one.known(region) == 0 and one.known(face) == 0 and one.known((100.0, 20.0, 220.0, 100.0)) == 1


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_a_head_whose_place_is_not_finite_ends_nothing(stream: Callable[[], _Stream], wrong: float) -> None:
    bad = plan(1, 120, 120, 40)
    assert bad.posed is not None
    bad = replace(bad, posed=replace(bad.posed, pose=replace(bad.posed.pose, x=wrong)))
    one = stream()
    assert np.array_equal(one.show(bad, times=9), _wall().y) and one.known((0.0, 0.0, 240.0, 240.0)) == 0


def test_the_larger_lies_above_by_its_pose_and_not_by_the_detectors_box() -> None:
    near, far = plan(1, 100, 100, 50), plan(2, 120, 100, 40, box=1.2)
    assert sorted([near, far], key=_width) == [far, near]


def test_heads_that_are_too_far_away_to_be_asked_would_change_nothing(
    model: AppearanceModel, fitting: FitModel, light: LightFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside a twin that asks every head of the frame, at all distances and angles; redacted in part."""
    face, random = NewFace.of(some_identity(model, 8), fitting), np.random.default_rng(5)
    noise = random.integers(0, 256, (240, 240)).astype(np.uint8)
    original = Planes(noise, *(np.full((120, 120), 128, np.uint8) for _ in "uv"), Colour())
    first, asked = plan(1, 120, 120, 24), [0, 0]
    for number in range(80):
        angle, apart, size = 0.7 * number, 20 + 1.2 * number, (12, 24, 40)[number % 3]
        level = Level.OWN_FACE if number % 4 == 0 else Level.POSED
        other = plan(2, 120 + apart * np.cos(angle), 120 + apart * np.sin(angle), size, level)
        published = []
        for ask in (None, lambda _box, _corners: True):
            posed, out = PosedFaces(fitting, light), original.copy()
            with monkeypatch.context() as patched:
                if ask is not None:
                    patched.setattr(posed_faces, "_touches", ask)
                posed.begin([first], _pending(original))
                assert posed.render(out, original, first, face, [first, other])
            published.append(out)
            asked[ask is None] += len(posed._heads)
        assert all((a == b).all() for a, b in zip(*([one.y, one.u, one.v] for one in published), strict=True))
    assert asked[False] == 80 and 20 < asked[True] < 60


def _turned(fitting: FitModel, drawn: Drawn, yaw: float, open_by: float = 0.0) -> tuple[Filmed, Plan]:
    """A filter that knows a person who turned so far, small, and the plan of the last frame."""
    filmed = Filmed(fitting)
    for angle in (*[0.1] * 5, *np.linspace(0.1, yaw, 10), yaw, yaw):
        one = drawn(width=52.0, yaw=float(angle))
        face = replace(one.face, keypoints=keypoints(one))
        if open_by and one.face.landmarks is not None:
            wide = one.face.landmarks.copy()
            wide[[55, 56, 57, 58, 59, 65, 66, 67]] += (0.0, open_by)
            face = replace(face, landmarks=wide)
        pending = filmed.observe(one.planes, track(face))
        (decided,) = filmed.plans(pending, [track(face)])
        filmed.filter.render(pending, [decided])
    return filmed, decided


@pytest.mark.parametrize(("yaw", "open_by"), [(0.95, 0.0), (0.95, 6.0)])
def test_a_head_that_is_turned_too_far_for_an_own_face_still_speaks(
    fitting: FitModel, drawn: Drawn, yaw: float, open_by: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    heads: list[PosedHead] = []
    real = posed_faces.render_posed_face

    def noted(*given: Any) -> Points | None:
        heads.append(given[2])
        return real(*given)

    monkeypatch.setattr(posed_faces, "render_posed_face", noted)
    _, decided = _turned(fitting, drawn, yaw, open_by)
    assert decided.level is Level.POSED and decided.cause is Cause.TURNED and decided.measured is not None
    view = decided.measured.seen.turned
    assert view is not None and (view.gesture.gape > 0.1) == (open_by > 0)
    assert heads[-1].gesture.gape == pytest.approx(view.gesture.gape, abs=0.011)
    assert heads[-1].gesture.lids == pytest.approx(view.gesture.lids, abs=0.011)


def _severe(decided: Plan, **severities: float) -> Plan:
    assert decided.measured is not None
    more = {Cause[name]: value for name, value in severities.items()}
    found = replace(decided.measured, severities={**decided.measured.severities, **more})
    if "SMALL" in severities:  # by the width of the face
        found = replace(found, seen=replace(found.seen, points=0.01 * found.seen.points))
    return replace(decided, measured=found)


def _gesturing(decided: Plan, **numbers: Any) -> Plan:
    assert decided.measured is not None and decided.measured.seen.turned is not None
    view = decided.measured.seen.turned
    turned = replace(view, gesture=replace(view.gesture, **numbers))
    return replace(decided, measured=replace(decided.measured, seen=replace(decided.measured.seen, turned=turned)))


def test_no_mouth_is_opened_farther_than_the_region_reaches(fitting: FitModel, drawn: Drawn) -> None:
    _, decided = _turned(fitting, drawn, 0.95)
    told = posed_faces._told(_gesturing(decided, gape=0.8, upper=8.0))
    assert told is not None and (told.gape, told.upper) == pytest.approx((0.5, 5.0))


def test_a_gesture_goes_softly_and_is_forgotten_where_no_posed_face_was_shown(
    fitting: FitModel, light: LightFrame, drawn: Drawn, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, decided = _turned(fitting, drawn, 0.95)
    assert decided.face is not None
    speaking, still = _gesturing(decided, gape=0.5), replace(decided, cause=Cause.ASTRAY)
    shown: list[float] = []
    real = posed_faces.render_posed_face

    def noted(*given: Any) -> Points | None:
        shown.append(given[2].gesture.gape)
        return real(*given)

    monkeypatch.setattr(posed_faces, "render_posed_face", noted)
    posed, picture = PosedFaces(fitting, light), drawn(width=52.0, yaw=0.95).planes
    for one in (speaking, still, still, still, speaking, None, still, None, speaking):
        posed.begin([decided], _pending(picture))
        if one is not None:
            assert posed.render(picture.copy(), picture, one, decided.face, [one])
    assert shown == pytest.approx([0.5, 0.33, 0.16, 0.0, 0.16, 0.0, 0.5], abs=0.011)


def test_only_landmarks_that_are_believed_tell_a_gesture(fitting: FitModel, drawn: Drawn) -> None:
    _, decided = _turned(fitting, drawn, 0.95)
    assert decided.measured is not None and decided.measured.seen.turned is not None
    told = posed_faces._told(decided)
    assert told is not None
    view, something = decided.measured.seen.turned, cast("Any", object())
    smiling = replace(view, gesture=replace(view.gesture, smile=1.0, wider=4.0, gape=0.3))
    for degrees, share in ((40, 1.0), (59, 0.5), (62, 0.0), (-75, 0.0), (-40, 1.0)):
        turn = np.radians(degrees)
        cosine, sine = np.cos(turn), np.sin(turn)
        pose = replace(view.pose, rotation=np.array([[cosine, 0, sine], [0, 1, 0], [-sine, 0, cosine]]))
        seen = replace(decided.measured.seen, turned=replace(smiling, pose=pose))
        given = posed_faces._told(replace(decided, measured=replace(decided.measured, seen=seen)))
        assert given is not None and given.gape == 0.3
        assert (given.smile, given.wider) == pytest.approx((share, 4 * share), abs=0.02)
    for other in (
        replace(decided, cause=Cause.ASTRAY),
        replace(decided, cause=Cause.POOR_FIT),
        replace(decided, measured=None),
        _severe(decided, ASTRAY=1.1),
        _severe(decided, SMALL=1.1),
        _severe(decided, ASTRAY=np.nan),
        _gesturing(decided, gape=np.nan),
        _gesturing(decided, raised=(0.0, np.inf)),
        replace(decided, measured=replace(decided.measured, opening=something)),
        replace(decided, measured=replace(decided.measured, seen=replace(decided.measured.seen, turned=None))),
    ):
        assert posed_faces._told(other) is None
