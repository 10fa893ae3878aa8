"""Posed faces beside each other: nothing is taken from a head that is still to be replaced; the larger lies above."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from streamdeid.aam.appearance_model import AppearanceModel
from streamdeid.aam.fit import FitModel
from streamdeid.core.arrays import Plane
from streamdeid.core.faces import Face, Track
from streamdeid.core.frames import Colour, Planes
from streamdeid.observe.keypoint_pose import KeypointPose
from streamdeid.observe.posed_view import PosedView
from streamdeid.protect import posed_faces
from streamdeid.protect.levels import Level
from streamdeid.protect.plan import Plan
from streamdeid.protect.posed_faces import PosedFaces
from streamdeid.protect.replace_faces import _width
from streamdeid.render.light import LightFrame
from streamdeid.render.new_face import NewFace
from streamdeid.render.posed_face import PosedFrame, PosedHead
from streamdeid.render.posed_region import face_ellipse
from tests.drawn_faces import some_identity

SIZE = 240, 240


def plan(number: int, x: float, y: float, size: float, level: Level = Level.POSED, box: float = 0.45) -> Plan:
    """A head of a width at a place. box: half the width of the detector's box, as a share."""
    face_at = x - 0.45 * size, y - 0.6 * size, x + 0.45 * size, y + 0.6 * size
    seen = x - box * size, y - 0.6 * size, x + box * size, y + 0.6 * size
    view = PosedView(KeypointPose(x, y, size, 0.0, 0.0, 0.0), face_at, seen, True)
    track = Track(number, seen, Face(seen, 0.9, evidence=0.9), missed=0, ambiguous=False)
    return Plan(track, (seen, None, SIZE), level, posed=view, tracklet=number)


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
        for number in range(9):
            heads = [first, second] if number < 6 else [first]
            original = Planes(
                *(np.full(shape, 128, np.uint8) for shape in ((240, 240), (120, 120), (120, 120))), Colour()
            )
            if len(heads) == 2:
                cv2.fillConvexPoly(original.y, np.round(its).astype(np.int32), (luma,))
            out = original.copy()
            posed.keep([one.tracklet for one in heads])
            for one in heads:
                assert posed.render(out, original, one, face, heads)
            inside = np.zeros((240, 240), np.uint8)
            cv2.fillConvexPoly(inside, np.round(its).astype(np.int32), (1,))
            away = cv2.dilate(inside, np.ones((17, 17), np.uint8)) == 0
            pictures.append(np.where(away | (number >= 6), out.y, 0))
        published.append(pictures)
    for black, white in zip(*published, strict=True):
        assert np.abs(black.astype(int) - white).max() <= 2


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
                posed.keep([1])
                assert posed.render(out, original, first, face, [first, other])
            published.append(out)
            asked[ask is None] += len(posed._heads)
        assert all((a == b).all() for a, b in zip(*([one.y, one.u, one.v] for one in published), strict=True))
    assert asked[False] == 80 and 20 < asked[True] < 60
