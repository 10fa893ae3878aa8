"""Masks cover what they say, touch nothing else, and work at any odd size and place."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from streamdeid.core.arrays import Box
from streamdeid.core.faces import Face, Track
from streamdeid.core.frames import Colour, DeidentifiedFrame, Frame, Planes
from streamdeid.errors import FailedClosed, SettingsError
from streamdeid.protect.levels import Level
from streamdeid.protect.mask_faces import LEAVES_NOTHING, MASKS, MaskFaces, face_extent, grown
from streamdeid.protect.plan import at_once
from streamdeid.render import masks

BY_NAME: dict[str, Callable[[Planes, Box], Planes]] = {
    "solid fill": masks.solid_fill,
    "blackout": masks.blackout,
    "blur": masks.blur,
    "pixelate": masks.pixelate,
    "bar": masks.bar,
    "t-mask": masks.t_mask,
    "noise": lambda planes, box: masks.noise(planes, box, np.random.default_rng(0)),
    "threshold": masks.threshold,
}
LUMA = {"blackout": 16}
"""The luma that masks of one colour put in a face's place."""
corners = st.floats(-20.0, 45.0) | st.integers(-9, 45).map(float)
sizes = st.floats(-1.0, 50.0) | st.integers(-1, 50).map(float)
boxes = st.builds(lambda x, y, w, h: (x, y, x + w, y + h), corners, corners, sizes, sizes)


