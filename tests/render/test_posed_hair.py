"""Hair in a posed face's region: where the mean head bears it, of the colour that is published above the region."""

from __future__ import annotations

from dataclasses import replace

import cv2
import numpy as np
import pytest

from streamdeid.aam.fit import FitModel
from streamdeid.aam.pose import HeadPose
from streamdeid.aam.solid_face import seen as seen_by
from streamdeid.core.arrays import Points
from streamdeid.core.frames import Colour, Planes
from streamdeid.observe.keypoint_pose import KeypointPose
from streamdeid.render.new_face import NewFace
from streamdeid.render.posed_face import PosedFrame, PosedHead, PosedMemory, render_posed_face
from streamdeid.render.posed_hair import SCALP, HairColour, HairPlace
from streamdeid.render.posed_light import PosedLight
from streamdeid.render.posed_region import HAIRLINE, face_ellipse, holding

_ANGLES = 64
_AWAY = 2 * np.pi / _ANGLES * np.arange(_ANGLES)
_UP = -np.pi / 2
_APART = np.degrees(np.abs((_AWAY - _UP + np.pi) % (2 * np.pi) - np.pi))
BLACK, WALL, CHAIR = np.array([30.0, 128, 128]), np.array([210.0, 126, 130]), np.array([50.0, 180, 110])


def _told(colours: Points, scalp: float = 30.0) -> tuple[Points, Points]:
    """Hair where the scalp reaches so far in the upper half, beyond a region of 20 pixels and a hairline of 15."""
    upper = np.where(_APART < 80, scalp, 0.0)
    reaches = np.column_stack([np.full(_ANGLES, 12.0), np.full(_ANGLES, 20.0), np.full(_ANGLES, 15.0), upper])
    outside = np.column_stack([3 * colours, np.full(_ANGLES, 3.0)])
    return _hair(reaches, outside)


def _hair(reaches: Points, outside: Points) -> tuple[Points, Points]:
    hair = HairColour()
    hair.see(_APART, reaches, outside, 3.0)
    return hair.amount(_APART, reaches, 1.5, hair.known), hair.colour


def test_black_hair_before_a_white_wall_is_black_above_and_none_is_below() -> None:
    colours = np.where(_APART[:, None] < 60, BLACK, WALL)
    bears, colour = _told(colours)
    assert np.allclose(colour, BLACK)
    assert (bears[_APART < 40] == 1).all() and (bears[_APART > 81] == 0).all()
    assert 0 < bears[np.abs(_APART - 73) < 3].min() < 1, "it fades towards the sides"


def test_there_is_none_where_no_scalp_reaches_beyond_the_region_or_nothing_is_free() -> None:
    colours = np.where(_APART[:, None] < 60, BLACK, WALL)
    assert not _told(colours, scalp=19.0)[0].any()
    reaches = np.column_stack([np.full(_ANGLES, side) for side in (12.0, 20.0, 15.0, 30.0)])
    assert not _hair(reaches, np.zeros((_ANGLES, 4)))[0].any()


def test_there_is_none_where_half_of_what_is_above_is_a_chair() -> None:
    half = np.where((_AWAY - 1.5 * np.pi > 0)[:, None], CHAIR, BLACK)
    assert not _told(half)[0].any()
    few = np.where((np.abs(_APART - 34) < 2)[:, None], WALL, BLACK)  # a lamp's gleam
    bears, colour = _told(few)
    assert bears.max() > 0 and np.allclose(colour, BLACK, atol=1)


def test_flanks_alone_tell_little_and_nothing_free_tells_nothing() -> None:
    reaches = np.column_stack([np.full(_ANGLES, side) for side in (12.0, 20.0, 15.0, 30.0)])
    wall, none = np.column_stack([np.tile(WALL, (_ANGLES, 1)), np.ones(_ANGLES)]), np.zeros((_ANGLES, 4))
    flanks, hair = wall * (_APART[:, None] > 50), HairColour()
    hair.see(_APART, reaches, flanks, 3.0)
    assert hair.known < 0.4
    hair = HairColour()
    for seen in (none, wall, none, none):
        hair.see(_APART, reaches, seen, 3.0)
    assert hair.known == 1, "what was seen before stays, and the first sight counts in full"


def test_what_frames_tell_is_a_running_mean_in_which_doubtful_ones_count_little() -> None:
    reaches = np.column_stack([np.full(_ANGLES, side) for side in (12.0, 20.0, 15.0, 30.0)])
    black, wall, mixed = (
        np.column_stack([colours, np.ones(_ANGLES)])
        for colours in (
            np.tile(BLACK, (_ANGLES, 1)),
            np.tile(WALL, (_ANGLES, 1)),
            np.where((_AWAY - 1.5 * np.pi > 0)[:, None], CHAIR, BLACK),
        )
    )
    hair = HairColour()
    for _ in range(10):
        hair.see(_APART, reaches, black, 3.0)
    assert hair.known == 1 and np.allclose(hair.colour, BLACK)
    hair.see(_APART, reaches, mixed, 3.0)
    assert hair.known == pytest.approx(0.8) and np.allclose(hair.colour, BLACK)
    hair.see(_APART, reaches, wall, 3.0)
    assert 0 < hair.colour[0] - BLACK[0] < 0.3 * (WALL - BLACK)[0]
    for _ in range(40):
        hair.see(_APART, reaches, wall, 3.0)
    assert hair.known > 0.99 and np.allclose(hair.colour, WALL, atol=0.5)


SKIN = np.array([120.0, 118, 142])
_LEVELS = {True: (0, 255), False: (16, 235)}


@pytest.mark.parametrize("full_range", [True, False])
def test_a_wall_above_somebody_whose_hair_is_known_to_be_dark_is_no_hair(full_range: bool) -> None:
    hair, black, step = HairColour(colour=WALL, known=0.9), 0 if full_range else 16, 1 if full_range else 219 / 255
    assert hair.shown(SKIN, _LEVELS[full_range])[0] is hair.colour
    for dark in (-0.7, -1.5):
        hair.dark = dark
        colour, known = hair.shown(SKIN, _LEVELS[full_range])
        skin, shown = (SKIN[0] - black) / step, (colour[0] - black) / step  # as darkness is measured
        assert known == pytest.approx(1) and np.log((shown + 8) / (skin + 8)) == pytest.approx(0.75 * dark)
        assert (np.abs(colour[1:] - 128) < np.abs(SKIN[1:] - 128)).all()
    hair.dark = -0.3  # the darkest of white hair
    colour, known = hair.shown(SKIN, _LEVELS[full_range])
    assert np.allclose(colour, WALL) and known == 0.9


def test_dark_hair_above_keeps_its_own_colour_and_none_above_is_told_by_its_darkness() -> None:
    brown = np.array([45.0, 120, 136])
    hair = HairColour(colour=brown, known=1.0, dark=-1.0)
    assert np.allclose(hair.shown(SKIN, _LEVELS[True])[0], brown)
    colour, known = HairColour(dark=-1.0).shown(SKIN, _LEVELS[True])
    assert known == pytest.approx(1) and colour[0] < 70
    kept = [HairColour(colour=WALL, known=0.9, dark=dark) for dark in np.linspace(-0.2, -0.8, 60)]
    steps = [hair.shown(SKIN, _LEVELS[False])[0][0] for hair in kept]
    assert np.abs(np.diff(steps)).max() < 8, "no step between the two"


@pytest.mark.parametrize(("full_range", "black"), [(True, 0), (False, 16)])
def test_no_hair_is_blacker_than_black(full_range: bool, black: int) -> None:
    for skin, above in ((2.0, 0.0), (120.0, 0.0), (120.0, 200.0)):
        hair = HairColour(colour=np.array([above, 128, 128]), known=0.5, dark=-9.0)
        colour, known = hair.shown(np.array([skin, 128, 128]), _LEVELS[full_range])
        assert np.isfinite(colour).all() and 0 < known <= 1
    colour, _ = HairColour(dark=-9.0).shown(np.array([120.0, 128, 128]), _LEVELS[full_range])
    assert colour[0] == black


def _view(yaw: float, roll: float = 0.0) -> HeadPose:
    y, r = np.radians([yaw, roll])
    turn = np.array([[np.cos(y), 0, np.sin(y)], [0, 1, 0], [-np.sin(y), 0, np.cos(y)]])
    tilt = np.array([[np.cos(r), -np.sin(r), 0], [np.sin(r), np.cos(r), 0], [0, 0, 1]])
    return HeadPose(1.0, tilt @ turn, np.array([300.0, 300.0]))


@pytest.mark.parametrize("roll", [0.0, 90.0, -140.0])
def test_the_scalp_lies_above_the_face_and_behind_a_turned_one(fitting: FitModel, roll: float) -> None:
    for yaw in (0.0, 60.0, -60.0):
        view = _view(yaw, roll)
        mesh = seen_by(fitting.solid.mesh, view)
        place = HairPlace.of(view, mesh)
        assert holding(place.face, mesh[:, :2]).all() and holding(place.face, seen_by(HAIRLINE, view)[:, :2]).all()
        upright = (np.array([place.scalp.mean(axis=0), place.crown]) - mesh[:, :2].mean(axis=0)) @ view.rotation[:2, :2]
        assert (upright[:, 1] < -60).all(), "above"
        behind = view.rotation[:2, 2] @ (place.scalp.mean(axis=0) - mesh[:, :2].mean(axis=0))
        assert behind > 20 or yaw == 0