def picture(width: int, height: int, seed: int = 0, full_range: bool = False) -> Planes:
    rng = np.random.default_rng(seed)
    half = (-(-height // 2), -(-width // 2))
    # 20 to 109, so that no random pixel has the colour of a cover.
    y, u, v = (rng.integers(20, 110, size, dtype=np.uint8) for size in ((height, width), half, half))
    return Planes(y, u, v, Colour(full_range=full_range))


def touched(planes: Planes, box: Box) -> NDArray[np.bool_]:
    """Luma pixels that share some area with the box, decided one by one."""
    x0, y0, x1, y1 = box
    width, height = planes.size
    result = np.zeros((height, width), dtype=np.bool_)
    for row in range(height):
        for column in range(width):
            result[row, column] = x0 < column + 1 and column < x1 and y0 < row + 1 and row < y1 and x0 < x1 and y0 < y1
    return result


def chroma_of(luma: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Chroma samples over any of these luma pixels, decided one by one."""
    height, width = luma.shape
    result = np.zeros((-(-height // 2), -(-width // 2)), dtype=np.bool_)
    for row, column in np.argwhere(luma):
        result[row // 2, column // 2] = True
    return result


def face_landmarks(angle: float = 0.0) -> NDArray[np.float64]:
    """68 points; only eye corners and nostrils are placed as on a face around (40, 40)."""
    points = np.full((68, 2), 40.0)
    points[[36, 39, 42, 45]] = [[25, 35], [35, 35], [45, 35], [55, 35]]
    points[31:36] = [[34, 50], [37, 51], [40, 52], [43, 51], [46, 50]]
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    return np.asarray((points - 40.0) @ turn + 40.0)


def test_every_mask_is_tested_here() -> None:
    assert set(MASKS) <= set(BY_NAME)


@pytest.mark.parametrize("name", BY_NAME)
@given(box=boxes, width=st.integers(1, 41), height=st.integers(1, 37))
@settings(max_examples=40, deadline=None)
def test_masks_change_nothing_outside_their_box_and_not_their_input(
    name: str, box: Box, width: int, height: int
) -> None:
    planes = picture(width, height)
    before = planes.copy()
    result = BY_NAME[name](planes, box)
    assert result.size == planes.size
    assert result.u.shape == planes.u.shape
    assert result.colour == planes.colour
    for given_plane, kept in ((planes.y, before.y), (planes.u, before.u), (planes.v, before.v)):
        assert np.array_equal(given_plane, kept)
    inside = touched(planes, box)
    if name in ("bar", "t-mask"):
        # An oblong counts the pixels within half a pixel of it, so one more row or column may be covered.
        inside = touched(planes, (box[0] - 1, box[1] - 1, box[2] + 1, box[3] + 1))
    assert np.array_equal(result.y[~inside], planes.y[~inside])
    for plane, kept in ((result.u, before.u), (result.v, before.v)):
        assert np.array_equal(plane[~chroma_of(inside)], kept[~chroma_of(inside)])


@given(box=boxes, width=st.integers(1, 41), height=st.integers(1, 37), full_range=st.booleans())
@settings(max_examples=60, deadline=None)
def test_blackout_leaves_nothing_of_the_picture(box: Box, width: int, height: int, full_range: bool) -> None:
    planes = picture(width, height, full_range=full_range)
    result = masks.blackout(planes, box)
    inside = touched(planes, box)
    assert (result.y[inside] == (0 if full_range else 16)).all()
    assert (result.u[chroma_of(inside)] == 128).all()
    assert (result.v[chroma_of(inside)] == 128).all()


def test_no_colour_is_left_at_odd_edges() -> None:
    planes = picture(17, 15)
    for x0, y0, width, height in itertools.product((3, 4), (3, 4), (3, 4), (3, 4)):
        result = masks.blackout(planes, (float(x0), float(y0), float(x0 + width), float(y0 + height)))
        expected = np.zeros(planes.u.shape, dtype=np.bool_)
        expected[y0 // 2 : (y0 + height + 1) // 2, x0 // 2 : (x0 + width + 1) // 2] = True
        assert np.array_equal(result.u == 128, expected)
        assert np.array_equal(result.v == 128, expected)


def test_a_solid_fill_is_a_rounded_box_of_one_colour() -> None:
    planes = picture(60, 50)
    result = masks.solid_fill(planes, (10.0, 10.0, 50.0, 40.0), (90, 120, 140), roundness=0.5)
    assert (result.y[25, 10:50] == 90).all()
    assert (result.y[10:40, 30] == 90).all()
    assert (result.u[12, 5:25] == 120).all()
    assert (result.v[12, 5:25] == 140).all()
    changed = result.y == 90
    corner = planes.y[10:13, 10:13]
    assert np.array_equal(result.y[10:13, 10:13][corner != 90], corner[corner != 90])
    # A box of 40 x 30 with half-circles of radius 15 at its ends.
    assert changed.sum() == pytest.approx(10 * 30 + np.pi * 15**2, rel=0.08)
    assert (masks.solid_fill(planes, (10.0, 10.0, 50.0, 40.0)).y[13:37, 13:47] == 128).all()


@given(x=st.integers(0, 20), y=st.integers(0, 20), w=st.integers(1, 40), h=st.integers(1, 40), block=st.integers(2, 9))
@settings(max_examples=40, deadline=None)
def test_pixelation_takes_exact_block_means(x: int, y: int, w: int, h: int, block: int) -> None:
    planes = picture(37, 35)
    result = masks.pixelate(planes, (float(x), float(y), float(x + w), float(y + h)), block)
    size = block + block % 2
    for plane, out, scale in ((planes.y, result.y, 1), (planes.u, result.u, 2), (planes.v, result.v, 2)):
        bottom, right = min(-(-(y + h) // scale), plane.shape[0]), min(-(-(x + w) // scale), plane.shape[1])
        for row in range(y // scale, bottom, size // scale):
            for column in range(x // scale, right, size // scale):
                rows, columns = (slice(a, min(a + size // scale, b)) for a, b in ((row, bottom), (column, right)))
                assert (out[rows, columns] == np.rint(plane[rows, columns].mean())).all()


def test_blur_keeps_the_mean_removes_detail_and_lets_nothing_in() -> None:
    planes = picture(80, 80)
    box = (10.0, 10.0, 70.0, 70.0)
    result = masks.blur(planes, box, 0.1)
    inside = result.y[10:70, 10:70].astype(float)
    assert inside.mean() == pytest.approx(planes.y[10:70, 10:70].mean(), abs=1.0)
    assert inside.std() < 0.15 * planes.y[10:70, 10:70].std()
    other = planes.copy()
    other.y[:10] = 255
    assert np.array_equal(masks.blur(other, box, 0.1).y[10:70, 10:70], result.y[10:70, 10:70])


@pytest.mark.parametrize("full_range", [False, True])
def test_threshold_gives_black_and_white(full_range: bool) -> None:
    planes = picture(30, 30, full_range=full_range)
    planes.y[:, :] = np.arange(30) * 8
    result = masks.threshold(planes, (0.0, 0.0, 30.0, 30.0), level=118)
    black, white = (0, 255) if full_range else (16, 235)
    grey = np.arange(30) * 8 if full_range else (np.arange(30) * 8 - 16) * 255 / 219
    assert np.array_equal(result.y[5], np.where(grey >= 118, white, black))
    assert (result.u == 128).all()
    assert (result.v == 128).all()


def test_noise_covers_the_same_share_and_places_each_time_with_other_values() -> None:
    box = (10.0, 10.0, 109.0, 144.0)  # 99 x 134: one cell, one pixel
    bright = Planes(
        np.full((150, 120), 250, np.uint8), np.full((75, 60), 90, np.uint8), np.full((75, 60), 90, np.uint8)
    )
    dark = Planes(np.full((150, 120), 5, np.uint8), bright.u, bright.v)
    first = masks.noise(bright, box, np.random.default_rng(1)).y[10:144, 10:109]
    second = masks.noise(dark, box, np.random.default_rng(2)).y[10:144, 10:109]
    bare = (first == 250) & (second == 5)
    assert bare.mean() == pytest.approx(0.32, abs=0.02)
    covered = ~bare
    assert np.corrcoef(first[covered], second[covered])[0, 1] == pytest.approx(0.0, abs=0.05)
    assert first[covered].astype(float).std() == pytest.approx(256 / np.sqrt(12), rel=0.05)
    assert (masks.noise(bright, box, np.random.default_rng(1), share=0.0).y == bright.y).all()


@pytest.mark.parametrize("angle", [0.0, 0.6, -0.6])
def test_bars_follow_the_eyes_and_the_nose(angle: float) -> None:
    planes = picture(81, 81)
    landmarks = face_landmarks(angle)
    box = (15.0, 15.0, 65.0, 65.0)
    eyes = masks.bar(planes, box, landmarks)
    both = masks.t_mask(planes, box, landmarks)

    def black(result: Planes, point: NDArray[np.float64]) -> bool:
        return bool(result.y[int(point[1]), int(point[0])] == 16)

    assert all(black(eyes, landmarks[i]) and black(both, landmarks[i]) for i in (36, 39, 42, 45))
    assert not black(eyes, landmarks[33])
    assert all(black(both, landmarks[i]) for i in (31, 33, 35))
    chin = 0.5 * (landmarks[36] + landmarks[45]) + 2.2 * (landmarks[33] - 0.5 * (landmarks[36] + landmarks[45]))
    assert not black(both, chin)
    assert 400 < (eyes.y == 16).sum() < 900


@pytest.mark.parametrize("name", sorted(set(BY_NAME) - {"bar", "t-mask"}))
def test_a_mask_covers_its_box_up_to_its_corners(name: str) -> None:
    """An ellipse has .785 of its box, and `noise` changes seven pixels of ten. What bars cover is tested above."""
    planes = picture(120, 90)
    result = BY_NAME[name](planes, (30.0, 20.0, 80.0, 76.0))
    changed = result.y[20:76, 30:80] != planes.y[20:76, 30:80]
    assert changed.mean() > 0.65
    assert changed.reshape(8, 7, 10, 5).any(axis=(1, 3))[1:-1].all()


@pytest.mark.parametrize("name", BY_NAME)
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_place_that_is_not_finite_fails_closed(name: str, bad: float) -> None:
    with pytest.raises(FailedClosed):
        BY_NAME[name](picture(20, 20), (1.0, bad, 10.0, 10.0))


# MaskFaces


def frame(width: int = 121, height: int = 91) -> Frame:
    return Frame(picture(width, height), Fraction(7, 25), 7)


def track(number: int, box: Box, seen: bool = True, landmarks: NDArray[np.float64] | None = None) -> Track:
    face = Face(box, 0.9, landmarks) if seen else None
    return Track(number=number, box=box, face=face, missed=0 if seen else 3, ambiguous=False)


@pytest.mark.parametrize("mask", MASKS)
def test_every_mask_makes_a_frame_that_may_leave(mask: str) -> None:
    given_frame = frame()
    before = given_frame.planes.copy()
    box = (15.0, 15.0, 65.0, 65.0)
    masked = MaskFaces(mask)
    result = at_once(
        masked, given_frame, [track(1, box, landmarks=face_landmarks()), track(2, (90, 60, 140, 110), False)]
    )
    assert isinstance(result, DeidentifiedFrame)
    assert (result.time, result.index) == (Fraction(7, 25), 7)
    assert [one.level for one in result.redactions] == [Level.MASK.label, Level.SOLID.label]
    # The eyes are covered by every mask; the lost track is filled to the frame's edge.
    assert not np.array_equal(result.planes.y[33:38, 27:53], before.y[33:38, 27:53])
    assert (result.planes.y[70:, 100:] == 128).all()
    assert np.array_equal(given_frame.planes.y, before.y)


@pytest.mark.parametrize("name", sorted(LEAVES_NOTHING))
def test_what_leaves_nothing_does_not_depend_on_what_it_covers(name: str) -> None:
    box = (20.0, 30.0, 60.0, 70.0)
    one, other = frame(), frame()
    x0, y0, x1, y1 = (int(v) for v in grown(box))
    other.planes.y[y0:y1, x0:x1] = 77
    other.planes.u[y0 // 2 : y1 // 2, x0 // 2 : x1 // 2] = 200
    results = [at_once(MaskFaces(name), given, [track(1, box)]).planes for given in (one, other)]
    assert np.array_equal(results[0].y, results[1].y)
    assert np.array_equal(results[0].u, results[1].u)
    if name in LUMA:
        assert (results[0].y[y0:y1, x0:x1] == LUMA[name]).all()


def test_every_other_mask_leaves_something() -> None:
    """As the audit says: else `LEAVES_NOTHING` lacks a mask."""
    box = (20.0, 30.0, 60.0, 70.0)
    x0, y0, x1, y1 = (int(v) for v in grown(box))
    steps = np.linspace(30, 220, x1 - x0).astype(np.uint8)
    for name in sorted(set(MASKS) - LEAVES_NOTHING):
        one, other = frame(), frame()
        one.planes.y[y0:y1, x0:x1], other.planes.y[y0:y1, x0:x1] = steps, steps[::-1]
        results = [
            at_once(MaskFaces(name), given, [track(1, box, landmarks=face_landmarks())]).planes.y
            for given in (one, other)
        ]
        assert not np.array_equal(*results), name


def test_a_frame_without_tracks_is_copied() -> None:
    given_frame = frame()
    result = at_once(MaskFaces("blur"), given_frame, [])
    assert np.array_equal(result.planes.y, given_frame.planes.y)
    assert not np.shares_memory(result.planes.y, given_frame.planes.y)


def test_the_same_frame_is_masked_the_same_way_every_time() -> None:
    first, second = (at_once(MaskFaces("noise"), frame(), [track(1, (20, 20, 60, 60))]) for _ in range(2))
    assert np.array_equal(first.planes.y, second.planes.y)


def test_the_covered_place_takes_in_points_ears_and_forehead() -> None:
    box = (20.0, 20.0, 60.0, 60.0)
    landmarks = face_landmarks()
    landmarks[8] = (40.0, 75.0)
    forehead = np.full((13, 2), 40.0)
    forehead[6] = (40.0, 5.0)
    seen = Track(1, (22.0, 20.0, 66.0, 60.0), Face(box, 0.9, landmarks, forehead), 0, False)
    assert seen.face is not None
    assert face_extent(seen, seen.face) == (20.0, 5.0, 66.0, 75.0)
    x0, y0, x1, y1 = grown(box)
    assert x0 <= 14.0
    assert y0 <= 6.0
    assert x1 >= 66.0
    assert y1 >= 64.0


def test_a_bad_place_withholds_the_frame_and_unknown_masks_are_refused() -> None:
    with pytest.raises(FailedClosed):
        at_once(MaskFaces("blackout"), frame(), [track(1, (np.nan, 0.0, 1.0, 1.0), seen=False)])
    with pytest.raises(SettingsError, match="choose from blackout"):
        MaskFaces("emoji")


@given(
    box=st.tuples(st.floats(-20, 90), st.floats(-20, 60), st.floats(2, 50), st.floats(2, 50)).map(
        lambda b: (b[0], b[1], b[0] + b[2], b[1] + b[3])
    )
)
def test_a_face_near_the_border_is_covered_to_the_border(box: Box) -> None:
    plain, bounded = grown(box), grown(box, (100, 80))
    assert bounded[0] <= plain[0]
    assert bounded[1] <= plain[1]
    assert bounded[2] >= plain[2]
    assert bounded[3] >= plain[3]
    width, height = box[2] - box[0], box[3] - box[1]
    for end, border, side in ((bounded[0], 0, width), (bounded[1], 0, height)):
        assert not 0 < end - border < 0.2 * side
    for end, border, side in ((bounded[2], 100, width), (bounded[3], 80, height)):
        assert not 0 < border - end < 0.2 * side