def test_the_scalp_leaves_forehead_face_and_neck_free() -> None:
    x, y, depth = SCALP.T
    assert len(SCALP) > 60 and y.max() < 131 and depth.max() > 250
    forehead = (y > -42) & (depth < 30)
    assert not forehead.any()
    assert (np.abs(x - 99.5) < 117).all()


_WALL = ((320, 320), 210), ((160, 160), 126), ((160, 160), 130)
_CROWN_AND_TEMPLES = np.array([[99.5, -44.0, 2.0], [62.0, -40.0, 10.0], [137.0, -40.0, 10.0]])


class BeforeAWall:
    """A head before a white wall, with or without black hair, and its posed face."""

    def __init__(self, frame: PosedFrame, face: NewFace, yaw: float, roll: float = 0.0, size: float = 40.0) -> None:
        self._frame, self._face = frame, face
        pose = KeypointPose(160.0, 165.0, size, *np.radians([yaw, 0.0, roll]))
        x0, y0 = 160 - 0.45 * size, 165 - 0.6 * size
        self.head = PosedHead(pose, face_ellipse((x0, y0, 320 - x0, 330 - y0)))
        self.view = pose.head_pose(frame.outline.head)
        self.memory = PosedMemory()
        self.memory.shape(face, self.head.gesture, frame)

    def published(self, haired: bool) -> Planes:
        planes = Planes(*(np.full(shape, level, np.uint8) for shape, level in _WALL), Colour())
        if haired:
            hair = HairPlace.of(self.view, seen_by(self._frame.fitting.solid.mesh, self.view)).scalp
            cv2.fillConvexPoly(planes.y, np.round(hair).astype(np.int32), (25,))
        self.memory.light = PosedLight(np.zeros(6), frames=1)
        assert render_posed_face(planes, planes.copy(), self.head, self._face, self._frame, self.memory) is not None
        return planes

    def about(self, planes: Planes) -> Points:
        """Luma where the mean head's hairline is, above the forehead and at both temples."""
        places = seen_by(_CROWN_AND_TEMPLES, self.view)[:, :2].round().astype(int)
        return np.array([planes.y[y - 1 : y + 2, x - 1 : x + 2].mean() for x, y in places])


@pytest.mark.parametrize(("yaw", "roll"), [(0.0, 0.0), (20.0, 0.0), (0.0, 180.0), (-20.0, 90.0)])
def test_a_black_haired_head_before_a_white_wall_stays_black_haired(
    frame: PosedFrame, face: NewFace, yaw: float, roll: float
) -> None:
    """Where the mean head's hairline is a mean of hair and wall was published: the hair of an old man."""
    made = BeforeAWall(frame, face, yaw, roll)
    black = made.about(made.published(True))
    assert black.max() < 75, black
    bare = BeforeAWall(frame, face, yaw, roll)
    assert bare.about(bare.published(False)).min() > 120


def test_dark_hair_that_is_known_is_shown_before_a_wall(frame: PosedFrame, face: NewFace) -> None:
    made = BeforeAWall(frame, face, 0.0)
    wall = made.about(made.published(False))
    made.head = replace(made.head, hair=-1.2)
    assert (made.about(made.published(False)) < wall - 40).all()
    made.head = replace(made.head, hair=None)
    assert np.array_equal(made.about(made.published(False)), wall), "no longer known"


def test_the_colour_is_remembered_from_frame_to_frame(frame: PosedFrame, face: NewFace) -> None:
    made = BeforeAWall(frame, face, 0.0)
    for _ in range(5):
        made.published(True)
    later = made.about(made.published(False))
    fresh = BeforeAWall(frame, face, 0.0)
    assert later[0] < fresh.about(fresh.published(False))[0] - 60


@pytest.mark.parametrize("yaw", [-80.0, -75.0, 60.0, 75.0])
def test_no_wedge_of_wall_is_in_the_forehead_of_a_profile(frame: PosedFrame, face: NewFace, yaw: float) -> None:
    """Where rays begin to miss the scalp there was a hard edge: a spike of the wall in the forehead."""
    made = BeforeAWall(frame, face, yaw, size=80.0)
    planes = made.published(False)
    across = np.column_stack([np.full(240, 99.5), np.zeros(240), np.linspace(-60, 120, 240)])
    for y in range(-24, 8, 4):
        across[:, 1] = y
        x, row = (line[None].astype(np.float32) for line in seen_by(across, made.view)[:, :2].T)
        luma = cv2.remap(planes.y, x, row, cv2.INTER_LINEAR)[0].astype(int)
        spike = np.minimum(luma[6:-6] - luma[:-12], luma[6:-6] - luma[12:]).max()
        assert spike < 4, (y, luma)
